#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

/// The axes from the front, all where none are named, as reductions take them.
Dims all_or(std::string_view function, const Dims& axes, const Tensor& x, const Where& at) {
  need(function, "x", x, at);
  auto numbers = axes_in(function, axes, x.shape(), at);
  if (axes.empty()) {
    numbers.resize(x.shape().size());
    std::iota(numbers.begin(), numbers.end(), 0U);
  }
  return {numbers.begin(), numbers.end()};
}

std::uint64_t count_along(const Tensor& x, const Dims& axes) {
  std::uint64_t count = 1;
  for (const auto axis : axes) count *= x.shape()[static_cast<std::size_t>(axis)];
  return count;
}

/// Without the dimensions of extent 1 that a reduction left.
Tensor without(const Tensor& x, const Dims& axes, const Where& at) {
  return squeeze(In(x, at), {axes.begin(), axes.end()});
}

/// A reduction over no dimension at all does nothing.
Tensor reduced(std::string_view function, const Tensor& x, const Dims& axes, bool keep_dims,
               const Where& at) {
  if (axes.empty()) return x;
  return reduce(function, In(x, at), axes, keep_dims);
}

/// Floats to compute with: f32 for 16-bit types and integers.
Tensor wide(const Tensor& x, const Where& at) { return x.to(DType::f32, at); }

/// Back to the type of the input, where that is a float type.
Tensor narrow(const Tensor& y, const Tensor& x, const Where& at) {
  return is_float(x.dtype()) ? y.to(x.dtype(), at) : y;
}

Tensor variance(std::string_view function, In x, const Dims& axes, const VarOptions& options) {
  const Dims dims = all_or(function, axes, x.tensor, x.where);
  const Tensor values = wide(x.tensor, x.where);
  const auto count = static_cast<double>(count_along(values, dims));
  const Tensor center = reduced("mean", values, dims, true, x.where);
  const Tensor apart = values - In(center, x.where);
  const Tensor squares = apart * In(apart, x.where);
  const Tensor total = reduced("sum", squares, dims, options.keep_dims, x.where);
  const double left = std::max(count - options.correction, 0.0);
  if (left > 0) return In(total, x.where) * (1 / left);
  return In(total, x.where) * 0 + std::numeric_limits<double>::quiet_NaN();
}

/// How far integers lie apart, in f32: taken before they are rounded to that.
Tensor distance(const Tensor& a, const Tensor& b, const Where& at) {
  const Tensor left = a.to(DType::i64, at);
  const Tensor right = b.to(DType::i64, at);
  const Tensor apart = maximum(In(left, at), right) - In(minimum(In(left, at), right), at);
  const Tensor size = apart.to(DType::f32, at);
  // A distance past the range of i64 has gone round it.
  return where(In(less(In(size, at), 0), at), In(size, at) + 0x1p64, size);
}

}  // namespace

Tensor var(In x, const Dims& axes, const VarOptions& options) {
  return narrow(variance("var", x, axes, options), x.tensor, x.where);
}

Tensor std(In x, const Dims& axes, const VarOptions& options) {
  return narrow(sqrt(In(variance("std", x, axes, options), x.where)), x.tensor, x.where);
}

Tensor logsumexp(In x, const Dims& axes, bool keep_dims) {
  const Dims dims = all_or("logsumexp", axes, x.tensor, x.where);
  const Tensor values = wide(x.tensor, x.where);
  if (count_along(values, dims) == 0) {  // the logarithm of a sum of nothing
    const Tensor none = reduced("sum", values, dims, keep_dims, x.where);
    return narrow(In(none, x.where) - std::numeric_limits<double>::infinity(), x.tensor, x.where);
  }
  // Finite, so that infinite elements leave no difference of two infinities; constant, since it
  // cancels.
  constexpr double largest = std::numeric_limits<float>::max();
  const Tensor top = clamp(In(reduced("max", values.detach(x.where), dims, true, x.where), x.where),
                           -largest, largest);
  const Tensor shares = exp(In(values - In(top, x.where), x.where));
  const Tensor total = reduced("sum", shares, dims, true, x.where);
  const Tensor y = log(In(total, x.where)) + In(top, x.where);
  return narrow(keep_dims ? y : without(y, dims, x.where), x.tensor, x.where);
}

