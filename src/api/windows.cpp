#include "api/windows.hpp"

#include <limits>

#include "base/format.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/node.hpp"

namespace weft {

using Numbers = std::vector<std::uint64_t>;

Numbers spread(const Numbers& given, std::size_t count, std::uint64_t standard,
               std::string_view what, In x) {
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::uint64_t number : given) {
    if (number <= most) continue;
    throw Error(ErrorCode::invalid_argument,
                formatted("A {} of {} is too large for windows; at most {} is possible ({}).", what,
                          number, most, graph::describe_place("windows", x.where)));
  }
  if (given.empty()) return Numbers(count, standard);
  if (given.size() == 1) return Numbers(count, given.front());
  if (given.size() == count) return given;
  throw Error(ErrorCode::invalid_argument,
              formatted("An image of shape {} has {} spatial dimensions; the {} has {} ({}).",
                        ops::describe(x.tensor.shape()), count, what, given.size(),
                        graph::describe_place("windows", x.where)));
}

std::size_t spatial_of(In x) {
  const std::size_t rank = x.tensor.shape().size();
  return rank < 2 ? 0 : rank - 2;
}

std::vector<ops::unfold::Axis> axes_of(const Windows& windows, std::size_t count, In x) {
  const Numbers stride = spread(windows.stride, count, 1, "stride", x);
  const Numbers pad = spread(windows.pad, count, 0, "padding", x);
  const Numbers dilation = spread(windows.dilation, count, 1, "dilation", x);
  std::vector<ops::unfold::Axis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back({stride[i], static_cast<std::int64_t>(pad[i]), dilation[i]});
  }
  return axes;
}

Numbers high_of(const Windows& windows, std::size_t count, In x) {
  return spread(windows.pad_high.empty() ? windows.pad : windows.pad_high, count, 0, "padding", x);
}

graph::ConvAttributes conv_attributes(const ConvOptions& options, In x) {
  graph::ConvAttributes attributes;
  const std::size_t count = spatial_of(x);
  attributes.axes = axes_of(options.windows, count, x);
  attributes.high = high_of(options.windows, count, x);
  attributes.groups = options.groups;
  attributes.allow_f16 = options.allow_f16;
  attributes.dtype = x.tensor.dtype();
  return attributes;
}

}  // namespace weft
