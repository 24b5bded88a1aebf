#include "describe/attributes/solve.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/triangle/triangle.hpp"

namespace weft::graph::kinds {
namespace {

// solve: a triangular A […, n, n], B […, n, k] → X with A · X = B

Result<std::vector<Type>> infer_solve(const Signature& s) {
  const Type& a = s.inputs[0];
  const Type& b = s.inputs[1];
  const bool fits = a.dtype == DType::f32 && b.dtype == DType::f32 && a.rank() >= 2 &&
                    b.rank() >= 2 && a.shape.back() == a.shape[a.rank() - 2] &&
                    a.shape.back() == b.shape[b.rank() - 2];
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "Solving A · X = B needs f32 matrices [..., n, n] and [..., n, k]; it was given {} "
                "and {}.",
                describe(a), describe(b));
  }
  auto shape = graph::broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                Shape(b.shape.begin(), b.shape.end() - 2));
  if (!shape) return wrap(shape.error(), "matching the batches of two sets of matrices");
  shape->insert(shape->end(), b.shape.end() - 2, b.shape.end());
  return one(DType::f32, *shape);
}

Result<ops::Plan> lower_solve(const LowerArgs& l) {
  return ops::triangle::plan({.a = l.inputs[0],
                              .b = l.inputs[1],
                              .x = l.outputs[0],
                              .upper = as<SolveAttributes>(l.attributes).upper},
                             l.caps);
}

/// dB = Aᵀ \ dX, and dA = -dB · Xᵀ on the side of A that counts.
std::vector<Tensor> gradient_solve(const GradientArgs& g) {
  const bool upper = as<SolveAttributes>(g.attributes).upper;
  const Tensor db = weft::solve_triangular(g.inputs[0].transpose(), g.dy[0], !upper);
  std::vector<Tensor> out(2);
  if (g.wanted[0]) {
    const Tensor da = sum_to(weft::matmul(db, g.outputs[0].transpose()), g.inputs[0].shape());
    out[0] = -(upper ? weft::triu(da) : weft::tril(da));
  }
  if (g.wanted[1]) out[1] = sum_to(db, g.inputs[1].shape());
  return out;
}

}  // namespace

const Rule solve_triangular{.name = "solve_triangular",
                            .infer = infer_solve,
                            .lower = lower_solve,
                            .gradient = gradient_solve};

}  // namespace weft::graph::kinds
