#include "ops/segments/segments.hpp"
#include "describe/attributes/segment.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "weft/nodes.hpp"

namespace weft::graph::kinds {
namespace {

using ops::segments::Function;

// segment_reduce: starts i32 [S + 1], places i32 [n], weights [n] (optional), x [R, C] → [S, C]

Result<std::vector<Type>> infer_segments(const Signature& s) {
  const Type& starts = s.inputs[0];
  const Type& places = s.inputs[1];
  const Type& weights = s.inputs[2];
  const Type& x = s.inputs[3];
  const bool fits =
      starts.given && places.given && x.given && starts.dtype == DType::i32 && starts.rank() == 1 &&
      starts.shape[0] > 0 && places.dtype == DType::i32 && places.rank() == 1 && x.rank() == 2 &&
      (is_float(x.dtype) || x.dtype == DType::i32) &&
      (!weights.given ||
       (is_float(weights.dtype) && is_float(x.dtype) && weights.shape == places.shape));
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "Segments of rows need starts i32 [segments + 1], places i32 [n], weights [n] and "
                "rows [R, C] of floats or i32; they are {}, {}, {} and {}.",
                describe(starts), describe(places), describe(weights), describe(x));
  }
  const DType dtype = is_float(x.dtype) ? DType::f32 : DType::i32;
  return one(dtype, {starts.shape[0] - 1, x.shape[1]});
}

Result<ops::Plan> lower_segments(const LowerArgs& l) {
  return ops::segments::plan(
      {.starts = l.inputs[0],
       .places = l.inputs[1],
       .weights = l.inputs[2],
       .x = l.inputs[3],
       .y = l.outputs[0],
       .function = static_cast<Function>(as<SegmentAttributes>(l.attributes).function)},
      l.caps);
}

/// Each place gives its share of the gradient of its segment to its row. Extremes share it among
/// equals.
std::vector<Tensor> gradient_segments(const GradientArgs& g) {
  const auto function = static_cast<Function>(as<SegmentAttributes>(g.attributes).function);
  const Tensor& starts = g.inputs[0];
  const Tensor& places = g.inputs[1];
  const Tensor& weights = g.inputs[2];
  const Tensor x = g.inputs[3].to(DType::f32);
  const std::uint64_t n = places.size();
  const std::uint64_t segments = starts.size() - 1;
  std::vector<Tensor> out(4);
  if (n == 0 || segments == 0 || x.size() == 0) {
    if (g.wanted[2]) out[2] = full_like(weights, weights.shape(), weights.dtype());
    if (g.wanted[3]) out[3] = full_like(x, x.shape(), g.inputs[3].dtype());
    return out;
  }
  // The segment of each place; one that is in none gets number -1 or `segments`, which is no row.
  const Tensor numbers = x.device().arange(n, 0, 1, DType::i32);
  const Tensor segment = weft::searchsorted(starts, numbers, true) - 1;
  Tensor dy = g.dy[0];
  if (function == Function::mean) {
    const Tensor counts = (starts.slice(0, 1, segments) - starts.slice(0, 0, segments));
    const Tensor least = full_like(x, {}, DType::i32, 1);
    dy = dy / weft::maximum(counts, least).to(DType::f32).reshape({segments, 1});
  }
  const Tensor rows = weft::embedding(x, places);
  const Tensor scaled = weights ? rows * weights.to(DType::f32).reshape({n, 1}) : rows;
  Tensor of_place = weft::embedding(dy, segment);
  if (function == Function::max || function == Function::min) {
    const Tensor chosen =
        weft::equal(scaled, weft::embedding(g.outputs[0], segment)).to(DType::f32);
    const SegmentAttributes sum{static_cast<std::uint32_t>(Function::sum)};
    const Tensor equals =
        make(segment_reduce, sum, {starts, numbers, Tensor(), chosen}, Where::current());
    const Tensor one = full_like(x, {}, DType::f32, 1);
    of_place = of_place * chosen / weft::maximum(weft::embedding(equals, segment), one);
  }
  if (g.wanted[2]) out[2] = weft::sum(of_place * rows, {1}).to(weights.dtype());
  if (g.wanted[3]) {
    const Tensor parts = weights ? of_place * weights.to(DType::f32).reshape({n, 1}) : of_place;
    const Tensor zeros = full_like(x, x.shape(), DType::f32);
    out[3] = make(add_rows, {}, {zeros, places, parts}, Where::current()).to(g.inputs[3].dtype());
  }
  return out;
}

}  // namespace

const Rule segment_reduce{.name = "segment_reduce",
                          .infer = infer_segments,
                          .lower = lower_segments,
                          .gradient = gradient_segments};

}  // namespace weft::graph::kinds
