#include "ops/gauss/gauss.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"
#include "weft/linalg.hpp"
#include "weft/math.hpp"
#include "weft/shape.hpp"

namespace weft::graph::kinds {
namespace {

bool is_square(const Type& t) {
  return t.given && t.dtype == DType::f32 && t.rank() >= 2 &&
         t.shape.back() == t.shape[t.rank() - 2];
}

// solve: A […, n, n], B […, n, k] → X with A · X = B

Result<std::vector<Type>> infer_solve(const Signature& s) {
  const Type& a = s.inputs[0];
  const Type& b = s.inputs[1];
  if (!is_square(a) || !b.given || b.dtype != DType::f32 || b.rank() < 2 ||
      b.shape[b.rank() - 2] != a.shape.back()) {
    return fail(ErrorCode::invalid_argument,
                "solve needs f32 matrices [..., n, n] and [..., n, k]; it was given {} and {}.",
                describe(a), describe(b));
  }
  auto shape = graph::broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                Shape(b.shape.begin(), b.shape.end() - 2));
  if (!shape) return wrap(shape.error(), "matching the batches of solve");
  shape->insert(shape->end(), b.shape.end() - 2, b.shape.end());
  return one(DType::f32, *shape);
}

Result<ops::Plan> lower_solve(const LowerArgs& l) {
  if (l.outputs[0].empty()) return ops::Plan{};
  return ops::gauss::plan({.a = l.inputs[0], .b = l.inputs[1], .x = l.outputs[0]}, l.caps);
}

/// dB = Aᵀ \ dX, and dA = -dB · Xᵀ.
std::vector<Tensor> gradient_solve(const GradientArgs& g) {
  const Tensor db = weft::solve(g.inputs[0].transpose(), g.dy[0]);
  std::vector<Tensor> out(2);
  if (g.wanted[0]) {
    out[0] = -sum_to(weft::matmul(db, g.outputs[0].transpose()), g.inputs[0].shape());
  }
  if (g.wanted[1]) out[1] = sum_to(db, g.inputs[1].shape());
  return out;
}

// det: A […, n, n] → its determinant […], the sign of that, and the logarithm of its size

Result<std::vector<Type>> infer_det(const Signature& s) {
  const Type& a = s.inputs[0];
  if (!is_square(a) || a.shape.back() == 0) {
    return fail(ErrorCode::invalid_argument, "det needs f32 matrices [..., n, n]; it was given {}.",
                describe(a));
  }
  return std::vector<Type>(3, {DType::f32, Shape(a.shape.begin(), a.shape.end() - 2)});
}

Result<ops::Plan> lower_det(const LowerArgs& l) {
  return ops::gauss::plan(
      {.a = l.inputs[0], .det = l.outputs[0], .sign = l.outputs[1], .log = l.outputs[2]}, l.caps);
}

/// What each element of A is multiplied by in det A: det A · A⁻ᵀ. Of up to three rows it is there
/// for matrices without an inverse, too.
Tensor cofactors(const Tensor& a, const Tensor& det) {
  const auto rank = a.shape().size();
  const std::uint64_t n = a.shape().back();
  if (n == 1) return weft::ones_like(a);
  if (n == 2) {
    const Tensor signs = a.device().tensor({2, 2}, std::vector<float>{1, -1, -1, 1});
    return weft::flip(a, {-2, -1}) * signs;
  }
  if (n == 3) {
    std::vector<std::int64_t> places(rank);
    places[rank - 2] = -1;
    const Tensor next = weft::roll(a, places);
    return weft::cross(next, weft::roll(next, places));
  }
  return weft::inverse(a).transpose() * det;
}

/// dA = d · det A · A⁻ᵀ, and that of the logarithm d · A⁻ᵀ.
std::vector<Tensor> gradient_det(const GradientArgs& g) {
  const Tensor& a = g.inputs[0];
  Shape shape = g.outputs[0].shape();
  shape.insert(shape.end(), {1, 1});
  Tensor out;  // none of the sign
  if (g.dy[0]) out = cofactors(a, g.outputs[0].reshape(shape)) * g.dy[0].reshape(shape);
  if (g.dy[2]) {
    const Tensor of_log = weft::inverse(a).transpose() * g.dy[2].reshape(shape);
    out = out ? out + of_log : of_log;
  }
  return {out};
}

// cholesky: A […, n, n] → L with L · Lᵀ = A

Result<std::vector<Type>> infer_cholesky(const Signature& s) {
  const Type& a = s.inputs[0];
  if (!is_square(a)) {
    return fail(ErrorCode::invalid_argument,
                "cholesky needs f32 matrices [..., n, n]; it was given {}.", describe(a));
  }
  return one(DType::f32, a.shape);
}

Result<ops::Plan> lower_cholesky(const LowerArgs& l) {
  return ops::gauss::plan(ops::gauss::CholeskyArgs{.a = l.inputs[0], .y = l.outputs[0]}, l.caps);
}

/// With P = tril(Lᵀ dL) and half of its diagonal: S = L⁻ᵀ P L⁻¹. Only the lower triangle of A was
/// read, so what belongs to the upper one is added there: tril(S + Sᵀ) with the diagonal counted
/// once.
std::vector<Tensor> gradient_cholesky(const GradientArgs& g) {
  const Tensor& l = g.outputs[0];
  const Tensor p = weft::tril(weft::matmul(l.transpose(), weft::tril(g.dy[0])));
  const Tensor halved = p - (weft::tril(weft::triu(p))) * 0.5;
  const Tensor left = weft::solve_triangular(l.transpose(), halved, true);        // L⁻ᵀ P
  const Tensor s = weft::solve_triangular(l.transpose(), left.transpose(), true)  // (L⁻ᵀ P L⁻¹)ᵀ
                       .transpose();
  const Tensor both = s + s.transpose();
  return {weft::tril(both) - weft::tril(weft::triu(both)) * 0.5};
}

}  // namespace

const Rule solve{
    .name = "solve", .infer = infer_solve, .lower = lower_solve, .gradient = gradient_solve};
const Rule det{.name = "det", .infer = infer_det, .lower = lower_det, .gradient = gradient_det};
const Rule cholesky{.name = "cholesky",
                    .infer = infer_cholesky,
                    .lower = lower_cholesky,
                    .gradient = gradient_cholesky};

}  // namespace weft::graph::kinds
