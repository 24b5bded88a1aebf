#include "ops/norm/norm.hpp"

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/norm_back/norm_back.hpp"
#include "ops/softmax/softmax.hpp"
#include "ops/softmax_back/softmax_back.hpp"

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
  return {make(softmax_back, g.attributes, {g.outputs[0], g.dy[0]}, Where::current())};
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

/// softmax_back in terms of other operations, for derivatives of it.
Tensor softmax_back_expression(const SoftmaxAttributes& a, const Tensor& y, const Tensor& dy) {
  const Tensor dx = a.log ? dy - weft::exp(y) * weft::sum(dy, last_dim(dy), true)
                          : y * (dy - weft::sum(dy * y, last_dim(dy), true));
  return a.scale == 1 ? dx : dx * a.scale;
}

std::vector<Tensor> gradient_softmax_back(const GradientArgs& g) {
  const Tensor dx =
      softmax_back_expression(as<SoftmaxAttributes>(g.attributes), g.inputs[0], g.inputs[1]);
  return partial_derivatives(dx, g.dy[0], g.inputs);
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

/// dx, dweight and dbias in terms of other operations: for weights of unusual shapes, and for derivatives of norm_back.
std::vector<Tensor> norm_back_expressions(const NormAttributes& a, const Tensor& given_x,
                                          const Tensor& weight, const Tensor& given_dy) {
  const Tensor x = given_x.to(DType::f32);
  const Tensor dy = given_dy.to(DType::f32);
  const Dims row = last_dim(x);
  const bool centred = a.kind == ops::norm::Kind::layer;
  const Tensor centre = centred ? x - weft::mean(x, row, true) : x;
  const Tensor scale =
      weft::map("rsqrt", weft::mean(weft::map("sqr", centre), row, true) + double{a.eps});
  const Tensor unit = centre * scale;
  const Tensor d = weight ? dy * weight.to(DType::f32) : dy;
  Tensor rest = d - unit * weft::mean(d * unit, row, true);
  if (centred) rest = rest - weft::mean(d, row, true);
  const Tensor dx = (rest * scale).to(given_x.dtype());
  if (!weight) return {dx};
  return {dx, sum_to(dy * unit, weight.shape()).to(weight.dtype()),
          sum_to(dy, weight.shape()).to(weight.dtype())};
}

std::vector<Tensor> gradient_norm(const GradientArgs& g) {
  const auto& a = as<NormAttributes>(g.attributes);
  const Tensor& x = g.inputs[0];
  const Tensor& weight = g.inputs[1];
  const Tensor& bias = g.inputs[2];
  const Shape row{x.shape().back()};
  const bool plain = (!weight || weight.shape() == row) && (!bias || bias.shape() == row);
  std::vector<Tensor> parts;
  if (plain) {
    const auto node = make_node(norm_back, a, {x, weight, g.dy[0]}, Where::current());
    for (std::uint32_t i = 0; i < node->types.size(); ++i)
      parts.push_back(Access::tensor({node, i}));
  } else {
    parts = norm_back_expressions(a, x, weight, g.dy[0]);
  }
  std::vector<Tensor> out(3);
  out[0] = parts[0];
  if (g.wanted[1]) out[1] = parts[1];
  if (g.wanted[2]) {
    out[2] = plain && weight ? parts[2].to(bias.dtype())
                             : sum_to(g.dy[0].to(DType::f32), bias.shape()).to(bias.dtype());
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
    if (a.kind == ops::norm::Kind::layer) args.dbias = l.outputs[2];
  }
  args.eps = a.eps;
  return ops::norm_back::plan(args, l.caps);
}

std::vector<Tensor> gradient_norm_back(const GradientArgs& g) {
  const auto parts = norm_back_expressions(as<NormAttributes>(g.attributes), g.inputs[0],
                                           g.inputs[1], g.inputs[2]);
  std::vector<Tensor> by{g.inputs[0], g.inputs[2]};
  if (g.inputs[1]) by.push_back(g.inputs[1]);
  std::vector<Tensor> out(3);
  const auto add = [](Tensor& sum, const Tensor& part) { sum = sum ? sum + part : part; };
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!g.dy[k]) continue;
    const std::vector<Tensor> found = partial_derivatives(parts[k], g.dy[k], by);
    add(out[0], found[0]);
    add(out[2], found[1]);
    if (g.inputs[1]) add(out[1], found[2]);
  }
  return out;
}

constexpr InPlace over_x[] = {{0, 0}};
constexpr InPlace over_x_or_dy[] = {{0, 0}, {0, 1}};
constexpr InPlace over_x_dy[] = {{0, 0}, {0, 2}};

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
