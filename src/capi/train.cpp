#include "weft/c/train.h"

#include <vector>

#include "capi/make.hpp"
#include "capi/part.hpp"

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_checkpoint(weft_part part, void* context, const weft_tensor* inputs,
                                   uint32_t count, weft_tensor* y) {
  return make(__func__, y, inputs, count, "inputs", [&](const std::vector<Tensor>& from) {
    if (part == nullptr) raise(ErrorCode::invalid_argument, "`part` is NULL.");
    return checkpoint(
        [part, context](const std::vector<Tensor>& in) {
          return run_part(part, context, in, "The part to checkpoint");
        },
        from, nowhere);
  });
}
