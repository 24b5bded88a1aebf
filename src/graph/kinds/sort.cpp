#include "ops/sort/sort.hpp"

#include "describe/attributes/sort.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// sort: x […, n] → values and indices […, count]

Result<std::vector<Type>> infer_sort(const Signature& s) {
  const auto& a = as<SortAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (x.rank() == 0 || a.count > x.shape.back()) {
    return fail(ErrorCode::invalid_argument,
                "{} elements cannot be taken in order from the last dimension of {}.", a.count,
                describe(x));
  }
  Shape shape = x.shape;
  shape.back() = a.count;
  return std::vector<Type>{{x.dtype, shape}, {DType::i32, shape}};
}

Result<ops::Plan> lower_sort(const LowerArgs& l) {
  return ops::sort::plan({.x = l.inputs[0],
                          .indices = l.outputs[1],
                          .values = l.outputs[0],
                          .descending = as<SortAttributes>(l.attributes).descending},
                         l.caps);
}

std::vector<Tensor> gradient_sort(const GradientArgs& g) {
  if (!g.dy[0]) return {};
  const Tensor zeros = full_like(g.dy[0], g.inputs[0].shape(), g.inputs[0].dtype());
  const auto last = static_cast<std::uint32_t>(g.inputs[0].shape().size() - 1);
  return {weft::scatter_add(zeros, g.outputs[1], g.dy[0], static_cast<int>(last))};
}

}  // namespace

const Rule sort{
    .name = "sort", .infer = infer_sort, .lower = lower_sort, .gradient = gradient_sort};

}  // namespace weft::graph::kinds
