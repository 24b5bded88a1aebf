#pragma once

#include <string_view>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/c/train.h"

namespace weft::capi {

/// Calls a function of the caller's from tensors to one tensor. `what` names it in the message
/// where it fails: "The loss", say.
Tensor run_part(weft_part part, void* context, const std::vector<Tensor>& inputs,
                std::string_view what);

}  // namespace weft::capi
