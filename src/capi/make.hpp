#pragma once

#include <string_view>
#include <vector>

#include "capi/tensors.hpp"

namespace weft::capi {

/// Runs an entry point that makes one tensor from another.
template <class Body>
weft_status make(std::string_view function, weft_tensor* y, weft_tensor x,
                 std::string_view argument, const Body& body) noexcept {
  return call(function, [&] {
    weft_tensor& out = result(y, "y");
    const Tensor from = tensor_of(x, argument);
    const auto lock = lock_values(from);
    out = put(TensorObject{body(from)});
  });
}

/// The same for several.
template <class Body>
weft_status make(std::string_view function, weft_tensor* y, const weft_tensor* inputs,
                 std::uint32_t count, std::string_view argument, const Body& body) noexcept {
  return call(function, [&] {
    weft_tensor& out = result(y, "y");
    const std::vector<Tensor> from = tensors_of(inputs, count, argument);
    if (from.empty()) raise(ErrorCode::invalid_argument, "`{}` has no tensors.", argument);
    const auto lock = lock_values(from.front());
    out = put(TensorObject{body(from)});
  });
}

inline std::vector<std::uint32_t> dims_of(const std::uint32_t* dims, std::uint32_t count,
                                          std::string_view argument) {
  if (count > ops::max_rank) {
    raise(ErrorCode::invalid_argument, "`{}` has {} dimensions; at most {} are possible.", argument,
          count, ops::max_rank);
  }
  if (count == 0) return {};
  required(dims, argument);
  return {dims, dims + count};
}

/// A count, an extent or a step that must not be negative.
inline std::uint64_t positive(std::int64_t value, std::string_view argument) {
  if (value < 0) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it cannot be negative.", argument, value);
  }
  return static_cast<std::uint64_t>(value);
}

/// An option whose numbers are 0 to `last`.
template <class To, class From>
To choice(From value, int last, std::string_view argument) {
  const auto number = static_cast<int>(value);
  if (number < 0 || number > last) {
    raise(ErrorCode::invalid_argument, "`{}` is {}; it must be one of 0 to {}.", argument, number,
          last);
  }
  return static_cast<To>(number);
}

}  // namespace weft::capi
