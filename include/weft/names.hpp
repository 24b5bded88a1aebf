#pragma once

#include <cstdint>
#include <vector>

#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft {

// What numpy, PyTorch and MLX have besides, and what they call functions that have a shorter name
// here.

/// Booleans: whether x is infinity, or minus infinity.
Tensor isposinf(In x);
Tensor isneginf(In x);
/// Booleans: whether the sign is a minus, that of -0 too; of NaN it is none.
Tensor signbit(In x);
/// The size of x with the sign of another number, that of -0 too.
Tensor copysign(In x, const Tensor& sign);
/// sqrt(a² + b²), without overflow on the way.
Tensor hypot(In a, const Tensor& b);
/// Angles in degrees of those in radians, and the other way round.
Tensor rad2deg(In x);
Tensor deg2rad(In x);

/// A matrix with a vector on a diagonal (0 the main one, 1 the one above it) and 0 elsewhere, or
/// the diagonal of a matrix as a vector.
Tensor diag(In x, std::int64_t offset = 0);
/// Differences of neighbours along an axis, `count` times; of booleans, whether they differ.
Tensor diff(In x, std::uint64_t count = 1, int axis = -1);
/// `x` with at least so many dimensions, as numpy has it: extents of 1 in front, but for the third
/// one of a matrix (or vector), which is the last. Views.
Tensor atleast_1d(In x);
Tensor atleast_2d(In x);
Tensor atleast_3d(In x);
/// All repeated to the shape that they have together. Views.
std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& tensors,
                                     Where where = Where::current());
/// `x` moved by as many places along each of some axes; what leaves at one end comes in at the
/// other.
Tensor roll(In x, const std::vector<std::int64_t>& places, const Dims& axes);

/// Whether two tensors have one shape and the same elements; with `equal_nan`, NaN is the same as
/// NaN. Waits.
[[nodiscard]] bool array_equal(In a, const Tensor& b, bool equal_nan = false);

// Other names.

inline Tensor subtract(In a, const Operand& b) { return sub(a, b); }
inline Tensor subtract(double a, In b) { return sub(a, b); }
inline Tensor multiply(In a, const Operand& b) { return mul(a, b); }
inline Tensor multiply(double a, In b) { return mul(a, b); }
inline Tensor divide(In a, const Operand& b) { return div(a, b); }
inline Tensor divide(double a, In b) { return div(a, b); }
inline Tensor power(In x, const Operand& exponent) { return pow(x, exponent); }
inline Tensor power(double x, In exponent) { return pow(x, exponent); }
inline Tensor negative(In x) { return neg(x); }
inline Tensor absolute(In x) { return abs(x); }
inline Tensor arcsin(In x) { return asin(x); }
inline Tensor arccos(In x) { return acos(x); }
inline Tensor arctan(In x) { return atan(x); }
inline Tensor arcsinh(In x) { return asinh(x); }
inline Tensor arccosh(In x) { return acosh(x); }
inline Tensor arctanh(In x) { return atanh(x); }
inline Tensor arctan2(In a, const Operand& b) { return atan2(a, b); }
inline Tensor degrees(In x) { return rad2deg(x); }
inline Tensor radians(In x) { return deg2rad(x); }
inline Tensor bitwise_invert(In x) { return bitwise_not(x); }
inline Tensor concatenate(const std::vector<Tensor>& tensors, int axis = 0,
                          Where where = Where::current()) {
  return concat(tensors, axis, where);
}
inline Tensor moveaxis(In x, int from, int to) { return movedim(x, from, to); }
inline Tensor moveaxis(In x, const Dims& from, const Dims& to) { return movedim(x, from, to); }
inline Tensor permute_dims(In x, const Dims& order) { return x.tensor.permute(order, x.where); }
inline Tensor take_along_axis(In x, const Tensor& indices, int axis) {
  return take_along(x, indices, axis);
}

}  // namespace weft
