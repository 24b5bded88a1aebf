#pragma once

#include <cstdint>
#include <istream>
#include <vector>

/// A recording that is read bit by bit, from a file or from a pipe: WAV with 16-bit samples at 16
/// kHz, any number of channels.
class Wav {
 public:
  /// Reads the head; what is wrong with it is a std::runtime_error.
  explicit Wav(std::istream& in);
  /// The next samples, at most `count`, channels averaged, between -1 and 1; none at the end.
  std::vector<float> read(std::size_t count);

  static constexpr std::uint32_t rate = 16000;

 private:
  std::istream* in_;
  std::uint32_t channels_ = 0;
};
