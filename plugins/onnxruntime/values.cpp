#include "values.hpp"

#include <cstring>

#include "base/format.hpp"

namespace weft::ort {
namespace {

constexpr std::uint64_t most_on_host = 4096;  // elements that shapes may follow from

onnx::Array owned(const Described& described, std::span<const std::byte> bytes) {
  const auto keep = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {.type = described.type,
          .shape = described.shape,
          .bytes = *keep,
          .keep = keep,
          .strings = {}};
}

std::uint64_t count_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

std::span<const std::byte> bytes_of(const Api& api, const OrtValue* value, std::size_t size) {
  if (size == 0) return {};
  const void* data = api.get<const void*>(api.ort->GetTensorData, value);
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

Described describe(const Api& api, const OrtValue* value) {
  const Owned<OrtTensorTypeAndShapeInfo> info(
      api.get<OrtTensorTypeAndShapeInfo*>(api.ort->GetTensorTypeAndShape, value),
      api.ort->ReleaseTensorTypeAndShapeInfo);
  Described out;
  out.type = static_cast<onnx::Type>(
      api.get<ONNXTensorElementDataType>(api.ort->GetTensorElementType, info.get()));
  for (const std::int64_t extent :
       api.list<std::int64_t>(api.ort->GetDimensionsCount, api.ort->GetDimensions,
                              static_cast<const OrtTensorTypeAndShapeInfo*>(info.get())))
    out.shape.push_back(static_cast<std::uint64_t>(extent));
  if (out.type != onnx::Type::string)
    out.bytes = api.get<std::size_t>(api.ort->GetTensorSizeInBytes, value);
  return out;
}

std::vector<std::byte> host_bytes(const Api& api, const OrtValue* value) {
  const auto bytes = bytes_of(api, value, describe(api, value).bytes);
  return {bytes.begin(), bytes.end()};
}

void write_host(const Api& api, OrtValue* to, const onnx::Array& elements) {
  const Described described = describe(api, to);
  if (described.type != elements.type || described.bytes != elements.bytes.size()) {
    throw Error(
        ErrorCode::internal,
        formatted("The result is {}{} of {} bytes; there is room for {}{} of {} bytes.",
                  onnx::name(elements.type), onnx::text_of(elements.shape), elements.bytes.size(),
                  onnx::name(described.type), onnx::text_of(described.shape), described.bytes));
  }
  if (described.bytes == 0) return;
  std::memcpy(api.get<void*>(api.ort->GetTensorMutableData, to), elements.bytes.data(),
              described.bytes);
}

onnx::Value from_host(const Api& api, const OrtValue* value, const Device& device) {
  const Described described = describe(api, value);
  const auto bytes = bytes_of(api, value, described.bytes);
  const auto dtype = onnx::dtype_of(described.type);
  if (count_of(described.shape) <= most_on_host || !dtype) return owned(described, bytes);
  return onnx::Value(device.tensor(*dtype, described.shape, bytes));
}

Stored::Stored(const onnx::Value& value, const std::shared_ptr<Accelerator>& where) {
  if (const onnx::Array* known = value.known()) {
    array_ = *known;
  } else {
    tensor_ = value.on(where->device);
    where_ = where;
  }
}

Stored::Stored(const Api& api, const OrtValue* value) {
  const Described described = describe(api, value);
  array_ = owned(described, bytes_of(api, value, described.bytes));
}

onnx::Array Stored::elements(const Described& as) const {
  onnx::Array out = array_ ? *array_ : onnx::Value(tensor_).read();
  if (out.bytes.size() != as.bytes) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("{} bytes were written to the device's memory; {}{} has {}.", out.bytes.size(),
                  onnx::name(as.type), onnx::text_of(as.shape), as.bytes));
  }
  out.type = as.type;
  out.shape = as.shape;
  return out;
}

onnx::Value Stored::on(const std::shared_ptr<Accelerator>& where, const Described& as) {
  const std::lock_guard lock(mutex_);
  const auto dtype = onnx::dtype_of(as.type);
  if (!array_ && where_ == where && dtype && tensor_.dtype() == *dtype) {
    if (tensor_.shape() == as.shape) return tensor_;
    if (count_of(tensor_.shape()) == count_of(as.shape)) return tensor_.reshape(as.shape);
  }
  const onnx::Array array = elements(as);
  if (array.size() <= most_on_host || !dtype) return array;
  tensor_ = where->device.tensor(*dtype, array.shape, array.bytes);
  where_ = where;
  array_.reset();
  return tensor_;
}

onnx::Array Stored::read(const Described& as) {
  const std::lock_guard lock(mutex_);
  return elements(as);
}

}  // namespace weft::ort
