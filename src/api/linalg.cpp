#include "weft/linalg.hpp"

#include <string_view>

#include "api/arguments.hpp"
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
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] ||
      a.tensor.dtype() != DType::f32) {
    refuse(function, a.where,
           formatted("{} needs square matrices […, n, n] of f32; it was given {}.", function,
                     describe(a.tensor)));
  }
  return shape.back();
}

}  // namespace

Tensor cholesky(In a) {
  if (side_of("cholesky", a) == 0) return a.tensor;
  return graph::make(graph::kinds::cholesky, {}, {a.tensor}, a.where);
}

Tensor solve(In a, const Tensor& b) {
  const std::uint64_t n = side_of("solve", a);
  need("solve", "b", b, a.where);
  const Shape& right = b.shape();
  if (right.size() < 2 || right[right.size() - 2] != n || b.dtype() != DType::f32) {
    refuse("solve", a.where,
           formatted("solve with {} needs b […, {}, k] of f32; it was given {}.",
                     describe(a.tensor), n, describe(b)));
  }
  return graph::make(graph::kinds::solve, {}, {a.tensor, b}, a.where);
}

Tensor inverse(In a) {
  const std::uint64_t n = side_of("inverse", a);
  return solve(a, eye(a.tensor.device(), n, n, 0, DType::f32, a.where));
}

Tensor det(In a) {
  if (side_of("det", a) == 0) {
    const Shape& shape = a.tensor.shape();
    return a.tensor.device().full(Shape(shape.begin(), shape.end() - 2), 1, DType::f32, a.where);
  }
  return graph::make(graph::kinds::det, {}, {a.tensor}, a.where);
}

}  // namespace weft
