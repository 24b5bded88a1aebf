#include "weft/c/buffer.h"

#include <cstddef>
#include <span>
#include <vector>

#include "capi/objects.hpp"

namespace weft::capi {
namespace {

/// Part of a buffer, or an error that has all the numbers.
gpu::Slice slice_of(const BufferObject& object, std::uint64_t offset, std::uint64_t bytes,
                    std::string_view argument) {
  const std::uint64_t size = object.buffer.size();
  if (offset > size || bytes > size - offset) {
    raise(ErrorCode::invalid_argument, "`{}` has {} bytes; {} bytes from byte {} on are not in it.",
          argument, size, bytes, offset);
  }
  return {object.buffer, offset, bytes};
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_buffer_alloc(weft_device device, uint64_t bytes, weft_buffer* buffer) {
  return call(__func__, [&] {
    weft_buffer& out = result(buffer, "buffer");
    const auto object = get<DeviceObject>(device, "device");
    out = put(BufferObject{object->device, value_of(device_of(object->device).allocate(bytes))});
  });
}

weft_status weft_buffer_free(weft_buffer buffer) {
  return call(__func__, [&] { drop<BufferObject>(buffer, "buffer"); });
}

weft_status weft_buffer_get_size(weft_buffer buffer, uint64_t* bytes) {
  return call(__func__, [&] {
    *required(bytes, "bytes") = get<BufferObject>(buffer, "buffer")->buffer.size();
  });
}

weft_status weft_buffer_write(weft_buffer buffer, uint64_t offset, const void* data,
                              uint64_t bytes) {
  return call(__func__, [&] {
    const auto object = get<BufferObject>(buffer, "buffer");
    const gpu::Slice to = slice_of(*object, offset, bytes, "buffer");
    if (bytes == 0) return;
    const auto* from = static_cast<const std::byte*>(required(data, "data"));
    value_of(device_of(object->device).write(to, std::span(from, bytes)));
  });
}

weft_status weft_buffer_read(weft_buffer buffer, uint64_t offset, void* data, uint64_t bytes) {
  return call(__func__, [&] {
    const auto object = get<BufferObject>(buffer, "buffer");
    const gpu::Slice from = slice_of(*object, offset, bytes, "buffer");
    if (bytes == 0) return;
    auto* to = static_cast<std::byte*>(required(data, "data"));
    value_of(device_of(object->device).read(from, std::span(to, bytes)));
  });
}

weft_status weft_buffer_copy(weft_buffer from, uint64_t from_offset, weft_buffer to,
                             uint64_t to_offset, uint64_t bytes) {
  return call(__func__, [&] {
    const auto source = get<BufferObject>(from, "from");
    const auto target = get<BufferObject>(to, "to");
    const gpu::Slice source_slice = slice_of(*source, from_offset, bytes, "from");
    const gpu::Slice target_slice = slice_of(*target, to_offset, bytes, "to");
    if (bytes == 0) return;
    if (same_device(source->device, target->device)) {
      value_of(device_of(source->device).copy(source_slice, target_slice));
      return;
    }
    std::vector<std::byte> host(bytes);
    value_of(device_of(source->device).read(source_slice, host));
    value_of(device_of(target->device).write(target_slice, host));
  });
}

weft_status weft_buffer_fill(weft_buffer buffer, uint64_t offset, uint64_t bytes, uint8_t value) {
  return call(__func__, [&] {
    const auto object = get<BufferObject>(buffer, "buffer");
    const gpu::Slice to = slice_of(*object, offset, bytes, "buffer");
    if (bytes > 0) value_of(device_of(object->device).fill(to, value));
  });
}
