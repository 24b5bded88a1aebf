#include <optional>

#include "describe/attributes/conv_ssm.hpp"
#include "describe/attributes/recurrence.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/recurrence/recurrence.hpp"
#include "ops/ssm_conv/ssm_conv.hpp"

namespace weft::graph::kinds {
namespace {

using ops::recurrence::Kind;

// ssm_conv: x [sequences, channels, taps - 1 + tokens], weight [channels, taps], bias (optional)

Result<std::vector<Type>> infer_ssm_conv(const Signature& s) {
  const Type& x = s.inputs[0];
  const Type& w = s.inputs[1];
  const bool fits = w.given && is_float(x.dtype) && is_float(w.dtype) && x.rank() == 3 &&
                    w.rank() == 2 && x.shape[1] == w.shape[0] && w.shape[1] >= 1 &&
                    x.shape[2] + 1 >= w.shape[1] &&
                    (!s.inputs[2].given || s.inputs[2].shape == Shape{w.shape[0]});
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "A causal convolution needs x [sequences, channels, taps - 1 + tokens], weights "
                "[channels, taps] and a bias [channels]; it was given {}, {} and {}.",
                describe(x), describe(w), describe(s.inputs[2]));
  }
  return one(DType::f32, {x.shape[0], x.shape[2] + 1 - w.shape[1], x.shape[1]});
}

Result<ops::Plan> lower_ssm_conv(const LowerArgs& l) {
  return ops::ssm_conv::plan({.x = l.inputs[0],
                              .weight = l.inputs[1],
                              .bias = l.inputs[2],
                              .y = l.outputs[0],
                              .silu = as<ConvSsmAttributes>(l.attributes).silu},
                             l.caps);
}

/// A convolution in which each channel is a group of its own.
std::vector<Tensor> gradient_ssm_conv(const GradientArgs& g) {
  const bool silu = as<ConvSsmAttributes>(g.attributes).silu;
  return derivatives_through(g, [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Shape& w = in[1].shape();
    const Tensor bias = in[2] ? in[2].to(DType::f32) : Tensor();
    const Tensor y = weft::conv(in[0].to(DType::f32), in[1].to(DType::f32).reshape({w[0], 1, w[1]}),
                                {.groups = w[0]}, bias)
                         .permute({0, 2, 1});
    return {silu ? weft::silu(y) : y};
  });
}

// recurrence: q, k, v, decay, a, b, bonus, step (those that the kind needs), state → y, new state

enum Place : std::uint8_t { at_q, at_k, at_v, at_decay, at_a, at_b, at_bonus, at_step, at_state };

Result<std::vector<Type>> infer_recurrence(const Signature& s) {
  const auto& a = as<RecurrenceAttributes>(s.attributes);
  const Type& q = s.inputs[at_q];
  const Type& v = s.inputs[at_v];
  const Type& state = s.inputs[at_state];
  bool fits = true;
  for (const Type& input : s.inputs) fits = fits && (!input.given || input.dtype == DType::f32);
  fits = fits && q.rank() == 4 && s.inputs[at_k] == q && v.rank() == 4 &&
         q.shape[0] == v.shape[0] && q.shape[1] == v.shape[1] && q.shape[2] > 0 &&
         v.shape[2] % q.shape[2] == 0 &&
         state.shape == Shape{v.shape[0], v.shape[2], v.shape[3], q.shape[3]};
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "A recurrence ({}) needs f32 q and k [sequences, tokens, heads, keys], v "
                "[sequences, tokens, heads, values] and a state [sequences, heads, values, keys]; "
                "it was given {}, {}, {} and {}.",
                name(a.kind), describe(q), describe(s.inputs[at_k]), describe(v), describe(state));
  }
  if (a.snapshots > v.shape[1]) {
    return fail(ErrorCode::invalid_argument,
                "A recurrence over {} tokens cannot give {} snapshots of its state.", v.shape[1],
                a.snapshots);
  }
  Type states = state;
  if (a.snapshots > 0) states.shape.insert(states.shape.begin(), a.snapshots);
  return std::vector<Type>{v, states};
}

Result<ops::Plan> lower_recurrence(const LowerArgs& l) {
  const auto& a = as<RecurrenceAttributes>(l.attributes);
  ops::recurrence::Args args;
  args.kind = a.kind;
  args.q = l.inputs[at_q];
  args.k = l.inputs[at_k];
  args.v = l.inputs[at_v];
  args.decay = l.inputs[at_decay];
  args.a = l.inputs[at_a];
  args.b = l.inputs[at_b];
  args.bonus = l.inputs[at_bonus];
  args.step = l.inputs[at_step];
  args.state = l.inputs[at_state];
  args.y = l.outputs[0];
  args.new_state = a.snapshots > 0 ? l.outputs[1] : l.outputs[1].unsqueeze(0);
  args.scale = a.scale;
  args.interleaved = a.interleaved;
  return ops::recurrence::plan(args, l.caps);
}

