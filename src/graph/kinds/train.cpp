#include "describe/attributes/adam.hpp"
#include "describe/attributes/clip.hpp"
#include "describe/attributes/dropout.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/dropout/dropout.hpp"
#include "ops/map/map.hpp"
#include "ops/optimizer/optimizer.hpp"
#include "ops/stages.hpp"

namespace weft::graph::kinds {
namespace {

// dropout: x, seed

Result<std::vector<Type>> infer_dropout(const Signature& s) {
  const auto& a = as<DropoutAttributes>(s.attributes);
  const bool seeded =
      s.inputs[1].given && s.inputs[1].dtype == DType::u32 && s.inputs[1].count() == 2;
  if (!is_float(s.inputs[0].dtype) || !seeded || !(a.rate >= 0 && a.rate < 1)) {
    return fail(ErrorCode::invalid_argument,
                "dropout needs floats, a rate of at least 0 and below 1, and a seed of two u32; it "
                "was given {}, {} and {}.",
                describe(s.inputs[0]), a.rate, describe(s.inputs[1]));
  }
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_dropout(const LowerArgs& l) {
  const auto& a = as<DropoutAttributes>(l.attributes);
  return ops::dropout::plan({.x = l.inputs[0],
                             .y = l.outputs[0],
                             .rate = a.rate,
                             .seed = l.inputs[1],
                             .stream = a.stream},
                            l.caps);
}

std::vector<Tensor> gradient_dropout(const GradientArgs& g) {
  return {make(dropout, g.attributes, {g.dy[0], g.inputs[1]}, Where::current())};
}

/// A step by gradients that may be any view; the kernels take them dense.
template <class Args>
Result<ops::Plan> step_of(Args args, const Caps& caps) {
  const ops::View gradients = args.tensors.gradients;
  if (gradients.is_dense()) return ops::optimizer::plan(args, caps);
  ops::Stages stages({});
  args.tensors.gradients = stages.scratch(gradients.dtype, gradients.extents());
  stages.add(ops::map::plan(
      {.function = "copy", .inputs = {gradients}, .y = args.tensors.gradients}, caps));
  stages.add(ops::optimizer::plan(args, caps));
  return std::move(stages).finish();
}

// adam: weights, gradients, m, v, numbers, scale (optional) → weights, m, v and the working copy

Result<std::vector<Type>> infer_adam(const Signature& s) {
  const auto& a = as<AdamAttributes>(s.attributes);
  const Type& weights = s.inputs[0];
  const bool fits = weights.dtype == DType::f32 && s.inputs[1].shape == weights.shape &&
                    s.inputs[2] == weights && s.inputs[3] == weights &&
                    s.inputs[4] == Type{DType::f32, {7}} &&
                    (!s.inputs[5].given || s.inputs[5].count() == 1);
  if (!fits) {
    return fail(
        ErrorCode::invalid_argument,
        "adamw needs f32 weights, gradients and f32 moments of one shape, seven numbers and "
        "at most one scale; it was given {}, {}, {}, {}, {} and {}.",
        describe(weights), describe(s.inputs[1]), describe(s.inputs[2]), describe(s.inputs[3]),
        describe(s.inputs[4]), describe(s.inputs[5]));
  }
  std::vector<Type> out(3, weights);
  if (a.has_working) out.push_back({a.working, weights.shape});
  return out;
}

Result<ops::Plan> lower_adam(const LowerArgs& l) {
  const auto& a = as<AdamAttributes>(l.attributes);
  ops::optimizer::AdamArgs args;
  args.tensors.weights = l.outputs[0];
  args.tensors.gradients = l.inputs[1];
  if (a.has_working) args.tensors.working = l.outputs[3];
  args.tensors.scale = l.inputs[5];
  args.m = l.outputs[1];
  args.v = l.outputs[2];
  args.numbers = l.inputs[4];
  args.coupled = a.coupled;
  return step_of(args, l.caps);
}

// sgd: weights, gradients, momentum (optional), numbers, scale (optional) → weights, then momentum
// and the working copy where there are such

Result<std::vector<Type>> infer_sgd(const Signature& s) {
  const auto& a = as<AdamAttributes>(s.attributes);
  const Type& weights = s.inputs[0];
  const Type& momentum = s.inputs[2];
  const std::uint64_t numbers = momentum.given ? 3 : 2;
  const bool fits = weights.dtype == DType::f32 && s.inputs[1].shape == weights.shape &&
                    (!momentum.given || momentum == weights) &&
                    s.inputs[3] == Type{DType::f32, {numbers}} &&
                    (!s.inputs[4].given || s.inputs[4].count() == 1);
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "sgd needs f32 weights, gradients and f32 momentum of one shape, {} numbers and at "
                "most one scale; it was given {}, {}, {}, {} and {}.",
                numbers, describe(weights), describe(s.inputs[1]), describe(momentum),
                describe(s.inputs[3]), describe(s.inputs[4]));
  }
  std::vector<Type> out(momentum.given ? 2 : 1, weights);
  if (a.has_working) out.push_back({a.working, weights.shape});
  return out;
}

Result<ops::Plan> lower_sgd(const LowerArgs& l) {
  const bool moving = l.inputs[2].given();
  ops::optimizer::SgdArgs args;
  args.tensors.weights = l.outputs[0];
  args.tensors.gradients = l.inputs[1];
  if (as<AdamAttributes>(l.attributes).has_working)
    args.tensors.working = l.outputs[moving ? 2 : 1];
  args.tensors.scale = l.inputs[4];
  if (moving) args.momentum = l.outputs[1];
  args.numbers = l.inputs[3];
  args.coupled = as<AdamAttributes>(l.attributes).coupled;
  return step_of(args, l.caps);
}

// clip: gradients, loss scale (optional) → scale, norm

Result<std::vector<Type>> infer_clip(const Signature& s) {
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {  // the last is the scale of the loss
    if (!s.inputs[i].given || is_float(s.inputs[i].dtype)) continue;
    return fail(ErrorCode::invalid_argument,
                "clip_by_global_norm needs gradients and a scale of floats; number {} is {}.", i,
                describe(s.inputs[i]));
  }
  return std::vector<Type>(2, Type{DType::f32, {1}});
}

Result<ops::Plan> lower_clip(const LowerArgs& l) {
  ops::optimizer::ClipArgs args;
  args.gradients.assign(l.inputs.begin(), l.inputs.end() - 1);
  args.loss_scale = l.inputs.back();
  args.scale = l.outputs[0];
  args.norm = l.outputs[1];
  args.max_norm = as<ClipAttributes>(l.attributes).max_norm;
  return ops::optimizer::plan(args, l.caps);
}

constexpr InPlace over_x[] = {{0, 0}};
constexpr InPlace over_state[] = {{0, 0}, {1, 2}, {2, 3}};

constexpr InPlace over_momentum[] = {{0, 0}, {1, 2}};

}  // namespace

const Rule dropout{.name = "dropout",
                   .infer = infer_dropout,
                   .lower = lower_dropout,
                   .gradient = gradient_dropout,
                   .in_place = over_x};
const Rule adamw{.name = "adamw",
                 .infer = infer_adam,
                 .lower = lower_adam,
                 .in_place = over_state,
                 .accumulates = true};
const Rule sgd{
    .name = "sgd", .infer = infer_sgd, .lower = lower_sgd, .in_place = over_x, .accumulates = true};
const Rule sgd_momentum{.name = "sgd_momentum",
                        .infer = infer_sgd,
                        .lower = lower_sgd,
                        .in_place = over_momentum,
                        .accumulates = true};
const Rule clip_by_global_norm{
    .name = "clip_by_global_norm", .infer = infer_clip, .lower = lower_clip};

}  // namespace weft::graph::kinds
