#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "capi/call.hpp"
#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "ops/view.hpp"
#include "weft/compile.hpp"
#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft::capi {

/// What the handles of the C API stand for.
struct DeviceObject {
  using Handle = weft_device;
  static constexpr Kind kind = Kind::device;
  Device device;
};

struct BufferObject {
  using Handle = weft_buffer;
  static constexpr Kind kind = Kind::buffer;
  Device device;
  gpu::Buffer buffer;
};

struct TensorObject {
  using Handle = weft_tensor;
  static constexpr Kind kind = Kind::tensor;
  Tensor tensor;
};

struct KernelObject {
  using Handle = weft_kernel;
  static constexpr Kind kind = Kind::kernel;
  Device device;
  Kernel kernel;
  std::uint32_t bindings = 0;
  std::uint32_t scalars = 0;
};

struct CompiledObject {
  using Handle = weft_compiled;
  static constexpr Kind kind = Kind::compiled;
  Compiled compiled;
  std::uint32_t results = 0;
  std::shared_ptr<std::mutex> mutex;  ///< One call at a time.
};

/// Where a tensor's elements lie.
struct Place {
  gpu::Buffer buffer;
  ops::View view;
};

/// The way from the public C++ API to what lies below it; all of it that the C API needs.
Device open_device(const gpu::DeviceOptions& options);
gpu::Device& device_of(const Device& device);
graph::Executor& executor_of(const Device& device);
bool same_device(const Device& a, const Device& b);
Tensor tensor_at(const Device& device, const gpu::Buffer& buffer, const ops::View& view);
Place place_of(const Tensor& tensor);
/// The elements in row-major order, of the tensor's own type.
void read_elements(const Tensor& tensor, std::span<std::byte> bytes);

/// A type that the caller named, or an error.
DType dtype_of(weft_dtype dtype, std::string_view argument);

/// The same, where quantized types are possible.
DType any_dtype_of(weft_dtype dtype, std::string_view argument);

/// Extents (or strides) that the caller gave: at most 8, none negative, and their product bounded.
Shape shape_of(std::uint32_t rank, const std::int64_t* extents, std::string_view argument);

}  // namespace weft::capi
