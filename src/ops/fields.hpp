#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.hpp"
#include "base/members.hpp"
#include "wgsl/template.hpp"

namespace weft::ops {

namespace detail {

using ReadConstant = wgsl::Value (*)(const void* member);

struct ConstantReader {
  template <class M>
  static wgsl::Value read(const void* member) {
    const M& value = *static_cast<const M*>(member);
    if constexpr (std::same_as<M, DType>) {
      return std::string(name(value));
    } else if constexpr (std::convertible_to<M, std::string_view>) {
      return std::string(std::string_view(value));
    } else if constexpr (std::is_enum_v<M>) {
      return std::string(name(value));
    } else {
      return static_cast<std::int64_t>(value);
    }
  }
};

wgsl::Constants read_constants(const void* object, std::span<const Member<ReadConstant>> members);

}  // namespace detail

/// The template constants of a Variant: its members, in capitals. Nothing but a Variant reaches the
/// renderer, so the text of a kernel cannot depend on anything that its cache key does not hold.
template <class Variant>
wgsl::Constants constants_of(const Variant& variant) {
  return detail::read_constants(&variant,
                                members_of<Variant, detail::ReadConstant, detail::ConstantReader>);
}

/// The WGSL scalar types that a Params member can have.
enum class ParamType : std::uint8_t { u32, i32, f32 };

/// One scalar of a parameter block as the shader sees it; array members are flattened to name_0,
/// name_1, …
struct ParamField {
  std::string name;
  ParamType type = ParamType::u32;
  bool operator==(const ParamField&) const = default;
};

/// A parameter block: its layout and its words.
struct ParamBlock {
  std::vector<ParamField> fields;
  std::vector<std::uint32_t> words;

  void add(std::string name, std::uint32_t value);
  void add(std::string name, std::int32_t value);
  void add(std::string name, float value);
  template <class T, std::size_t N>
  void add(const std::string& name, const std::array<T, N>& values) {
    for (std::size_t i = 0; i < N; ++i) add(name + "_" + std::to_string(i), values[i]);
  }
  /// Those of a struct, by their own names.
  template <class T>
  void add_members(const T& of);
};

namespace detail {

using AddParam = void (*)(ParamBlock& block, std::string_view name, const void* member);

struct ParamReader {
  template <class M>
  static void read(ParamBlock& block, std::string_view name, const void* member) {
    const M& value = *static_cast<const M*>(member);
    if constexpr (requires { block.add(std::string(name), value); }) {
      block.add(std::string(name), value);
    } else {
      block.add_members(value);
    }
  }
};

void add_params(ParamBlock& block, const void* object, std::span<const Member<AddParam>> members);

}  // namespace detail

template <class T>
void ParamBlock::add_members(const T& of) {
  detail::add_params(*this, &of, members_of<T, detail::AddParam, detail::ParamReader>);
}

/// The parameter block of a Params struct (members: u32, i32, f32, std::arrays of them, and structs
/// of these).
template <class Params>
ParamBlock block_of(const Params& params) {
  ParamBlock block;
  block.add_members(params);
  return block;
}

}  // namespace weft::ops