/// The recurrence in terms of other operations, token by token.
class Unrolled {
 public:
  Unrolled(const RecurrenceAttributes& a, const std::vector<Tensor>& in) : a_(a), in_(in) {}

  std::vector<Tensor> run() {
    Tensor state = in_[at_state];
    std::vector<Tensor> rows;
    std::vector<Tensor> states;  // the last ones first
    const Shape& v = in_[at_v].shape();
    Shape one = state.shape();
    one.insert(one.begin(), 1);
    for (token_ = 0; token_ < v[1]; ++token_) {
      rows.push_back(step(state).reshape({v[0], 1, v[2], v[3]}));
      if (v[1] - token_ <= a_.snapshots) states.insert(states.begin(), state.reshape(one));
    }
    return {rows.empty() ? in_[at_v] : weft::concat(rows, 1),
            states.empty() ? state : weft::concat(states, 0)};
  }

 private:
  /// What a tensor [sequences, tokens, heads, n] has for this token, as [sequences, heads of v, 1,
  /// n].
  [[nodiscard]] Tensor row(Place place) const {
    const Shape& shape = in_[place].shape();
    const std::uint64_t heads = in_[at_v].shape()[2];
    const Tensor now = in_[place].slice(1, static_cast<std::int64_t>(token_), 1);
    if (shape[2] == heads) return now.reshape({shape[0], heads, 1, shape[3]});
    const std::uint64_t share = heads / shape[2];
    Shape split{shape[0], 1, shape[2], shape[3]};
    Shape repeated{shape[0], share, shape[2], shape[3]};
    if (a_.interleaved) {
      split = {shape[0], shape[2], 1, shape[3]};
      repeated = {shape[0], shape[2], share, shape[3]};
    }
    return now.reshape(split).broadcast_to(repeated).reshape({shape[0], heads, 1, shape[3]});
  }
  /// The same as [sequences, heads, n, 1].
  [[nodiscard]] Tensor column(Place place) const { return row(place).transpose(); }
  /// One number for each head, [sequences, heads, 1, 1].
  [[nodiscard]] Tensor number(Place place) const {
    const Shape& shape = in_[place].shape();
    return in_[place]
        .slice(1, static_cast<std::int64_t>(token_), 1)
        .reshape({shape[0], shape[2], 1, 1});
  }
  /// [heads, n] as [heads, 1, n].
  [[nodiscard]] Tensor fixed(Place place) const {
    const Shape& shape = in_[place].shape();
    return in_[place].reshape({shape[0], 1, shape[1]});
  }
  static Tensor read(const Tensor& state, const Tensor& by) {
    return weft::sum(state * by, {3}, true);
  }

  Tensor step(Tensor& state) const {
    const Tensor q = row(at_q);
    const Tensor k = row(at_k);
    const Tensor v = column(at_v);
    switch (a_.kind) {
      case Kind::gated_linear_attention: state = state * row(at_decay) + v * k; break;
      case Kind::rwkv6: {
        const Tensor y = read(state + v * k * fixed(at_bonus), q);
        state = state * row(at_decay) + v * k;
        return y;
      }
      case Kind::rwkv7:
        state = state * row(at_decay) + v * k + read(state, row(at_a)) * row(at_b);
        break;
      case Kind::gated_delta_rule:
        state = state * weft::exp(row(at_decay));
        state = state + (v - read(state, k)) * number(at_step) * k;
        break;
      case Kind::selective_scan: {
        const Tensor d = weft::map("softplus", number(at_step));
        state = state * weft::exp(d * fixed(at_decay)) + d * v * k;
        break;
      }
    }
    const Tensor y = read(state, q);
    return a_.kind == Kind::gated_linear_attention || a_.kind == Kind::gated_delta_rule
               ? y * double{a_.scale}
               : y;
  }

  const RecurrenceAttributes& a_;
  const std::vector<Tensor>& in_;
  std::uint64_t token_ = 0;
};

std::vector<Tensor> gradient_recurrence(const GradientArgs& g) {
  const auto& a = as<RecurrenceAttributes>(g.attributes);
  return derivatives_through(g,
                             [&](const std::vector<Tensor>& in) { return Unrolled(a, in).run(); });
}

}  // namespace

const Rule ssm_conv{.name = "ssm_conv",
                    .infer = infer_ssm_conv,
                    .lower = lower_ssm_conv,
                    .gradient = gradient_ssm_conv};
const Rule recurrence{.name = "recurrence",
                      .infer = infer_recurrence,
                      .lower = lower_recurrence,
                      .gradient = gradient_recurrence};

}  // namespace weft::graph::kinds
