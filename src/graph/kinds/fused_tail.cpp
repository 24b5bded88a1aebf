#include "describe/attributes/norm.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/fused.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/kinds.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::graph::kinds {
namespace {

// chain inputs …, weight, bias → a reduction, a softmax or a norm of the chain

Result<std::vector<Type>> infer_fused_tail(const Signature& s) {
  const auto& a = as<FusedTailAttributes>(s.attributes);
  std::vector<Type> x{{DType::f32, a.shape}};
  if (const auto* tail = std::get_if<ReduceAttributes>(&a.tail)) {
    return reduce.infer({.attributes = *tail, .inputs = x});
  }
  return x;
}

Result<ops::Plan> lower_fused_tail(const LowerArgs& l) {
  const auto& a = as<FusedTailAttributes>(l.attributes);
  const auto end = l.inputs.begin() + a.inputs;
  ops::fused::Chain chain{{l.inputs.begin(), end}, a.steps};
  if (const auto* tail = std::get_if<ReduceAttributes>(&a.tail)) {
    return ops::reduce::plan({.function = tail->function,
                              .x = ops::View::dense(DType::f32, a.shape),
                              .axes = tail->axes,
                              .y = l.outputs[0],
                              .chain = std::move(chain)},
                             l.caps);
  }
  if (const auto* tail = std::get_if<SoftmaxAttributes>(&a.tail)) {
    ops::softmax::Args args;
    args.chain = std::move(chain);
    args.y = l.outputs[0];
    args.scale = tail->scale;
    args.log = tail->log;
    return ops::softmax::plan(args, l.caps);
  }
  const auto& tail = std::get<NormAttributes>(a.tail);
  ops::norm::Args args;
  args.kind = tail.kind;
  args.chain = std::move(chain);
  args.y = l.outputs[0];
  args.weight = end[0];
  args.bias = end[1];
  args.eps = tail.eps;
  return ops::norm::plan(args, l.caps);
}

// A softmax or norm reads each element before it writes the same one; for a reduction see
// may_replace (lower.cpp).
constexpr InPlace over_each[] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}};

}  // namespace

const Rule fused_tail{
    .name = "fused", .infer = infer_fused_tail, .lower = lower_fused_tail, .in_place = over_each};

}  // namespace weft::graph::kinds
