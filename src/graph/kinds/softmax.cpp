#include "ops/softmax/softmax.hpp"

#include "describe/attributes/softmax.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/softmax_back/softmax_back.hpp"

namespace weft::graph::kinds {
namespace {

// softmax: x alone, or x, mask (optional), sinks (optional)

Result<std::vector<Type>> infer_softmax(const Signature& s) {
  const Type& x = s.inputs[0];
  if (!x.given || !is_float(x.dtype) || x.rank() == 0) {
    return fail(ErrorCode::invalid_argument,
                "softmax needs floats with a last dimension; it was given {}.", describe(x));
  }
  const auto& a = as<SoftmaxAttributes>(s.attributes);
  if (a.max_bias > 0 && (s.inputs.size() == 1 || !s.inputs[1].given)) {
    return fail(ErrorCode::invalid_argument,
                "softmax was given a max_bias of {}, and no mask for the slopes to act on.",
                a.max_bias);
  }
  if (s.inputs.size() == 1) return one(x.dtype, x.shape);
  const Type& mask = s.inputs[1];
  bool fits = !mask.given || (is_float(mask.dtype) && mask.rank() >= 1 && mask.rank() <= x.rank() &&
                              mask.shape.back() == x.shape.back());
  for (std::uint32_t i = 1; fits && mask.given && i <= mask.rank(); ++i) {
    const std::uint64_t extent = mask.shape[mask.rank() - i];
    fits = extent > 0 && x.shape[x.rank() - i] % extent == 0;
  }
  const Type& sinks = s.inputs[2];
  const std::uint64_t heads = x.rank() < 3 ? 1 : x.shape[x.rank() - 3];
  fits = fits && (!sinks.given || sinks == Type{DType::f32, {heads}});
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "softmax of {} takes a mask of its last dimension, whose other extents divide "
                "those of x, and {} f32 sinks; it was given {} and {}.",
                describe(x), heads, describe(mask), describe(sinks));
  }
  return one(x.dtype, x.shape);
}

Result<ops::Plan> lower_softmax(const LowerArgs& l) {
  const auto& a = as<SoftmaxAttributes>(l.attributes);
  ops::softmax::Args args;
  args.x = l.inputs[0];
  args.y = l.outputs[0];
  if (l.inputs.size() > 1) args.mask = l.inputs[1];
  if (l.inputs.size() > 2) args.sinks = l.inputs[2];
  args.scale = a.scale;
  args.max_bias = a.max_bias;
  args.log = a.log;
  return ops::softmax::plan(args, l.caps);
}

Dims last_dim() { return {-1}; }

/// `values`, one for each head, in a shape that broadcasts against [..., heads, rows, columns].
Tensor per_head(const Tensor& values, const Shape& shape) {
  return shape.size() < 3 ? values.reshape({1}) : values.reshape({values.size(), 1, 1});
}

Tensor mask_gradient(const GradientArgs& g) {
  SoftmaxAttributes plain = as<SoftmaxAttributes>(g.attributes);
  plain.scale = 1;
  Tensor d = make(softmax_back, plain, {g.outputs[0], g.dy[0]}, Where::current()).to(DType::f32);
  const Shape& shape = g.outputs[0].shape();
  if (plain.max_bias > 0) {
    const std::uint64_t heads = shape.size() < 3 ? 1 : shape[shape.size() - 3];
    const auto slopes = alibi_slopes(heads, plain.max_bias);
    d = d * per_head(constant_like(d, {heads}, slopes), shape);
  }
  return tile_sum(d, g.inputs[1].shape()).to(g.inputs[1].dtype());
}

/// A sink takes the share that is missing from the sum of a row.
Tensor sink_gradient(const GradientArgs& g) {
  const bool log = as<SoftmaxAttributes>(g.attributes).log;
  const Tensor y = g.outputs[0].to(DType::f32);
  const Tensor dy = g.dy[0].to(DType::f32);
  const Tensor share = 1.0 - weft::sum(log ? weft::exp(y) : y, last_dim(), true);
  const Tensor pull = weft::sum(log ? dy : dy * y, last_dim(), true);
  const Tensor d = -(share * pull);
  const Tensor sums = d.shape().size() < 3 ? weft::sum(d) : sum_to(d, {g.inputs[2].size(), 1, 1});
  return sums.reshape(g.inputs[2].shape());
}

std::vector<Tensor> gradient_softmax(const GradientArgs& g) {
  std::vector<Tensor> out(g.inputs.size());
  if (g.wanted[0]) {
    out[0] = make(softmax_back, g.attributes, {g.outputs[0], g.dy[0]}, Where::current());
  }
  if (g.inputs.size() > 1 && g.wanted[1]) out[1] = mask_gradient(g);
  if (g.inputs.size() > 2 && g.wanted[2]) out[2] = sink_gradient(g);
  return out;
}

Result<std::vector<Type>> infer_softmax_back(const Signature& s) {
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_softmax_back(const LowerArgs& l) {
  const auto& a = as<SoftmaxAttributes>(l.attributes);
  return ops::softmax_back::plan(
      {.y = l.inputs[0], .dy = l.inputs[1], .dx = l.outputs[0], .scale = a.scale, .log = a.log},
      l.caps);
}

/// softmax_back in terms of other operations.
std::vector<Tensor> gradient_softmax_back(const GradientArgs& g) {
  const auto& a = as<SoftmaxAttributes>(g.attributes);
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor& y = in[0];
    const Tensor& dy = in[1];
    const Tensor dx = a.log ? dy - weft::exp(y) * weft::sum(dy, last_dim(), true)
                            : y * (dy - weft::sum(dy * y, last_dim(), true));
    return {a.scale == 1 ? dx : dx * double{a.scale}};
  });
}

constexpr InPlace over_x[] = {{0, 0}};
constexpr InPlace over_x_or_dy[] = {{0, 0}, {0, 1}};

}  // namespace

const Rule softmax{.name = "softmax",
                   .infer = infer_softmax,
                   .lower = lower_softmax,
                   .gradient = gradient_softmax,
                   .in_place = over_x};
const Rule softmax_back{.name = "softmax_back",
                        .infer = infer_softmax_back,
                        .lower = lower_softmax_back,
                        .gradient = gradient_softmax_back,
                        .in_place = over_x_or_dy};

}  // namespace weft::graph::kinds
