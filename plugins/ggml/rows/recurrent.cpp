// State recurrences and the ops around them.
#include <algorithm>
#include <array>
#include <cmath>

#include "api.hpp"
#include "ops/hyper/hyper.hpp"
#include "ops/indexer/indexer.hpp"
#include "ops/recurrence/recurrence.hpp"
#include "ops/ssm_conv/ssm_conv.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;
using ops::recurrence::Kind;

/// Part of a dense tensor, from element `first` on, as a dense tensor of another shape.
View part(const View& whole, std::uint64_t first, std::initializer_list<std::uint64_t> shape) {
  View out = View::dense(whole.dtype, shape, whole.slot);
  out.offset = whole.offset + first * size_of(whole.dtype);
  return out;
}

Status check_dense(const Node& node, std::size_t sources) {
  for (std::size_t i = 0; i < sources; ++i) {
    if (!node.source(i).is_dense()) {
      return fail(ErrorCode::unsupported, "Source {} of {} is {}; it must be contiguous.", i,
                  api().op_name(node.tensor->op), describe(node.source(i)));
    }
  }
  return {};
}

/// What wkv6, wkv7 and gla have in common: tokens of all sequences behind one another, and a result
/// that holds the outputs and then the states. `heads` is a source of the shape [tokens, heads,
/// size].
struct Tokens {
  std::uint64_t sequences, tokens, heads, size;
  Tokens(const View& like, const View& state)
      : sequences(state.shape[2]),
        tokens(like.shape[1] / std::max<std::uint64_t>(state.shape[2], 1)),
        heads(like.shape[2]),
        size(like.shape[3]) {}
  [[nodiscard]] View per_token(const View& view) const {
    return part(view, 0, {sequences, tokens, heads, size});
  }
  [[nodiscard]] View states(const View& view) const {
    return part(view, 0, {sequences, heads, size, size});
  }
  [[nodiscard]] View new_states(const View& dst) const {
    return part(dst, sequences * tokens * heads * size, {1, sequences, heads, size, size});
  }
};

Result<Plan> wkv6(const Node& node, const Caps& caps) {
  if (const Status ok = check_dense(node, 6); !ok) return std::unexpected(ok.error());
  const Tokens all(node.source(0), node.source(5));
  // States are kept with the values innermost.
  return ops::recurrence::plan({.kind = Kind::rwkv6,
                                .q = all.per_token(node.source(2)),
                                .k = all.per_token(node.source(0)),
                                .v = all.per_token(node.source(1)),
                                .decay = all.per_token(node.source(4)),
                                .bonus = part(node.source(3), 0, {all.heads, all.size}),
                                .state = all.states(node.source(5)).transpose(2, 3),
                                .y = all.per_token(node.dst),
                                .new_state = all.new_states(node.dst).transpose(3, 4)},
                               caps);
}

Result<Plan> gated_linear_attention(const Node& node, const Caps& caps) {
  if (const Status ok = check_dense(node, 5); !ok) return std::unexpected(ok.error());
  const Tokens all(node.source(0), node.source(4));
  return ops::recurrence::plan({.kind = Kind::gated_linear_attention,
                                .q = all.per_token(node.source(2)),
                                .k = all.per_token(node.source(0)),
                                .v = all.per_token(node.source(1)),
                                .decay = all.per_token(node.source(3)),
                                .state = all.states(node.source(4)).transpose(2, 3),
                                .y = all.per_token(node.dst),
                                .new_state = all.new_states(node.dst).transpose(3, 4),
                                .scale = node.param_f32(0)},
                               caps);
}

Result<Plan> wkv7(const Node& node, const Caps& caps) {
  if (const Status ok = check_dense(node, 7); !ok) return std::unexpected(ok.error());
  const Tokens all(node.source(0), node.source(6));
  return ops::recurrence::plan({.kind = Kind::rwkv7,
                                .q = all.per_token(node.source(0)),
                                .k = all.per_token(node.source(2)),
                                .v = all.per_token(node.source(3)),
                                .decay = all.per_token(node.source(1)),
                                .a = all.per_token(node.source(4)),
                                .b = all.per_token(node.source(5)),
                                .state = all.states(node.source(6)),
                                .y = all.per_token(node.dst),
                                .new_state = all.new_states(node.dst)},
                               caps);
}

