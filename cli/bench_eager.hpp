#pragma once

#include <string>

#include "gpu/gpu.hpp"

namespace weft::cli {

/// What a training step of a small network costs the host, written as plain expressions and as a
/// compiled function.
struct StepCost {
  double eager = 0;  ///< Seconds of a processor for one step, without what the device does.
  double compiled = 0;
  std::size_t eager_launches = 0;
  std::size_t compiled_launches = 0;
};

/// Three linear layers, 64 examples, gradient descent.
StepCost measure_step(const std::string& adapter);

/// What the first call of a compiled training step costs the host when its pipelines are compiled
/// already: 12 transformer blocks, their gradients, clipping and AdamW are written down, planned
/// and recorded.
struct PlanningCost {
  double seconds = 0;  ///< Of a processor.
  std::size_t launches = 0;
};
PlanningCost measure_planning(const std::string& adapter);

}  // namespace weft::cli
