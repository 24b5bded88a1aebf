#include <utility>

#include "describe/attributes/cross_entropy.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/checked.hpp"
#include "ops/cross_entropy/cross_entropy.hpp"
#include "ops/report.hpp"

namespace weft::graph::kinds {
namespace {

using ops::cross_entropy::Reduction;

// cross_entropy: logits […, classes], labels […] or probabilities (the shape of logits) → the loss
// and the log-sum-exp of each row

Result<std::vector<Type>> infer_cross_entropy(const Signature& s) {
  const auto& a = as<CrossEntropyAttributes>(s.attributes);
  const Type& logits = s.inputs[0];
  const Type& labels = s.inputs[1];
  const Type& probabilities = s.inputs[2];
  Shape rows = logits.shape;
  if (!rows.empty()) rows.pop_back();
  const bool whole = labels.dtype == DType::i32 || labels.dtype == DType::i64;
  const bool by_class = labels.given && labels.shape == rows && whole;
  const bool by_share = !labels.given && probabilities.given && is_float(probabilities.dtype) &&
                        probabilities.shape == logits.shape;
  if (logits.shape.empty() || !(by_class || by_share) || !is_float(logits.dtype)) {
    return fail(ErrorCode::invalid_argument,
                "cross_entropy needs logits [..., classes] and i32 labels [...] or probabilities "
                "[..., classes]; it was given {} and {}.",
                describe(logits), describe(labels.given ? labels : probabilities));
  }
  return std::vector<Type>{{DType::f32, a.reduction == Reduction::none ? rows : Shape{}},
                           {DType::f32, rows}};
}

ops::cross_entropy::Problem problem_of(const LowerArgs& l) {
  const auto& a = as<CrossEntropyAttributes>(l.attributes);
  return {.logits = l.inputs[0],
          .classes = l.inputs[1],
          .probabilities = l.inputs[2],
          .ignored = a.ignored,
          .reduction = a.reduction};
}

Result<ops::Plan> lower_cross_entropy(const LowerArgs& l) {
  Result<ops::Plan> plan = ops::cross_entropy::plan(
      ops::cross_entropy::Args{
          .problem = problem_of(l), .loss = l.outputs[0], .log_sum_exp = l.outputs[1]},
      l.caps);
  const ops::View& labels = l.inputs[1];
  if (!labels.given()) return plan;
  // The gradient has the labels of a loss, which has looked at them.
  return after_check(std::move(plan),
                     {.indices = labels,
                      .count = l.inputs[0].shape[l.inputs[0].rank - 1],
                      .negative = true,
                      .ignored = as<CrossEntropyAttributes>(l.attributes).ignored,
                      .status = report_view(ops::Checked::cross_entropy, l.caps)},
                     l.caps);
}

/// A loss per row, or one for all, with a last dimension of 1 that broadcasts against the logits.
Tensor per_row(const Tensor& loss) {
  if (loss.shape().empty()) return loss.reshape({1});
  Shape shape = loss.shape();
  shape.push_back(1);
  return loss.reshape(shape);
}

/// The loss of a row is sum(p * (log-sum-exp - x)), and every row counts in a mean.
Tensor probability_gradient(const GradientArgs& g) {
  const auto& a = as<CrossEntropyAttributes>(g.attributes);
  const Tensor& logits = g.inputs[0];
  const std::uint64_t rows = g.outputs[1].size();
  Tensor scale = per_row(g.dy[0]);
  if (a.reduction == Reduction::mean) scale = scale * (1.0 / static_cast<double>(rows));
  return ((per_row(g.outputs[1]) - logits.to(DType::f32)) * scale).to(g.inputs[2].dtype());
}

std::vector<Tensor> gradient_cross_entropy(const GradientArgs& g) {
  if (g.dy[1]) {
    throw Error(ErrorCode::internal, "The log-sum-exps of a cross entropy have no derivative.");
  }
  std::vector<Tensor> out(3);
  if (g.wanted[0]) {
    out[0] = make(cross_entropy_back, g.attributes,
                  {g.inputs[0], g.inputs[1], g.inputs[2], g.outputs[1], g.dy[0]}, Where::current());
  }
  if (g.wanted[2]) out[2] = probability_gradient(g);
  return out;
}

// cross_entropy_back: logits, labels, probabilities, log-sum-exps, dloss → dlogits

Result<std::vector<Type>> infer_cross_entropy_back(const Signature& s) {
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_cross_entropy_back(const LowerArgs& l) {
  return ops::cross_entropy::plan(ops::cross_entropy::BackArgs{.problem = problem_of(l),
                                                               .dloss = l.inputs[4],
                                                               .log_sum_exp = l.inputs[3],
                                                               .dlogits = l.outputs[0]},
                                  l.caps);
}

/// The loss in terms of other operations. A label that is no class picks nothing: gather gives 0
/// for it.
Tensor cross_entropy_expression(const CrossEntropyAttributes& a, const Tensor& logits,
                                const Tensor& labels, const Tensor& probabilities) {
  const Tensor logs = weft::log_softmax(logits.to(DType::f32));
  constexpr int last = -1;
  Tensor losses;
  Tensor count;
  if (labels) {
    Tensor index = per_row(labels);
    if (a.ignored >= 0) {
      const Tensor none = full_like(index, index.shape(), DType::i32, -1);
      const Tensor other = full_like(index, {1}, DType::i32, a.ignored);
      index =
          weft::where(weft::map("equal", index.to(DType::i32), other), none, index.to(DType::i32));
    }
    losses = -weft::gather(logs, index, last);
    count = weft::sum(weft::gather(full_like(logs, logs.shape(), DType::f32, 1), index, last));
  } else {
    losses = -weft::sum(logs * probabilities.to(DType::f32), {last}, true);
    count = full_like(losses, {}, DType::f32, static_cast<double>(losses.size()));
  }
  if (a.reduction == Reduction::none) {
    Shape rows = logits.shape();
    rows.pop_back();
    return losses.reshape(rows);
  }
  if (a.reduction == Reduction::sum) return weft::sum(losses);
  return weft::sum(losses) / weft::map("clamp", count, {1, 1e30});
}

/// The log-sum-exps are a function of the logits: what depends on them is counted there.
std::vector<Tensor> gradient_cross_entropy_back(const GradientArgs& g) {
  GradientArgs own = g;
  own.wanted[3] = false;
  const auto& a = as<CrossEntropyAttributes>(g.attributes);
  return derivatives_through(own, [&](const std::vector<Tensor>& in) {
    const Tensor loss = cross_entropy_expression(a, in[0], in[1], in[2]);
    return partial_derivatives(loss, in[4], {in[0]});
  });
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
                              .gradient = gradient_cross_entropy_back,
                              .in_place = over_logits};

}  // namespace weft::graph::kinds
