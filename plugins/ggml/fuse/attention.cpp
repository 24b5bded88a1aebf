// Attention as products and a softmax, of few queries: what graphs have that do not use ggml's op
// for it.
#include "ops/attention/attention.hpp"

#include <array>

#include "fuse/patterns.hpp"
#include "rows/attention.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::View;

/// Whether a view has the dimensions of the tensor it shows with the middle ones swapped.
bool swaps_heads(const ggml_tensor& view, const ggml_tensor& tensor) {
  return view.view_src == &tensor && view.data == tensor.data && view.type == tensor.type &&
         view.ne[0] == tensor.ne[0] && view.ne[1] == tensor.ne[2] && view.ne[2] == tensor.ne[1] &&
         view.ne[3] == tensor.ne[3] && view.nb[0] == tensor.nb[0] && view.nb[1] == tensor.nb[2] &&
         view.nb[2] == tensor.nb[1] && view.nb[3] == tensor.nb[3];
}

}  // namespace

ggml_tensor* attention_queries(const ggml_tensor& result) {
  if (result.op != GGML_OP_CONT || result.src[0]->view_src == nullptr) return nullptr;
  const ggml_tensor& values = *result.src[0]->view_src;
  if (values.op != GGML_OP_MUL_MAT || values.src[1]->op != GGML_OP_SOFT_MAX) return nullptr;
  const ggml_tensor& logits = *values.src[1]->src[0];
  return logits.op == GGML_OP_MUL_MAT && logits.ne[1] <= most_joined_columns ? logits.src[1]
                                                                             : nullptr;
}

namespace {

/// The plan for so many nodes.
std::optional<Fusion> plan_packed(const Candidates& candidates, std::size_t nodes,
                                  ops::attention::Args args) {
  const View heads = args.y.transpose(1, 2);
  const std::array shape{heads.shape[0], heads.shape[1], heads.shape[2] * heads.shape[3]};
  const View rows = View::dense(heads.dtype, shape);
  return candidates.packing(nodes, heads, rows, {}, [&](const View& packed) {
    args.packed = packed;
    return ops::attention::plan(args, candidates.caps);
  });
}

}  // namespace

std::optional<Fusion> fuse_attention(const Candidates& candidates) {
  if (candidates.is(0, GGML_OP_FLASH_ATTN_EXT)) {
    const auto node = candidates.node(*candidates.at(0));
    return node ? plan_packed(candidates, 1, attention_args(*node)) : std::nullopt;
  }
  if (!candidates.is(0, GGML_OP_MUL_MAT) || !candidates.is(1, GGML_OP_SOFT_MAX) ||
      !candidates.is(2, GGML_OP_MUL_MAT) || !candidates.is(3, GGML_OP_CONT)) {
    return std::nullopt;
  }
  const ggml_tensor& logits = *candidates.at(0);
  const ggml_tensor& shares = *candidates.at(1);
  const ggml_tensor& values = *candidates.at(2);
  const ggml_tensor& result = *candidates.at(3);
  const auto is_float = [](const ggml_tensor& tensor) {
    return tensor.type == GGML_TYPE_F32 || tensor.type == GGML_TYPE_F16 ||
           tensor.type == GGML_TYPE_BF16;
  };
  if (logits.ne[1] > most_joined_columns || shares.src[0] != &logits || values.src[1] != &shares ||
      !swaps_heads(*result.src[0], values) || !is_float(*logits.src[0]) ||
      !is_float(*values.src[0]) || !candidates.uses.only_once(logits) ||
      !candidates.uses.only_once(shares) ||
      !candidates.uses.only_among(values, candidates.nodes.subspan(3, 1))) {
    return std::nullopt;
  }
  const auto keys = candidates.node(logits);
  const auto weights = candidates.node(shares);
  const auto product = candidates.node(values);
  const auto stored = candidates.node(result);
  if (!keys || !weights || !product || !stored || !stored->dst.is_dense() ||
      stored->dst.dtype != DType::f32) {
    return std::nullopt;
  }
  const View& q = keys->src[1];
  const View sinks = weights->source(2);
  const std::array shape{q.shape[0], q.shape[2], q.shape[1], product->dst.shape[3]};
  return plan_packed(
      candidates, 4,
      {.q = q,
       .k = keys->src[0],
       .v = product->src[0].transpose(2, 3),
       .y = reshape_dense(stored->dst, shape).transpose(1, 2),
       .mask = weights->source(1),
       .sinks = sinks.given() ? drop_front(sinks, 3) : sinks,
       .rules = {.scale = weights->param_f32(0), .max_bias = weights->param_f32(1)}});
}

}  // namespace weft::plugin
