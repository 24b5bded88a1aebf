#include "ops/norm/norm.hpp"

#include <array>
#include <limits>

#include "ops/softmax/softmax.hpp"
#include "ops/stages.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;
using ops::norm::Kind;

Result<Plan> row_norm(Kind kind, const Node& node, const Caps& caps) {
  return ops::norm::plan(
      {.kind = kind, .x = node.source(0), .y = node.dst, .eps = node.param_f32(0)}, caps);
}

Result<Plan> norm(const Node& node, const Caps& caps) { return row_norm(Kind::layer, node, caps); }
Result<Plan> rms_norm(const Node& node, const Caps& caps) {
  return row_norm(Kind::rms, node, caps);
}
Result<Plan> l2_norm(const Node& node, const Caps& caps) { return row_norm(Kind::l2, node, caps); }

Result<Plan> group_norm(const Node& node, const Caps& caps) {
  return ops::norm::plan({.kind = Kind::group,
                          .x = node.source(0),
                          .y = node.dst,
                          .eps = node.param_f32(1),
                          .groups = static_cast<std::uint64_t>(node.param(0))},
                         caps);
}

Result<Plan> soft_max(const Node& node, const Caps& caps) {
  const View x = node.source(0);
  View mask = node.source(1);
  if (mask.given() && mask.shape[2] > x.shape[2]) {  // It may have rows for a larger batch.
    mask = mask.slice(2, 0, x.shape[2]);
  }
  View sinks = node.source(2);
  if (sinks.given()) sinks = drop_front(sinks, 3);
  return ops::softmax::plan({.x = x,
                             .y = node.dst,
                             .mask = mask,
                             .sinks = sinks,
                             .scale = node.param_f32(0),
                             .max_bias = node.param_f32(1)},
                            caps);
}

/// Elements right of the diagonal, which `past` moves to the right, become `value`.
Result<Plan> diag_mask(float value, const Node& node, const Caps& caps) {
  const View x = node.source(0);
  const std::uint64_t height = x.shape[2];
  const std::uint64_t width = x.shape[3];
  ops::Stages stages{x, node.dst};
  const View row = stages.scratch(DType::i32, {height});
  const View column = stages.scratch(DType::i32, {width});
  const View hidden = stages.scratch(DType::i32, {height, width});
  const View constant = stages.scratch(DType::f32, {1});
  stages.add(map_to("arange", {}, row, caps, {static_cast<double>(node.param(0)), 1}));
  stages.add(map_to("arange", {}, column, caps, {0, 1}));
  stages.add(map_to("greater", {column, row.unsqueeze(1)}, hidden, caps));
  stages.add(map_to("fill", {}, constant, caps, {value}));
  stages.add(map_to("where", {hidden, constant, x}, node.dst, caps));
  return std::move(stages).finish();
}

Result<Plan> diag_mask_inf(const Node& node, const Caps& caps) {
  return diag_mask(-std::numeric_limits<float>::infinity(), node, caps);
}
Result<Plan> diag_mask_zero(const Node& node, const Caps& caps) { return diag_mask(0, node, caps); }

constexpr std::array rows{
    Row{GGML_OP_NORM, norm},
    Row{GGML_OP_RMS_NORM, rms_norm},
    Row{GGML_OP_L2_NORM, l2_norm},
    Row{GGML_OP_GROUP_NORM, group_norm},
    Row{GGML_OP_SOFT_MAX, soft_max},
    Row{GGML_OP_DIAG_MASK_INF, diag_mask_inf},
    Row{GGML_OP_DIAG_MASK_ZERO, diag_mask_zero},
};

}  // namespace

std::span<const Row> norm_rows() { return rows; }

}  // namespace weft::plugin
