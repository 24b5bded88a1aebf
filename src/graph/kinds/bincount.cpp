#include "ops/bincount/bincount.hpp"

#include "describe/attributes/bincount.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// bincount: x i32 [n] → i32 [count]

Result<std::vector<Type>> infer_bincount(const Signature& s) {
  const Type& x = s.inputs[0];
  if (x.dtype != DType::i32 || x.rank() != 1) {
    return fail(ErrorCode::invalid_argument,
                "bincount needs whole numbers i32 [n]; it was given {}.", describe(x));
  }
  return one(DType::i32, {as<BincountAttributes>(s.attributes).count});
}

Result<ops::Plan> lower_bincount(const LowerArgs& l) {
  return ops::bincount::plan({.x = l.inputs[0], .y = l.outputs[0]}, l.caps);
}

}  // namespace

const Rule bincount{.name = "bincount", .infer = infer_bincount, .lower = lower_bincount};

}  // namespace weft::graph::kinds
