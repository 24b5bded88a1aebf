#include "ops/hyper/hyper.hpp"

#include <algorithm>

#include "describe/attributes/hyper.hpp"
#include "describe/attributes/shape.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/indexer/indexer.hpp"

namespace weft::graph::kinds {
namespace {

// Kernels for parts of particular models. Their gradients go through the operations that they stand
// for.

Status need(bool fits, const Signature& s, std::string_view what) {
  if (fits && std::ranges::all_of(s.inputs, [](const Type& t) {
        return !t.given || is_float(t.dtype) || is_quantized(t.dtype);
      })) {
    return {};
  }
  std::string given;
  for (const Type& input : s.inputs) given += (given.empty() ? "" : ", ") + describe(input);
  return fail(ErrorCode::invalid_argument, "{}; the inputs are {}.", what, given);
}

// hyper_combine: mixes [tokens, 24], scale [3], base [24] → [tokens, 4, 4]

constexpr std::uint64_t streams = ops::hyper::combine_streams;
constexpr std::uint64_t mixed = 2 * streams + streams * streams;

Result<std::vector<Type>> infer_combine(const Signature& s) {
  const Type& mixes = s.inputs[0];
  const bool fits = mixes.rank() == 2 && mixes.shape[1] == mixed && s.inputs[1].rank() == 1 &&
                    s.inputs[1].shape[0] >= 3 && s.inputs[2].shape == Shape{mixed};
  if (const Status ok =
          need(fits, s, "Mixing needs mixes [tokens, 24], a scale [3] and a base [24]");
      !ok) {
    return std::unexpected(ok.error());
  }
  return one(DType::f32, {mixes.shape[0], streams, streams});
}

Result<ops::Plan> lower_combine(const LowerArgs& l) {
  const auto& a = as<HyperAttributes>(l.attributes);
  return ops::hyper::plan(ops::hyper::CombineArgs{.mixes = l.inputs[0],
                                                  .scale = l.inputs[1],
                                                  .base = l.inputs[2],
                                                  .y = l.outputs[0],
                                                  .eps = a.eps,
                                                  .iterations = a.iterations},
                          l.caps);
}

std::vector<Tensor> gradient_combine(const GradientArgs& g) {
  const auto& a = as<HyperAttributes>(g.attributes);
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const std::uint64_t tokens = in[0].shape()[0];
    const std::uint64_t count = streams * streams;
    const Tensor logits = in[0].slice(1, 2 * streams, count) * in[1].slice(0, 2, 1) +
                          in[2].slice(0, 2 * streams, count);
    const double eps = a.eps;
    const auto divide = [&](const Tensor& m, int dim) {
      return m / (weft::sum(m, {dim}, true) + eps);
    };
    Tensor m = weft::softmax(logits.reshape({tokens, streams, streams})) + eps;
    m = divide(m, 1);
    for (std::uint32_t i = 1; i < a.iterations; ++i) m = divide(divide(m, 2), 1);
    return {m};
  });
}

// hyper_read: x [tokens, streams, width], weights [tokens, streams] or gates of the shape of x

Result<std::vector<Type>> infer_read(const Signature& s) {
  const Shape& x = s.inputs[0].shape;
  const bool gated = s.inputs[2].given;
  const bool fits = x.size() == 3 && s.inputs[1].given != gated &&
                    (gated ? s.inputs[2].shape == x : s.inputs[1].shape == Shape{x[0], x[1]});
  if (const Status ok = need(fits, s,
                             "Reading streams needs x [tokens, streams, width] and weights "
                             "[tokens, streams] or gates of the shape of x");
      !ok) {
    return std::unexpected(ok.error());
  }
  return one(DType::f32, {x[0], x[2]});
}

Result<ops::Plan> lower_read(const LowerArgs& l) {
  return ops::hyper::plan(ops::hyper::ReadArgs{.x = l.inputs[0],
                                               .weights = l.inputs[1],
                                               .gates = l.inputs[2],
                                               .y = l.outputs[0],
                                               .scale = as<HyperAttributes>(l.attributes).scale},
                          l.caps);
}

std::vector<Tensor> gradient_read(const GradientArgs& g) {
  const double scale = as<HyperAttributes>(g.attributes).scale;
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Shape& x = in[0].shape();
    const Tensor weight = in[2] ? weft::sigmoid(in[2]) : in[1].reshape({x[0], x[1], 1});
    return {weft::sum(in[0] * weight, {1}) * scale};
  });
}

