#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_run.hpp"
#include "weft/device.hpp"

namespace weft::cli {

/// A benchmark of many operations in a row, compiled and replayed as users would do it.
struct ProgramBench {
  std::string title;  ///< As those of operations: "lstm/2x1024_128x32_f16".
  double bytes = 0;   ///< Inputs, weights and results.
  double flops = 0;
  /// What to call again and again on a device.
  std::function<std::function<void()>(const Device& device)> make;
};

std::vector<ProgramBench> program_benches();

/// The median time of a call, from the host's clock: the device is waited for after many of them.
Measurement measure(const Device& device, const ProgramBench& bench, double target_seconds);

}  // namespace weft::cli
