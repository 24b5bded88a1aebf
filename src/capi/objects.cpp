#include "capi/objects.hpp"

#include <algorithm>
#include <format>
#include <mutex>

#include "graph/adopt.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"

namespace weft::capi {

Device open_device(const gpu::DeviceOptions& options) {
  return Access::device(std::make_shared<DeviceData>(value_of(gpu::Device::create(options))));
}

gpu::Device& device_of(const Device& device) { return Access::data(device)->device; }
graph::Executor& executor_of(const Device& device) { return Access::data(device)->executor; }
bool same_device(const Device& a, const Device& b) { return Access::data(a) == Access::data(b); }

Tensor tensor_at(const Device& device, const gpu::Buffer& buffer, const ops::View& view) {
  return graph::make_leaf(graph::kinds::value, Access::data(device), buffer, view);
}

Place place_of(const Tensor& tensor) {
  (void)graph::storage_of(tensor);  // computed from here on
  {
    const std::shared_ptr<Node> node = Access::value(tensor).node;
    const std::lock_guard lock(node->device->mutex);
    std::shared_ptr<Node> base = node;
    while (base->rule->view != nullptr && !base->inputs.empty()) base = base->inputs.front().node;
    if (base->computed()) graph::make_private(*base);
  }
  const graph::Storage storage = graph::storage_of(tensor);
  return {storage.buffer, storage.view};
}

void read_elements(const Tensor& tensor, std::span<std::byte> bytes) {
  graph::read_elements(tensor, bytes);
}

DType dtype_of(weft_dtype dtype, std::string_view argument) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= all_dtypes.size()) {
    raise(ErrorCode::invalid_argument,
          "`{}` is {}, which is no type; types are 0 (f32) to {} ({}).", argument,
          static_cast<int>(dtype), all_dtypes.size() - 1, name(all_dtypes.back()));
  }
  return static_cast<DType>(index);
}

DType any_dtype_of(weft_dtype dtype, std::string_view argument) {
  const auto index = static_cast<std::size_t>(dtype);
  const std::size_t plain = all_dtypes.size();
  const bool quantized = index >= plain && index < plain + quantized_dtypes.size();
  return quantized ? static_cast<DType>(index) : dtype_of(dtype, argument);
}

Shape shape_of(std::uint32_t rank, const std::int64_t* extents, std::string_view argument) {
  if (rank > ops::max_rank) {
    raise(ErrorCode::invalid_argument, "`{}` has {} dimensions; at most {} are possible.", argument,
          rank, ops::max_rank);
  }
  if (rank > 0) required(extents, argument);
  // 2^56 elements are far past any device; below it no product of extents can overflow.
  constexpr std::uint64_t limit = 1ULL << 56;
  Shape shape;
  std::uint64_t count = 1;
  for (const std::int64_t extent : std::span(extents, rank)) {
    if (extent < 0) {
      raise(ErrorCode::invalid_argument, "Dimension {} of `{}` is {}; extents are not negative.",
            shape.size(), argument, extent);
    }
    const auto size = static_cast<std::uint64_t>(extent);
    if (std::max<std::uint64_t>(size, 1) > limit / count) {
      raise(ErrorCode::invalid_argument,
            "`{}` has more than 2^56 elements: dimension {} of {} is {}.", argument, shape.size(),
            rank, extent);
    }
    count *= std::max<std::uint64_t>(size, 1);
    shape.push_back(size);
  }
  return shape;
}

}  // namespace weft::capi
