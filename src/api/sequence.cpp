#include "weft/sequence.hpp"

#include "base/format.hpp"
#include "describe/attributes/hyper.hpp"
#include "describe/attributes/linear.hpp"
#include "describe/attributes/recurrence.hpp"
#include "describe/attributes/router.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/view.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

namespace {

graph::LinearAttributes attributes_of(const LinearOptions& options) {
  const bool exact = options.precision == Precision::highest;
  return {.allow_q8 = options.allow_q8 && !exact, .exact = exact};
}

}  // namespace

Tensor linear(In x, const Tensor& weight, const Tensor& bias, const LinearOptions& options) {
  const graph::Called called("linear", x.where);
  if (x.tensor && !is_float(x.tensor.dtype()) && !is_quantized(x.tensor.dtype()))
    return linear({x.tensor.to(DType::f32, x.where), x.where}, weight, bias, options);
  if (!weight) {
    throw Error(ErrorCode::invalid_argument,
                formatted("The weight is empty: it was never given a value ({}).",
                          graph::describe_place("linear", x.where)));
  }
  const Shape& rows = x.tensor.shape();
  const Shape& shape = weight.shape();
  if (rows.empty() || shape.size() < 2 || rows.back() != shape.back()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("linear needs x […, K] and a weight […, M, K]; the shapes are {} and {} "
                          "({}).",
                          ops::describe(rows), ops::describe(shape),
                          graph::describe_place("linear", x.where)));
  }
  if (rows.size() == 1) {  // one row
    const Tensor y =
        linear({x.tensor.reshape({1, rows[0]}, x.where), x.where}, weight, bias, options);
    Shape flat = y.shape();
    flat.erase(flat.end() - 2);
    return y.reshape(flat, x.where);
  }
  const Tensor y = is_quantized(weight.dtype())
                       ? make(kinds::linear, attributes_of(options), {x.tensor, weight}, x.where)
                             .to(x.tensor.dtype(), x.where)
                       : matmul(x, weight.transpose(x.where), {.dtype = x.tensor.dtype()});
  return bias ? map("add", {y, bias}, {}, x.where) : y;
}

Tensor grouped_linear(In x, const Tensor& weight, const Tensor& ids, const LinearOptions& options) {
  return make(kinds::grouped_linear, attributes_of(options), {x.tensor, weight, ids}, x.where);
}

namespace {

using Scan = ops::recurrence::Kind;

/// What the scans differ in: which inputs they have.
struct ScanInputs {
  Tensor q;
  Tensor k;
  Tensor v;
  Tensor decay;
  Tensor state;
  Tensor a{};
  Tensor b{};
  Tensor bonus{};
  Tensor step{};
};

Scanned scan(Scan kind, const ScanInputs& in, const ScanOptions& options, float scale,
             Where where) {
  const graph::RecurrenceAttributes attributes{kind, scale, options.interleaved, options.snapshots};
  const auto node = graph::make_node(
      kinds::recurrence, attributes,
      {in.q, in.k, in.v, in.decay, in.a, in.b, in.bonus, in.step, in.state}, where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

}  // namespace

Scanned gated_linear_attention(In q, const Tensor& k, const Tensor& v, const Tensor& decay,
                               const Tensor& state, const ScanOptions& options) {
  return scan(Scan::gated_linear_attention,
              {.q = q.tensor, .k = k, .v = v, .decay = decay, .state = state}, options,
              options.scale, q.where);
}

Scanned rwkv6(In r, const Tensor& k, const Tensor& v, const Tensor& decay, const Tensor& bonus,
              const Tensor& state, const ScanOptions& options) {
  return scan(Scan::rwkv6,
              {.q = r.tensor, .k = k, .v = v, .decay = decay, .state = state, .bonus = bonus},
              options, 1, r.where);
}

Scanned rwkv7(In r, const Tensor& k, const Tensor& v, const Tensor& decay, const Tensor& a,
              const Tensor& b, const Tensor& state, const ScanOptions& options) {
  return scan(Scan::rwkv7,
              {.q = r.tensor, .k = k, .v = v, .decay = decay, .state = state, .a = a, .b = b},
              options, 1, r.where);
}

Scanned gated_delta_rule(In q, const Tensor& k, const Tensor& v, const Tensor& decay,
                         const Tensor& beta, const Tensor& state, const ScanOptions& options) {
  return scan(Scan::gated_delta_rule,
              {.q = q.tensor, .k = k, .v = v, .decay = decay, .state = state, .step = beta},
              options, options.scale, q.where);
}

Scanned selective_scan(In x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c,
                       const Tensor& state, const ScanOptions& options) {
  return scan(Scan::selective_scan,
              {.q = c, .k = b, .v = x.tensor, .decay = a, .state = state, .step = dt}, options, 1,
              x.where);
}

Routed route(In logits, std::uint64_t count, const RouteOptions& options) {
  const graph::RouterAttributes attributes{count,
                                           static_cast<ops::router::Score>(options.score),
                                           options.softmax_chosen,
                                           options.normalize,
                                           options.least,
                                           options.scale};
  const auto node =
      graph::make_node(kinds::route, attributes, {logits.tensor, options.bias}, logits.where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

Tensor hyper_read(In x, const Tensor& weights, float scale) {
  const bool gated = weights && weights.shape().size() == x.tensor.shape().size();
  return make(kinds::hyper_read, graph::HyperAttributes{.scale = scale},
              {x.tensor, gated ? Tensor() : weights, gated ? weights : Tensor()}, x.where);
}

}  // namespace weft
