#include <array>
#include <cstdlib>
#include <string_view>

#include "api.hpp"
#include "base/format.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/quant/quant.hpp"
#include "ops/stages.hpp"
#include "rows/common.hpp"
#include "rows/matmul.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;

/// ggml lets neighbouring batches of the right side share one of the left: batch i meets batch i /
/// (n / m). Splits the batch dimensions of `full` views so that plain broadcasting of `shared` does
/// that.
void split_shared(std::span<View* const> full, View& shared) {
  for (std::uint32_t i = 2; i-- > 0;) {
    const std::uint64_t batches = shared.shape[i];
    const std::uint64_t whole = full.front()->shape[i];
    if (batches == whole || batches <= 1 || whole % batches != 0) continue;
    for (View* view : full) *view = view->split(i, whole / batches);
    shared = shared.unsqueeze(i + 1);
  }
}

ops::mul_mat::Args product_args(const Node& node) {
  View weights = node.source(0);
  View x = node.source(1);
  View dst = node.dst;
  split_shared(std::array{&x, &dst}, weights);
  return {.weights = weights,
          .x = x,
          .y = dst,
          .allow_q8 = allows_q8(node),
          .exact = exact_products(),
          .packed = node.packed};
}

ops::mul_mat::IdArgs id_product_args(const Node& node) {
  return {.weights = drop_front(node.source(0)),
          .x = drop_front(node.source(1)),
          .ids = drop_front(node.source(2), 2),
          .y = drop_front(node.dst),
          .allow_q8 = allows_q8(node),
          .exact = exact_products(),
          .packed = node.packed};
}

Result<Plan> mul_mat(const Node& node, const Caps& caps) {
  return ops::mul_mat::plan(product_args(node), caps);
}

Result<Plan> mul_mat_id(const Node& node, const Caps& caps) {
  return ops::mul_mat::plan(id_product_args(node), caps);
}

Result<Plan> out_prod(const Node& node, const Caps& caps) {
  View left = node.source(0);
  View right = node.source(1);
  View dst = node.dst;
  ops::Stages stages{left, right, dst};
  if (is_quantized(left.dtype)) {
    const View values = stages.scratch(DType::f32, left.extents());
    stages.add(ops::quant::plan(ops::quant::DecodeArgs{.table = left, .y = values}, caps));
    left = values;
  }
  split_shared(std::array{&right, &dst}, left);
  stages.add(ops::gemm::plan(
      {.a = right.transpose(right.rank - 2, right.rank - 1), .b = left, .c = dst}, caps));
  return std::move(stages).finish();
}

constexpr std::array products{
    Row{GGML_OP_MUL_MAT, mul_mat},
    Row{GGML_OP_MUL_MAT_ID, mul_mat_id},
    Row{GGML_OP_OUT_PROD, out_prod},
};

}  // namespace

std::span<const Row> matmul_rows() { return products; }

bool allows_q8(const Node& node) {
  const std::int32_t right = node.param(3);
  return node.param(0) != GGML_PREC_F32 && (right == GGML_PREC_UNDEFINED || right >= GGML_PREC_Q8);
}

bool exact_products() {
  static const bool exact = [] {
    const char* value = std::getenv("WEFT_PRECISION");
    return value != nullptr && std::string_view(value) == "highest";
  }();
  return exact;
}

std::optional<View> packed_source(const Node& node, const Caps& caps, bool given) {
  const auto wanted = [&](auto args) -> std::optional<View> {
    if (given) {
      args.packed = ops::mul_mat::packed_view(args.x);
      args.packed.slot = ops::Slot::shared(0);
    }
    return ops::mul_mat::wants_packed(args, caps) ? std::optional(args.x) : std::nullopt;
  };
  if (node.tensor->op == GGML_OP_MUL_MAT) return wanted(product_args(node));
  if (node.tensor->op == GGML_OP_MUL_MAT_ID) return wanted(id_product_args(node));
  return std::nullopt;
}

}  // namespace weft::plugin
