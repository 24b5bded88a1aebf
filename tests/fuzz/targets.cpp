#include "targets.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "../onnx/bytes.hpp"
#include "device/caps.hpp"
#include "formats/gguf.hpp"
#include "formats/safetensors.hpp"
#include "formats/tokenizer.hpp"
#include "onnx/array.hpp"
#include "onnx/proto.hpp"
#include "wgsl/template.hpp"

namespace weft::fuzz {
namespace {

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

/// Ends the process where something is not as it must be, as a crash would.
void require(bool held) {
  if (!held) std::abort();
}

/// What a writer of files wrote.
template <class Write>
std::string written(const Write& write) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("weft-fuzz-" + std::to_string(std::random_device{}()) + ".gguf");
  write(path);
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  return text;
}

const std::array<float, 8> numbers{1, 2, 3, 4, 5, 6, 7, 8};

std::vector<gguf::TensorView> some_tensors() {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {{"a.weight", {2, 3}, 0, bytes.first(24)}, {"b", {8}, 0, bytes}};
}

gguf::Metadata some_metadata() {
  return {{"general.architecture", std::string("weft")},
          {"weft.step", std::uint64_t{3}},
          {"list", gguf::Array(std::vector<std::string>{"x", "yy"})},
          {"floats", gguf::Array(std::vector<float>{1, 2})},
          {"flag", true}};
}

int gguf_run(const std::uint8_t* data, std::size_t size) {
  const auto file = gguf::File::parse(bytes_of(data, size));
  if (!file) return 0;
  for (const gguf::TensorView& tensor : file->tensors()) {
    require(file->tensor(tensor.name) != nullptr);
    require(tensor.bytes.empty() ||
            (reinterpret_cast<const std::uint8_t*>(tensor.bytes.data()) >= data &&
             tensor.bytes.size() <= size));
  }
  return 0;
}

std::vector<std::string> gguf_seeds() {
  return {
      written([](const auto& path) { (void)gguf::write(path, some_metadata(), some_tensors()); })};
}

int checkpoint_run(const std::uint8_t* data, std::size_t size) {
  const auto file = gguf::File::parse(bytes_of(data, size));
  if (file && gguf::check_hashes(*file)) {
    // What passes is what was written.
    require(file->get<std::uint64_t>("weft.step").value_or(0) == 3);
    require(file->tensors().size() == 2);
  }
  return 0;
}

std::vector<std::string> checkpoint_seeds() {
  return {written([](const auto& path) {
    gguf::Metadata metadata = some_metadata();
    gguf::add_hashes(metadata, some_tensors());
    (void)gguf::write(path, metadata, some_tensors());
  })};
}

int safetensors_run(const std::uint8_t* data, std::size_t size) {
  const auto file = safetensors::File::parse(bytes_of(data, size));
  if (!file) return 0;
  for (const safetensors::TensorView& tensor : file->tensors()) {
    require(file->tensor(tensor.name) == &tensor);
  }
  return 0;
}

std::vector<std::string> safetensors_seeds() {
  return {written([](const auto& path) {
    const auto bytes = std::as_bytes(std::span(numbers));
    const std::vector<safetensors::TensorView> tensors{{"a", "F32", {2, 4}, bytes},
                                                       {"b", "BF16", {3}, bytes.first(6)}};
    (void)safetensors::write(path, {{"format", "weft"}}, tensors);
  })};
}

const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer =
      *Tokenizer::train("over and under, over and under again. ", 270);
  return tokenizer;
}

int tokenizer_run(const std::uint8_t* data, std::size_t size) {
  // As a file of a tokenizer, and as text for one.
  if (const auto file = gguf::File::parse(bytes_of(data, size))) {
    if (const auto tokenizer = Tokenizer::from_metadata(file->metadata())) {
      const std::string text = "over and under";
      require(tokenizer->decode(tokenizer->encode(text)) == text);
    }
  }
  const std::string_view text = text_of(data, size);
  require(small_tokenizer().decode(small_tokenizer().encode(text)) == text);
  return 0;
}

