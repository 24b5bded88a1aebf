#include "moonshine.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <format>
#include <fstream>
#include <map>
#include <stdexcept>

using weft::Tensor;

namespace {

constexpr std::int64_t begin = 1;
constexpr int end = 2;
constexpr std::size_t rate = 16000;
constexpr std::size_t tokens_per_second = 6;  // more is never said; the decoder repeats itself then
constexpr std::string_view past = "past_key_values.";
constexpr std::string_view space = "\xE2\x96\x81";  // U+2581 stands for a space

}  // namespace

Moonshine::Moonshine(const weft::Device& device, const std::filesystem::path& encoder,
                     const std::filesystem::path& decoder, const std::filesystem::path& vocabulary)
    : device_(device),
      encoder_(weft::onnx::load(device, encoder)),
      decoder_(weft::onnx::load(device, decoder)) {
  std::ifstream file(vocabulary);
  for (std::string line; std::getline(file, line);) vocabulary_.push_back(line);
  if (vocabulary_.empty())
    throw std::runtime_error(std::format("there are no tokens in {}", vocabulary.string()));
}

std::string Moonshine::text(int token) const {
  if (token < 0 || static_cast<std::size_t>(token) >= vocabulary_.size())
    return "";  // a sign for the model, not for readers
  std::string out = vocabulary_[static_cast<std::size_t>(token)];
  if (out.size() == 6 && out.starts_with("<0x")) {  // a byte that no other token has
    int byte = 0;
    std::from_chars(out.data() + 3, out.data() + 5, byte, 16);
    return {static_cast<char>(byte)};
  }
  for (std::size_t at = 0; (at = out.find(space, at)) != std::string::npos;)
    out.replace(at, space.size(), " ");
  return out;
}

std::string Moonshine::transcribe(const std::vector<float>& samples,
                                  const std::function<void(std::string_view)>& tell) const {
  std::map<std::string, Tensor> inputs;
  inputs["encoder_hidden_states"] =
      encoder_.run({{"input_values", device_.tensor({1, samples.size()}, samples)}})
          .at("last_hidden_state");
  for (const weft::onnx::Port& port :
       decoder_.inputs()) {  // no keys and values before the first token
    if (port.name.starts_with(past)) inputs[port.name] = device_.full({0, 8, 1, 36}, 0);
  }

  std::string out;
  std::int64_t token = begin;
  const std::size_t most = samples.size() * tokens_per_second / rate + 2;
  for (std::size_t step = 0; step < most; ++step) {
    inputs["input_ids"] = device_.tensor({1, 1}, std::vector{token});
    inputs["use_cache_branch"] = device_.tensor({1}, std::vector<bool>{step > 0});
    const std::map<std::string, Tensor> results = decoder_.run(inputs);
    token = weft::reduce("argmax", results.at("logits"), {-1}).item<std::int32_t>();
    if (token == end) break;
    for (const auto& [name, value] : results) {
      // Keys and values of the sound are computed in the first step; the later ones give empty
      // tensors for them.
      if (name.starts_with("present.") && (step == 0 || name.find("decoder") != std::string::npos))
        inputs[std::string(past) + name.substr(8)] = value;
    }
    std::string more = text(static_cast<int>(token));
    if (out.empty() && more.starts_with(' ')) more.erase(0, 1);
    out += more;
    if (tell) tell(out);
  }
  return out;
}
