#pragma once

// Internal to src/gpu: what the handles of gpu.hpp point to.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/bind_group_cache.hpp"
#include "gpu/buffer_pool.hpp"
#include "gpu/disk_cache.hpp"
#include "gpu/error_sink.hpp"
#include "gpu/gpu.hpp"
#include "gpu/host.hpp"
#include "gpu/lifetime.hpp"
#include "gpu/native.hpp"
#include "gpu/pipeline_cache.hpp"
#include "gpu/profiler.hpp"
#include "gpu/staging.hpp"
#include "gpu/watchdog.hpp"

namespace weft::gpu {

/// A uniform buffer that one stream fills with the parameters of one batch after another. Rewriting
/// it between submissions is safe: a queue write comes after the work submitted before it.
struct ParamsPage {
  wgpu::Buffer buffer;
  std::uint64_t id = 0;
};

inline constexpr std::uint32_t params_page_bytes = 64 * 1024;

/// Bytes on their way to the device. Thread-safe.
struct Uploads {
  std::mutex mutex;
  std::uint64_t bytes = 0;  ///< Written since work was last handed over for their sake.
  std::deque<wgpu::Future> under_way;
};

/// Everything one device owns. Handles share it; it goes with the last of them.
struct DeviceState {
  DeviceState() = default;
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;
  ~DeviceState();

  /// The cache of a validating device, which is made on the first call.
  Result<PipelineCache*> validating_cache();
  Result<ParamsPage> take_page();
  void give_back(ParamsPage page) noexcept;
  [[nodiscard]] bool forked() const { return errors.forked(); }
  /// Closing would wait for work that may never be done.
  [[nodiscard]] bool stays_open() const { return forked() || watchdog.bit(); }
  /// Whether one launch must not bind a buffer twice when it writes to it. Without validation that
  /// is fine for ranges that are apart; but Dawn, once it had to report an error, validates again.
  [[nodiscard]] bool checks_aliases() const { return mode == Mode::safe || errors.refused(); }

  std::uint64_t id = 0;
  AdapterInfo info;  ///< With the mask applied to its capabilities.
  Host host;
  DeviceOptions options;                ///< As they were given.
  std::atomic<bool> automatic = false;  ///< See recover_automatically().
  std::mutex restorers_mutex;
  Restorers restorers;
  Mode mode = Mode::fast;
  std::uint32_t uniform_alignment = 256;
  std::uint32_t max_uniform = 0;
  // From here on the order matters: what is below uses what is above.
  ErrorSink errors;
  Watchdog watchdog;
  std::unique_ptr<DiskCache> disk;
  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  std::unique_ptr<BindGroupCache> bind_groups;
  std::unique_ptr<BufferPool> pool;
  std::shared_ptr<StagingPool> staging;
  std::unique_ptr<PipelineCache> pipelines;
  Uploads uploads;
  std::unique_ptr<Profiler> profiler;  ///< Null unless profiling was asked for.
  std::mutex checker_mutex;
  DeviceOptions checker_options;
  std::shared_ptr<DeviceState> checker;  ///< A validating device on the same adapter, once needed.
  std::mutex pages_mutex;
  std::vector<ParamsPage> pages;
};

/// What a Buffer points to; gives its block back to the pool when it goes.
struct BufferState {
  BufferState(std::shared_ptr<DeviceState> owner, std::uint64_t bytes)
      : device(std::move(owner)), size(bytes), id(next_id()) {}
  BufferState(const BufferState&) = delete;
  BufferState& operator=(const BufferState&) = delete;
  ~BufferState() {
    if (block.buffer != nullptr) device->pool->give_back(std::move(block));
  }

  const std::shared_ptr<DeviceState> device;
  Block block;
  const std::uint64_t size;
  const std::uint64_t id;
};

/// Opens and closes the handles of gpu.hpp for this layer.
struct Unwrap {
  template <class Handle>
  static auto& state(Handle& handle) {
    return handle.state_;
  }
  template <class Handle, class State>
  static Handle wrap(State state) {
    Handle handle;
    handle.state_ = std::move(state);
    return handle;
  }
  static Stream stream(std::unique_ptr<StreamState> state);
};

/// Adds the commands that bring timestamps back, submits, waits and returns them.
Result<std::vector<std::uint64_t>> read_queries(DeviceState& device,
                                                const wgpu::CommandEncoder& encoder,
                                                const wgpu::QuerySet& queries, std::uint32_t count);

/// Whether a slice lies in a buffer of this device, with an error that names `what` if not.
Status check_slice(const DeviceState& device, const Slice& slice, std::string_view what);

}  // namespace weft::gpu
