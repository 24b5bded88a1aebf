#include "llm/checks.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <variant>

#include "base/format.hpp"
#include "formats/ggml_type.hpp"

namespace weft::llm {
namespace {

constexpr std::array<std::string_view, 9> cache_types{"f32",  "f16",  "bf16", "q8_0",  "q5_1",
                                                      "q5_0", "q4_1", "q4_0", "iq4_nl"};
/// Types that ggml's CPU backend multiplies nothing by: it would call a function that is not there.
constexpr std::array<std::string_view, 5> no_factors{"i8", "i16", "i32", "i64", "f64"};
/// Tables of experts, which are looked up and not multiplied.
constexpr std::string_view lookup_table = "ffn_gate_tid2eid";
/// What llama.cpp has room for.
constexpr std::int64_t most_layers = 512;

/// An integer of any type.
std::optional<std::int64_t> integer(const gguf::Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<std::int64_t> {
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::integral<T> && !std::same_as<T, bool>) {
          return std::in_range<std::int64_t>(held) ? static_cast<std::int64_t>(held) : INT64_MAX;
        }
        return std::nullopt;
      },
      value);
}

}  // namespace

Status check_cache_type(std::string_view type) {
  if (std::ranges::contains(cache_types, type)) return {};
  std::string known;
  for (const std::string_view name : cache_types)
    known += formatted("{}{}", known.empty() ? "" : ", ", name);
  return fail(ErrorCode::invalid_argument,
              "Keys and values cannot have the type {}; these are possible: {}.", type, known);
}

Status check_layers(const gguf::File& file) {
  const auto architecture = file.get<std::string>("general.architecture");
  if (!architecture) return std::unexpected(architecture.error());
  const std::string key = *architecture + ".block_count";
  const gguf::Value* value = gguf::find(file.metadata(), key);
  if (value == nullptr) return {};  // llama.cpp says what is missing.
  return check_layers(key, integer(*value));
}

Status check_types(const gguf::File& file) {
  for (const gguf::TensorView& tensor : file.tensors()) {
    const gguf::TypeInfo* type = gguf::find_type(tensor.type);
    if (type == nullptr || !std::ranges::contains(no_factors, type->name) ||
        tensor.shape.size() < 2 || tensor.name.contains(lookup_table)) {
      continue;
    }
    return fail(ErrorCode::invalid_argument,
                "The tensor \"{}\" has elements of type {}; matrices of models have floats or "
                "quantized ones.",
                tensor.name, type->name);
  }
  return {};
}

Status check_layers(const std::string& key, std::optional<std::int64_t> layers) {
  if (layers && *layers >= 1 && *layers <= most_layers) return {};
  return fail(ErrorCode::invalid_argument,
              "The model says that it has {} layers ('{}'); llama.cpp takes 1 to {}.",
              layers ? std::to_string(*layers) : "no number of", key, most_layers);
}

}  // namespace weft::llm
