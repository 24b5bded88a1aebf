#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "api.hpp"
#include "onnx/value.hpp"

namespace weft::ort {

/// A device of Weft that sessions share.
struct Accelerator {
  Device device;
};

/// The type and the shape of a tensor of ONNX Runtime.
struct Described {
  onnx::Type type = onnx::Type::none;
  Shape shape;
  std::size_t bytes = 0;
};
[[nodiscard]] Described describe(const Api& api, const OrtValue* value);

/// The elements of a tensor in the host's memory, copied.
[[nodiscard]] std::vector<std::byte> host_bytes(const Api& api, const OrtValue* value);
/// Writes elements to a tensor in the host's memory; an error where they are of another type or
/// number.
void write_host(const Api& api, OrtValue* to, const onnx::Array& elements);
/// The elements of a tensor in the host's memory, as the translator takes them: small ones stay on
/// the host, where shapes may follow from them, large ones are brought to the device.
[[nodiscard]] onnx::Value from_host(const Api& api, const OrtValue* value, const Device& device);

/// What an address of Memory stands for: elements on the host, until a device asks for them, or a
/// tensor of a device. Who reads it says of which type and shape it is, because copies are made of
/// bytes at times.
class Stored {
 public:
  explicit Stored(onnx::Array array) : array_(std::move(array)) {}
  /// A result of a subgraph.
  Stored(const onnx::Value& value, const std::shared_ptr<Accelerator>& where);
  /// A copy of a tensor in the host's memory.
  Stored(const Api& api, const OrtValue* value);

  /// The value for a device; the first one that asks for large elements gets them for itself.
  [[nodiscard]] onnx::Value on(const std::shared_ptr<Accelerator>& where, const Described& as);
  /// The elements, read from the device if need be.
  [[nodiscard]] onnx::Array read(const Described& as);

 private:
  [[nodiscard]] onnx::Array elements(const Described& as) const;

  std::mutex mutex_;
  std::optional<onnx::Array> array_;
  Tensor tensor_;
  std::shared_ptr<Accelerator> where_;
};

}  // namespace weft::ort
