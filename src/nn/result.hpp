#pragma once

#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace weft::nn {

/// The value of a result, or its failure thrown as weft::Error: this layer stands on the public
/// API, which throws.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Error(result.error().code, result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace weft::nn
