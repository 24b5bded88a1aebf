#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "ops/view.hpp"
#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// What the handles of the public API point to.
struct DeviceData {
  explicit DeviceData(gpu::Device opened) : device(std::move(opened)), executor(device) {}
  gpu::Device device;
  graph::Executor executor;
};

struct TensorState {
  std::shared_ptr<DeviceData> device;
  gpu::Buffer buffer;
  ops::View view;
  Shape shape;
};

struct KernelData {
  std::shared_ptr<DeviceData> device;
  gpu::Kernel kernel;
  std::vector<bool> writes;
  std::uint32_t scalars = 0;
};

/// The way from the public handles to their state, for the files of this folder.
struct Access {
  static const TensorState& state(const Tensor& tensor);
  static const std::shared_ptr<DeviceData>& data(const Device& device) { return device.data_; }
  static Device device(std::shared_ptr<DeviceData> data) { return Device(std::move(data)); }
  static Kernel kernel(KernelData data);
  static Tensor tensor(std::shared_ptr<DeviceData> device, gpu::Buffer buffer, ops::View view);
};

/// The value of a result, or its failure thrown as weft::Error.
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw Error(result.error().code, result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A new dense tensor on the device of another.
Tensor new_tensor(const std::shared_ptr<DeviceData>& device, DType dtype, const Shape& shape);

/// Collects the buffers of one op call: `view(t)` is the view of a tensor under the number of its buffer.
class Slots {
 public:
  ops::View view(const Tensor& tensor);
  /// The device that all tensors so far lie on; throws where they lie on several.
  [[nodiscard]] const std::shared_ptr<DeviceData>& device() const { return device_; }
  /// Plans were made with views of this object: run one.
  void run(Result<ops::Plan> plan) const;

 private:
  std::shared_ptr<DeviceData> device_;
  std::vector<gpu::Buffer> buffers_;
};

}  // namespace weft
