#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

struct DeviceData;  // internal
struct KernelData;  // internal

/// How a device is chosen. Empty members take their environment variable
/// (docs/environment-variables.md), then the best adapter of the machine.
struct DeviceChoice {
  std::string
      adapter;  ///< An index, part of a name, "high-performance" or "low-power"; WEFT_ADAPTER.
  bool safe = false;  ///< Every check of WebGPU on, for kernels that are not trusted; WEFT_MODE.
  /// Indices out of range of gather, embedding and the like are an error of the next call that
  /// waits (a read or synchronize()); nothing waits for it in between. Without it they give zeros,
  /// or are left out; WEFT_CHECK_INDICES.
  bool check_indices = false;
};

/// A kernel of the user's own. Tensors are bound as @group(0) @binding(0), (1), … in the order of
/// `run`, as arrays of u32 words or whatever the text declares; scalars follow in a uniform at the
/// next binding.
class Kernel {
 public:
  /// Runs the kernel on dense tensors. `writes` of the description says which of them it changes.
  void run(std::span<const Tensor> tensors, std::array<std::uint32_t, 3> workgroups,
           std::span<const std::uint32_t> scalars = {}) const;
  void run(std::initializer_list<Tensor> tensors, std::array<std::uint32_t, 3> workgroups,
           std::initializer_list<std::uint32_t> scalars = {}) const {
    run(std::span(tensors.begin(), tensors.size()), workgroups,
        std::span(scalars.begin(), scalars.size()));
  }

 private:
  friend struct Access;
  std::shared_ptr<const KernelData> data_;
};

/// What a user's kernel is made of.
struct KernelSource {
  std::string wgsl;
  std::string label = "user kernel";
  std::string entry = "main";
  std::vector<bool> writes;   ///< One per tensor: whether the kernel writes it.
  std::uint32_t scalars = 0;  ///< Number of 32-bit scalars in the uniform.
  std::vector<std::pair<std::string, double>> constants;  ///< Values of `override` constants.
};

/// A GPU, or a software stand-in for one. A cheap handle, usable from several threads. Work is
/// queued; reading values waits for it. Every call that fails throws weft::Error.
class Device {
 public:
  /// Opens the best adapter of this machine, or the one that `choice` names.
  explicit Device(const DeviceChoice& choice = {});

  /// The adapter's name.
  [[nodiscard]] std::string name() const;
  /// Whether this is a CPU implementation.
  [[nodiscard]] bool is_software() const;

  /// A tensor with the given values in row-major order; doubles become f32.
  template <class T>
  [[nodiscard]] Tensor tensor(const Shape& shape, const std::vector<T>& values) const {
    if constexpr (std::same_as<T, double>) {
      const std::vector<float> rounded(values.begin(), values.end());
      return upload(DType::f32, shape, std::as_bytes(std::span(rounded)));
    } else {
      return upload(dtype_of<T>(), shape, std::as_bytes(std::span(values)));
    }
  }
  /// Booleans.
  [[nodiscard]] Tensor tensor(const Shape& shape, const std::vector<bool>& values) const {
    return tensor(shape, std::vector<std::uint8_t>(values.begin(), values.end()))
        .to(DType::boolean);
  }
  template <class T>
  [[nodiscard]] Tensor tensor(const Shape& shape, std::initializer_list<T> values) const {
    return tensor(shape, std::vector<T>(values));
  }
  /// The same for elements of any type, as they lie in memory.
  [[nodiscard]] Tensor tensor(DType dtype, const Shape& shape,
                              std::span<const std::byte> bytes) const {
    return upload(dtype, shape, bytes);
  }
  /// A tensor whose elements are not set.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype = DType::f32) const;
  /// A tensor of equal elements.
  [[nodiscard]] Tensor full(const Shape& shape, double value, DType dtype = DType::f32,
                            Where where = Where::current()) const;
  /// start, start + step, …
  [[nodiscard]] Tensor arange(std::uint64_t count, double start = 0, double step = 1,
                              DType dtype = DType::f32, Where where = Where::current()) const;

  /// Compiles a kernel of the user's own; equal ones share their compilation.
  [[nodiscard]] Kernel kernel(const KernelSource& source) const;

  /// Waits until everything queued is done.
  void synchronize() const;

 private:
  friend struct Access;
  explicit Device(std::shared_ptr<DeviceData> data) : data_(std::move(data)) {}
  [[nodiscard]] Tensor upload(DType dtype, const Shape& shape,
                              std::span<const std::byte> bytes) const;
  std::shared_ptr<DeviceData> data_;
};

}  // namespace weft
