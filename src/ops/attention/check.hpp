#pragma once

#include "ops/attention/problem.hpp"

namespace weft::ops::attention {

/// Largest head size that kernels hold.
inline constexpr std::uint64_t max_head_size = 1024;

/// Checks types, shapes and overlaps of the forward pass.
Status check(const Args& args);

/// Checks what the backward pass adds.
Status check(const BackwardArgs& args);

/// The whole problem of checked arguments.
Problem whole_problem(const Args& args);

}  // namespace weft::ops::attention