std::vector<std::string> tokenizer_seeds() {
  return {written([](const auto& path) {
            gguf::Metadata metadata;
            small_tokenizer().add_to(metadata);
            (void)gguf::write(path, metadata, {});
          }),
          "over \xc3\xa4nd 12345 under\n\n  <|endoftext|>"};
}

int template_run(const std::uint8_t* data, std::size_t size) {
  const std::array files{wgsl::File{"main.wgsl", text_of(data, size)},
                         wgsl::File{"lib/x.wgsl", "#let X = A + 1\nlet y = {{X}};\n"}};
  const auto expanded =
      wgsl::expand(files, "main.wgsl", {{"A", std::int64_t{4}}, {"T", std::string("f32")}});
  if (!expanded) {
    require(expanded.error().code == ErrorCode::shader);
  } else {
    (void)wgsl::annotate(*expanded, ":2:1 error: something");
  }
  return 0;
}

std::vector<std::string> template_seeds() {
  return {"#let N = min(A, 3) * 2\n#for I in 0..N\nlet v{{I}} = {{T}}({{I * 2 % 3}});\n#endfor\n",
          "#if defined(A) && A > 2\n#include \"lib/x.wgsl\" with A=7 B=\"u32\"\n#elif T == "
          "\"f16\"\nx\n#else\n"
          "#error \"no {{T}}\"\n#endif\nlet z = {{A == 4 ? \"a\" + T : \"b\"}}; // {{not this}}\n"};
}

int caps_run(const std::uint8_t* data, std::size_t size) {
  Caps caps;
  caps.f16 = caps.subgroups = true;
  const auto masked = apply_caps_mask(caps, text_of(data, size));
  if (masked)
    require(masked->max_buffer <= caps.max_buffer && masked->max_binding <= caps.max_binding);
  return 0;
}

std::vector<std::string> caps_seeds() {
  return {"-f16,-subgroups,-subgroup-matrix", "binding=128M,buffer=1G,alignment=256",
          "-timestamps"};
}

void read_all(const onnx::GraphProto& graph) {
  for (const auto& tensor : graph.initializers) {
    const auto array = onnx::array_from(*tensor, nullptr);
    if (array && array->type != onnx::Type::string) {
      require(array->bytes.size() == array->size() * onnx::size_of(array->type));
    }
  }
  for (const onnx::Node& node : graph.nodes) {
    for (const onnx::Attribute& attribute : node.attributes) {
      if (attribute.g) read_all(*attribute.g);
    }
  }
}

int onnx_run(const std::uint8_t* data, std::size_t size) {
  const auto model = onnx::read_model(bytes_of(data, size));
  if (model) read_all(model->graph);
  if (const auto tensor = onnx::read_tensor(bytes_of(data, size))) {
    (void)onnx::array_from(*tensor, nullptr);
  }
  for (const char* kind : {"sequence", "optional"})
    (void)onnx::read_data(bytes_of(data, size), kind);
  return 0;
}

std::vector<std::string> onnx_seeds() {
  namespace b = test::onnx_bytes;
  const std::string branch =
      b::nodes({b::node("Neg", {"x"}, {"y"})}) + b::output(b::port("y", 1, {}));
  return {b::small_model(),
          b::model(b::nodes(
              {b::node("If", {"c"}, {"y"},
                       b::graph_attribute("then_branch", branch) + b::int_attribute("axis", -3))})),
          b::tensor("t", 22, {3}, "xy"), b::text(3, b::tensor("t", 7, {2}, b::longs({1, 2})))};
}

constexpr std::array table{
    Target{"gguf", gguf_run, gguf_seeds},
    Target{"checkpoint", checkpoint_run, checkpoint_seeds},
    Target{"safetensors", safetensors_run, safetensors_seeds},
    Target{"tokenizer", tokenizer_run, tokenizer_seeds},
    Target{"template", template_run, template_seeds},
    Target{"caps", caps_run, caps_seeds},
    Target{"onnx", onnx_run, onnx_seeds},
    Target{"models", models_run, models_seeds},
    Target{"programs", programs_run, program_seeds},
    Target{"expressions", expressions_run, program_seeds},
    Target{"c_calls", c_calls_run, c_calls_seeds},
};

}  // namespace

std::span<const Target> targets() { return table; }

}  // namespace weft::fuzz
