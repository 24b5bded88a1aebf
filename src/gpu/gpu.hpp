#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "gpu/profile.hpp"

/// The device layer: adapters, devices, buffers, kernels, streams. Everything that talks to WebGPU
/// sits behind this header, and no WebGPU type appears in it.
namespace weft::gpu {

class HostScope;
struct Unwrap;
struct DeviceState;
struct BufferState;
struct KernelState;
struct PendingState;
struct RecordingState;
struct StreamState;

/// How much a device checks.
enum class Mode : std::uint8_t {
  fast,  ///< Validation, bounds clamping and integer-division guards off: for kernels that are
         ///< known good.
  safe,  ///< Every check that WebGPU has; a kernel cannot leave its bindings.
};

/// How a device is chosen and set up. An empty field takes its environment variable, then the
/// default.
struct DeviceOptions {
  std::string adapter;  ///< "" (best), an index, part of a name, "high-performance" or "low-power";
                        ///< WEFT_ADAPTER.
  std::optional<Mode> mode;         ///< Fast unless said otherwise; WEFT_MODE.
  std::string caps_mask;            ///< See apply_caps_mask; WEFT_CAPS.
  std::filesystem::path cache_dir;  ///< Where compiled pipelines are kept; WEFT_CACHE_DIR.
  bool disk_cache = true;           ///< False: nothing is read from or written to the disk.
  bool profile = false;             ///< Time every dispatch; needs caps().timestamps for GPU times.
  bool check_indices = false;       ///< What caps().check_indices says; WEFT_CHECK_INDICES.
  std::uint64_t pool_limit = std::uint64_t{1}
                             << 30;  ///< Most bytes of unused buffers kept for reuse.
};

/// One adapter of this machine.
struct AdapterInfo {
  std::uint32_t index = 0;
  std::string name;
  std::string vendor;
  std::string architecture;
  std::string driver;
  std::string backend;
  std::string kind;          ///< "discrete", "integrated", "software" or "unknown".
  std::uint64_t memory = 0;  ///< Bytes of the device's own memory; 0 where it is not known.
  std::uint32_t vendor_id =
      0;  ///< PCI's numbers of the vendor and of the model; 0 where they are not known.
  std::uint32_t device_id = 0;
  Caps caps;

  /// A processor that stands in for a GPU.
  [[nodiscard]] bool is_software() const { return kind == "software"; }
};

/// All adapters, in the order of their indices. WEFT_CAPS is not applied to them.
Result<std::vector<AdapterInfo>> list_adapters();

/// The one of `adapters` that is wanted, in the words of DeviceOptions::adapter.
Result<AdapterInfo> find_adapter(std::span<const AdapterInfo> adapters, std::string_view wanted);

/// How a kernel uses a storage binding; `write` means read_write.
enum class Access : std::uint8_t { read, write };

/// A kernel to compile: storage bindings are @group(0) @binding(0…n-1); parameters, if there are
/// any, are a uniform at @group(0) @binding(n).
struct KernelDesc {
  std::string label;
  std::string wgsl;
  std::string entry = "main";
  std::vector<Access> bindings;
  std::uint32_t params_bytes = 0;
  std::vector<std::pair<std::string, double>> constants;  ///< Values for the `override` constants.
  /// True for Weft's own kernels, which the tests have validated: in fast mode it is compiled
  /// without being checked against its layout first. A wrong kernel may then end the process.
  bool trusted = false;
};

/// Bytes on the device. A shared handle: the bytes go back to the pool with the last copy, and they
/// are not cleared in between, so that a new buffer's content is arbitrary.
class Buffer {
 public:
  Buffer() = default;
  /// The bytes that were asked for.
  std::uint64_t size() const;
  /// Bytes that a binding may cover: size() rounded up to a multiple of 16.
  std::uint64_t capacity() const;
  /// A number that no other buffer of this process has or had; 0 for an empty handle.
  std::uint64_t id() const;
  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Buffer&) const = default;

 private:
  friend struct Unwrap;
  std::shared_ptr<const BufferState> state_;
};

/// A range of bytes of a buffer.
struct Slice {
  Buffer buffer;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// The whole of a buffer.
inline Slice whole(const Buffer& buffer) { return {buffer, 0, buffer.size()}; }

/// A compiled pipeline. A shared handle.
class Kernel {
 public:
  Kernel() = default;
  const std::string& label() const;
  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Kernel&) const = default;

 private:
  friend struct Unwrap;
  std::shared_ptr<const KernelState> state_;
};

/// A read-back under way.
class Pending {
 public:
  Pending() = default;
  /// Whether get() would return without waiting.
  bool ready() const;
  /// Waits and hands the bytes over; a second call is an error.
  Result<std::vector<std::byte>> get();
  /// The same into memory of as many bytes.
  Status get(std::span<std::byte> to);

 private:
  friend struct Unwrap;
  std::shared_ptr<PendingState> state_;
};

/// A sequence of dispatches with its bind groups and parameters prepared. A shared handle that
/// keeps its buffers and kernels alive.
class Recording {
 public:
  Recording() = default;
  /// The number of dispatches; copies and fills count as the dispatches they became.
  std::size_t size() const;
  explicit operator bool() const { return state_ != nullptr; }
  /// Replaces the parameters of one dispatch for all later replays.
  Status set_params(std::size_t index, std::span<const std::byte> params);

 private:
  friend struct Unwrap;
  std::shared_ptr<RecordingState> state_;
};

/// The number of workgroups in each dimension.
struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

