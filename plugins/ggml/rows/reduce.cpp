#include "ops/reduce/reduce.hpp"

#include <array>

#include "ops/cumsum/cumsum.hpp"
#include "ops/stages.hpp"
#include "rows/common.hpp"

namespace weft::plugin {
namespace {

using ops::Plan;
using ops::View;
using ops::reduce::Function;

constexpr std::uint32_t along_rows = 1U << 3U;

Result<Plan> sum(const Node& node, const Caps& caps) {
  // ggml's own sum reads rows as if they were contiguous: nobody can rely on others.
  if (node.source(0).stride[3] != 1) {
    return fail(ErrorCode::unsupported, "The sum of a tensor ({}) whose rows are not contiguous.",
                describe(node.source(0)));
  }
  return ops::reduce::plan({.function = Function::sum,
                            .x = node.source(0),
                            .axes = ops::reduce::all_axes(node.source(0)),
                            .y = node.dst},
                           caps);
}

Result<Plan> sum_rows(const Node& node, const Caps& caps) {
  return ops::reduce::plan(
      {.function = Function::sum, .x = node.source(0), .axes = along_rows, .y = node.dst}, caps);
}

Result<Plan> mean(const Node& node, const Caps& caps) {
  return ops::reduce::plan(
      {.function = Function::mean, .x = node.source(0), .axes = along_rows, .y = node.dst}, caps);
}

Result<Plan> argmax(const Node& node, const Caps& caps) {
  // The source is a matrix, and its rows are the elements of the result.
  return ops::reduce::plan({.function = Function::argmax,
                            .x = node.source(0),
                            .axes = along_rows,
                            .y = drop_front(node.dst)},
                           caps);
}

Result<Plan> cumsum(const Node& node, const Caps& caps) {
  return ops::cumsum::plan({.x = node.source(0), .y = node.dst, .axis = 3}, caps);
}

Result<Plan> count_equal(const Node& node, const Caps& caps) {
  const View a = node.source(0);
  const View b = node.source(1);
  ops::Stages stages{a, b, node.dst};
  const View equal = stages.scratch(DType::i32, a.extents());
  stages.add(map_to("equal", {a, b}, equal, caps));
  stages.add(ops::reduce::plan(
      {.function = Function::sum, .x = equal, .axes = ops::reduce::all_axes(equal), .y = node.dst},
      caps));
  return std::move(stages).finish();
}

constexpr std::array rows{
    Row{GGML_OP_SUM, sum},       Row{GGML_OP_SUM_ROWS, sum_rows},
    Row{GGML_OP_MEAN, mean},     Row{GGML_OP_ARGMAX, argmax},
    Row{GGML_OP_CUMSUM, cumsum}, Row{GGML_OP_COUNT_EQUAL, count_equal},
};

}  // namespace

std::span<const Row> reduce_rows() { return rows; }

}  // namespace weft::plugin
