#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/dtype.hpp"
#include "weft/error.hpp"

namespace weft {

class Device;
class Tensor;
struct TensorState;  // internal

/// Extents of a tensor, outermost dimension first.
using Shape = std::vector<std::uint64_t>;

/// The element type that holds values of a C++ type: float, std::int32_t, std::uint32_t, std::int64_t, std::int16_t,
/// std::int8_t or std::uint8_t.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, float>) {
    return DType::f32;
  } else if constexpr (std::same_as<T, std::int32_t>) {
    return DType::i32;
  } else if constexpr (std::same_as<T, std::uint32_t>) {
    return DType::u32;
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return DType::i64;
  } else if constexpr (std::same_as<T, std::int16_t>) {
    return DType::i16;
  } else if constexpr (std::same_as<T, std::int8_t>) {
    return DType::i8;
  } else {
    static_assert(std::same_as<T, std::uint8_t>, "no element type holds values of this C++ type");
    return DType::u8;
  }
}

/// An array on a device. A cheap handle: copies share the elements, and views (reshape, permute, slice, broadcast)
/// share them too. Every call that fails throws weft::Error.
class Tensor {
 public:
  Tensor() = default;

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const;
  /// The number of elements.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Device device() const;
  explicit operator bool() const { return state_ != nullptr; }

  /// The same elements with another shape of as many; copies only where strides make it necessary.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  /// Dimensions in another order: result dimension i is dimension order[i]. A view.
  [[nodiscard]] Tensor permute(const std::vector<std::uint32_t>& order) const;
  /// The last two dimensions swapped. A view.
  [[nodiscard]] Tensor transpose() const;
  /// Elements first … first + count - 1 of one dimension. A view.
  [[nodiscard]] Tensor slice(std::uint32_t dim, std::uint64_t first, std::uint64_t count) const;
  /// Extents of 1 and missing leading dimensions repeated to a larger shape. A view.
  [[nodiscard]] Tensor broadcast_to(const Shape& shape) const;
  /// The values as another element type.
  [[nodiscard]] Tensor to(DType dtype) const;

  /// The elements in row-major order; T must be the C++ type of dtype(), or float for f16 and bf16. Waits.
  template <class T = float>
  [[nodiscard]] std::vector<T> to_vector() const {
    const Tensor source = is_float(dtype()) && std::same_as<T, float> ? to(DType::f32) : *this;
    std::vector<T> values(size());
    source.read(dtype_of<T>(), std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// The value of a tensor with one element. Waits.
  template <class T = float>
  [[nodiscard]] T item() const {
    if (size() != 1) {
      throw Error(
          ErrorCode::invalid_argument,
          "item() needs a tensor with one element; this one has " + std::to_string(size()) + ".");
    }
    return to_vector<T>().front();
  }
  /// "f32[2,3] [[1, 2, 3], [4, 5, 6]]", shortened where it is long. Waits.
  [[nodiscard]] std::string to_string() const;

 private:
  friend struct Access;
  void read(DType as, std::span<std::byte> bytes) const;
  std::shared_ptr<const TensorState> state_;
};

}  // namespace weft
