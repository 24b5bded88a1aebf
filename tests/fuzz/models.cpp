// Whole ONNX models, read and run: attributes, shapes and types that do not fit, graphs in graphs,
// functions. Whatever a file says, the answer is a result or an error with a sentence.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "coverage.hpp"
#include "graph/node.hpp"
#include "onnx/model.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

constexpr std::uint64_t most_elements = 1 << 14;  // of an input
constexpr std::uint64_t open_extent = 3;

[[noreturn]] void complain(const char* why, const char* message) {
  std::fprintf(stderr, "%s: %s\n", why, message);
  std::abort();
}

/// A device whose buffers are small, so that a shape that is too large is an error and no work of
/// minutes.
const Device& device() {
  static const Device made = [] {
    gpu::DeviceOptions options;
    options.caps_mask = "buffer=16M,binding=16M";
    auto opened = gpu::Device::create(options);
    if (!opened) complain("no device", opened.error().message.c_str());
    return Access::device(std::make_shared<DeviceData>(std::move(*opened)));
  }();
  return made;
}

/// Something for an input; nothing where no tensor fits it.
std::optional<Tensor> stand_in(const onnx::Port& port) {
  if (!port.dtype) return std::nullopt;
  Shape shape;
  std::uint64_t count = 1;
  for (const onnx::Extent& extent : port.shape.value_or(std::vector<onnx::Extent>(2))) {
    shape.push_back(extent.value.value_or(open_extent));
    if (shape.back() != 0 && count > most_elements / shape.back()) return std::nullopt;
    count *= std::max<std::uint64_t>(shape.back(), 1);
  }
  if (shape.size() > 8) return std::nullopt;
  count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) - 1;
  return device().tensor(shape, values).to(*port.dtype);
}

/// An error by its words: numbers and names that are quoted change from input to input.
std::uint64_t kind_of(std::string_view message) {
  std::string words;
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) words += c;
  }
  return std::hash<std::string>()(words);
}

/// Runs something that may fail, but only in the way that is promised.
template <class Work>
void attempt(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) complain("a bug in Weft", error.what());
    if (std::string_view(error.what()).size() < 16) complain("no sentence", error.what());
    note(kind_of(error.what()));
  } catch (const std::exception& error) {
    complain("another exception than weft::Error", error.what());
  }
}

}  // namespace

int models_run(const std::uint8_t* data, std::size_t size) {
  attempt([&] {
    const onnx::Model model = onnx::load(device(), std::as_bytes(std::span(data, size)));
    std::map<std::string, onnx::Value> values;
    for (const onnx::Port& port : model.inputs()) {
      if (const auto tensor = stand_in(port)) values.emplace(port.name, onnx::Value(*tensor));
    }
    for (const auto& [name, count] : model.operations()) note(std::hash<std::string>()(name));
    const auto read = [](const std::map<std::string, onnx::Value>& results) {
      for (const auto& [name, value] : results) {
        if (value.exists() && !value.is_sequence()) (void)value.read();
      }
    };
    attempt([&] { read(onnx::ModelAccess::run(model, values)); });
    attempt([&] { read(onnx::ModelAccess::replay(model, values)); });
    if (size % 8 == 0) attempt([&] { (void)model.shapes(); });
  });
  return 0;
}

std::vector<std::string> models_seeds() {
  namespace b = test::onnx_bytes;
  std::vector<std::string> seeds{b::small_model()};
  // Debian's collection of ONNX's own tests, where it is there: a model for each operation.
  const std::filesystem::path folder = "/usr/share/libonnx-testdata/data/node";
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    files.push_back(entry.path() / "model.onnx");
  }
  std::ranges::sort(files);
  constexpr std::uintmax_t longest = 2048;
  for (const auto& file : files) {
    if (const auto bytes = std::filesystem::file_size(file, ignored); ignored || bytes > longest)
      continue;
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace weft::fuzz
