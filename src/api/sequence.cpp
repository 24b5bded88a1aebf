#include "weft/sequence.hpp"

#include "graph/kinds.hpp"
#include "graph/node.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

Tensor matmul_rows(In x, const Tensor& weights, const RowsOptions& options) {
  if (!weights || !is_quantized(weights.dtype())) return matmul(x, weights.transpose(x.where));
  return make(kinds::stored, graph::StoredAttributes{options.allow_q8}, {x.tensor, weights},
              x.where)
      .to(x.tensor.dtype(), x.where);
}

Tensor matmul_chosen(In x, const Tensor& weights, const Tensor& ids, const RowsOptions& options) {
  return make(kinds::chosen, graph::StoredAttributes{options.allow_q8}, {x.tensor, weights, ids},
              x.where);
}

Tensor solve_triangular(In a, const Tensor& b, bool upper) {
  return make(kinds::solve, graph::SolveAttributes{upper}, {a.tensor, b}, a.where);
}

Tensor ssm_conv(In x, const Tensor& weights, const Tensor& bias, bool silu) {
  return make(kinds::ssm_conv, graph::ConvSsmAttributes{silu}, {x.tensor, weights, bias}, x.where);
}

Recurrence recurrence(RecurrenceKind kind, const RecurrenceInputs& inputs,
                      const RecurrenceOptions& options, Where where) {
  const graph::RecurrenceAttributes attributes{static_cast<ops::recurrence::Kind>(kind),
                                               options.scale, options.interleaved,
                                               options.snapshots};
  const auto node = graph::make_node(kinds::recurrence, attributes,
                                     {inputs.q, inputs.k, inputs.v, inputs.decay, inputs.a,
                                      inputs.b, inputs.bonus, inputs.step, inputs.state},
                                     where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

Routed route(In logits, std::uint64_t count, const RouteOptions& options) {
  const graph::RouterAttributes attributes{count,
                                           static_cast<ops::router::Score>(options.score),
                                           options.softmax_chosen,
                                           options.normalize,
                                           options.least,
                                           options.scale};
  const auto node =
      graph::make_node(kinds::router, attributes, {logits.tensor, options.bias}, logits.where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

Tensor hyper_combine(In mixes, const Tensor& scale, const Tensor& base, std::uint32_t iterations,
                     float eps) {
  return make(kinds::hyper_combine, graph::HyperAttributes{.eps = eps, .iterations = iterations},
              {mixes.tensor, scale, base}, mixes.where);
}

Tensor hyper_read(In x, const Tensor& weights, float scale) {
  const bool gated = weights && weights.shape().size() == x.tensor.shape().size();
  return make(kinds::hyper_read, graph::HyperAttributes{.scale = scale},
              {x.tensor, gated ? Tensor() : weights, gated ? weights : Tensor()}, x.where);
}

Tensor hyper_write(In x, const Tensor& residual, const Tensor& share, const Tensor& mix) {
  return make(kinds::hyper_write, {}, {x.tensor, residual, share, mix}, x.where);
}

Tensor index_scores(In q, const Tensor& k, const Tensor& weights, const Tensor& mask) {
  return make(kinds::indexer, {}, {q.tensor, k, weights, mask}, q.where);
}

}  // namespace weft
