#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/trainer.hpp"

namespace weft::nn {

/// The state of a trainer in the host's memory: what a training goes on from when its device is
/// lost.
using Snapshot = std::vector<std::pair<std::string, std::vector<float>>>;

/// Reads the state; waits for the device.
Snapshot take_snapshot(const Trainer& trainer);

/// A new trainer that goes on exactly where the snapshot was taken.
Trainer trainer_from(const Snapshot& snapshot, const Device& device, const TrainerConfig& config);

}  // namespace weft::nn
