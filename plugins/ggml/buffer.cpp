#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "api.hpp"
#include "base/format.hpp"
#include "device.hpp"
#include "guard.hpp"

namespace weft::plugin {
namespace {

/// ggml wants addresses, and the bytes have none in the host: tensors get addresses that count from
/// here. Nobody ever reads there.
constexpr std::uintptr_t fake_base = 4096;
/// Binding offsets must be multiples of at most this in any WebGPU implementation.
constexpr std::size_t alignment = 256;

/// Interface functions of ggml that return nothing can only log.
void log_failure(const Status& status, std::string_view doing) {
  if (!status) {
    log(GGML_LOG_LEVEL_ERROR, formatted("{} failed: {}", doing, status.error().message));
  }
}

BufferContext& context_of(ggml_backend_buffer_t buffer) {
  return *static_cast<BufferContext*>(buffer->context);
}

gpu::Device& device_of(ggml_backend_buffer_t buffer) {
  return context_of(buffer).device.opened()->device;  // Open, or there would be no buffer.
}

gpu::Slice slice_of(ggml_backend_buffer_t buffer, const ggml_tensor& tensor, std::size_t offset,
                    std::size_t size) {
  return {context_of(buffer).buffer, offset_of(tensor) + offset, size};
}

Range part_of(const ggml_tensor& tensor, std::size_t offset, std::size_t size) {
  const std::uint64_t first = offset_of(tensor) + offset;
  return {first, first + size};
}

/// Bytes that could not be written count as gone, so that a graph does not compute with what was
/// there before.
void lose(ggml_backend_buffer_t buffer, Range range) {
  context_of(buffer).content.lose(range);
  context_of(buffer).device.note_gap();
}

/// Writes to a buffer, once more where the device was lost meanwhile.
Status try_change(ggml_backend_buffer_t buffer, Range range, std::optional<SourcePart> from,
                  const std::function<Status()>& write) {
  BufferContext& context = context_of(buffer);
  DeviceContext::Use use = context.device.use();
  Status done = write();
  if (!done && done.error().code == ErrorCode::device_lost) {
    use.unlock();
    use = context.device.use();
    done = write();
  }
  if (done) {
    context.content.written(range, std::move(from));
  } else {
    lose(buffer, range);
  }
  return done;
}

/// The same for functions of ggml that give nothing back.
void change(ggml_backend_buffer_t buffer, Range range, std::string_view doing,
            const std::function<Status()>& write, std::optional<SourcePart> from = std::nullopt) {
  log_failure(try_change(buffer, range, std::move(from), write), doing);
}

/// Whether copies of weights shall be kept that no mapped file has.
bool keeps_weights() {
  const char* value = std::getenv("WEFT_KEEP_WEIGHTS");
  return value != nullptr && std::string_view(value) == "1";
}

/// Where weights can be had again after a loss; of everything else nothing is kept, as it is
/// written for every graph.
std::optional<SourcePart> source_of(ggml_backend_buffer_t buffer,
                                    std::span<const std::byte> bytes) {
  if (buffer->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) return std::nullopt;
  try {
    std::optional<SourcePart> part = context_of(buffer).device.files().find(bytes);
    if (!part && keeps_weights()) part = host_copy(bytes);
    return part;
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // After a loss they are gone, and graphs say so.
  }
}

void free_buffer(ggml_backend_buffer_t buffer) {
  BufferContext* context = &context_of(buffer);
  const DeviceContext::Use use = context->device.use();
  context->device.opened()->graphs.forget(context->buffer.id());
  delete context;
}

void* get_base(ggml_backend_buffer_t /*buffer*/) { return std::bit_cast<void*>(fake_base); }

void memset_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, std::uint8_t value,
                   std::size_t offset, std::size_t size) {
  change(buffer, part_of(*tensor, offset, size), "Filling a tensor",
         [&] { return device_of(buffer).fill(slice_of(buffer, *tensor, offset, size), value); });
}

void set_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data,
                std::size_t offset, std::size_t size) {
  const std::span bytes(static_cast<const std::byte*>(data), size);
  change(
      buffer, part_of(*tensor, offset, size), "Writing a tensor",
      [&] { return device_of(buffer).write(slice_of(buffer, *tensor, offset, size), bytes); },
      source_of(buffer, bytes));
}

void get_tensor(ggml_backend_buffer_t buffer, const ggml_tensor* tensor, void* data,
                std::size_t offset, std::size_t size) {
  const std::span bytes(static_cast<std::byte*>(data), size);
  const DeviceContext::Use use = context_of(buffer).device.use();
  if (context_of(buffer).content.lacks(part_of(*tensor, offset, size))) {
    log(GGML_LOG_LEVEL_ERROR,
        formatted(
            "Reading tensor \"{}\", whose bytes are gone: they were on a device that was lost.",
            tensor->name));
  }
  log_failure(device_of(buffer).read(slice_of(buffer, *tensor, offset, size), bytes),
              "Reading a tensor");
}

