#include "nn/parameters.hpp"

#include <utility>

#include "base/math.hpp"
#include "nn/random.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft::nn {
namespace {

constexpr std::uint64_t alignment = 128;

}  // namespace

std::size_t ParameterGroup::add(std::string name, Shape shape, float mean, float deviation) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  infos_.push_back({.name = std::move(name),
                    .shape = std::move(shape),
                    .mean = mean,
                    .deviation = deviation,
                    .offset = size_,
                    .count = count});
  size_ += round_up(count, alignment);
  return infos_.size() - 1;
}

std::uint64_t ParameterGroup::count() const {
  std::uint64_t total = 0;
  for (const ParameterInfo& info : infos_) total += info.count;
  return total;
}

std::vector<float> ParameterGroup::initial_values(std::uint64_t seed) const {
  std::vector<float> values(size_);
  for (const ParameterInfo& info : infos_) {
    Random random(seed, info.name);
    for (std::uint64_t i = 0; i < info.count; ++i) {
      const double noise = info.deviation > 0 ? random.normal() * info.deviation : 0;
      values[info.offset + i] = static_cast<float>(info.mean + noise);
    }
  }
  return values;
}

std::vector<Tensor> ParameterGroup::views(const Tensor& array) const {
  std::vector<Tensor> tensors;
  tensors.reserve(infos_.size());
  for (const ParameterInfo& info : infos_) {
    tensors.push_back(
        array.slice(0, static_cast<std::int64_t>(info.offset), info.count).reshape(info.shape));
  }
  return tensors;
}

Tensor ParameterGroup::join(const std::vector<Tensor>& tensors) const {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ParameterInfo& info = infos_[i];
    parts.push_back(tensors[i].reshape({info.count}));
    const std::uint64_t gap = round_up(info.count, alignment) - info.count;
    if (gap > 0) parts.push_back(tensors[i].device().full({gap}, 0, tensors[i].dtype()));
  }
  return concat(parts, 0);
}

}  // namespace weft::nn