/// Records work and hands it to the device in batches, in the order of the calls. For one thread at
/// a time; make one per thread. Recorded work joins the device's queue at submit() (or earlier,
/// when a batch is full); what is called on the Device itself joins it at once.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  /// Submits what is still recorded.
  ~Stream();

  /// Runs a kernel. Binding offsets are multiples of caps().binding_alignment, and sizes are
  /// rounded up to 4 bytes. In safe mode a buffer that one binding writes must not be in another
  /// binding.
  /// Profiles show the note.
  Status dispatch(const Kernel& kernel, std::span<const Slice> bindings,
                  std::span<const std::byte> params, Grid grid, std::string_view note = {});
  /// Copies at any byte offset; the ranges may overlap.
  Status copy(const Slice& from, const Slice& to);
  /// Sets every byte of the range.
  Status fill(const Slice& to, std::uint8_t byte);
  /// Submits what is recorded and then writes host bytes.
  Status write(const Slice& to, std::span<const std::byte> bytes);
  /// Submits what is recorded and then reads back; waits.
  Status read(const Slice& from, std::span<std::byte> bytes);
  /// Hands what is recorded to the device.
  Status submit();
  /// Submits and waits until the device has finished.
  Status wait();

  /// From here on dispatch, copy and fill are kept instead of run, until end_recording().
  Status begin_recording();
  /// Ends the recording and prepares it for replay.
  Result<Recording> end_recording();
  /// Runs a recording `times` times after everything recorded before, and submits.
  Status replay(const Recording& recording, std::uint32_t times = 1);
  /// Does the host's part of the next replay now, while the device is busy with something else: the
  /// replay then only hands it over. For recordings that are replayed again and again.
  Status encode_ahead(const Recording& recording);
  /// Seconds that `times` replays take on the GPU (on the host's clock where the device has no
  /// timestamps). Waits until they are done.
  Result<double> time_replay(const Recording& recording, std::uint32_t times = 1);

 private:
  friend struct Unwrap;
  explicit Stream(std::unique_ptr<StreamState> state);
  std::unique_ptr<StreamState> state_;
};

/// What a device's buffers amount to, in bytes and counts.
struct MemoryStats {
  std::uint64_t in_use = 0;       ///< Bytes of buffers with a handle.
  std::uint64_t pooled = 0;       ///< Bytes kept for reuse.
  std::uint64_t peak = 0;         ///< Most bytes in use so far.
  std::uint64_t staging = 0;      ///< Bytes of host-visible buffers for read-back.
  std::uint64_t allocations = 0;  ///< Buffers made on the device.
  std::uint64_t reuses = 0;       ///< Buffers taken from the pool.
};

/// Where kernels came from.
struct CacheStats {
  std::uint64_t compiled = 0;     ///< Pipelines made.
  std::uint64_t shared = 0;       ///< Answered by a pipeline made before.
  std::uint64_t disk_hits = 0;    ///< Blobs found on the disk.
  std::uint64_t disk_stores = 0;  ///< Blobs written to the disk.
  std::uint64_t bind_groups = 0;  ///< Bind groups made.
};

/// A device. A shared handle; all calls are thread-safe. An error that arises in the background is
/// returned by the next call, once; after a device is lost every call says so.
class Device {
 public:
  Device() = default;
  static Result<Device> create(const DeviceOptions& options = {});

  const Caps& caps() const;
  const AdapterInfo& info() const;
  Mode mode() const;
  explicit operator bool() const { return state_ != nullptr; }

  /// A buffer of any size, zero included, with arbitrary content.
  Result<Buffer> allocate(std::uint64_t bytes, std::string_view label = "");
  /// Compiles a kernel, or shares the one that has the same text, layout and constants.
  Result<Kernel> compile(const KernelDesc& desc);
  /// Compiles kernels in parallel; the result has the order of the descriptions.
  Result<std::vector<Kernel>> compile_all(std::span<const KernelDesc> descs);

  /// Writes host bytes at any byte offset. The bytes are taken before the call returns.
  Status write(const Slice& to, std::span<const std::byte> bytes);
  /// Reads back at any byte offset; waits.
  Status read(const Slice& from, std::span<std::byte> bytes);
  /// Starts a read-back of what the queue has computed up to now.
  Result<Pending> read_async(const Slice& from);
  /// Copies at any byte offset; the ranges may overlap.
  Status copy(const Slice& from, const Slice& to);
  /// Sets every byte of the range.
  Status fill(const Slice& to, std::uint8_t byte);

  /// A new recorder.
  Stream stream() const;
  /// Waits until the device has finished everything submitted so far.
  Status synchronize();
  /// The first error that arose in the background since the last call, if there was one.
  Status poll();

  MemoryStats memory() const;
  CacheStats cache() const;
  /// Gives all unused buffers back to the driver.
  void trim();

  /// The times of all dispatches finished so far (waits for those submitted), and forgets them.
  /// Empty without DeviceOptions::profile.
  Result<Profile> profile();

  /// Loses the device on purpose.
  Status lose_for_test(std::string_view reason = "lost on purpose");
  /// Raises an error in the background, as if the driver had reported it.
  Status inject_error_for_test(ErrorCode code, std::string_view message);
  /// Makes the next `count` buffer creations fail as if the device's memory were full.
  Status fail_allocations_for_test(std::uint32_t count);

 private:
  friend struct Unwrap;
  std::shared_ptr<DeviceState> state_;
};

/// Notes the time from its making to its end as something that the host did, on a device that
/// profiles.
class HostTime {
 public:
  HostTime(const Device& device, std::string_view label);
  HostTime(const HostTime&) = delete;
  HostTime& operator=(const HostTime&) = delete;
  ~HostTime();

 private:
  std::unique_ptr<HostScope> scope_;
};

}  // namespace weft::gpu
