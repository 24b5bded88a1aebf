#pragma once

#include <cstdint>
#include <vector>

#include "nn/checkpoint.hpp"
#include "processes.hpp"
#include "train_run.hpp"

namespace weft::cli {

/// Trains from the tokens on, and tells and writes what happens; `resume` goes on where a
/// checkpoint ended. Gives the signal that ended it early, or 0.
int train_loop(const TrainOptions& options, const Device& device, const Processes& processes,
               nn::CheckpointHead head, std::vector<std::uint32_t> tokens, bool resume);

}  // namespace weft::cli
