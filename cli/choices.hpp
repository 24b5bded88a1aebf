#pragma once

#include <string>
#include <vector>

#include "ops/case.hpp"

namespace weft::cli {

/// The views of a case's tensors, each in a buffer of its own.
std::vector<ops::View> views_of(const ops::Case& test);

/// What a plan has chosen: kernels with their constants, grids, parameters and scratch.
std::string choice_of(const ops::Plan& plan);

/// What the cases of every op choose on each device of the table of profiles: how often each kernel
/// is launched, and a hash of all choices. With `each_case`, the kernels, constants and grids of
/// every case too.
std::string choices_page(bool each_case);

}  // namespace weft::cli
