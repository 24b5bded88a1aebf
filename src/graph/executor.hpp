#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "gpu/gpu.hpp"
#include "ops/plan.hpp"

namespace weft::graph {

/// Runs plans on one device: renders and compiles kernels once per key and binds the caller's
/// buffers. Thread-safe; the streams are the caller's.
class Executor {
 public:
  struct Options {
    /// Render again at every use and compare: a kernel key that is too coarse is reported, not run.
    bool verify_keys = false;
  };

  explicit Executor(gpu::Device device) : Executor(std::move(device), Options{}) {}
  Executor(gpu::Device device, Options options) : device_(std::move(device)), options_(options) {}

  [[nodiscard]] const gpu::Device& device() const { return device_; }

  /// Compiles what a plan needs, in parallel; run() does so too, one kernel after the other.
  Status prepare(const ops::Plan& plan) { return prepare(std::span(plan.dispatches)); }
  Status prepare(std::span<const ops::Dispatch> dispatches);

  /// The kernels of some launches, compiled in parallel where they are new: for whoever runs them
  /// more than once.
  Result<std::vector<gpu::Kernel>> kernels(std::span<const ops::Dispatch> dispatches);

  /// Records the launches of a plan. `buffers[i]` is the caller's buffer i; scratch comes from the
  /// device's pool and goes back when the work is done.
  Status run(gpu::Stream& stream, const ops::Plan& plan, std::span<const gpu::Buffer> buffers);

  /// A plan as a recording that is ready to be replayed. Its kernels are compiled in parallel.
  Result<gpu::Recording> record(gpu::Stream& stream, const ops::Plan& plan,
                                std::span<const gpu::Buffer> buffers);

  /// Records launches whose slots number parts of buffers; parts start at multiples of the binding
  /// alignment.
  Status run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
             std::span<const gpu::Slice> parts);

  /// The same with the kernels that kernels() gave for these launches.
  Status run(gpu::Stream& stream, std::span<const ops::Dispatch> dispatches,
             std::span<const gpu::Kernel> kernels, std::span<const gpu::Slice> parts);

  /// An error if launches that check indices (Caps::check_indices) met bad ones since the last
  /// call. To be called when the device has been waited for: it reads a few bytes.
  Status take_report();

 private:
  Result<gpu::KernelDesc> describe(const ops::KernelSpec& spec) const;
  Result<gpu::Kernel> kernel(const ops::KernelSpec& spec);
  /// A kernel that is known by this key, if it is the same one; the caller holds the lock.
  Result<const gpu::Kernel*> find(const std::string& key, const ops::KernelSpec& spec) const;
  /// The caller's buffers, with the scratch of a plan behind them.
  Result<std::vector<gpu::Slice>> with_scratch(const ops::Plan& plan,
                                               std::span<const gpu::Buffer> buffers);
  /// The buffer of a table of constants, or of the report of indices, which is there from its first
  /// use on.
  Result<gpu::Buffer> global(ops::Slot slot);
  /// `parts` are the caller's buffers, and from `first_scratch` on the scratch.
  Status launch(gpu::Stream& stream, const gpu::Kernel& kernel, const ops::Dispatch& dispatch,
                std::span<const gpu::Slice> parts, std::size_t first_scratch);

  struct Entry {
    gpu::Kernel kernel;
    std::string text;  ///< Kept only when keys are verified.
  };

  gpu::Device device_;
  Options options_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> kernels_;
  std::map<ops::Slot, gpu::Buffer> globals_;
};

}  // namespace weft::graph
