#include "ops/case.hpp"

// The one place where the list of ops is turned into declarations and a table.
#define WEFT_OP(folder)         \
  namespace weft::ops::folder { \
  Op describe_op();             \
  }
#include "ops/ops.inc"
#undef WEFT_OP

namespace weft::ops {

std::span<const Op> all_ops() {
#define WEFT_OP(folder) folder::describe_op(),
  static const Op ops[] = {
#include "ops/ops.inc"
  };
#undef WEFT_OP
  return ops;
}

}  // namespace weft::ops
