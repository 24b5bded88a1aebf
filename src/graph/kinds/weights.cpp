#include "describe/attributes/linear.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/checked.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/report.hpp"

namespace weft::graph::kinds {
namespace {

Status need_product(const Signature& s, bool fits, std::string_view what) {
  if (fits && is_float(s.inputs[0].dtype)) return {};
  return fail(ErrorCode::invalid_argument, "{}; it was given {} and {}.", what,
              describe(s.inputs[0]), describe(s.inputs[1]));
}

// linear: x […, N, K], weights […, M, K] of any type → […, N, M] of f32

Result<std::vector<Type>> infer_linear(const Signature& s) {
  const Type& x = s.inputs[0];
  const Type& w = s.inputs[1];
  const bool fits = w.given && x.rank() >= 2 && w.rank() >= 2 && x.shape.back() == w.shape.back();
  if (const Status ok = need_product(s, fits, "linear needs x [..., N, K] and weights [..., M, K]");
      !ok) {
    return std::unexpected(ok.error());
  }
  auto shape = graph::broadcast(Shape(x.shape.begin(), x.shape.end() - 2),
                                Shape(w.shape.begin(), w.shape.end() - 2));
  if (!shape) return wrap(shape.error(), "matching the batches of a product");
  shape->push_back(x.shape[x.rank() - 2]);
  shape->push_back(w.shape[w.rank() - 2]);
  return one(DType::f32, *shape);
}

Result<ops::Plan> lower_linear(const LowerArgs& l) {
  return ops::mul_mat::plan(
      ops::mul_mat::Args{.weights = l.inputs[1],
                         .x = l.inputs[0],
                         .y = l.outputs[0],
                         .allow_q8 = as<LinearAttributes>(l.attributes).allow_q8,
                         .exact = as<LinearAttributes>(l.attributes).exact},
      l.caps);
}

/// Weights as floats: gradients go back through these.
Tensor as_float(const Tensor& weights) {
  return is_quantized(weights.dtype()) ? weights.to(DType::f32) : weights;
}

std::vector<Tensor> gradient_linear(const GradientArgs& g) {
  const Tensor& x = g.inputs[0];
  const Tensor& w = g.inputs[1];
  std::vector<Tensor> out(2);
  if (g.wanted[0]) {
    out[0] = sum_to(weft::matmul(g.dy[0], as_float(w), {.dtype = x.dtype()}), x.shape());
  }
  if (g.wanted[1]) {
    out[1] = sum_to(weft::matmul(g.dy[0].transpose(), x, {.dtype = w.dtype()}), w.shape());
  }
  return out;
}

// grouped_linear: x [T, U or 1, K], weights [E, M, K] of any type, ids [T, U] → [T, U, M] of f32

Result<std::vector<Type>> infer_grouped_linear(const Signature& s) {
  const Type& x = s.inputs[0];
  const Type& w = s.inputs[1];
  const Type& ids = s.inputs[2];
  const bool fits = w.given && ids.given && x.rank() == 3 && w.rank() == 3 && ids.rank() == 2 &&
                    ids.dtype == DType::i32 && x.shape[2] == w.shape[2] &&
                    x.shape[0] == ids.shape[0] && (x.shape[1] == 1 || x.shape[1] == ids.shape[1]);
  if (const Status ok = need_product(s, fits,
                                     "grouped_linear needs x [T, U or 1, K], weights [E, M, K] "
                                     "and i32 ids [T, U]");
      !ok) {
    return std::unexpected(ok.error());
  }
  return one(DType::f32, {ids.shape[0], ids.shape[1], w.shape[1]});
}

Result<ops::Plan> lower_grouped_linear(const LowerArgs& l) {
  return after_check(
      ops::mul_mat::plan(
          ops::mul_mat::IdArgs{.weights = l.inputs[1],
                               .x = l.inputs[0],
                               .ids = l.inputs[2],
                               .y = l.outputs[0],
                               .allow_q8 = as<LinearAttributes>(l.attributes).allow_q8,
                               .exact = as<LinearAttributes>(l.attributes).exact},
          l.caps),
      {.indices = l.inputs[2],
       .count = l.inputs[1].shape[0],
       .status = report_view(ops::Checked::grouped_linear, l.caps)},
      l.caps);
}

/// Each row goes back through its own matrix; a matrix gets the sum over its rows.
std::vector<Tensor> gradient_grouped_linear(const GradientArgs& g) {
  const Tensor& x = g.inputs[0];
  const Tensor& w = g.inputs[1];
  const Tensor& ids = g.inputs[2];
  std::vector<Tensor> out(3);
  if (g.wanted[0]) {
    const Tensor turned = make(copy, {}, {as_float(w).permute({0, 2, 1})}, Where::current());
    const Tensor dx =
        make(grouped_linear, LinearAttributes{}, {g.dy[0], turned, ids}, Where::current());
    out[0] = sum_to(dx, x.shape()).to(x.dtype());
  }
  if (g.wanted[1]) {
    const Shape& m = w.shape();
    const std::uint64_t rows = ids.size();
    const Tensor left = g.dy[0].reshape({rows, m[1], 1});
    const Tensor right = x.to(DType::f32)
                             .broadcast_to({ids.shape()[0], ids.shape()[1], m[2]})
                             .reshape({rows, 1, m[2]});
    const Tensor products = (left * right).reshape({rows, m[1] * m[2]});
    const Tensor zeros = full_like(w, {m[0], m[1] * m[2]}, DType::f32);
    out[1] = make(add_rows, {}, {zeros, ids.reshape({rows}), products}, Where::current())
                 .reshape(m)
                 .to(w.dtype());
  }
  return out;
}

}  // namespace

const Rule linear{
    .name = "linear", .infer = infer_linear, .lower = lower_linear, .gradient = gradient_linear};
const Rule grouped_linear{.name = "grouped_linear",
                          .infer = infer_grouped_linear,
                          .lower = lower_grouped_linear,
                          .gradient = gradient_grouped_linear};

}  // namespace weft::graph::kinds
