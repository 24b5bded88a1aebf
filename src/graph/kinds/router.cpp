#include "ops/router/router.hpp"

#include "describe/attributes/router.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

using ops::router::Score;

// router: logits [T, E], bias [E] (optional) → weights [T, K], ids [T, K]

Result<std::vector<Type>> infer_router(const Signature& s) {
  const auto& a = as<RouterAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  const bool fits = x.dtype == DType::f32 && x.rank() == 2 && a.count <= x.shape[1] &&
                    (!s.inputs[1].given || s.inputs[1] == Type{DType::f32, {x.shape[1]}});
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "Choosing {} experts needs f32 logits [tokens, experts] and a bias [experts]; it "
                "was given {} and {}.",
                a.count, describe(x), describe(s.inputs[1]));
  }
  const Shape shape{x.shape[0], a.count};
  return std::vector<Type>{{DType::f32, shape}, {DType::i32, shape}};
}

Result<ops::Plan> lower_router(const LowerArgs& l) {
  const auto& a = as<RouterAttributes>(l.attributes);
  return ops::router::plan({.logits = l.inputs[0],
                            .bias = l.inputs[1],
                            .ids = l.outputs[1],
                            .weights = l.outputs[0],
                            .score = a.score,
                            .softmax_chosen = a.softmax_chosen,
                            .normalize = a.normalize,
                            .least = a.least,
                            .scale = a.scale},
                           l.caps);
}

Tensor score_of(Score score, const Tensor& logits) {
  switch (score) {
    case Score::softmax: return weft::softmax(logits);
    case Score::sigmoid: return weft::sigmoid(logits);
    case Score::root_softplus: return weft::sqrt(weft::softplus(logits));
    case Score::logit: return logits;
  }
  return logits;
}

/// Weights as a function of the logits, for the experts that were chosen. The bias only has a part
/// in the choice.
std::vector<Tensor> gradient_router(const GradientArgs& g) {
  const auto& a = as<RouterAttributes>(g.attributes);
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Tensor weights = weft::gather(score_of(a.score, in[0]), g.outputs[1], 1);
    if (a.softmax_chosen) weights = weft::softmax(weights);
    if (a.normalize) {
      weights = weights / weft::clamp(weft::sum(weights, {1}, true), double{a.least}, 1e38);
    }
    return {weights * double{a.scale}};
  });
}

}  // namespace

const Rule route{
    .name = "route", .infer = infer_router, .lower = lower_router, .gradient = gradient_router};

}  // namespace weft::graph::kinds