bool cpy_tensor(ggml_backend_buffer_t buffer, const ggml_tensor* src, ggml_tensor* dst) {
  const BufferContext* from = BufferContext::of(*src);
  if (from == nullptr || &from->device != &context_of(buffer).device) return false;
  const std::size_t size = api().nbytes(src);
  if (from->content.lacks(range_of(*src))) return false;  // The way through the host says so.
  const Status copied = try_change(buffer, part_of(*dst, 0, size), std::nullopt, [&] {
    return device_of(buffer).copy({from->buffer, offset_of(*src), size},
                                  slice_of(buffer, *dst, 0, size));
  });
  log_failure(copied, "Copying a tensor");
  return copied.has_value();
}

void clear(ggml_backend_buffer_t buffer, std::uint8_t value) {
  change(buffer, {0, context_of(buffer).buffer.size()}, "Clearing a buffer",
         [&] { return device_of(buffer).fill(gpu::whole(context_of(buffer).buffer), value); });
}

constexpr auto loses_filled = [](ggml_backend_buffer_t buffer, ggml_tensor* tensor, std::uint8_t,
                                 std::size_t offset, std::size_t size) {
  lose(buffer, part_of(*tensor, offset, size));
};
constexpr auto loses_written = [](ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void*,
                                  std::size_t offset, std::size_t size) {
  lose(buffer, part_of(*tensor, offset, size));
};
constexpr auto loses_all = [](ggml_backend_buffer_t buffer, std::uint8_t) {
  lose(buffer, {0, context_of(buffer).buffer.size()});
};
constexpr auto leaves_it = [](auto...) {};

constexpr ggml_backend_buffer_i buffer_interface{
    .free_buffer = free_buffer,
    .get_base = get_base,
    .init_tensor = nullptr,
    .memset_tensor = guarded<memset_tensor, loses_filled>,
    .set_tensor = guarded<set_tensor, loses_written>,
    .get_tensor = guarded<get_tensor, leaves_it>,
    .set_tensor_2d = nullptr,
    .get_tensor_2d = nullptr,
    .cpy_tensor = guarded<cpy_tensor, gives_no>,  // ggml copies through the host then.
    .clear = guarded<clear, loses_all>,
    .reset = nullptr,
};

DeviceContext& device_of(ggml_backend_buffer_type_t type) {
  return *static_cast<DeviceContext*>(BufferType::context_of(type));
}

const char* type_name(ggml_backend_buffer_type_t type) {
  return device_of(type).buffer_name().c_str();
}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, std::size_t size) {
  DeviceContext& device = device_of(type);
  device.allow_opening();
  Engine* engine = device.engine();
  if (engine == nullptr) return nullptr;
  const DeviceContext::Use use = device.use();
  auto buffer = engine->device.allocate(size, "ggml");
  if (!buffer) {
    log(GGML_LOG_LEVEL_ERROR, formatted("{}: {}", device.name(), buffer.error().message));
    return nullptr;
  }
  auto context = std::make_unique<BufferContext>(device, std::move(*buffer));
  ggml_backend_buffer_t made = api().buffer_init(type, buffer_interface, context.get(), size);
  if (made != nullptr) context.release()->handle = made;
  return made;
}

std::size_t get_alignment(ggml_backend_buffer_type_t /*type*/) { return alignment; }

std::size_t get_max_size(ggml_backend_buffer_type_t type) {
  Engine* engine = device_of(type).engine();
  if (engine == nullptr) return 0;
  const DeviceContext::Use use = device_of(type).use();
  return engine->device.caps().max_buffer;
}

constexpr auto gives_zero = [](auto...) { return std::size_t{0}; };

}  // namespace

BufferContext* BufferContext::of(ggml_backend_buffer_t buffer) {
  const bool weft = buffer != nullptr && buffer->iface.free_buffer == free_buffer;
  return weft ? &context_of(buffer) : nullptr;
}

BufferContext* BufferContext::of(const ggml_tensor& tensor) {
  return of(tensor.view_src != nullptr ? tensor.view_src->buffer : tensor.buffer);
}

std::uint64_t offset_of(const ggml_tensor& tensor) {
  return std::bit_cast<std::uintptr_t>(tensor.data) - fake_base;
}

Range range_of(const ggml_tensor& tensor) {
  const std::uint64_t first = offset_of(tensor);
  return {first, first + api().nbytes(&tensor)};
}

BufferType::BufferType(ggml_backend_dev_t device, void* context) {
  // Sizes are the bytes of the tensors: scratch belongs to graphs.
  const auto set = [&](auto& layout) {
    layout.functions.get_name = type_name;
    layout.functions.alloc_buffer = guarded<alloc_buffer, gives_nothing>;
    layout.functions.get_alignment = get_alignment;
    layout.functions.get_max_size = guarded<get_max_size, gives_zero>;
    layout.device = device;
    layout.context = context;
  };
  if (api().version >= 3) layout_.emplace<1>();
  std::visit(set, layout_);
}

ggml_backend_buffer_type_t BufferType::get() {
  return std::visit(
      [](auto& layout) { return reinterpret_cast<ggml_backend_buffer_type_t>(&layout); }, layout_);
}

void* BufferType::context_of(ggml_backend_buffer_type_t type) {
  if (api().version >= 3) {
    return reinterpret_cast<BufferTypeLayout<BufferTypeFunctions3>*>(type)->context;
  }
  return reinterpret_cast<BufferTypeLayout<BufferTypeFunctions2>*>(type)->context;
}

}  // namespace weft::plugin
