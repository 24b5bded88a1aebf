#include "capi/arrays.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace weft::capi {

ops::View Arrays::view(weft_buffer buffer, weft_dtype dtype, std::int64_t offset,
                       const Shape& shape, const std::vector<std::int64_t>& strides,
                       std::string_view argument) {
  const auto object = get<BufferObject>(buffer, formatted("{}.buffer", argument));
  if (device_ && !same_device(*device_, object->device)) {
    raise(ErrorCode::invalid_argument, "`{}` lies on another device than the arrays before it.",
          argument);
  }
  device_ = object->device;
  auto found = std::ranges::find(buffers_, object->buffer);
  if (found == buffers_.end()) found = buffers_.insert(found, object->buffer);

  const DType type = dtype_of(dtype, formatted("{}.dtype", argument));
  ops::View view =
      ops::View::dense(type, shape, ops::Slot(static_cast<std::size_t>(found - buffers_.begin())));
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (strides[i] < 0) {
      raise(ErrorCode::invalid_argument, "Stride {} of `{}` is {}; strides are not negative.", i,
            argument, strides[i]);
    }
    view.stride[i] = static_cast<std::uint64_t>(strides[i]);
  }
  value_of(ops::validate(view, argument));
  const std::uint64_t room = object->buffer.size() / size_of(type);
  const std::uint64_t span = view.bytes().size() / size_of(type);
  if (offset < 0 || std::cmp_greater(offset, room) ||
      span > room - static_cast<std::uint64_t>(offset)) {
    raise(ErrorCode::invalid_argument,
          "`{}` ({}) spans {} elements from element {} on, but its buffer of {} bytes holds {}.",
          argument, ops::describe(view), span, offset, object->buffer.size(), room);
  }
  // Repeating costs no memory, so nothing else bounds the work.
  constexpr std::uint64_t most_repeated = 1ULL << 32;
  if (view.count() > std::max(most_repeated, room)) {
    raise(ErrorCode::invalid_argument,
          "`{}` ({}) repeats its elements to {}; more than {} are not possible.", argument,
          ops::describe(view), view.count(), most_repeated);
  }
  view.offset = static_cast<std::uint64_t>(offset) * size_of(type);
  return view;
}

ops::View Arrays::input(const weft_array* array, std::string_view argument) {
  required(array, argument);
  const Shape shape = shape_of(array->rank, array->shape, argument);
  return view(array->buffer, array->dtype, array->offset, shape,
              {array->strides, array->strides + shape.size()}, argument);
}

ops::View Arrays::output(const weft_array* array, std::string_view argument) {
  const ops::View made = input(array, argument);
  check_apart(made, argument);
  return made;
}

void check_apart(const ops::View& view, std::string_view argument) {
  if (view.empty()) return;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dims;  // stride, extent
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] > 1) dims.emplace_back(view.stride[i], view.shape[i]);
  }
  std::ranges::sort(dims);
  std::uint64_t span = 1;  // elements from the first to the last of all dimensions so far
  for (const auto& [stride, extent] : dims) {
    if (stride < span) {
      raise(ErrorCode::invalid_argument,
            "Elements of the output `{}` ({}) share memory: a step of {} elements is less than "
            "the {} that lie inside of it.",
            argument, ops::describe(view), stride, span);
    }
    span += (extent - 1) * stride;
  }
}

std::array<double, 4> parameters_of(const double* parameters) {
  std::array<double, 4> values{};
  if (parameters != nullptr) std::copy_n(parameters, values.size(), values.begin());
  return values;
}

const Device& Arrays::device() const {
  if (!device_) raise(ErrorCode::internal, "A plan is run before it has arrays.");
  return *device_;
}

const Caps& Arrays::caps() const { return device_of(device()).caps(); }

void Arrays::run(Result<ops::Plan> plan) const {
  const ops::Plan made = value_of(std::move(plan));
  gpu::Stream stream = device_of(device()).stream();
  value_of(executor_of(device()).run(stream, made, buffers_));
  value_of(stream.submit());
}

}  // namespace weft::capi
