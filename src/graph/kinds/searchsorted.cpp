#include "ops/searchsorted/searchsorted.hpp"

#include "describe/attributes/searchsorted.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// searchsorted: sorted […, n] or [n], values […, m] → i32 […, m]

Result<std::vector<Type>> infer_searchsorted(const Signature& s) {
  const Type& sorted = s.inputs[0];
  const Type& values = s.inputs[1];
  bool fits =
      values.given && sorted.rank() > 0 && values.rank() > 0 && sorted.dtype == values.dtype;
  if (fits && sorted.rank() > 1) {
    fits = Shape(sorted.shape.begin(), sorted.shape.end() - 1) ==
           Shape(values.shape.begin(), values.shape.end() - 1);
  }
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "searchsorted needs sorted [..., n] or [n] and values [..., m] of one type; it was "
                "given {} and {}.",
                describe(sorted), describe(values));
  }
  return one(DType::i32, values.shape);
}

Result<ops::Plan> lower_searchsorted(const LowerArgs& l) {
  ops::View sorted = l.inputs[0];
  while (sorted.rank < l.inputs[1].rank) sorted = sorted.unsqueeze(0);
  for (std::uint32_t i = 0; i + 1 < sorted.rank && l.inputs[0].rank == 1; ++i) {
    sorted.shape[i] = l.inputs[1].shape[i];
    sorted.stride[i] = 0;
  }
  return ops::searchsorted::plan({.sorted = sorted,
                                  .values = l.inputs[1],
                                  .y = l.outputs[0],
                                  .right = as<SearchsortedAttributes>(l.attributes).right},
                                 l.caps);
}

}  // namespace

const Rule searchsorted{
    .name = "searchsorted", .infer = infer_searchsorted, .lower = lower_searchsorted};

}  // namespace weft::graph::kinds
