#include "weft/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <format>
#include <utility>

#include "api/state.hpp"
#include "ops/case.hpp"
#include "ops/map/map.hpp"

namespace weft {

const TensorState& Access::state(const Tensor& tensor) {
  if (!tensor.state_)
    throw Error(ErrorCode::invalid_argument, "The tensor is empty: it was never given a value.");
  return *tensor.state_;
}

Tensor Access::tensor(std::shared_ptr<DeviceData> device, gpu::Buffer buffer, ops::View view) {
  view.slot = -1;  // numbered anew for every call
  Shape shape(view.extents().begin(), view.extents().end());
  Tensor tensor;
  tensor.state_ = std::make_shared<const TensorState>(std::move(device), std::move(buffer), view,
                                                      std::move(shape));
  return tensor;
}

Tensor new_tensor(const std::shared_ptr<DeviceData>& device, DType dtype, const Shape& shape) {
  if (shape.size() > ops::max_rank) {
    throw Error(ErrorCode::invalid_argument,
                std::format("A tensor has at most {} dimensions; {} were asked for.", ops::max_rank,
                            shape.size()));
  }
  const ops::View view = ops::View::dense(dtype, shape);
  unwrap(ops::validate(view, "new tensor"));
  return Access::tensor(device, unwrap(device->device.allocate(view.bytes().size())), view);
}

ops::View Slots::view(const Tensor& tensor) {
  const TensorState& state = Access::state(tensor);
  if (!device_) device_ = state.device;
  if (device_ != state.device) {
    throw Error(ErrorCode::invalid_argument,
                "The tensors of one operation lie on different devices.");
  }
  auto found = std::ranges::find(buffers_, state.buffer);
  if (found == buffers_.end()) found = buffers_.insert(found, state.buffer);
  ops::View view = state.view;
  view.slot = static_cast<int>(found - buffers_.begin());
  return view;
}

void Slots::run(Result<ops::Plan> plan) const {
  const ops::Plan made = unwrap(std::move(plan));
  gpu::Stream stream = device_->device.stream();
  unwrap(device_->executor.run(stream, made, buffers_));
  unwrap(stream.submit());
}

const Shape& Tensor::shape() const { return Access::state(*this).shape; }
DType Tensor::dtype() const { return Access::state(*this).view.dtype; }
std::uint64_t Tensor::size() const { return Access::state(*this).view.count(); }
Device Tensor::device() const { return Access::device(Access::state(*this).device); }

Tensor Tensor::reshape(const Shape& shape) const {
  const TensorState& state = Access::state(*this);
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  if (count != size() || shape.size() > ops::max_rank) {
    throw Error(ErrorCode::invalid_argument,
                std::format("A tensor of shape {} cannot be reshaped to {}.",
                            ops::describe(state.shape), ops::describe(shape)));
  }
  if (!state.view.is_dense()) return to(DType(dtype())).reshape(shape);
  ops::View view = ops::View::dense(state.view.dtype, shape);
  view.offset = state.view.offset;
  return Access::tensor(state.device, state.buffer, view);
}

Tensor Tensor::permute(const std::vector<std::uint32_t>& order) const {
  const TensorState& state = Access::state(*this);
  std::vector<std::uint32_t> sorted = order;
  std::ranges::sort(sorted);
  bool valid = sorted.size() == state.view.rank;
  for (std::uint32_t i = 0; valid && i < sorted.size(); ++i) valid = sorted[i] == i;
  if (!valid) {
    throw Error(ErrorCode::invalid_argument,
                std::format("permute needs each of the {} dimensions of {} once.", state.view.rank,
                            ops::describe(state.shape)));
  }
  return Access::tensor(state.device, state.buffer, state.view.permute(order));
}

Tensor Tensor::transpose() const {
  const TensorState& state = Access::state(*this);
  if (state.view.rank < 2) {
    throw Error(ErrorCode::invalid_argument,
                std::format("transpose needs two dimensions; the tensor has shape {}.",
                            ops::describe(state.shape)));
  }
  return Access::tensor(state.device, state.buffer,
                        state.view.transpose(state.view.rank - 2, state.view.rank - 1));
}

Tensor Tensor::slice(std::uint32_t dim, std::uint64_t first, std::uint64_t count) const {
  const TensorState& state = Access::state(*this);
  if (dim >= state.view.rank || first > state.view.shape[dim] ||
      count > state.view.shape[dim] - first) {
    throw Error(
        ErrorCode::invalid_argument,
        std::format("Elements {} to {} of dimension {} are not all in a tensor of shape {}.", first,
                    first + count, dim, ops::describe(state.shape)));
  }
  return Access::tensor(state.device, state.buffer, state.view.slice(dim, first, count));
}

Tensor Tensor::broadcast_to(const Shape& shape) const {
  const TensorState& state = Access::state(*this);
  return Access::tensor(state.device, state.buffer, unwrap(state.view.broadcast_to(shape)));
}

Tensor Tensor::to(DType dtype) const {
  const TensorState& state = Access::state(*this);
  if (dtype == state.view.dtype && state.view.is_dense()) return *this;
  const Tensor result = new_tensor(state.device, dtype, state.shape);
  Slots slots;
  const ops::View x = slots.view(*this);
  const ops::View y = slots.view(result);
  slots.run(
      ops::map::plan({.function = "copy", .inputs = {x}, .y = y}, state.device->device.caps()));
  return result;
}

void Tensor::read(DType as, std::span<std::byte> bytes) const {
  const Tensor dense = to(dtype());
  const TensorState& state = Access::state(dense);
  if (state.view.dtype != as) {
    throw Error(ErrorCode::invalid_argument,
                std::format("The tensor holds {}, not {}; convert it with to() first.",
                            ::weft::name(state.view.dtype), ::weft::name(as)));
  }
  unwrap(state.device->device.read({state.buffer, state.view.offset, bytes.size()}, bytes));
}

namespace {

/// Brackets round each dimension, at most eight elements of it.
void print(std::string& out, const ops::View& view, std::span<const double> values,
           std::uint32_t dim, std::uint64_t first) {
  constexpr std::uint64_t shown = 8;
  if (dim == view.rank) {
    out += std::format("{:.6g}", values[first]);
    return;
  }
  std::uint64_t below = 1;
  for (std::uint32_t i = dim + 1; i < view.rank; ++i) below *= view.shape[i];
  out += "[";
  for (std::uint64_t i = 0; i < std::min(view.shape[dim], shown); ++i) {
    if (i > 0) out += ", ";
    print(out, view, values, dim + 1, first + i * below);
  }
  out += view.shape[dim] > shown ? ", …]" : "]";
}

}  // namespace

std::string Tensor::to_string() const {
  const Tensor dense = to(dtype());
  const TensorState& state = Access::state(dense);
  std::vector<std::byte> bytes(state.view.bytes().size());
  unwrap(state.device->device.read({state.buffer, state.view.offset, bytes.size()}, bytes));
  ops::View view = state.view;
  view.offset = 0;
  std::string out = ops::describe(view) + " ";
  print(out, view, ops::load_values(view, bytes), 0, 0);
  return out;
}

}  // namespace weft
