// Writes down what is said in a recording, while it is read: speech ENCODER DECODER VOCABULARY
// [FILE.wav]; without a file, from stdin. What is understood so far goes to stderr every two
// seconds of sound, whole utterances (up to a pause, or the end) to stdout.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <vector>
#include <weft/weft.hpp>

#include "moonshine.hpp"
#include "wav.hpp"

namespace {

constexpr std::size_t block = Wav::rate / 10;
constexpr std::size_t shortest = Wav::rate;       // The encoder needs some samples.
constexpr std::size_t longest = 20 * Wav::rate;   // It was taught with utterances of this length.
constexpr std::size_t pause = Wav::rate * 3 / 2;  // So much silence ends an utterance.
constexpr std::size_t before = Wav::rate;         // So much of the silence before one is kept.
constexpr std::size_t between = 2 * Wav::rate;    // between what is shown before the end of one
constexpr float silence = 0.01F;

bool silent(const std::vector<float>& samples) {
  double sum = 0;
  for (const float x : samples) sum += static_cast<double>(x) * x;
  return std::sqrt(sum / static_cast<double>(samples.size())) < silence;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: speech ENCODER DECODER VOCABULARY [FILE.wav]\n";
    return 2;
  }
  std::ifstream file;
  if (argc == 5) {
    file.open(argv[4], std::ios::binary);
    if (!file) throw std::runtime_error(std::string("cannot read ") + argv[4]);
  }
  Wav wav(argc == 5 ? file : std::cin);
  const Moonshine moonshine(weft::Device(), argv[1], argv[2], argv[3]);

  std::vector<float> said;
  std::size_t quiet = 0;  // samples of silence at the end of it
  std::size_t shown = 0;
  for (bool more = true; more;) {
    const std::vector<float> samples = wav.read(block);
    more = samples.size() == block;
    if (!samples.empty()) quiet = silent(samples) ? quiet + samples.size() : 0;
    said.insert(said.end(), samples.begin(), samples.end());
    if (said.size() == quiet && more) {  // Nothing was said yet: a little of the silence is kept.
      said.resize(std::min(said.size(), before));
      quiet = shown = said.size();
    } else if (!more || quiet >= pause || said.size() >= longest) {
      if (said.size() > quiet) {
        said.resize(std::max(said.size(), shortest));
        std::cout << moonshine.transcribe(said) << std::endl;
      }
      said.clear();
      quiet = shown = 0;
    } else if (said.size() >= shown + between) {
      shown = said.size();
      std::cerr << moonshine.transcribe(said) << " …" << std::endl;
    }
  }
} catch (const std::exception& error) {
  std::cerr << "speech: " << error.what() << '\n';
  return 1;
}