// hyper_write: x [tokens, width], residual [tokens, streams, width], share [tokens, streams], mix
// (optional)

Result<std::vector<Type>> infer_write(const Signature& s) {
  const Shape& r = s.inputs[1].shape;
  const bool fits = r.size() == 3 && s.inputs[0].shape == Shape{r[0], r[2]} &&
                    s.inputs[2].shape == Shape{r[0], r[1]} &&
                    (!s.inputs[3].given || s.inputs[3].shape == Shape{r[0], r[1], r[1]});
  if (const Status ok = need(fits, s,
                             "Writing streams needs x [tokens, width], residual [tokens, streams, "
                             "width], share [tokens, streams] and mix [tokens, streams, streams]");
      !ok) {
    return std::unexpected(ok.error());
  }
  return one(DType::f32, r);
}

Result<ops::Plan> lower_write(const LowerArgs& l) {
  return ops::hyper::plan(ops::hyper::WriteArgs{.x = l.inputs[0],
                                                .residual = l.inputs[1],
                                                .share = l.inputs[2],
                                                .mix = l.inputs[3],
                                                .y = l.outputs[0]},
                          l.caps);
}

std::vector<Tensor> gradient_write(const GradientArgs& g) {
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Shape& r = in[1].shape();
    const Tensor own = in[0].reshape({r[0], 1, r[2]}) * in[2].reshape({r[0], r[1], 1});
    return {own + (in[3] ? weft::matmul(in[3].transpose(), in[1]) : in[1])};
  });
}

// indexer: q [streams, tokens, heads, size], k [streams, keys, size], weights [streams, tokens,
// heads], mask (optional)

Result<std::vector<Type>> infer_indexer(const Signature& s) {
  const Shape& q = s.inputs[0].shape;
  const Shape& k = s.inputs[1].shape;
  const Type& mask = s.inputs[3];
  bool fits = q.size() == 4 && k.size() == 3 && k[0] == q[0] && k[2] == q[3] &&
              s.inputs[2].shape == Shape{q[0], q[1], q[2]};
  fits =
      fits && (!mask.given || (mask.rank() == 3 && mask.shape[0] > 0 && q[0] % mask.shape[0] == 0 &&
                               mask.shape[1] == q[1] && mask.shape[2] == k[1]));
  if (const Status ok = need(fits, s,
                             "Scores need q [streams, tokens, heads, size], k [streams, keys, "
                             "size], weights [streams, tokens, heads] and a mask [streams, "
                             "tokens, keys]");
      !ok) {
    return std::unexpected(ok.error());
  }
  return one(DType::f32, {q[0], q[1], k[1]});
}

Result<ops::Plan> lower_indexer(const LowerArgs& l) {
  return ops::indexer::plan({.q = l.inputs[0],
                             .k = l.inputs[1],
                             .weights = l.inputs[2],
                             .mask = l.inputs[3],
                             .y = l.outputs[0]},
                            l.caps);
}

std::vector<Tensor> gradient_indexer(const GradientArgs& g) {
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Shape& q = in[0].shape();
    const Shape& k = in[1].shape();
    const Tensor keys = in[1].to(DType::f32).reshape({k[0], 1, k[1], k[2]});
    const Tensor products = weft::matmul(in[0].to(DType::f32), keys.transpose());
    const Tensor weights = in[2].to(DType::f32).reshape({q[0], q[1], q[2], 1});
    const Tensor y = weft::sum(weft::relu(products) * weights, {2});
    if (!in[3]) return {y};
    const Tensor mask = in[3].to(DType::f32);
    return {y + (mask.shape()[0] <= 1
                     ? mask
                     : make(tile, ShapeAttributes{y.shape()}, {mask}, Where::current()))};
  });
}

}  // namespace

const Rule hyper_combine{.name = "hyper_combine",
                         .infer = infer_combine,
                         .lower = lower_combine,
                         .gradient = gradient_combine};
const Rule hyper_read{
    .name = "hyper_read", .infer = infer_read, .lower = lower_read, .gradient = gradient_read};
const Rule hyper_write{
    .name = "hyper_write", .infer = infer_write, .lower = lower_write, .gradient = gradient_write};
const Rule index_scores{.name = "index_scores",
                        .infer = infer_indexer,
                        .lower = lower_indexer,
                        .gradient = gradient_indexer};

}  // namespace weft::graph::kinds
