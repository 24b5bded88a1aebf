#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "wgsl/template.hpp"

namespace weft::ops {

/// A named member of a Variant or Params struct; see `fields` in those structs.
template <class Owner, class T>
struct Field {
  std::string_view name;
  T Owner::* member;
};

template <class Owner, class T>
constexpr Field<Owner, T> field(std::string_view name, T Owner::* member) {
  return {name, member};
}

namespace detail {
struct Anything {
  template <class T>
  operator T() const;
};
/// The number of members of an aggregate without array members.
template <class T, class... Given>
consteval std::size_t member_count() {
  if constexpr (requires { T{std::declval<Given>()..., Anything{}}; }) {
    return member_count<T, Given..., Anything>();
  } else {
    return sizeof...(Given);
  }
}

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

/// The template constants of a Variant. A Variant lists every member in `fields`, and nothing but a Variant
/// reaches the renderer, so the text of a kernel cannot depend on anything that its cache key does not hold.
template <class Variant>
wgsl::Constants constants_of(const Variant& variant) {
  static_assert(detail::member_count<Variant>() == std::tuple_size_v<decltype(Variant::fields)>,
                "a member of the Variant is missing in its `fields`");
  wgsl::Constants out;
  std::apply(
      [&](const auto&... f) {
        (out.emplace(std::string(f.name), detail::to_value(variant.*(f.member))), ...);
      },
      Variant::fields);
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
};

/// The parameter block of a Params struct (members: u32, i32, f32 and std::arrays of them).
template <class Params>
ParamBlock block_of(const Params& params) {
  ParamBlock block;
  std::apply([&](const auto&... f) { (block.add(std::string(f.name), params.*(f.member)), ...); },
             Params::fields);
  constexpr std::size_t bytes = std::apply(
      [](const auto&... f) {
        return (std::size_t{0} + ... + sizeof(std::declval<const Params&>().*(f.member)));
      },
      Params::fields);
  static_assert(bytes == sizeof(Params), "a member of the Params is missing in its `fields`");
  return block;
}

}  // namespace weft::ops
