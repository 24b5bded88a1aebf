#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/dtype.hpp"
#include "weft/error.hpp"
#include "weft/index.hpp"

namespace weft {

class Device;
class Tensor;
struct Node;  // internal

/// Extents of a tensor, outermost dimension first.
using Shape = std::vector<std::uint64_t>;

/// A place in the user's source, for messages; functions take the place of their call by default.
using Where = std::source_location;

/// The element type that holds values of a C++ type: float, std::int32_t, std::uint32_t,
/// std::int64_t, std::int16_t, std::int8_t, std::uint8_t or bool.
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
  } else if constexpr (std::same_as<T, bool>) {
    return DType::boolean;
  } else {
    static_assert(std::same_as<T, std::uint8_t>, "no element type holds values of this C++ type");
    return DType::u8;
  }
}

/// An array on a device, or an expression that will be one: operations are noted down, and run when
/// a value is asked for. A cheap handle: copies mean the same tensor. Every call that fails throws
/// weft::Error.
class Tensor {
 public:
  Tensor() = default;

  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const;
  /// The number of elements.
  [[nodiscard]] std::uint64_t size() const;
  /// Steps in elements between neighbours along each dimension, as the tensor lies in memory; 0
  /// where it repeats. Computes it.
  [[nodiscard]] Shape strides() const;
  [[nodiscard]] Device device() const;
  explicit operator bool() const { return node_ != nullptr; }
  /// Whether both handles mean one tensor; the elements are not looked at.
  [[nodiscard]] bool is(const Tensor& other) const {
    return node_ == other.node_ && output_ == other.output_;
  }

  /// The same elements with another shape of as many; one extent may be -1 and follows from the
  /// others. Copies only where strides make it necessary.
  [[nodiscard]] Tensor reshape(const Extents& extents, Where where = Where::current()) const;
  /// Dimensions in another order: result dimension i is dimension order[i]. A view.
  [[nodiscard]] Tensor permute(const Dims& order, Where where = Where::current()) const;
  /// The last two dimensions swapped. A view.
  [[nodiscard]] Tensor transpose(Where where = Where::current()) const;
  /// Elements first, first + step, … (count of them) along an axis. A negative axis, and a negative
  /// first element, count from the end. A view.
  [[nodiscard]] Tensor slice(int axis, std::int64_t first, std::uint64_t count,
                             std::uint64_t step = 1, Where where = Where::current()) const;
  /// Places and slices of the leading dimensions, as x[0, 1:5:2, …] in Python:
  /// x.at(0, Slice{1, 5, 2}, Ellipsis). A place takes its dimension away; a view where strides
  /// allow it.
  template <class... Indices>
    requires(sizeof...(Indices) > 0 && (std::convertible_to<Indices, Index> && ...))
  [[nodiscard]] Tensor at(const Indices&... indices) const {
    const std::array<Index, sizeof...(Indices)> list{Index(indices)...};
    return at(std::span<const Index>(list));
  }
  [[nodiscard]] Tensor at(std::span<const Index> indices, Where where = Where::current()) const;
  /// Extents of 1 and missing leading dimensions repeated to a larger shape. A view.
  [[nodiscard]] Tensor broadcast_to(const Shape& shape, Where where = Where::current()) const;
  /// The values as another element type.
  [[nodiscard]] Tensor to(DType dtype, Where where = Where::current()) const;
  /// The same values, through which no gradient flows.
  [[nodiscard]] Tensor detach(Where where = Where::current()) const;

  /// Computes the tensor now, without waiting for the device.
  void eval() const;

  /// The elements in row-major order; T must be the C++ type of dtype(), std::uint8_t for booleans
  /// (0 and 1), or float for f16, bf16, booleans and quantized types. Waits.
  template <class T = float>
  [[nodiscard]] std::vector<T> to_vector() const {
    static_assert(!std::same_as<T, bool>,
                  "std::vector<bool> is packed: read booleans as std::uint8_t");
    std::vector<T> values;
    try {
      values.resize(size());
    } catch (const std::exception&) {  // too long, or no memory
      throw Error(ErrorCode::out_of_memory,
                  "There is no memory on the host for " + std::to_string(size()) + " elements.");
    }
    const bool widen = std::same_as<T, float> &&
                       (is_float(dtype()) || is_quantized(dtype()) || dtype() == DType::boolean);
    (widen ? to(DType::f32) : *this).read(dtype_of<T>(), std::as_writable_bytes(std::span(values)));
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
    if constexpr (std::same_as<T, bool>) {
      return to(DType::boolean).template to_vector<std::uint8_t>().front() != 0;
    } else {
      return to_vector<T>().front();
    }
  }
  /// "f32[2,3] [[1, 2, 3], [4, 5, 6]]", shortened where it is long. Waits.
  [[nodiscard]] std::string to_string() const;

 private:
  friend struct Access;
  void read(DType as, std::span<std::byte> bytes) const;
  std::shared_ptr<Node> node_;
  std::uint32_t output_ = 0;
};

/// What to_string() says. Waits.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace weft