Tensor norm(In x, double p, const Dims& axes, bool keep_dims) {
  const Dims dims = all_or("norm", axes, x.tensor, x.where);
  if (std::isnan(p)) refuse("norm", x.where, "norm needs a number p; it is NaN.");
  const Tensor sizes = abs(In(wide(x.tensor, x.where), x.where));
  const auto finish = [&](const Tensor& y) { return narrow(y, x.tensor, x.where); };
  const bool nothing = count_along(sizes, dims) == 0;
  if (std::isinf(p) && !(nothing && p > 0)) {
    return finish(reduced(p > 0 ? "max" : "min", sizes, dims, keep_dims, x.where));
  }
  if (p == 1 || nothing) {
    return finish(reduced("sum", sizes, dims, keep_dims, x.where));
  }
  const Tensor zero = x.tensor.device().full({}, 0, DType::f32, x.where);
  const Tensor one = x.tensor.device().full({}, 1, DType::f32, x.where);
  if (p == 0) {
    const Tensor there = where(In(not_equal(In(sizes, x.where), zero), x.where), one, zero);
    return finish(reduced("sum", there, dims, keep_dims, x.where));
  }
  // Everything divided by the largest, so that no power is too large or too small; it cancels, so
  // that no gradient flows through it. Where all are 0 it is 1, and the root is that of 1 until it
  // is left out; where it is infinite or NaN it is 1 too, so that the sum is what it is.
  const Tensor top = reduced("max", sizes.detach(x.where), dims, true, x.where);
  const Tensor divides =
      logical_and(In(greater(In(top, x.where), zero), x.where), isfinite(In(top, x.where)));
  const Tensor scale = where(In(divides, x.where), top, one);
  const Tensor shares = sizes / In(scale, x.where);
  const Tensor powers =
      p == 2 ? shares * In(shares, x.where)
             : pow(In(shares, x.where), x.tensor.device().full({}, p, DType::f32, x.where));
  const Tensor total = reduced("sum", powers, dims, true, x.where);
  const Tensor some = not_equal(In(total, x.where), zero);
  const Tensor safe = where(In(some, x.where), total, one);
  const Tensor root =
      p == 2 ? sqrt(In(safe, x.where))
             : pow(In(safe, x.where), x.tensor.device().full({}, 1 / p, DType::f32, x.where));
  const Tensor y = where(In(some, x.where), root * In(scale, x.where), zero);
  return finish(keep_dims ? y : without(y, dims, x.where));
}

Tensor count_nonzero(In x, const Dims& axes, bool keep_dims) {
  const Dims dims = all_or("count_nonzero", axes, x.tensor, x.where);
  const Tensor zero = x.tensor.device().full({}, 0, x.tensor.dtype(), x.where);
  const Tensor there = not_equal(In(x.tensor, x.where), zero).to(DType::i32, x.where);
  return reduced("sum", there, dims, keep_dims, x.where);
}

Tensor cov(In x, double correction) {
  const Shape& shape = x.tensor.shape();
  if (shape.empty() || shape.size() > 2) {
    refuse("cov", x.where,
           formatted("cov needs [variables, observations]; it was given {}.", describe(x.tensor)));
  }
  const Shape rows = shape.size() == 2 ? shape : Shape{1, shape[0]};
  const Tensor values = wide(x.tensor, x.where).reshape(rows, x.where);
  const Tensor centered = values - In(reduce("mean", In(values, x.where), {1}, true), x.where);
  const double left = std::max(static_cast<double>(rows[1]) - correction, 0.0);
  const Tensor y = matmul(In(centered, x.where), centered.transpose(x.where)) * (1 / left);
  return narrow(shape.size() == 2 ? y : y.reshape({}, x.where), x.tensor, x.where);
}

Tensor clip(In x, std::optional<double> low, std::optional<double> high) {
  // As in numpy: where the limits lie the wrong way round the upper one counts, and NaN as a limit
  // leaves nothing else.
  if ((low && std::isnan(*low)) || (high && std::isnan(*high))) {
    const Tensor values = is_float(x.tensor.dtype()) ? x.tensor : wide(x.tensor, x.where);
    return In(values, x.where) * 0 + std::numeric_limits<double>::quiet_NaN();
  }
  // Limits that are infinite are those of an integer type.
  constexpr double most = std::numeric_limits<double>::infinity();
  const double least_value = low.value_or(-most);
  const double most_value = high.value_or(most);
  const auto has_fraction = [](double limit) { return limit != std::trunc(limit); };
  if (!is_float(x.tensor.dtype()) && (has_fraction(least_value) || has_fraction(most_value))) {
    return clamp(In(wide(x.tensor, x.where), x.where), least_value, most_value);
  }
  return clamp(x, least_value, most_value);
}

Tensor isclose(In a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const graph::Called called("isclose", a.where);
  need("isclose", "a", a.tensor, a.where);
  need("isclose", "b", b, a.where);
  const auto at = [&](const Tensor& t) { return In(t, a.where); };
  const Tensor left = wide(a.tensor, a.where);
  const Tensor right = wide(b, a.where);
  const bool whole = !is_float(promote(a.tensor.dtype(), b.dtype()));
  const Tensor apart = whole ? distance(a.tensor, b, a.where) : left - at(right);
  const Tensor size = abs(at(right));
  const Tensor allowed = at(at(size) * rtol) + atol;
  const Tensor near = less_equal(at(abs(at(apart))), allowed);
  // What is infinite is close to nothing but itself.
  const Tensor largest =
      left.device().full({}, std::numeric_limits<float>::max(), DType::f32, a.where);
  const Tensor finite = less_equal(at(size), largest).broadcast_to(near.shape(), a.where);
  const Tensor both = where(at(near), finite, zeros_like(at(finite)));
  const Tensor same = whole ? equal(a, b) : equal(at(left), right);
  Tensor close = where(at(same), ones_like(at(finite)), both);
  if (!equal_nan) return close;
  return logical_or(at(close), logical_and(at(isnan(at(left))), isnan(at(right))));
}

bool allclose(In a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const Tensor close = isclose(a, b, rtol, atol, equal_nan);
  return static_cast<std::uint64_t>(count_nonzero(In(close, a.where)).item<std::int32_t>()) ==
         close.size();
}

}  // namespace weft
