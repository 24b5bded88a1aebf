#pragma once

#include <string>

#include "gpu/gpu.hpp"

namespace weft::cli {

/// What a training step of a small network costs the host, written as plain expressions and as a compiled function.
struct StepCost {
  double eager = 0;  ///< Seconds of one step, without waiting for the device.
  double compiled = 0;
  std::size_t eager_launches = 0;
  std::size_t compiled_launches = 0;
};

/// Three linear layers, 64 examples, gradient descent.
StepCost measure_step(const std::string& adapter);

}  // namespace weft::cli
