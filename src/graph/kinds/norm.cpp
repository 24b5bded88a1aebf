#include "ops/norm/norm.hpp"

#include <algorithm>

#include "describe/attributes/norm.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/norm_back/norm_back.hpp"

namespace weft::graph::kinds {
namespace {

using ops::norm::Kind;

// norm: x, weight (optional), bias (optional)

Status need_rows(const Type& x, const NormAttributes& a) {
  if (!x.given || !is_float(x.dtype) || x.rank() == 0) {
    return fail(ErrorCode::invalid_argument,
                "A normalisation needs floats with a last dimension; it was given {}.",
                describe(x));
  }
  if (a.kind != Kind::group) return {};
  if (x.rank() >= 2 && a.groups > 0 && x.shape[1] % a.groups == 0) return {};
  return fail(ErrorCode::invalid_argument,
              "A group norm needs [batch, channels, ...] and groups that divide the channels; it "
              "was given {} and {} groups.",
              describe(x), a.groups);
}

Result<std::vector<Type>> infer_norm(const Signature& s) {
  const Type& x = s.inputs[0];
  const auto& a = as<NormAttributes>(s.attributes);
  if (const Status ok = need_rows(x, a); !ok) return std::unexpected(ok.error());
  for (const Type& extra : s.inputs.subspan(1)) {
    if (!extra.given) continue;
    if (!is_float(extra.dtype)) {
      return fail(ErrorCode::invalid_argument,
                  "A normalisation needs a weight and a bias of floats; it was given {}.",
                  describe(extra));
    }
    const auto both = graph::broadcast(x.shape, extra.shape);
    if (a.kind == Kind::group ? extra.shape != Shape{x.shape[1]} : !both || *both != x.shape) {
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
  args.groups = a.groups;
  return ops::norm::plan(args, l.caps);
}

/// The shape in which weight and bias of a normalisation broadcast against x.
Tensor spread(const Tensor& weight, const Tensor& x, const NormAttributes& a) {
  if (a.kind != Kind::group) return weight.to(DType::f32);
  Shape shape(x.shape().size(), 1);
  shape[1] = weight.size();
  return weight.to(DType::f32).reshape(shape);
}

/// A normalisation in terms of other operations: for weights of unusual shapes, and for derivatives
/// of norm_back.
Tensor norm_expression(const NormAttributes& a, const Tensor& given, const Tensor& weight,
                       const Tensor& bias) {
  Tensor x = given.to(DType::f32);
  if (a.kind == Kind::group) {
    x = x.reshape(
        {x.shape()[0], a.groups, x.size() / std::max<std::uint64_t>(x.shape()[0] * a.groups, 1)});
  }
  const Dims row{-1};
  Tensor unit;
  if (a.kind == Kind::l2) {
    const Tensor length = weft::sqrt(weft::sum(weft::map("square", x), row, true));
    unit = x / weft::map("clamp", length, {double{a.eps}, 1e38});
  } else {
    const Tensor centre = a.kind == Kind::rms ? x : x - weft::mean(x, row, true);
    const Tensor square = weft::mean(weft::map("square", centre), row, true);
    unit = centre * weft::map("rsqrt", square + double{a.eps});
  }
  Tensor y = unit.reshape(given.shape());
  if (weight) y = y * spread(weight, given, a);
  if (bias) y = y + spread(bias, given, a);
  return y.to(given.dtype());
}

/// Whether norm_back gives the gradient of a bias.
bool has_bias(const NormAttributes& a) { return a.kind == Kind::layer || a.kind == Kind::group; }

std::vector<Tensor> gradient_norm(const GradientArgs& g) {
  const auto& a = as<NormAttributes>(g.attributes);
  const Tensor& x = g.inputs[0];
  const Tensor& weight = g.inputs[1];
  const Tensor& bias = g.inputs[2];
  const Shape row{a.kind == Kind::group ? x.shape()[1] : x.shape().back()};
  const bool plain = (!weight || weight.shape() == row) && (!bias || bias.shape() == row);
  if (!plain) {
    return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {norm_expression(a, in[0], in[1], in[2])};
    });
  }
  const auto node = make_node(norm_back, a, {x, weight, g.dy[0]}, Where::current());
  std::vector<Tensor> out(3);
  out[0] = Access::tensor({node, 0});
  if (g.wanted[1]) out[1] = Access::tensor({node, 1});
  if (g.wanted[2] && weight && has_bias(a)) out[2] = Access::tensor({node, 2}).to(bias.dtype());
  if (g.wanted[2] && !out[2]) {
    const Tensor dy = g.dy[0].to(DType::f32);
    out[2] = sum_to(dy, spread(bias, x, a).shape()).reshape(bias.shape()).to(bias.dtype());
  }
  return out;
}

// norm_back: x, weight, dy → dx and, with a weight, dweight and dbias in its type

Result<std::vector<Type>> infer_norm_back(const Signature& s) {
  std::vector<Type> out{{s.inputs[0].dtype, s.inputs[0].shape}};
  if (s.inputs[1].given) out.insert(out.end(), 2, s.inputs[1]);
  return out;
}

Result<ops::Plan> lower_norm_back(const LowerArgs& l) {
  const auto& a = as<NormAttributes>(l.attributes);
  ops::norm_back::Args args;
  args.kind = a.kind;
  args.x = l.inputs[0];
  args.weight = l.inputs[1];
  args.dy = l.inputs[2];
  args.dx = l.outputs[0];
  if (l.outputs.size() > 1) {
    args.dweight = l.outputs[1];
    if (has_bias(a)) args.dbias = l.outputs[2];
  }
  args.eps = a.eps;
  args.groups = a.groups;
  return ops::norm_back::plan(args, l.caps);
}

std::vector<Tensor> gradient_norm_back(const GradientArgs& g) {
  const auto& a = as<NormAttributes>(g.attributes);
  return derivatives_through(g, [&](const std::vector<Tensor>& in) {
    const Tensor& weight = in[1];
    std::vector<Tensor> by{in[0]};
    // dbias is the sum of dy whatever the bias is; it only has to be there.
    const Tensor bias = weight ? full_like(weight, weight.shape(), weight.dtype()) : Tensor();
    if (weight) by.insert(by.end(), {weight, bias});
    return partial_derivatives(norm_expression(a, in[0], weight, bias), in[2], by);
  });
}

constexpr InPlace over_x[] = {{0, 0}};
constexpr InPlace over_x_dy[] = {{0, 0}, {0, 2}};

}  // namespace

const Rule norm{.name = "norm",
                .infer = infer_norm,
                .lower = lower_norm,
                .gradient = gradient_norm,
                .in_place = over_x};
const Rule norm_back{.name = "norm_back",
                     .infer = infer_norm_back,
                     .lower = lower_norm_back,
                     .gradient = gradient_norm_back,
                     .in_place = over_x_dy};

}  // namespace weft::graph::kinds
