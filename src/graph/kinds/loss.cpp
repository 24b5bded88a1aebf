#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/cross_entropy/cross_entropy.hpp"

namespace weft::graph::kinds {
namespace {

// cross_entropy: logits […, classes], labels […] → the mean loss and the log-sum-exp of each row

Result<std::vector<Type>> infer_cross_entropy(const Signature& s) {
  const Type& logits = s.inputs[0];
  const Type& labels = s.inputs[1];
  Shape rows = logits.shape;
  if (!rows.empty()) rows.pop_back();
  const bool whole = labels.dtype == DType::i32 || labels.dtype == DType::i64;
  if (logits.shape.empty() || !labels.given || labels.shape != rows || !whole ||
      !is_float(logits.dtype)) {
    return fail(ErrorCode::invalid_argument,
                "cross_entropy needs logits [..., classes] and i32 labels [...]; it was given {} "
                "and {}.",
                describe(logits), describe(labels));
  }
  return std::vector<Type>{{DType::f32, {}}, {DType::f32, rows}};
}

ops::cross_entropy::Problem problem_of(const LowerArgs& l) {
  return {.logits = l.inputs[0], .classes = l.inputs[1]};
}

Result<ops::Plan> lower_cross_entropy(const LowerArgs& l) {
  return ops::cross_entropy::plan(
      ops::cross_entropy::Args{
          .problem = problem_of(l), .loss = l.outputs[0], .log_sum_exp = l.outputs[1]},
      l.caps);
}

std::vector<Tensor> gradient_cross_entropy(const GradientArgs& g) {
  if (g.dy[1]) {
    throw Error(ErrorCode::internal, "The log-sum-exps of a cross entropy have no derivative.");
  }
  return {make(cross_entropy_back, {}, {g.inputs[0], g.inputs[1], g.outputs[1], g.dy[0]},
               Where::current())};
}

// cross_entropy_back: logits, labels, log-sum-exps, dloss → dlogits

Result<std::vector<Type>> infer_cross_entropy_back(const Signature& s) {
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_cross_entropy_back(const LowerArgs& l) {
  return ops::cross_entropy::plan(ops::cross_entropy::BackArgs{.problem = problem_of(l),
                                                               .dloss = l.inputs[3],
                                                               .log_sum_exp = l.inputs[2],
                                                               .dlogits = l.outputs[0]},
                                  l.caps);
}

constexpr InPlace over_logits[] = {{0, 0}};

}  // namespace

const Rule cross_entropy{.name = "cross_entropy",
                         .infer = infer_cross_entropy,
                         .lower = lower_cross_entropy,
                         .gradient = gradient_cross_entropy};
const Rule cross_entropy_back{.name = "cross_entropy_back",
                              .infer = infer_cross_entropy_back,
                              .lower = lower_cross_entropy_back,
                              .in_place = over_logits};

}  // namespace weft::graph::kinds
