#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <variant>

#include "answers.hpp"
#include "base/error.hpp"
#include "card_memory.hpp"
#include "content.hpp"
#include "file_source.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "graph_cache.hpp"
#include "interface.hpp"

namespace weft::plugin {

struct BufferContext;

/// What a device needs to run graphs.
struct Engine {
  explicit Engine(gpu::Device opened) : device(opened), executor(std::move(opened)) {}
  gpu::Device device;
  graph::Executor executor;
  GraphCache graphs;
  Answers answers;
};

/// The kind of memory of a device, laid out as the program's ggml has it.
class BufferType {
 public:
  BufferType(ggml_backend_dev_t device, void* context);
  [[nodiscard]] ggml_backend_buffer_type_t get();
  /// The context of such a type.
  static void* context_of(ggml_backend_buffer_type_t type);

 private:
  std::variant<BufferTypeLayout<BufferTypeFunctions2>, BufferTypeLayout<BufferTypeFunctions3>>
      layout_;
};

/// One adapter as ggml sees it. The GPU is opened when something is first wanted from it, since
/// programs list devices that they never use. Where it is lost, it is opened again, with what is
/// known of its buffers. Lives until the process ends.
class DeviceContext {
 public:
  /// `address` is that of the adapter on the PCI bus; empty where it is not known. `again`: a
  /// device before this one has the same adapter.
  DeviceContext(ggml_backend_reg_t registry, std::size_t number, gpu::AdapterInfo info,
                std::string address, bool again);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& buffer_name() const { return buffer_name_; }
  [[nodiscard]] const gpu::AdapterInfo& info() const { return info_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  /// What programs are told: nothing of a device whose adapter another has too, as they take two
  /// devices with one address for the same.
  [[nodiscard]] const char* id() const {
    return again_ || address_.empty() ? nullptr : address_.c_str();
  }

  /// The opened device, or null (the reason is in ggml's log). One that did not open is not tried
  /// again for each of the many questions that programs ask.
  Engine* engine();
  /// Lets the next question try again.
  void allow_opening();
  /// The opened device if there is one already.
  Engine* opened();

  /// Held while the device or its buffers are used: nothing takes their place meanwhile. Not to be
  /// taken twice by one thread.
  using Use = std::shared_lock<std::shared_mutex>;
  /// Also opens the device again where it was lost.
  Use use();
  /// Opens the device again if it was lost: buffers stay valid, with the bytes that files have.
  /// Nobody may hold a Use of the calling thread.
  void revive();
  /// How often another device has taken the place of a lost one. Streams belong to the device they
  /// were made by.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// How often the device was lost so far.
  [[nodiscard]] std::uint64_t losses();
  /// Whether some bytes of a buffer may be gone, so that graphs have to look at what they read.
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }
  void note_gap() { has_gaps_ = true; }

  void add(BufferContext& buffer);
  void remove(BufferContext& buffer);
  FileSources& files() { return files_; }

  ggml_backend_device* device() { return &device_; }
  ggml_backend_buffer_type_t buffer_type() { return buffer_type_.get(); }

  static DeviceContext& of(ggml_backend_dev_t device) {
    return *static_cast<DeviceContext*>(device->context);
  }

 private:
  Status reopen(Engine& engine);

  std::string name_;
  std::string buffer_name_;
  gpu::AdapterInfo info_;
  std::string address_;
  bool again_;
  ggml_backend_device device_{};
  BufferType buffer_type_;
  std::mutex mutex_;
  bool tried_ = false;
  std::unique_ptr<Engine> engine_;
  std::shared_mutex life_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<bool> has_gaps_ = false;
  std::set<BufferContext*> buffers_;  ///< Guarded by mutex_.
  FileSources files_;
};

/// A ggml buffer of a Weft device.
struct BufferContext {
  BufferContext(DeviceContext& owner, gpu::Buffer made) : device(owner), buffer(std::move(made)) {
    device.add(*this);
  }
  BufferContext(const BufferContext&) = delete;
  BufferContext& operator=(const BufferContext&) = delete;
  ~BufferContext() { device.remove(*this); }

  DeviceContext& device;
  gpu::Buffer buffer;
  Content content;
  ggml_backend_buffer_t handle = nullptr;  ///< Knows what the buffer is used for.

  /// Whether every graph writes anew what it reads there.
  [[nodiscard]] bool is_transient() const {
    return handle != nullptr && handle->usage == GGML_BACKEND_BUFFER_USAGE_COMPUTE;
  }

  /// The context of a buffer, or null when the buffer is not Weft's.
  static BufferContext* of(ggml_backend_buffer_t buffer);
  /// The context of the buffer that a tensor lies in, or null.
  static BufferContext* of(const ggml_tensor& tensor);
};

/// The bytes between the start of its buffer and a tensor.
std::uint64_t offset_of(const ggml_tensor& tensor);
/// The bytes of its buffer that a tensor spans.
Range range_of(const ggml_tensor& tensor);

/// A new backend (a stream of work) of a device; null when the device does not open.
ggml_backend_t make_backend(DeviceContext& device);
/// True for backends that make_backend() made.
bool is_weft_backend(ggml_backend_t backend);

/// The figures of an adapter at a place on the PCI bus (empty: not known); `in_use` is what this
/// process has allocated there.
MemoryFigures memory_figures(const gpu::AdapterInfo& info, const std::string& address,
                             std::uint64_t in_use);

}  // namespace weft::plugin
