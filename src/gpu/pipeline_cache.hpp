#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/error_sink.hpp"
#include "gpu/gpu.hpp"
#include "gpu/native.hpp"

namespace weft::gpu {

/// The binding layout that kernels with the same accesses and parameter size share.
struct LayoutState {
  std::uint64_t id = 0;
  wgpu::BindGroupLayout group;
  wgpu::PipelineLayout pipeline;
  std::vector<Access> bindings;
  std::uint32_t params_bytes = 0;  ///< As declared.
  std::uint32_t params_size = 0;   ///< As bound: rounded up to 16.
  /// The offset of the parameters is set with the bind group (on software adapters it is part of
  /// it).
  bool dynamic_params = false;
};

/// A compiled kernel. It does not keep the device alive.
struct KernelState {
  std::uint64_t device_id = 0;
  std::string label;
  wgpu::ComputePipeline pipeline;
  std::shared_ptr<const LayoutState> layout;
};

/// Kernels by content: the key is the whole text, layout and constants, so that two kernels can
/// never be mistaken for each other. Whoever asks first compiles; the others wait for the same
/// result. Of more than 4,096 those that were not asked for the longest are forgotten (who uses one
/// keeps it).
class PipelineCache {
 public:
  struct Context {
    wgpu::Instance instance;
    wgpu::Device device;
    std::uint64_t device_id = 0;
    Caps caps;
    bool software = false;
    std::uint32_t max_uniform = 0;
    /// For a device that does not validate: gives the cache of one that does. Untrusted kernels are
    /// compiled there first, because without validation a wrong one ends the process.
    std::function<Result<PipelineCache*>()> checker;
  };
  PipelineCache(Context context, ErrorSink& errors);

  /// The kernels in the order of the descriptions, or the first error.
  Result<std::vector<std::shared_ptr<const KernelState>>> get(std::span<const KernelDesc> descs);
  void fill_in(CacheStats& stats) const;

 private:
  using KernelResult = Result<std::shared_ptr<const KernelState>>;
  struct Job;

  Status check(const KernelDesc& desc) const;
  Status validate(const KernelDesc& desc) const;
  std::shared_ptr<const LayoutState> layout(const KernelDesc& desc);
  void forget(const Job& job) noexcept;
  void drop_oldest();
  void start(Job& job);
  void link(Job& job);
  void finish(Job& job);

  const Context context_;
  ErrorSink& errors_;
  mutable std::mutex mutex_;
  struct Entry {
    std::shared_future<KernelResult> answer;
    std::uint64_t used = 0;  ///< When it was asked for last, as a running number.
  };
  std::unordered_map<std::string, Entry> kernels_;
  std::uint64_t asked_ = 0;
  std::map<std::vector<std::uint32_t>, std::shared_ptr<const LayoutState>> layouts_;
  std::uint64_t compiled_ = 0;
  std::uint64_t shared_ = 0;
};

}  // namespace weft::gpu
