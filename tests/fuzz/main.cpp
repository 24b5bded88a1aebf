#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "coverage.hpp"
#include "targets.hpp"

// fuzz_tests [--seconds N] [--seed S] [TARGET…] [--input FILE] [--corpus FOLDER]: runs each target
// on inputs that are changed at random; those that reach new branches are changed further. An input
// is written to a file before it runs, so that one that ends the process is there afterwards;
// --input runs it again. What tests/fuzz/corpus and tests/fuzz/found (inputs that found something
// once) have is run first; --corpus FOLDER writes a new corpus.

namespace {

using weft::fuzz::Target;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

void run(const Target& target, const std::string& input) {
  target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// Changes an input in one of the ways that files and texts go bad; `other` is a second one to take
/// parts from.
std::string changed(std::string input, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) {
    const std::size_t at = below(input.size() + 1);
    switch (below(8)) {
      case 0: input.resize(at); break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1U << below(8)));
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 3: input.insert(at, 1 + below(8), static_cast<char>(random())); break;
      case 4: input.erase(at, 1 + below(16)); break;
      case 5: {
        constexpr std::uint64_t extremes[] = {0,          1,         0x7fffffff, 0xffffffff, ~0ULL,
                                              1ULL << 63, ~0ULL / 8, 1ULL << 32, ~0ULL - 31, 0x80};
        const std::uint64_t value = extremes[below(std::size(extremes))];
        for (std::size_t k = 0; k < 8 && at + k < input.size(); ++k) {
          input[at + k] = static_cast<char>(value >> (8 * k));
        }
        break;
      }
      case 6: {
        const std::size_t from = below(input.size());
        input.insert(at, input.substr(from, below(64)));
        break;
      }
      default: {
        const std::size_t from = below(other.size());
        input.insert(at, other.substr(from, below(64)));
      }
    }
    if (input.size() > 1 << 16) input.resize(1 << 16);
  }
  return input;
}

/// The inputs that are always run: those that the repository keeps, and those that found something
/// once.
std::vector<std::string> first_inputs(const Target& target) {
  std::vector<std::string> inputs;
  for (const char* kind : {"corpus", "found"}) {
    const std::filesystem::path folder = std::filesystem::path(WEFT_FUZZ) / kind / target.name;
    if (!std::filesystem::exists(folder)) continue;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const auto& file : files) inputs.push_back(read_file(file));
  }
  return inputs;
}

struct Outcome {
  std::uint64_t inputs = 0;
  std::vector<std::string> kept;  ///< Those that reached something new, the first ones included.
};

/// Writes every input to `last` before it runs.
class Notebook {
 public:
  explicit Notebook(std::filesystem::path last)
      : last_(std::move(last)), file_(std::fopen(last_.c_str(), "wb")) {}
  Notebook(const Notebook&) = delete;
  Notebook& operator=(const Notebook&) = delete;
  ~Notebook() {
    if (file_ != nullptr) std::fclose(file_);
    std::filesystem::remove(last_);
  }
  void write(const std::string& input) {
    if (file_ == nullptr) return;
    std::rewind(file_);
    std::fwrite(input.data(), 1, input.size(), file_);
    if (std::fflush(file_) == 0) std::filesystem::resize_file(last_, input.size());
  }

 private:
  std::filesystem::path last_;
  std::FILE* file_;
};

Outcome fuzz(const Target& target, double seconds, std::uint64_t seed,
             const std::filesystem::path& last) {
  std::mt19937_64 random(seed);
  Notebook notebook(last);
  Outcome out;
  const auto try_input = [&](const std::string& input) {
    notebook.write(input);
    weft::fuzz::begin_input();
    run(target, input);
    if (weft::fuzz::reached_new()) out.kept.push_back(input);
    ++out.inputs;
  };
  weft::fuzz::forget_reached();
  const std::vector<std::string> first = first_inputs(target);
  for (const std::string& input : first) try_input(input);
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  // Good inputs, of which there may be many: as far as half of the time goes.
  std::vector<std::string> seeds = target.seeds();
  std::ranges::shuffle(seeds, random);
  for (const std::string& input : seeds) {
    if (std::chrono::steady_clock::now() > start + std::chrono::duration<double>(seconds / 2) &&
        !out.kept.empty())
      break;
    try_input(input);
  }
  if (out.kept.empty()) out.kept = seeds;
  std::string input;
  for (std::uint64_t i = 0; std::chrono::steady_clock::now() < end; ++i) {
    // Changes pile up for a while, then it starts from another one.
    if (i % 8 == 0) input = out.kept[random() % out.kept.size()];
    input = changed(std::move(input), out.kept[random() % out.kept.size()], random);
    try_input(input);
  }
  return out;
}

/// Puts the smallest inputs that together reach what all did into a folder.
void write_corpus(const Target& target, std::vector<std::string> inputs,
                  const std::filesystem::path& folder) {
  constexpr std::size_t most_files = 60;
  constexpr std::size_t most_size = 4096;
  std::ranges::sort(inputs, {}, &std::string::size);
  std::filesystem::create_directories(folder);
  weft::fuzz::forget_reached();
  std::size_t count = 0;
  for (const std::string& input : inputs) {
    if (count == most_files || input.size() > most_size) break;
    weft::fuzz::begin_input();
    run(target, input);
    if (!weft::fuzz::reached_new()) continue;
    char name[16];
    std::snprintf(name, sizeof(name), "%02zu", count++);
    std::ofstream(folder / name, std::ios::binary) << input;
  }
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 1;
  std::uint64_t seed = 1;
  std::string input;
  std::string corpus;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--input" && i + 1 < argc) {
      input = argv[++i];
    } else if (word == "--corpus" && i + 1 < argc) {
      corpus = argv[++i];
    } else {
      names.push_back(word);
    }
  }
  int passed = 0;
  for (const Target& target : weft::fuzz::targets()) {
    if (!names.empty() && std::ranges::find(names, target.name) == names.end()) continue;
    if (!input.empty()) {
      run(target, read_file(input));
      continue;
    }
    const std::filesystem::path last =
        std::filesystem::temp_directory_path() / ("weft-fuzz-last-" + std::string(target.name));
    std::printf("%s: an input that ends this process is in %s\n", std::string(target.name).c_str(),
                last.c_str());
    std::fflush(stdout);
    const Outcome done = fuzz(target, seconds, seed, last);
    std::printf("%s: %llu inputs, %zu of them reached something new, %llu places in all\n",
                std::string(target.name).c_str(), static_cast<unsigned long long>(done.inputs),
                done.kept.size(), static_cast<unsigned long long>(weft::fuzz::reached()));
    std::fflush(stdout);
    if (!corpus.empty()) {
      write_corpus(target, done.kept, std::filesystem::path(corpus) / target.name);
    }
    ++passed;
  }
  std::printf("%d passed, 0 failed\n", passed);
  return 0;
}
