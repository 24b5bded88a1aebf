#include <array>

#include "ops/quant/quant.hpp"
#include "ops/rows/rows.hpp"
#include "ops/sort/sort.hpp"
#include "ops/stages.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

Result<Plan> get_rows(const Node& node, const Caps& caps) {
  if (is_quantized(node.source(0).dtype)) {
    return ops::quant::plan(
        ops::quant::DecodeArgs{
            .table = node.source(0), .y = node.dst, .indices = drop_front(node.source(1))},
        caps);
  }
  return ops::rows::plan(
      ops::rows::GetArgs{
          .table = node.source(0), .indices = drop_front(node.source(1)), .y = node.dst},
      caps);
}

Result<Plan> set_rows(const Node& node, const Caps& caps) {
  View source = node.source(0);
  View table = node.dst;
  View indices = drop_front(node.source(1));  // [c2, c1, rows], repeated over [ne3, ne2, rows]
  for (std::uint32_t i = 2; i-- > 0;) {
    const std::uint64_t extent = indices.shape[i];
    const std::uint64_t whole = table.shape[i];
    if (extent == whole || extent <= 1) continue;
    source = source.split(i, extent);
    table = table.split(i, extent);
    indices = indices.unsqueeze(i);
    indices.shape[i] = whole / extent;
    indices.stride[i] = 0;
  }
  if (is_quantized(table.dtype)) {
    return ops::quant::plan(ops::quant::EncodeArgs{.x = source, .table = table, .indices = indices},
                            caps);
  }
  return ops::rows::plan(ops::rows::SetArgs{.source = source, .indices = indices, .table = table},
                         caps);
}

/// dst = src0 + the rows of src1 that the indices name.
Result<Plan> add_id(const Node& node, const Caps& caps) {
  const View x = drop_front(node.source(0));           // [tokens, experts, columns]
  const View bias = drop_front(node.source(1));        // [1, rows, columns]
  const View indices = drop_front(node.source(2), 2);  // [tokens, experts]
  const View y = drop_front(node.dst);
  if (x.dtype == y.dtype && x.stride == y.stride) {
    return ops::rows::plan(ops::rows::GetArgs{.table = bias, .indices = indices, .y = y, .plus = x},
                           caps);
  }
  ops::Stages stages{x, bias, indices, y};
  const View picked = stages.scratch(DType::f32, {x.shape[0], x.shape[1], x.shape[2]});
  stages.add(
      ops::rows::plan(ops::rows::GetArgs{.table = bias, .indices = indices, .y = picked}, caps));
  stages.add(map_to("add", {x, picked}, y, caps));
  return std::move(stages).finish();
}

Result<Plan> argsort(const Node& node, const Caps& caps) {
  return plan(ops::sort::Args{.x = node.source(0),
                              .indices = node.dst,
                              .descending = node.param(0) == GGML_SORT_ORDER_DESC},
              caps);
}

Result<Plan> top_k(const Node& node, const Caps& caps) {
  return plan(ops::sort::Args{.x = node.source(0), .indices = node.dst, .descending = true}, caps);
}

constexpr std::array rows{
    Row{GGML_OP_ADD_ID, add_id},     Row{GGML_OP_ARGSORT, argsort}, Row{GGML_OP_GET_ROWS, get_rows},
    Row{GGML_OP_SET_ROWS, set_rows}, Row{GGML_OP_TOP_K, top_k},
};

}  // namespace

std::span<const Row> index_rows() { return rows; }

}  // namespace weft::plugin
