#include "weft/activations.hpp"

#include <cmath>
#include <string_view>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "graph/node.hpp"

namespace weft {
namespace {

/// x in f32, so that nothing is rounded to 16 bits on the way, and what brings the result back.
struct Wide {
  Wide(std::string_view function, In x) : called(function, x.where), place(x.where) {
    need(function, "x", x.tensor, x.where);
    dtype = is_float(x.tensor.dtype()) ? x.tensor.dtype() : DType::f32;
    value = x.tensor.to(DType::f32, x.where);
  }

  [[nodiscard]] In at(const Tensor& t) const { return {t, place}; }
  [[nodiscard]] In x() const { return at(value); }
  [[nodiscard]] Tensor finish(const Tensor& y) const { return y.to(dtype, place); }

  graph::Called called;
  Where place;
  DType dtype = DType::f32;
  Tensor value;
};

void need_at_least_zero(std::string_view function, double limit, const Where& where) {
  if (limit >= 0) return;
  refuse(function, where,
         formatted("{} needs a limit that is not below 0; it is {}.", function, limit));
}

}  // namespace

Tensor relu6(In x) {
  const graph::Called called("relu6", x.where);
  return clamp(x, 0, 6);
}

Tensor hardtanh(In x, double low, double high) {
  const graph::Called called("hardtanh", x.where);
  if (!(low <= high)) {
    refuse("hardtanh", x.where,
           formatted("hardtanh needs limits with low <= high; they are {} and {}.", low, high));
  }
  return clamp(x, low, high);
}

Tensor selu(In x) {
  const Wide w("selu", x);
  return w.finish(w.at(elu(w.x(), 1.6732632423543772)) * 1.0507009873554805);
}

Tensor celu(In x, double alpha) {
  const Wide w("celu", x);
  if (!(alpha > 0) || !std::isfinite(alpha)) {
    refuse("celu", x.where, formatted("celu needs an alpha above 0; it is {}.", alpha));
  }
  const Tensor below = w.at(expm1(w.at(w.at(minimum(w.x(), 0)) / alpha))) * alpha;
  return w.finish(where(w.at(greater(w.x(), 0)), w.value, below));
}

Tensor prelu(In x, const Tensor& weight) {
  const graph::Called called("prelu", x.where);
  need("prelu", "x", x.tensor, x.where);
  need("prelu", "its weight", weight, x.where);
  const auto shape = graph::broadcast(x.tensor.shape(), weight.shape());
  if (!shape || *shape != x.tensor.shape()) {
    refuse("prelu", x.where,
           formatted("prelu of {} needs a weight that broadcasts to its shape; it is {}.",
                     describe(x.tensor), describe(weight)));
  }
  const Tensor below = weight * x;
  return where(In(greater(x, 0), x.where), x.tensor, below);
}

Tensor softsign(In x) {
  const Wide w("softsign", x);
  return w.finish(w.value / w.at(w.at(abs(w.x())) + 1));
}

Tensor softshrink(In x, double limit) {
  const Wide w("softshrink", x);
  need_at_least_zero("softshrink", limit, x.where);
  const Tensor nearer = w.value - w.at(clamp(w.x(), -limit, limit));
  // Infinity less the limit is infinity, and NaN stays what it is.
  return w.finish(nearer);
}

Tensor hardshrink(In x, double limit) {
  const Wide w("hardshrink", x);
  need_at_least_zero("hardshrink", limit, x.where);
  return w.finish(where(w.at(less_equal(w.at(abs(w.x())), limit)), 0, w.value));
}

Tensor log_sigmoid(In x) {
  const Wide w("log_sigmoid", x);
  return w.finish(-w.at(softplus(w.at(-w.x()))));
}

Tensor glu(In x, int axis) {
  const Wide w("glu", x);
  const std::uint32_t at = axis_in("glu", axis, x.tensor.shape(), x.where);
  const std::uint64_t extent = x.tensor.shape()[at];
  if (extent % 2 != 0) {
    refuse("glu", x.where,
           formatted("glu needs two halves along axis {} of {}; the extent there is {}.", axis,
                     describe(x.tensor), extent));
  }
  const auto number = static_cast<int>(at);
  const auto half = static_cast<std::int64_t>(extent / 2);
  const Tensor values = w.value.slice(number, 0, extent / 2, 1, x.where);
  const Tensor gates = w.value.slice(number, extent == 0 ? 0 : half, extent / 2, 1, x.where);
  return w.finish(values * w.at(sigmoid(w.at(gates))));
}

}  // namespace weft
