// Every op of src/ops can be used from expressions: it is what some kind of operation lowers to.
#include "graph/kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "describe/table.hpp"
#include "ops/case.hpp"

namespace weft::graph {
namespace {

TEST(Kinds, EveryOpHasOne) {
  for (const ops::Op& op : ops::all_ops()) {
    EXPECT_TRUE(std::ranges::contains(kind_ops, op.name, &KindOp::op))
        << "No kind of description/*.toml has op = \"" << op.name << "\".";
  }
  for (const KindOp& row : kind_ops) {
    EXPECT_TRUE(std::ranges::contains(ops::all_ops(), row.op, &ops::Op::name))
        << "description/*.toml: the op `" << row.op << "` of `" << row.kind
        << "` is not in ops.inc.";
  }
}

TEST(Kinds, AllCanRun) {
  for (const Rule* rule : kinds::all()) {
    EXPECT_EQ(rule->lower != nullptr, std::ranges::contains(kind_ops, rule->name, &KindOp::kind))
        << rule->name << " lowers to an op that description/*.toml does not name, or the reverse.";
    EXPECT_TRUE(rule->lower == nullptr || rule->infer != nullptr) << rule->name;
  }
}

}  // namespace
}  // namespace weft::graph
