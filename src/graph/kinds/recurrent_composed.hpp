#pragma once

#include <vector>

#include "describe/attributes/recurrent_steps.hpp"
#include "weft/tensor.hpp"

// The steps of recurrent layers, forward and back, written with operations that have derivatives of
// their own. Slower than the kinds recurrent_steps and recurrent_steps_back: they are there for
// derivatives of derivatives.

namespace weft::graph::kinds {

/// Inputs and outputs as those of recurrent_steps.
std::vector<Tensor> composed_steps(const RecurrentStepsAttributes& attributes,
                                   const std::vector<Tensor>& inputs);

/// Inputs and outputs as those of recurrent_steps_back.
std::vector<Tensor> composed_steps_back(const RecurrentStepsAttributes& attributes,
                                        const std::vector<Tensor>& inputs);

}  // namespace weft::graph::kinds
