#include "weft/c/tensor.h"

#include <algorithm>
#include <span>
#include <vector>

#include "capi/tensors.hpp"
#include "graph/recover.hpp"

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_from_data(weft_device device, weft_dtype dtype, uint32_t rank,
                                  const int64_t* shape, const void* data, uint64_t bytes,
                                  weft_tensor* tensor) {
  return call(__func__, [&] {
    weft_tensor& out = result(tensor, "tensor");
    const auto object = get<DeviceObject>(device, "device");
    const GivenElements given = elements_of(dtype, rank, shape, data, bytes);
    // As in C++: where the device recovers by itself, a copy stays with the host.
    out = put(TensorObject{object->device.tensor(given.dtype, given.shape, given.bytes)});
  });
}

weft_status weft_tensor_from_buffer(weft_buffer buffer, weft_dtype dtype, uint64_t offset,
                                    uint32_t rank, const int64_t* shape, const int64_t* strides,
                                    weft_tensor* tensor) {
  return call(__func__, [&] {
    weft_tensor& out = result(tensor, "tensor");
    const auto object = get<BufferObject>(buffer, "buffer");
    ops::View view =
        ops::View::dense(capi::dtype_of(dtype, "dtype"), shape_of(rank, shape, "shape"));
    if (strides != nullptr) {
      for (std::uint32_t i = 0; i < rank; ++i) {
        if (strides[i] < 0) {
          raise(ErrorCode::invalid_argument, "Stride {} is {}; strides are not negative.", i,
                strides[i]);
        }
        view.stride[i] = static_cast<std::uint64_t>(strides[i]);
      }
    }
    view.offset = offset;
    value_of(ops::validate(view, "tensor"));
    const std::uint64_t size = object->buffer.size();
    if (offset > size || view.bytes().size() > size - offset) {
      raise(ErrorCode::invalid_argument,
            "A tensor {} spans {} bytes from byte {} on; the buffer has {} bytes.",
            ops::describe(view), view.bytes().size(), offset, size);
    }
    out = put(TensorObject{tensor_at(object->device, object->buffer, view)});
  });
}

weft_status weft_tensor_free(weft_tensor tensor) {
  return call(__func__, [&] { drop<TensorObject>(tensor, "tensor"); });
}

weft_status weft_tensor_get_info(weft_tensor tensor, weft_tensor_info* info) {
  return call(__func__, [&] {
    const auto object = get<TensorObject>(tensor, "tensor");
    weft_tensor_info& out = *required(info, "info");
    out = {};
    out.dtype = static_cast<weft_dtype>(object->tensor.dtype());
    const Shape& shape = object->tensor.shape();
    out.rank = static_cast<std::uint32_t>(shape.size());
    std::ranges::transform(shape, out.shape,
                           [](std::uint64_t extent) { return static_cast<std::int64_t>(extent); });
    out.size = static_cast<std::int64_t>(object->tensor.size());
  });
}

weft_status weft_tensor_read(weft_tensor tensor, weft_dtype dtype, void* data, uint64_t bytes) {
  return call(__func__, [&] {
    const auto object = get<TensorObject>(tensor, "tensor");
    const DType type = capi::dtype_of(dtype, "dtype");
    const std::uint64_t needed = object->tensor.size() * size_of(type);
    if (needed != bytes) {
      raise(ErrorCode::invalid_argument, "A tensor of shape {} takes {} bytes as {}; there are {}.",
            ops::describe(object->tensor.shape()), needed, name(type), bytes);
    }
    if (bytes == 0) return;
    auto* to = static_cast<std::byte*>(required(data, "data"));
    read_elements(object->tensor.to(type, nowhere), std::span(to, bytes));
  });
}

weft_status weft_tensor_to_text(weft_tensor tensor, char* text, size_t capacity, size_t* length) {
  return call(__func__, [&] {
    const auto object = get<TensorObject>(tensor, "tensor");
    if (capacity > 0) required(text, "text");
    const auto lock = lock_values(object->tensor);
    give_text(object->tensor.to_string(), text, capacity, length);
  });
}

weft_status weft_tensor_get_buffer(weft_tensor tensor, weft_buffer* buffer, uint64_t* offset,
                                   int64_t* strides) {
  return call(__func__, [&] {
    weft_buffer& out = result(buffer, "buffer");
    const auto object = get<TensorObject>(tensor, "tensor");
    const Place place = place_of(object->tensor);
    graph::note_change(
        Access::value(object->tensor).node);  // whoever has the buffer may write to it
    out = put(BufferObject{object->tensor.device(), place.buffer});
    if (offset != nullptr) *offset = place.view.offset;
    for (std::uint32_t i = 0; strides != nullptr && i < place.view.rank; ++i) {
      strides[i] = static_cast<std::int64_t>(place.view.stride[i]);
    }
  });
}
