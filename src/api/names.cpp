#include "weft/names.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "graph/node.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"

namespace weft {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Tensor isposinf(In x) {
  const graph::Called called("isposinf", x.where);
  need("isposinf", "x", x.tensor, x.where);
  return equal(x, infinity);
}

Tensor isneginf(In x) {
  const graph::Called called("isneginf", x.where);
  need("isneginf", "x", x.tensor, x.where);
  return equal(x, -infinity);
}

Tensor signbit(In x) {
  const graph::Called called("signbit", x.where);
  need("signbit", "x", x.tensor, x.where);
  if (!is_float(x.tensor.dtype())) return less(x, 0);
  return less(In(atan2(x, -1.0), x.where), 0);  // the angle knows the sign of a zero
}

Tensor copysign(In x, const Tensor& sign) {
  const graph::Called called("copysign", x.where);
  need("copysign", "x", x.tensor, x.where);
  need("copysign", "its sign", sign, x.where);
  const DType both = promote(x.tensor.dtype(), sign.dtype());
  const Tensor size = abs(In(x.tensor.to(is_float(both) ? both : DType::f32, x.where), x.where));
  return where(In(signbit(In(sign, x.where)), x.where), -In(size, x.where), size);
}

Tensor hypot(In a, const Tensor& b) {
  const graph::Called called("hypot", a.where);
  need("hypot", "a", a.tensor, a.where);
  need("hypot", "b", b, a.where);
  const auto at = [&](const Tensor& t) { return In(t, a.where); };
  const DType both = promote(a.tensor.dtype(), b.dtype());
  const Tensor x = abs(at(a.tensor.to(DType::f32, a.where)));
  const Tensor y = abs(at(b.to(DType::f32, a.where)));
  // Both divided by the larger one, through which no gradient flows, since it cancels. Where both
  // are 0 it is 1, and where one is infinite the result is, whatever the other is.
  const Tensor large = maximum(at(x), y).detach(a.where);
  const Tensor nothing = equal(at(large), 0);
  const Tensor unit = where(at(nothing), 1, large);
  const Tensor u = x / at(unit);
  const Tensor v = y / at(unit);
  const Tensor squares = u * at(u) + at(v * at(v));
  const Tensor root = sqrt(at(where(at(nothing), 1, squares))) * at(unit);
  const Tensor endless = logical_or(at(isinf(at(x))), isinf(at(y)));
  const Tensor length = where(at(endless), infinity, where(at(nothing), 0, root));
  return length.to(is_float(both) ? both : DType::f32, a.where);
}

Tensor rad2deg(In x) {
  const graph::Called called("rad2deg", x.where);
  return x * (180 / std::numbers::pi);
}

Tensor deg2rad(In x) {
  const graph::Called called("deg2rad", x.where);
  return x * (std::numbers::pi / 180);
}

Tensor diag(In x, std::int64_t offset) {
  const graph::Called called("diag", x.where);
  need("diag", "x", x.tensor, x.where);
  const Shape& shape = x.tensor.shape();
  if (shape.size() == 2) return diagonal(x, offset);
  if (shape.size() != 1) {
    refuse("diag", x.where,
           formatted("diag needs a vector or a matrix; it was given {}.", describe(x.tensor)));
  }
  constexpr std::int64_t far = std::int64_t{1} << 31U;
  if (offset < -far || offset > far) {
    refuse("diag", x.where,
           formatted("diag of {} cannot have the offset {}.", describe(x.tensor), offset));
  }
  const std::uint64_t below = offset < 0 ? static_cast<std::uint64_t>(-offset) : 0;
  const std::uint64_t right = offset > 0 ? static_cast<std::uint64_t>(offset) : 0;
  const std::uint64_t side = shape[0] + below + right;
  const Tensor each = pad(x, {below}, {right}).reshape({side, 1}, x.where);
  const Device device = x.tensor.device();
  const Tensor there = eye(device, side, side, offset, DType::f32, x.where);
  const Tensor none = device.full({}, 0, x.tensor.dtype(), x.where);
  return where(In(there, x.where), each, none);
}

Tensor diff(In x, std::uint64_t count, int axis) {
  const graph::Called called("diff", x.where);
  need("diff", "x", x.tensor, x.where);
  const auto at = static_cast<int>(axis_in("diff", axis, x.tensor.shape(), x.where));
  Tensor y = x.tensor;
  for (; count > 0; --count) {
    const std::uint64_t left = y.shape()[static_cast<std::size_t>(at)];
    if (left == 0) break;
    const Tensor later = y.slice(at, left > 1 ? 1 : 0, left - 1, 1, x.where);
    const Tensor earlier = y.slice(at, 0, left - 1, 1, x.where);
    y = y.dtype() == DType::boolean ? Tensor(not_equal(In(later, x.where), earlier))
                                    : later - In(earlier, x.where);
  }
  return y;
}

Tensor atleast_1d(In x) {
  need("atleast_1d", "x", x.tensor, x.where);
  return x.tensor.shape().empty() ? x.tensor.reshape({1}, x.where) : x.tensor;
}

Tensor atleast_2d(In x) {
  need("atleast_2d", "x", x.tensor, x.where);
  const Shape& shape = x.tensor.shape();
  return shape.size() < 2 ? x.tensor.reshape({std::uint64_t{1}, x.tensor.size()}, x.where)
                          : x.tensor;
}

Tensor atleast_3d(In x) {
  need("atleast_3d", "x", x.tensor, x.where);
  const Shape& shape = x.tensor.shape();
  if (shape.size() > 2) return x.tensor;
  if (shape.size() == 2) return x.tensor.reshape({shape[0], shape[1], 1}, x.where);
  return x.tensor.reshape({std::uint64_t{1}, x.tensor.size(), std::uint64_t{1}}, x.where);
}

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& tensors, Where where) {
  Shape shape;
  for (const Tensor& tensor : tensors) {
    need("broadcast_arrays", "one of its tensors", tensor, where);
    const auto both = graph::broadcast(shape, tensor.shape());
    if (!both) {
      refuse("broadcast_arrays", where,
             formatted("broadcast_arrays needs shapes that broadcast; {} does not go with {}.",
                       ops::describe(tensor.shape()), ops::describe(shape)));
    }
    shape = *both;
  }
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.broadcast_to(shape, where));
  return out;
}

