#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

/// Speech to text with Moonshine: an encoder of 16 kHz samples, and a decoder that writes one token
/// after the other. Its keys and values stay on the device from step to step.
class Moonshine {
 public:
  /// Models, and the texts of the tokens, one per line.
  Moonshine(const weft::Device& device, const std::filesystem::path& encoder,
            const std::filesystem::path& decoder, const std::filesystem::path& vocabulary);

  /// What is said. `tell` gets the text as it grows.
  std::string transcribe(const std::vector<float>& samples,
                         const std::function<void(std::string_view)>& tell = {}) const;

 private:
  [[nodiscard]] std::string text(int token) const;

  weft::Device device_;
  weft::onnx::Model encoder_;
  weft::onnx::Model decoder_;
  std::vector<std::string> vocabulary_;
};