Result<Plan> gated_delta_net(const Node& node, const Caps& caps) {
  const View& v = node.source(2);
  const auto [sequences, tokens, heads, size] =
      std::array{v.shape[0], v.shape[1], v.shape[2], v.shape[3]};
  const auto snapshots = static_cast<std::uint64_t>(node.param(0));
  View beta = node.source(4);
  beta.rank = 3;
  return ops::recurrence::plan({.kind = Kind::gated_delta_rule,
                                .q = node.source(0),
                                .k = node.source(1),
                                .v = v,
                                .decay = node.source(3),
                                .step = beta,
                                .state = node.source(5),
                                .y = part(node.dst, 0, {sequences, tokens, heads, size}),
                                .new_state = part(node.dst, sequences * tokens * heads * size,
                                                  {snapshots, sequences, heads, size, size}),
                                .scale = 1 / std::sqrt(static_cast<float>(size))},
                               caps);
}

Result<Plan> ssm_scan(const Node& node, const Caps& caps) {
  const View& x = node.source(1);
  const auto [sequences, tokens, heads, values] =
      std::array{x.shape[0], x.shape[1], x.shape[2], x.shape[3]};
  const std::uint64_t keys = node.source(0).shape[3];
  const auto snapshots = static_cast<std::uint64_t>(node.param(0));
  if (snapshots != 1 && node.source(3).shape[3] != 1) {
    return fail(ErrorCode::unsupported, "{} snapshots of states with a decay per key.", snapshots);
  }
  return ops::recurrence::plan({.kind = Kind::selective_scan,
                                .q = node.source(5),
                                .k = node.source(4),
                                .v = x,
                                .decay = drop_front(node.source(3), 2),
                                .step = drop_front(node.source(2)),
                                .state = node.source(0),
                                .ids = drop_front(node.source(6), 3),
                                .y = part(node.dst, 0, {sequences, tokens, heads, values}),
                                .new_state = part(node.dst, sequences * tokens * heads * values,
                                                  {snapshots, sequences, heads, values, keys}),
                                .interleaved = true},
                               caps);
}

Result<Plan> ssm_conv(const Node& node, const Caps& caps) {
  return ops::ssm_conv::plan({.x = drop_front(node.source(0)),
                              .weight = drop_front(node.source(1), 2),
                              .y = drop_front(node.dst)},
                             caps);
}

Result<Plan> hyper_combine(const Node& node, const Caps& caps) {
  return ops::hyper::plan(
      ops::hyper::CombineArgs{.mixes = drop_front(node.source(0), 2),
                              .scale = drop_front(node.source(1), 3),
                              .base = drop_front(node.source(2), 3),
                              .y = drop_front(node.dst),
                              .eps = node.param_f32(0),
                              .iterations = static_cast<std::uint32_t>(node.param(1))},
      caps);
}

Result<Plan> hyper_read(const Node& node, const Caps& caps) {
  const bool gated = node.param(1) != 0;
  const View weights = drop_front(node.source(1));
  return ops::hyper::plan(ops::hyper::ReadArgs{.x = drop_front(node.source(0)),
                                               .weights = gated ? View{} : drop_front(weights),
                                               .gates = gated ? weights : View{},
                                               .y = drop_front(node.dst, 2),
                                               .scale = node.param_f32(0)},
                          caps);
}

Result<Plan> hyper_write(const Node& node, const Caps& caps) {
  const View mix = node.source(3);
  return ops::hyper::plan(ops::hyper::WriteArgs{.x = drop_front(node.source(0), 2),
                                                .residual = drop_front(node.source(1)),
                                                .share = drop_front(node.source(2), 2),
                                                .mix = mix.given() ? drop_front(mix) : mix,
                                                .y = drop_front(node.dst)},
                          caps);
}

Result<Plan> indexer(const Node& node, const Caps& caps) {
  // ggml's order, outermost first: k [streams, keys, 1, size], weights [streams, 1, tokens, heads].
  return ops::indexer::plan({.q = node.source(0),
                             .k = drop(node.source(1), 2),
                             .weights = drop(node.source(2), 1),
                             .mask = drop(node.source(3), 1),
                             .y = drop(node.dst, 1)},
                            caps);
}

constexpr std::array rows{
    Row{GGML_OP_RWKV_WKV6, wkv6},
    Row{GGML_OP_RWKV_WKV7, wkv7},
    Row{GGML_OP_GATED_LINEAR_ATTN, gated_linear_attention},
    Row{GGML_OP_GATED_DELTA_NET, gated_delta_net},
    Row{GGML_OP_SSM_SCAN, ssm_scan},
    Row{GGML_OP_SSM_CONV, ssm_conv},
    Row{GGML_OP_DSV4_HC_COMB, hyper_combine},
    Row{GGML_OP_DSV4_HC_PRE, hyper_read},
    Row{GGML_OP_DSV4_HC_POST, hyper_write},
    Row{GGML_OP_LIGHTNING_INDEXER, indexer},
};

}  // namespace

std::span<const Row> recurrent_rows() { return rows; }

}  // namespace weft::plugin
