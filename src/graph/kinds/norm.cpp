#include "ops/norm/norm.hpp"

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::graph::kinds {
namespace {

Status need_float_rows(const Type& x, std::string_view what) {
  if (x.given && is_float(x.dtype) && x.rank() > 0) return {};
  return fail(ErrorCode::invalid_argument,
              "{} needs floats with a last dimension; it was given {}.", what, describe(x));
}

// softmax

Result<std::vector<Type>> infer_softmax(const Signature& s) {
  if (const Status ok = need_float_rows(s.inputs[0], "softmax"); !ok)
    return std::unexpected(ok.error());
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_softmax(const LowerArgs& l) {
  const auto& a = as<SoftmaxAttributes>(l.attributes);
  ops::softmax::Args args;
  args.x = l.inputs[0];
  args.y = l.outputs[0];
  args.scale = a.scale;
  args.log = a.log;
  return ops::softmax::plan(args, l.caps);
}

Dims last_dim(const Tensor& x) { return {static_cast<std::uint32_t>(x.shape().size() - 1)}; }

std::vector<Tensor> gradient_softmax(const GradientArgs& g) {
  const auto& a = as<SoftmaxAttributes>(g.attributes);
  const Tensor dy = g.dy[0].to(DType::f32);
  const Tensor y = g.outputs[0].to(DType::f32);
  const Tensor dx = a.log ? dy - weft::exp(y) * weft::sum(dy, last_dim(dy), true)
                          : y * (dy - weft::sum(dy * y, last_dim(dy), true));
  return {(a.scale == 1 ? dx : dx * a.scale).to(g.inputs[0].dtype())};
}

// norm

Result<std::vector<Type>> infer_norm(const Signature& s) {
  const Type& x = s.inputs[0];
  if (const Status ok = need_float_rows(x, "A normalisation"); !ok)
    return std::unexpected(ok.error());
  for (const Type& extra : s.inputs.subspan(1)) {
    if (!extra.given) continue;
    const auto both = graph::broadcast(x.shape, extra.shape);
    if (!both || *both != x.shape) {
      return fail(ErrorCode::invalid_argument,
                  "A normalisation of {} cannot have a weight or bias of shape {}.", describe(x),
                  ops::describe(extra.shape));
    }
  }
  return one(x.dtype, x.shape);
}

Result<ops::Plan> lower_norm(const LowerArgs& l) {
  const auto& a = as<NormAttributes>(l.attributes);
  ops::norm::Args args;
  args.kind = a.kind;
  args.x = l.inputs[0];
  args.y = l.outputs[0];
  args.weight = l.inputs[1];
  args.bias = l.inputs[2];
  args.eps = a.eps;
  return ops::norm::plan(args, l.caps);
}

std::vector<Tensor> gradient_norm(const GradientArgs& g) {
  const auto& a = as<NormAttributes>(g.attributes);
  const Tensor x = g.inputs[0].to(DType::f32);
  const Tensor dy = g.dy[0].to(DType::f32);
  const Tensor& weight = g.inputs[1];
  const Tensor& bias = g.inputs[2];
  const Dims row = last_dim(x);
  const bool centred = a.kind == ops::norm::Kind::layer;
  const Tensor centre = centred ? x - weft::mean(x, row, true) : x;
  const Tensor scale =
      weft::map("rsqrt", weft::mean(weft::map("sqr", centre), row, true) + double{a.eps});
  const Tensor unit = centre * scale;
  std::vector<Tensor> out(3);
  if (g.wanted[0]) {
    const Tensor d = weight ? dy * weight.to(DType::f32) : dy;
    Tensor rest = d - unit * weft::mean(d * unit, row, true);
    if (centred) rest = rest - weft::mean(d, row, true);
    out[0] = (rest * scale).to(g.inputs[0].dtype());
  }
  if (g.wanted[1]) out[1] = sum_to(dy * unit, weight.shape()).to(weight.dtype());
  if (g.wanted[2]) out[2] = sum_to(dy, bias.shape()).to(bias.dtype());
  return out;
}

constexpr InPlace over_x[] = {{0, 0}};

}  // namespace

const Rule softmax{.name = "softmax",
                   .infer = infer_softmax,
                   .lower = lower_softmax,
                   .gradient = gradient_softmax,
                   .in_place = over_x};
const Rule norm{.name = "norm",
                .infer = infer_norm,
                .lower = lower_norm,
                .gradient = gradient_norm,
                .in_place = over_x};

}  // namespace weft::graph::kinds
