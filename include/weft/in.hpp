#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/tensor.hpp"

namespace weft {

/// A tensor as an argument, together with the line on which it was passed: errors name that line.
struct In {
  In(const Tensor& value, Where place = Where::current())  // NOLINT: made where a tensor is passed
      : tensor(value), where(place) {}
  const Tensor& tensor;
  Where where;
};

/// The other argument of an elementwise function: a tensor, or a number, which takes the type of
/// the tensors beside it where that can hold it (docs/types.md).
struct Operand {
  enum class Kind : std::uint8_t { tensor, boolean, whole, real };

  Operand(const Tensor& value) : kind(Kind::tensor), tensor(&value) {}  // NOLINT
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value)  // NOLINT: meant to be written as it is
      : kind(std::is_same_v<T, bool> ? Kind::boolean
             : std::is_integral_v<T> ? Kind::whole
                                     : Kind::real),
        number(static_cast<double>(value)) {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof whole) {
      if (value <= static_cast<std::uint64_t>(INT64_MAX)) whole = static_cast<std::int64_t>(value);
    } else if constexpr (std::is_integral_v<T>) {
      whole = static_cast<std::int64_t>(value);
    }
  }

  Kind kind;
  const Tensor* tensor = nullptr;
  double number = 0;
  std::int64_t whole = 0;  ///< The same, where it is exact and `number` is not.
};

/// The booleans that a comparison gives. In an `if` they would mean nothing, since it is not said
/// which element decides: all(a == b).item<bool>() and any(…) say it.
class Comparison : public Tensor {
 public:
  explicit Comparison(Tensor booleans) : Tensor(std::move(booleans)) {}
  explicit operator bool() const = delete;
};

}  // namespace weft
