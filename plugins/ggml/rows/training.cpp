// Backward ops, losses and optimizer steps.
#include <array>

#include "node.hpp"
#include "ops/cross_entropy/cross_entropy.hpp"
#include "ops/gather/gather.hpp"
#include "ops/norm_back/norm_back.hpp"
#include "ops/optimizer/optimizer.hpp"
#include "ops/repeat_back/repeat_back.hpp"
#include "ops/softmax_back/softmax_back.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

/// The two inner dimensions of a tensor whose outer ones are 1.
Result<View> matrix(const View& view) {
  if (view.shape[0] * view.shape[1] != 1) {
    return fail(ErrorCode::unsupported,
                "Rows are added to a table of two dimensions only; it is {}.", describe(view));
  }
  View out = view;
  out.rank = 2;
  out.shape = {view.shape[2], view.shape[3]};
  out.stride = {view.stride[2], view.stride[3]};
  return out;
}

Result<Plan> silu_back(const Node& node, const Caps& caps) {
  return map_to("silu_back", {node.source(1), node.source(0)}, node.dst, caps);
}

Result<Plan> repeat_back(const Node& node, const Caps& caps) {
  return ops::repeat_back::plan({.dy = node.source(0), .dx = node.dst}, caps);
}

Result<Plan> softmax_back(const Node& node, const Caps& caps) {
  if (node.param_f32(1) != 0) {
    return fail(ErrorCode::unsupported,
                "The gradient of softmax with ALiBi (max_bias {}) is not known.",
                node.param_f32(1));
  }
  return ops::softmax_back::plan(
      {.y = node.source(1), .dy = node.source(0), .dx = node.dst, .scale = node.param_f32(0)},
      caps);
}

Result<Plan> rms_norm_back(const Node& node, const Caps& caps) {
  return ops::norm_back::plan({.kind = ops::norm::Kind::rms,
                               .x = node.source(1),
                               .dy = node.source(0),
                               .dx = node.dst,
                               .eps = node.param_f32(0)},
                              caps);
}

/// The first rows of src0, one per index of src1, are added up in a table that starts with zeros.
Result<Plan> get_rows_back(const Node& node, const Caps& caps) {
  const View& given = node.source(1);
  auto source = matrix(node.source(0));
  if (!source) return std::unexpected(source.error());
  auto table = matrix(node.dst);
  if (!table) return std::unexpected(table.error());
  auto indices = matrix(given);
  if (!indices) return std::unexpected(indices.error());
  if (indices->shape[0] != 1 || indices->shape[1] > source->shape[0]) {
    return fail(ErrorCode::unsupported, "Rows of {} cannot be added at the indices {}.",
                describe(*source), describe(given));
  }
  indices->rank = 1;
  indices->shape[0] = indices->shape[1];
  indices->stride[0] = indices->stride[1];
  auto plan = map_to("fill", {}, *table, caps);
  if (!plan) return plan;
  auto sums = ops::gather::plan(
      ops::gather::AddRowsArgs{
          .source = source->slice(0, 0, indices->shape[0]), .indices = *indices, .table = *table},
      caps);
  if (!sums) return sums;
  plan->append(std::move(*sums));
  return plan;
}

Result<Plan> cross_entropy(const Node& node, const Caps& caps) {
  return ops::cross_entropy::plan(
      ops::cross_entropy::Args{
          .problem = {.logits = node.source(0), .probabilities = node.source(1)}, .loss = node.dst},
      caps);
}

Result<Plan> cross_entropy_back(const Node& node, const Caps& caps) {
  return ops::cross_entropy::plan(
      ops::cross_entropy::BackArgs{
          .problem = {.logits = node.source(1), .probabilities = node.source(2)},
          .dloss = node.source(0),
          .dlogits = node.dst},
      caps);
}

Result<Plan> adamw(const Node& node, const Caps& caps) {
  return ops::optimizer::plan(
      ops::optimizer::AdamArgs{.tensors = {.weights = node.source(0), .gradients = node.source(1)},
                               .m = node.source(2),
                               .v = node.source(3),
                               .numbers = node.source(4)},
      caps);
}

Result<Plan> sgd(const Node& node, const Caps& caps) {
  return ops::optimizer::plan(
      ops::optimizer::SgdArgs{.tensors = {.weights = node.source(0), .gradients = node.source(1)},
                              .numbers = node.source(2)},
      caps);
}

constexpr std::array rows{
    Row{GGML_OP_SILU_BACK, silu_back},
    Row{GGML_OP_REPEAT_BACK, repeat_back},
    Row{GGML_OP_SOFT_MAX_BACK, softmax_back},
    Row{GGML_OP_RMS_NORM_BACK, rms_norm_back},
    Row{GGML_OP_GET_ROWS_BACK, get_rows_back},
    Row{GGML_OP_CROSS_ENTROPY_LOSS, cross_entropy},
    Row{GGML_OP_CROSS_ENTROPY_LOSS_BACK, cross_entropy_back},
    Row{GGML_OP_OPT_STEP_ADAMW, adamw},
    Row{GGML_OP_OPT_STEP_SGD, sgd},
};

}  // namespace

std::span<const Row> training_rows() { return rows; }

}  // namespace weft::plugin
