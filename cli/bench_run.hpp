#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/executor.hpp"
#include "ops/case.hpp"

namespace weft::cli {

/// What one benchmark measured.
struct Measurement {
  std::string op;
  std::string name;
  double seconds = 0;  ///< Median time of one run of the op on the GPU.
  double spread = 0;   ///< (slowest - fastest) / median of the repetitions.
  double bytes = 0;
  double flops = 0;
  /// Whether arithmetic bounds the op, and not memory.
  [[nodiscard]] bool is_arithmetic() const { return flops > 20 * bytes; }
  [[nodiscard]] double gigabytes_per_second() const { return bytes / seconds * 1e-9; }
};

/// "gemm/f32_4096": what a benchmark is called on the command line.
std::string title_of(const ops::Op& op, const ops::Case& test);

/// The fewest bytes that a case moves: what it says, or each of its tensors once.
double bytes_of(const ops::Case& test);

/// Times one case. Tensors are filled with random values; cases that fit into caches rotate among
/// several sets of buffers, so that the figure is one of memory.
Result<Measurement> measure(graph::Executor& executor, const ops::Op& op, const ops::Case& test,
                            double target_seconds);
/// How to time.
struct Timing {
  double seconds = 0.1;  ///< For all repetitions together, where a case is short enough.
  int repetitions = 7;
  bool fastest = false;  ///< The fastest repetition, where the median is meant otherwise.
  /// What this process did, and not the clock: for software adapters, beside other work.
  bool processor_time = false;
};

/// The same with kernels and tiles that are chosen for a device of other traits.
Result<Measurement> measure(graph::Executor& executor, const ops::Op& op, const ops::Case& test,
                            const Timing& timing, const Caps& caps);

/// Whether a software adapter would take minutes for a case that a GPU does in a millisecond.
bool too_large_for_software(const ops::Case& test);

/// Runs a case three times on a device that profiles; Device::profile() then has its kernels.
Status run_traced(graph::Executor& executor, const ops::Case& test);

/// What replayed launches of an empty kernel cost: seconds each on the GPU and on the host.
struct DispatchCost {
  double gpu = 0;
  double host = 0;
};
Result<DispatchCost> measure_dispatch(const gpu::Device& device);

}  // namespace weft::cli
