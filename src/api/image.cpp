#include "weft/image.hpp"

#include <algorithm>

#include "api/windows.hpp"
#include "base/format.hpp"
#include "describe/attributes/resize.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

namespace {

using Numbers = std::vector<std::uint64_t>;

graph::WindowAttributes window_attributes(const Numbers& kernel, const Windows& windows,
                                          std::size_t count, In x) {
  graph::WindowAttributes attributes;
  attributes.kernel = spread(kernel, count, 1, "window", x);
  attributes.axes = axes_of(windows, count, x);
  attributes.high = high_of(windows, count, x);
  return attributes;
}

Tensor pool(ops::pool::Function function, In x, const Numbers& kernel, const Windows& windows,
            bool count_outside) {
  Windows following = windows;
  if (following.stride.empty()) following.stride = kernel;
  auto attributes = window_attributes(kernel, following, spatial_of(x), x);
  attributes.function = function;
  attributes.count_outside = count_outside;
  // A window has to hold an element: more padding than half of it could leave one without any.
  for (std::size_t i = 0; i < attributes.kernel.size(); ++i) {
    const auto low = static_cast<std::uint64_t>(attributes.axes[i].pad);
    if (std::max(low, attributes.high[i]) * 2 <= attributes.kernel[i]) continue;
    throw Error(
        ErrorCode::invalid_argument,
        formatted("The padding of a pool is at most half of its window; dimension {} has a "
                  "window of {} and paddings of {} and {} ({}).",
                  i, attributes.kernel[i], low, attributes.high[i],
                  graph::describe_place(
                      function == ops::pool::Function::max ? "max_pool" : "avg_pool", x.where)));
  }
  return make(kinds::pool, attributes, {x.tensor}, x.where);
}

std::vector<Tensor> with_bias(In x, const Tensor& weights, const Tensor& bias) {
  std::vector<Tensor> inputs{x.tensor, weights};
  if (bias) inputs.push_back(bias);
  return inputs;
}

}  // namespace

Tensor conv(In x, const Tensor& weights, const ConvOptions& options, const Tensor& bias) {
  const graph::Called called("conv", x.where);
  return make(kinds::conv, conv_attributes(options, x), with_bias(x, weights, bias), x.where);
}

Tensor conv_transpose(In x, const Tensor& weights, const ConvOptions& options, const Tensor& bias) {
  const graph::Called called("conv_transpose", x.where);
  auto attributes = conv_attributes(options, x);
  attributes.high = spread(options.more, spatial_of(x), 0, "number of further elements", x);
  return make(kinds::conv_transpose, attributes, with_bias(x, weights, bias), x.where);
}

Tensor max_pool(In x, const Numbers& kernel, const Windows& windows) {
  const graph::Called called("max_pool", x.where);
  return pool(ops::pool::Function::max, x, kernel, windows, false);
}

Tensor avg_pool(In x, const Numbers& kernel, const Windows& windows, bool count_outside) {
  const graph::Called called("avg_pool", x.where);
  return pool(ops::pool::Function::mean, x, kernel, windows, count_outside);
}

Tensor unfold(In x, const Numbers& kernel, const Windows& windows) {
  const graph::Called called("unfold", x.where);
  return make(kinds::unfold, window_attributes(kernel, windows, spatial_of(x), x), {x.tensor},
              x.where);
}

Tensor fold(In columns, const Numbers& spatial, const Windows& windows) {
  const graph::Called called("fold", columns.where);
  const Shape& shape = columns.tensor.shape();
  const std::size_t count = spatial.size();
  Numbers kernel;
  for (std::size_t i = count + 2; i < shape.size(); ++i) kernel.push_back(shape[i]);
  auto attributes = window_attributes(kernel, windows, count, columns);
  attributes.spatial = spatial;
  return make(kinds::fold, attributes, {columns.tensor}, columns.where);
}

Tensor resize(In x, std::uint64_t height, std::uint64_t width, const ResizeOptions& options) {
  return make(kinds::resize,
              graph::ResizeAttributes{height, width, static_cast<ops::resize::Mode>(options.mode),
                                      options.align_corners, options.antialias},
              {x.tensor}, x.where);
}

}  // namespace weft
