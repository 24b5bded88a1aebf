#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "base/members.hpp"
#include "wgsl/template.hpp"

namespace weft::ops {

namespace detail {
template <class T>
wgsl::Value to_value(const T& value) {
  if constexpr (std::same_as<T, DType>) {
    return std::string(name(value));
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name(value));
  } else {
    return static_cast<std::int64_t>(value);
  }
}
}  // namespace detail

/// The template constants of a Variant: its members, in capitals. Nothing but a Variant reaches the renderer, so the text of a
/// kernel cannot depend on anything that its cache key does not hold.
template <class Variant>
wgsl::Constants constants_of(const Variant& variant) {
  wgsl::Constants out;
  for_each_member(variant, [&](std::string_view name, const auto& value) {
    std::string constant(name);
    for (char& c : constant) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    out.emplace(std::move(constant), detail::to_value(value));
  });
  return out;
}

/// The WGSL scalar types that a Params member can have.
enum class ParamType : std::uint8_t { u32, i32, f32 };

/// One scalar of a parameter block as the shader sees it; array members are flattened to name_0, name_1, …
struct ParamField {
  std::string name;
  ParamType type = ParamType::u32;
  bool operator==(const ParamField&) const = default;
};

/// A parameter block: its layout and its words.
struct ParamBlock {
  std::vector<ParamField> fields;
  std::vector<std::uint32_t> words;

  void add(std::string name, std::uint32_t value) {
    fields.push_back({std::move(name), ParamType::u32});
    words.push_back(value);
  }
  void add(std::string name, std::int32_t value) {
    fields.push_back({std::move(name), ParamType::i32});
    words.push_back(static_cast<std::uint32_t>(value));
  }
  void add(std::string name, float value) {
    fields.push_back({std::move(name), ParamType::f32});
    words.push_back(std::bit_cast<std::uint32_t>(value));
  }
  template <class T, std::size_t N>
  void add(const std::string& name, const std::array<T, N>& values) {
    for (std::size_t i = 0; i < N; ++i) add(name + "_" + std::to_string(i), values[i]);
  }
  /// Those of a struct, by their own names.
  template <class T>
  void add_members(const T& of) {
    for_each_member(of, [&](std::string_view name, const auto& value) {
      if constexpr (requires { add(std::string(name), value); }) {
        add(std::string(name), value);
      } else {
        add_members(value);
      }
    });
  }
};

/// The parameter block of a Params struct (members: u32, i32, f32, std::arrays of them, and structs of these).
template <class Params>
ParamBlock block_of(const Params& params) {
  ParamBlock block;
  block.add_members(params);
  return block;
}

}  // namespace weft::ops
