// Every op of src/ops can be used from expressions: it is what some kind of operation lowers to.
#include "graph/kinds.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "ops/case.hpp"

namespace weft::graph {
namespace {

using Rules = std::vector<const Rule*>;

const std::map<std::string_view, Rules>& kinds_of_ops() {
  static const std::map<std::string_view, Rules> table{
      {"map", {&kinds::map, &kinds::cast, &kinds::copy}},
      {"fused", {&kinds::fused, &kinds::fused_tail}},
      {"reduce", {&kinds::reduce}},
      {"softmax", {&kinds::softmax}},
      {"softmax_back", {&kinds::softmax_back}},
      {"rows", {&kinds::get_rows, &kinds::set_rows}},
      {"gemm", {&kinds::matmul}},
      {"norm", {&kinds::norm}},
      {"norm_back", {&kinds::norm_back}},
      {"cross_entropy", {&kinds::cross_entropy, &kinds::cross_entropy_back}},
      {"optimizer", {&kinds::adam, &kinds::sgd, &kinds::sgd_momentum, &kinds::clip}},
      {"dropout", {&kinds::dropout}},
      {"random", {&kinds::random}},
      {"repeat_back", {&kinds::tile_back}},
      {"recurrence", {&kinds::recurrence}},
      {"ssm_conv", {&kinds::ssm_conv}},
      {"hyper", {&kinds::hyper_combine, &kinds::hyper_read, &kinds::hyper_write}},
      {"indexer", {&kinds::indexer}},
      {"shape", {&kinds::concat, &kinds::pad, &kinds::tile}},
      {"cumsum", {&kinds::cumsum}},
      {"gather", {&kinds::gather, &kinds::scatter_add, &kinds::add_rows}},
      {"sort", {&kinds::sort}},
      {"quant", {&kinds::cast, &kinds::get_rows}},
      {"attention", {&kinds::attention, &kinds::attention_back}},
      {"rope", {&kinds::rope}},
      {"mul_mat", {&kinds::stored, &kinds::chosen}},
      {"unfold", {&kinds::unfold, &kinds::fold}},
      {"conv", {&kinds::conv, &kinds::conv_transposed, &kinds::conv_weight}},
      {"pool", {&kinds::pool, &kinds::pool_back}},
      {"resize", {&kinds::resize}},
      {"border", {&kinds::border, &kinds::band}},
      {"triangle", {&kinds::solve}},
      {"sinusoid", {&kinds::sinusoid}},
      {"router", {&kinds::router}},
      {"fft", {&kinds::fft}},
  };
  return table;
}

TEST(Kinds, EveryOpHasOne) {
  for (const ops::Op& op : ops::all_ops()) {
    EXPECT_TRUE(kinds_of_ops().contains(op.name))
        << op.name << " has no kind in src/graph/kinds, or is missing from this table";
  }
}

TEST(Kinds, AllAreListedAndCanRun) {
  const std::set<const Rule*> listed(kinds::all().begin(), kinds::all().end());
  std::set<const Rule*> used;
  for (const auto& [op, rules] : kinds_of_ops()) used.insert(rules.begin(), rules.end());
  for (const Rule* rule : used) {
    EXPECT_TRUE(listed.contains(rule)) << rule->name;
    EXPECT_TRUE(rule->infer != nullptr && rule->lower != nullptr) << rule->name;
  }
  for (const Rule* rule : listed) {
    EXPECT_TRUE(rule->lower == nullptr || used.contains(rule))
        << rule->name << " is missing from the table";
  }
}

}  // namespace
}  // namespace weft::graph
