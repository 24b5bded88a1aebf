#include "wav.hpp"

#include <array>
#include <format>
#include <stdexcept>
#include <string>

namespace {

std::uint32_t number(std::istream& in, int bytes) {
  std::uint32_t out = 0;
  for (int i = 0; i < bytes; ++i) out |= static_cast<std::uint32_t>(in.get() & 0xFF) << (8 * i);
  return out;
}

std::string letters(std::istream& in) {
  std::array<char, 4> four{};
  in.read(four.data(), four.size());
  return {four.data(), four.size()};
}

}  // namespace

Wav::Wav(std::istream& in) : in_(&in) {
  const std::string riff = letters(in);
  number(in, 4);
  if (riff != "RIFF" || letters(in) != "WAVE") throw std::runtime_error("this is no WAV file");
  for (std::string part = letters(in); part != "data"; part = letters(in)) {
    if (!in) throw std::runtime_error("the WAV file ends before its samples");
    std::uint32_t rest = number(in, 4);
    rest += rest % 2;  // parts begin at even bytes
    if (part == "fmt " && rest >= 16) {
      const std::uint32_t format = number(in, 2);
      channels_ = number(in, 2);
      const std::uint32_t found = number(in, 4);
      number(in, 4);
      number(in, 2);
      const std::uint32_t bits = number(in, 2);
      if ((format != 1 && format != 0xFFFE) || bits != 16 || found != rate || channels_ == 0) {
        throw std::runtime_error(
            std::format("the WAV file has format {} with {} channels of {} bits at {} Hz; 16-bit "
                        "samples at {} Hz are read",
                        format, channels_, bits, found, rate));
      }
      rest -= 16;
    }
    in.ignore(rest);
  }
  number(in,
         4);  // Programs that write into a pipe do not know the length: the end is where the bytes
              // end.
  if (channels_ == 0) throw std::runtime_error("the WAV file does not say what its samples are");
}

std::vector<float> Wav::read(std::size_t count) {
  std::vector<float> out;
  while (out.size() < count) {
    float sum = 0;
    for (std::uint32_t c = 0; c < channels_; ++c)
      sum += static_cast<float>(static_cast<std::int16_t>(number(*in_, 2))) / 32768.0F;
    if (!*in_) break;
    out.push_back(sum / static_cast<float>(channels_));
  }
  return out;
}
