#pragma once

#include <span>
#include <vector>

#include "ops/case.hpp"
#include "ops/fused/chain.hpp"

namespace weft::ops::fused {

/// A chain in double, for inputs that broadcast to the shape of y.
void compute_chain(const std::vector<Step>& steps, std::span<const HostTensor> inputs,
                   HostTensor& y);

/// Reductions, softmax and norms of chains.
std::vector<Case> tail_cases();

}  // namespace weft::ops::fused
