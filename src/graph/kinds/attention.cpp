#include "ops/attention/attention.hpp"

#include <limits>

#include "describe/attributes/attention.hpp"
#include "describe/attributes/band.hpp"
#include "describe/attributes/shape.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// attention: q, k, v, mask (optional), sinks (optional) → y and the log-sum-exp of each row

Result<std::vector<Type>> infer_attention(const Signature& s) {
  const Type& q = s.inputs[0];
  const Type& k = s.inputs[1];
  const Type& v = s.inputs[2];
  bool fits = is_float(q.dtype) && is_float(k.dtype) && is_float(v.dtype) && q.rank() == 4 &&
              k.rank() == 4 && v.rank() == 4;
  fits = fits && k.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] && k.shape[2] == v.shape[2] &&
         q.shape[3] == k.shape[3] && k.shape[0] > 0 && k.shape[1] > 0 &&
         q.shape[0] % k.shape[0] == 0 && q.shape[1] % k.shape[1] == 0;
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "attention needs q [batch, heads, queries, size] and k and v [batch, key heads, "
                "keys, size]; it was given {}, {} and {}.",
                describe(q), describe(k), describe(v));
  }
  if (s.inputs[3].given) {
    const Shape& mask = s.inputs[3].shape;
    if (mask.size() != 4 || mask[2] != q.shape[2] || mask[3] != k.shape[2]) {
      return fail(ErrorCode::invalid_argument,
                  "A mask of shape {} does not fit {} queries and {} keys.", ops::describe(mask),
                  q.shape[2], k.shape[2]);
    }
  }
  if (s.inputs[4].given && s.inputs[4] != Type{DType::f32, {q.shape[1]}}) {
    return fail(ErrorCode::invalid_argument,
                "Sinks for {} are one f32 for each head; {} was given.", describe(q),
                describe(s.inputs[4]));
  }
  return std::vector<Type>{{q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}},
                           {DType::f32, {q.shape[0], q.shape[1], q.shape[2]}}};
}

ops::attention::Rules rules_of(const AttentionAttributes& a) {
  ops::attention::Rules rules;
  rules.scale = a.scale;
  rules.soft_cap = a.soft_cap;
  rules.causal = a.causal;
  rules.window = a.window;
  rules.max_bias = a.max_bias;
  return rules;
}

Result<ops::Plan> lower_attention(const LowerArgs& l) {
  ops::attention::Args args;
  args.q = l.inputs[0];
  args.k = l.inputs[1];
  args.v = l.inputs[2];
  args.mask = l.inputs[3];
  args.sinks = l.inputs[4];
  args.y = l.outputs[0];
  args.lse = l.outputs[1];
  args.rules = rules_of(as<AttentionAttributes>(l.attributes));
  return ops::attention::plan(args, l.caps);
}

/// Keys or values with a head (and a batch) for each of q.
Tensor grouped(const Tensor& k, const Shape& q) {
  const Shape& shape = k.shape();
  if (shape[0] == q[0] && shape[1] == q[1]) return k;
  return k.reshape({shape[0], 1, shape[1], 1, shape[2], shape[3]})
      .broadcast_to({shape[0], q[0] / shape[0], shape[1], q[1] / shape[1], shape[2], shape[3]})
      .reshape({q[0], q[1], shape[2], shape[3]});
}

/// A mask repeated over the batches and heads of the logits.
Tensor tiled(const Tensor& mask, const Shape& logits) {
  const Shape& shape = mask.shape();
  if (shape[0] <= 1 && shape[1] <= 1) return mask;  // broadcasts
  if (shape == logits) return mask;
  return make(tile, ShapeAttributes{logits}, {mask}, Where::current());
}

/// What a query sees: everything, or with rules the keys from one diagonal to another.
BandAttributes visible(const AttentionAttributes& a, std::uint64_t queries, std::uint64_t keys) {
  const auto shift = static_cast<std::int64_t>(keys) - static_cast<std::int64_t>(queries);
  const auto all = static_cast<std::int64_t>(keys + queries);
  const auto window = static_cast<std::int64_t>(a.window);
  return {.low = a.window > 0 ? shift - window + 1 : -all, .high = a.causal ? shift : all};
}

/// The logits of attention, [batch, heads, queries, keys] of f32, before the rules of what is
/// visible.
Tensor logits_of(const AttentionAttributes& a, const Tensor& q, const Tensor& k,
                 const Tensor& mask) {
  const Tensor wide = q.to(DType::f32);
  const Shape& shape = q.shape();
  const Tensor keys = grouped(k, shape).to(DType::f32);
  Tensor z = weft::matmul(wide, keys.transpose()) * double{a.scale};
  if (a.soft_cap > 0) z = weft::tanh(z * (1 / double{a.soft_cap})) * double{a.soft_cap};
  if (!mask) return z;
  Tensor bias = tiled(mask.to(DType::f32), z.shape());
  if (a.max_bias > 0) {
    bias = bias * constant_like(q, {shape[1], 1, 1}, alibi_slopes(shape[1], a.max_bias));
  }
  return z + bias;
}

