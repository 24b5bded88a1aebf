#include "weft/linalg.hpp"

#include <string_view>

#include "api/arguments.hpp"
#include "api/wide.hpp"
#include "base/format.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"

namespace weft {
namespace {

std::uint64_t side_of(std::string_view function, In a) {
  need(function, "a", a.tensor, a.where);
  const Shape& shape = a.tensor.shape();
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] || !is_float(a.tensor.dtype())) {
    refuse(function, a.where,
           formatted("{} needs square matrices […, n, n] of floats; it was given {}.", function,
                     describe(a.tensor)));
  }
  return shape.back();
}

}  // namespace

Tensor cholesky(In a) {
  if (side_of("cholesky", a) == 0) return a.tensor;
  return in_f32(a,
                [](In x) { return graph::make(graph::kinds::cholesky, {}, {x.tensor}, x.where); });
}

Tensor solve(In a, const Tensor& b) {
  const std::uint64_t n = side_of("solve", a);
  need("solve", "b", b, a.where);
  const Shape& right = b.shape();
  if (right.size() < 2 || right[right.size() - 2] != n || b.dtype() != a.tensor.dtype()) {
    refuse("solve", a.where,
           formatted("solve with {} needs b […, {}, k] of its type; it was given {}.",
                     describe(a.tensor), n, describe(b)));
  }
  return in_f32(a, [&](In x) {
    return graph::make(graph::kinds::solve, {}, {x.tensor, b.to(DType::f32, x.where)}, x.where);
  });
}

Tensor inverse(In a) {
  const std::uint64_t n = side_of("inverse", a);
  return solve(a, eye(a.tensor.device(), n, n, 0, a.tensor.dtype(), a.where));
}

namespace {

/// A number for each matrix.
Tensor for_each(In a, double value) {
  const Shape& shape = a.tensor.shape();
  return a.tensor.device().full(Shape(shape.begin(), shape.end() - 2), value, a.tensor.dtype(),
                                a.where);
}

}  // namespace

Tensor det(In a) {
  if (side_of("det", a) == 0) return for_each(a, 1);
  return in_f32(a, [](In x) {
    return Access::tensor({graph::make_node(graph::kinds::det, {}, {x.tensor}, x.where), 0});
  });
}

Slogdet slogdet(In a) {
  if (side_of("slogdet", a) == 0) return {for_each(a, 1), for_each(a, 0)};
  const DType type = a.tensor.dtype();
  const auto node =
      graph::make_node(graph::kinds::det, {}, {a.tensor.to(DType::f32, a.where)}, a.where);
  return {Access::tensor({node, 1}).to(type, a.where), Access::tensor({node, 2}).to(type, a.where)};
}

}  // namespace weft
