#include <algorithm>
#include <array>

#include "rows/attention.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;
using ops::rope::Mode;

/// A tensor of one dimension as a view of one dimension.
View flat(const View& view) { return drop_front(view, 3); }

Result<Mode> rope_mode(int mode) {
  switch (mode) {
    case GGML_ROPE_TYPE_NORMAL: return Mode::interleaved;
    case GGML_ROPE_TYPE_NEOX: return Mode::halves;
    case GGML_ROPE_TYPE_MROPE: return Mode::sections;
    case GGML_ROPE_TYPE_IMROPE: return Mode::sections_in_turn;
    case GGML_ROPE_TYPE_VISION: return Mode::vision;
    default: return fail(ErrorCode::unsupported, "Rope has no mode {}.", mode);
  }
}

Result<Plan> turn(const Node& node, bool backward, const Caps& caps) {
  const auto args = rope_args(node, backward);
  if (!args) return std::unexpected(args.error());
  return ops::rope::plan(*args, caps);
}

Result<Plan> rope(const Node& node, const Caps& caps) { return turn(node, false, caps); }
Result<Plan> rope_back(const Node& node, const Caps& caps) { return turn(node, true, caps); }

Result<Plan> flash_attention(const Node& node, const Caps& caps) {
  return ops::attention::plan(attention_args(node), caps);
}

constexpr std::array<Row, 3> rows{{{GGML_OP_ROPE, rope},
                                   {GGML_OP_ROPE_BACK, rope_back},
                                   {GGML_OP_FLASH_ATTN_EXT, flash_attention}}};

}  // namespace

ops::attention::Args attention_args(const Node& node) {
  const View sinks = node.source(4);
  return {.q = node.source(0),
          .k = node.source(1),
          .v = node.source(2),
          .y = node.dst.transpose(1, 2),
          .mask = node.source(3),
          .sinks = sinks.given() ? flat(sinks) : sinks,
          .rules = {.scale = node.param_f32(0),
                    .soft_cap = node.param_f32(2),
                    .max_bias = node.param_f32(1)}};
}

Result<ops::rope::Args> rope_args(const Node& node, bool backward) {
  const auto mode = rope_mode(node.param(2));
  if (!mode) return std::unexpected(mode.error());
  View positions = flat(node.source(1));
  if (*mode != Mode::interleaved && *mode != Mode::halves) {
    // Four rows of positions, of which the tensor may have more than there are tokens.
    const std::uint64_t tokens = node.dst.shape[1];
    const std::array<std::uint64_t, 2> shape{4, tokens};
    if (positions.shape[0] < 4 * tokens) {
      return fail(ErrorCode::invalid_argument, "Rope of {} tokens in sections has {} positions.",
                  tokens, positions.shape[0]);
    }
    positions = reshape_dense(positions, shape);
  }
  const auto size = [&](std::size_t index) {
    return static_cast<std::uint32_t>(std::max(0, node.param(index)));
  };
  const View factors = node.source(2);
  return ops::rope::Args{.x = node.source(0),
                         .y = node.dst,
                         .positions = positions,
                         .factors = factors.given() ? flat(factors) : factors,
                         .mode = *mode,
                         .dims = size(1),
                         .offset = size(15),
                         .sections = {size(11), size(12), size(13), size(14)},
                         .base = node.param_f32(5),
                         .scale = node.param_f32(6),
                         .extrapolation = node.param_f32(7),
                         .magnitude = node.param_f32(8),
                         .beta_fast = node.param_f32(9),
                         .beta_slow = node.param_f32(10),
                         .trained_context = size(4),
                         .backward = backward};
}

std::span<const Row> attention_rows() { return rows; }

}  // namespace weft::plugin