/// exp(logit - lse) where a key is visible, else 0.
Tensor shares_of(const AttentionAttributes& a, const Tensor& logits, const Tensor& lse) {
  const Shape& shape = logits.shape();
  const Tensor shares =
      weft::exp(logits - lse.reshape({shape[0], shape[1], shape[2], 1}).to(DType::f32));
  return make(band_part, visible(a, shape[2], shape[3]), {shares}, Where::current());
}

Tensor mask_gradient(const GradientArgs& g) {
  const auto& a = as<AttentionAttributes>(g.attributes);
  const Tensor& q = g.inputs[0];
  const Tensor logits = logits_of(a, q, g.inputs[1], g.inputs[3]);
  const Tensor dy = g.dy[0].to(DType::f32);
  const Tensor pull = weft::sum(dy * g.outputs[0].to(DType::f32), {3}, true);
  const Tensor values = grouped(g.inputs[2], q.shape()).to(DType::f32);
  const Tensor products = weft::matmul(dy, values.transpose());
  Tensor d = shares_of(a, logits, g.outputs[1]) * (products - pull);
  if (a.max_bias > 0) {
    const std::uint64_t heads = q.shape()[1];
    d = d * constant_like(q, {heads, 1, 1}, alibi_slopes(heads, a.max_bias));
  }
  return tile_sum(d, g.inputs[3].shape()).to(g.inputs[3].dtype());
}

/// A sink takes the share exp(sink - lse) of each row of its head.
Tensor sink_gradient(const GradientArgs& g) {
  const Tensor pull = weft::sum(g.dy[0].to(DType::f32) * g.outputs[0].to(DType::f32), {3});
  const Tensor share = weft::exp(g.inputs[4].reshape({g.inputs[4].size(), 1}) - g.outputs[1]);
  return -weft::sum(share * pull, {0, 2});
}

std::vector<Tensor> gradient_attention(const GradientArgs& g) {
  if (g.dy[1]) {
    throw Error(ErrorCode::internal, "The log-sum-exps of attention have no derivative.");
  }
  std::vector<Tensor> out(5);
  if (g.wanted[0] || g.wanted[1] || g.wanted[2]) {
    std::vector<Tensor> inputs = g.inputs;
    inputs.insert(inputs.end(), {g.outputs[0], g.outputs[1], g.dy[0]});
    const auto node = make_node(attention_back, g.attributes, inputs, Where::current());
    for (std::uint32_t i = 0; i < 3; ++i) out[i] = Access::tensor({node, i});
  }
  if (g.wanted[3]) out[3] = mask_gradient(g);
  if (g.wanted[4]) out[4] = sink_gradient(g);
  return out;
}

// attention_back: q, k, v, mask, sinks, y, log-sum-exps, dy → dq, dk, dv

Result<std::vector<Type>> infer_attention_back(const Signature& s) {
  return std::vector<Type>(s.inputs.begin(), s.inputs.begin() + 3);
}

Result<ops::Plan> lower_attention_back(const LowerArgs& l) {
  ops::attention::BackwardArgs args;
  args.q = l.inputs[0];
  args.k = l.inputs[1];
  args.v = l.inputs[2];
  args.mask = l.inputs[3];
  args.y = l.inputs[5];
  args.lse = l.inputs[6];
  args.dy = l.inputs[7];
  args.dq = l.outputs[0];
  args.dk = l.outputs[1];
  args.dv = l.outputs[2];
  args.rules = rules_of(as<AttentionAttributes>(l.attributes));
  return ops::attention::plan(args, l.caps);
}

/// Attention in terms of other operations, with the matrix of shares in memory.
Tensor attention_expression(const AttentionAttributes& a, const std::vector<Tensor>& in) {
  const Tensor& q = in[0];
  const Tensor logits = logits_of(a, q, in[1], in[3]);
  const Shape& shape = logits.shape();
  BandAttributes seen = visible(a, shape[2], shape[3]);
  seen.value = -std::numeric_limits<double>::infinity();
  const Tensor visible_logits = make(band_part, seen, {logits}, Where::current());
  const Tensor shares = weft::softmax(visible_logits, -1, {.sinks = in[4]});
  return weft::matmul(shares, grouped(in[2], q.shape()).to(DType::f32)).to(q.dtype());
}

/// Second derivatives go through the matrix of shares. The result of the forward pass and its
/// log-sum-exps are functions of q, k and v: what depends on them is counted there.
std::vector<Tensor> gradient_attention_back(const GradientArgs& g) {
  GradientArgs own = g;
  own.wanted[5] = own.wanted[6] = false;
  const auto& a = as<AttentionAttributes>(g.attributes);
  return derivatives_through(own, [&](const std::vector<Tensor>& in) {
    return partial_derivatives(attention_expression(a, in), in[7], {in[0], in[1], in[2]});
  });
}

}  // namespace

const Rule attention{.name = "attention",
                     .infer = infer_attention,
                     .lower = lower_attention,
                     .gradient = gradient_attention};
const Rule attention_back{.name = "attention_back",
                          .infer = infer_attention_back,
                          .lower = lower_attention_back,
                          .gradient = gradient_attention_back};

}  // namespace weft::graph::kinds
