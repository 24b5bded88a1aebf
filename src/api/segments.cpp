#include <string_view>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "describe/attributes/segment.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/segments/segments.hpp"
#include "weft/device.hpp"
#include "weft/neighbours.hpp"

namespace weft {
namespace {

using Segment = ops::segments::Function;

Tensor segmented(std::string_view function, Segment which, In x, const Tensor& ids,
                 std::uint64_t count) {
  need(function, "x", x.tensor, x.where);
  need(function, "ids", ids, x.where);
  const Where& at = x.where;
  const Shape& shape = x.tensor.shape();
  const bool whole = x.tensor.dtype() == DType::i32 && which != Segment::mean;
  if (shape.empty() || ids.dtype() != DType::i32 || ids.shape() != Shape{shape[0]} ||
      !(is_float(x.tensor.dtype()) || whole)) {
    refuse(function, at,
           formatted("{} needs rows [n, …] of floats{} and ids i32 [n]; it was given {} and {}.",
                     function, which == Segment::mean ? "" : " or i32", describe(x.tensor),
                     describe(ids)));
  }
  Shape out = shape;
  out[0] = count;
  if (x.tensor.size() == 0 || count == 0) {
    return x.tensor.device().full(out, 0, x.tensor.dtype(), at);
  }
  // Rows of one id after the other, in their order.
  const Sorted order = sort(In(ids, at));
  const Tensor numbers = x.tensor.device().arange(count + 1, 0, 1, DType::i32, at);
  const Tensor starts = searchsorted(In(order.values, at), numbers);
  const Tensor rows = x.tensor.reshape({shape[0], x.tensor.size() / shape[0]}, at);
  const graph::SegmentAttributes attributes{static_cast<std::uint32_t>(which)};
  return graph::make(graph::kinds::segment_reduce, attributes,
                     {starts, order.indices, Tensor(), rows}, at)
      .reshape(out, at)
      .to(x.tensor.dtype(), at);
}

}  // namespace

Tensor segment_sum(In x, const Tensor& ids, std::uint64_t count) {
  return segmented("segment_sum", Segment::sum, x, ids, count);
}
Tensor segment_mean(In x, const Tensor& ids, std::uint64_t count) {
  return segmented("segment_mean", Segment::mean, x, ids, count);
}
Tensor segment_max(In x, const Tensor& ids, std::uint64_t count) {
  return segmented("segment_max", Segment::max, x, ids, count);
}
Tensor segment_min(In x, const Tensor& ids, std::uint64_t count) {
  return segmented("segment_min", Segment::min, x, ids, count);
}

}  // namespace weft