Tensor roll(In x, const std::vector<std::int64_t>& places, const Dims& axes) {
  const graph::Called called("roll", x.where);
  need("roll", "x", x.tensor, x.where);
  if (places.size() != axes.size()) {
    refuse(
        "roll", x.where,
        formatted("roll was given {} numbers of places and {} axes.", places.size(), axes.size()));
  }
  const Shape& shape = x.tensor.shape();
  std::vector<std::int64_t> all(shape.size(), 0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint32_t at = axis_in("roll", axes[i], shape, x.where);
    // An axis may come twice; whole turns are left out, so that the sum is a number too.
    const auto extent = static_cast<std::int64_t>(std::max<std::uint64_t>(shape[at], 1));
    all[at] = (all[at] + places[i] % extent) % extent;
  }
  return roll(x, all);
}

bool array_equal(In a, const Tensor& b, bool equal_nan) {
  const graph::Called called("array_equal", a.where);
  need("array_equal", "a", a.tensor, a.where);
  need("array_equal", "b", b, a.where);
  if (a.tensor.shape() != b.shape()) return false;
  Tensor same = equal(a, b);
  if (equal_nan) {
    const Tensor gaps = logical_and(In(isnan(a), a.where), isnan(In(b, a.where)));
    same = logical_or(In(same, a.where), gaps);
  }
  return all(In(same, a.where)).item<bool>();
}

}  // namespace weft
