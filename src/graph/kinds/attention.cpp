#include "ops/attention/attention.hpp"

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/rope/rope.hpp"

namespace weft::graph::kinds {
namespace {

// attention: q, k, v, mask (optional) → y and the log-sum-exp of each row

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
  return std::vector<Type>{{q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}},
                           {DType::f32, {q.shape[0], q.shape[1], q.shape[2]}}};
}

ops::attention::Rules rules_of(const AttentionAttributes& a) {
  ops::attention::Rules rules;
  rules.scale = a.scale;
  rules.soft_cap = a.soft_cap;
  rules.causal = a.causal;
  rules.window = a.window;
  return rules;
}

Result<ops::Plan> lower_attention(const LowerArgs& l) {
  ops::attention::Args args;
  args.q = l.inputs[0];
  args.k = l.inputs[1];
  args.v = l.inputs[2];
  args.mask = l.inputs[3];
  args.y = l.outputs[0];
  args.lse = l.outputs[1];
  args.rules = rules_of(as<AttentionAttributes>(l.attributes));
  return ops::attention::plan(args, l.caps);
}

std::vector<Tensor> gradient_attention(const GradientArgs& g) {
  if (g.dy[1] || (g.wanted.size() > 3 && g.wanted[3])) {
    throw Error(ErrorCode::unsupported,
                "Attention has no derivative by its mask; detach() it if none is wanted.");
  }
  const auto node = make_node(
      attention_back, g.attributes,
      {g.inputs[0], g.inputs[1], g.inputs[2], g.inputs[3], g.outputs[0], g.outputs[1], g.dy[0]},
      Where::current());
  return {Access::tensor({node, 0}), Access::tensor({node, 1}), Access::tensor({node, 2})};
}

// attention_back: q, k, v, mask, y, log-sum-exps, dy → dq, dk, dv

Result<std::vector<Type>> infer_attention_back(const Signature& s) {
  return std::vector<Type>(s.inputs.begin(), s.inputs.begin() + 3);
}

Result<ops::Plan> lower_attention_back(const LowerArgs& l) {
  ops::attention::BackwardArgs args;
  args.q = l.inputs[0];
  args.k = l.inputs[1];
  args.v = l.inputs[2];
  args.mask = l.inputs[3];
  args.y = l.inputs[4];
  args.lse = l.inputs[5];
  args.dy = l.inputs[6];
  args.dq = l.outputs[0];
  args.dk = l.outputs[1];
  args.dv = l.outputs[2];
  args.rules = rules_of(as<AttentionAttributes>(l.attributes));
  return ops::attention::plan(args, l.caps);
}

// rope: x, positions (optional)

Result<std::vector<Type>> infer_rope(const Signature& s) {
  const auto& a = as<RopeAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (!is_float(x.dtype) || x.rank() != 4 || a.dims > x.shape[3] || a.dims % 2 != 0) {
    return fail(ErrorCode::invalid_argument,
                "rope turns an even number of elements of [batch, tokens, heads, size]; it was "
                "given {} and {} elements.",
                describe(x), a.dims);
  }
  if (s.inputs[1].given && s.inputs[1] != Type{DType::i32, {x.shape[1]}}) {
    return fail(ErrorCode::invalid_argument, "Positions for {} are i32[{}]; {} was given.",
                describe(x), x.shape[1], describe(s.inputs[1]));
  }
  return one(x.dtype, x.shape);
}

Result<ops::Plan> lower_rope(const LowerArgs& l) {
  const auto& a = as<RopeAttributes>(l.attributes);
  ops::rope::Args args;
  args.x = l.inputs[0];
  args.y = l.outputs[0];
  args.positions = l.inputs[1];
  args.mode = a.halves ? ops::rope::Mode::halves : ops::rope::Mode::pairs;
  args.dims = a.dims;
  args.first_position = a.first;
  args.base = a.base;
  args.backward = a.backward;
  return ops::rope::plan(args, l.caps);
}

std::vector<Tensor> gradient_rope(const GradientArgs& g) {
  RopeAttributes turned = as<RopeAttributes>(g.attributes);
  turned.backward = !turned.backward;
  return {make(rope, turned, {g.dy[0], g.inputs[1]}, Where::current())};
}

constexpr InPlace over_x[] = {{0, 0}};

}  // namespace

const Rule attention{.name = "attention",
                     .infer = infer_attention,
                     .lower = lower_attention,
                     .gradient = gradient_attention};
const Rule attention_back{
    .name = "attention_back", .infer = infer_attention_back, .lower = lower_attention_back};
const Rule rope{.name = "rope",
                .infer = infer_rope,
                .lower = lower_rope,
                .gradient = gradient_rope,
                .in_place = over_x};

}  // namespace weft::graph::kinds
