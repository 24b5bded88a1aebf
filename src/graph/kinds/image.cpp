#include <algorithm>
#include <limits>

#include "describe/attributes/band.hpp"
#include "describe/attributes/border.hpp"
#include "describe/attributes/resize.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/border/border.hpp"
#include "ops/resize/resize.hpp"

namespace weft::graph::kinds {
namespace {

using ops::border::Mode;

// resize: x [N, C, H, W]

Result<std::vector<Type>> infer_resize(const Signature& s) {
  const auto& a = as<ResizeAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (!is_float(x.dtype) || x.rank() != 4) {
    return fail(ErrorCode::invalid_argument,
                "resize needs images [N, C, H, W] of floats; it was given {}.", describe(x));
  }
  return one(x.dtype, {x.shape[0], x.shape[1], a.height, a.width});
}

Result<ops::Plan> lower_resize(const LowerArgs& l) {
  const auto& a = as<ResizeAttributes>(l.attributes);
  return ops::resize::plan({.x = l.inputs[0],
                            .y = l.outputs[0],
                            .mode = a.mode,
                            .align_corners = a.align_corners,
                            .antialias = a.antialias},
                           l.caps);
}

/// What each of `from` elements gives to each of `to` along one dimension, [from, to]: the
/// identity, resized.
Tensor shares(const GradientArgs& g, std::uint64_t from, std::uint64_t to) {
  ResizeAttributes a = as<ResizeAttributes>(g.attributes);
  const Tensor ones = full_like(g.inputs[0], {1, 1, from, from}, DType::f32, 1);
  const Tensor identity = make(band_part, BandAttributes{}, {ones}, Where::current());
  a.height = from;
  a.width = to;
  return make(resize, a, {identity}, Where::current()).reshape({from, to});
}

/// Resizing is a product with one matrix along each dimension.
std::vector<Tensor> gradient_resize(const GradientArgs& g) {
  const Shape& from = g.inputs[0].shape();
  const Shape& to = g.dy[0].shape();
  const Tensor across =
      weft::matmul(g.dy[0], shares(g, from[3], to[3]).transpose(), {.dtype = DType::f32});
  return {weft::matmul(shares(g, from[2], to[2]), across, {.dtype = g.inputs[0].dtype()})};
}

// border: x goes on beyond its extents

Result<std::vector<Type>> infer_border(const Signature& s) {
  const auto& a = as<BorderAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (a.low.size() != x.rank() || a.shape.size() != x.rank()) {
    return fail(ErrorCode::invalid_argument,
                "Going on beyond {} needs a number for each of its dimensions; {} and {} were "
                "given.",
                describe(x), a.low.size(), a.shape.size());
  }
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (std::uint32_t i = 0; i < x.rank(); ++i) {
    if (std::max(x.shape[i], a.shape[i]) <= most && a.low[i] >= -most && a.low[i] <= most) continue;
    return fail(ErrorCode::invalid_argument,
                "Dimension {} of {} cannot go on for {} elements behind {} more; at most {} are "
                "possible.",
                i, describe(x), a.shape[i], a.low[i], most);
  }
  if (x.count() == 0 && Type{x.dtype, a.shape}.count() > 0) {
    return fail(ErrorCode::invalid_argument, "There is nothing in {} to repeat.", describe(x));
  }
  return one(x.dtype, a.shape);
}

Result<ops::Plan> lower_border(const LowerArgs& l) {
  const auto& a = as<BorderAttributes>(l.attributes);
  return ops::border::plan(
      ops::border::Args{.x = l.inputs[0], .y = l.outputs[0], .low = a.low, .mode = a.mode}, l.caps);
}

/// The element of `extent` that place i beyond them shows.
std::int64_t source(std::int64_t i, std::int64_t extent, Mode mode) {
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  if (mode == Mode::replicate || extent == 1) return std::clamp<std::int64_t>(i, 0, extent - 1);
  if (mode == Mode::circular) return modulo(i, extent);
  const std::int64_t place = modulo(i, 2 * extent - 2);
  return std::min(place, 2 * extent - 2 - place);
}

/// Each element gets the sum of all places that show it, one dimension after the other.
std::vector<Tensor> gradient_border(const GradientArgs& g) {
  BorderAttributes a = as<BorderAttributes>(g.attributes);
  const Shape& from = g.inputs[0].shape();
  Tensor dx = g.dy[0];
  if (a.mode == Mode::circular && a.shape == from) {  // nothing is shown twice
    for (std::int64_t& low : a.low) low = -low;
    return {make(border, a, {dx}, Where::current())};
  }
  for (std::uint32_t dim = 0; dim < from.size(); ++dim) {
    if (a.low[dim] == 0 && a.shape[dim] == from[dim]) continue;
    std::vector<std::int32_t> index;
    for (std::uint64_t i = 0; i < a.shape[dim]; ++i) {
      index.push_back(
          static_cast<std::int32_t>(source(static_cast<std::int64_t>(i) - a.low[dim],
                                           static_cast<std::int64_t>(from[dim]), a.mode)));
    }
    Shape line(from.size(), 1);
    line[dim] = a.shape[dim];
    Shape summed = dx.shape();
    summed[dim] = from[dim];
    dx = weft::scatter_add(full_like(dx, summed, dx.dtype()),
                           constant_like(dx, line, index).broadcast_to(dx.shape()), dx,
                           static_cast<int>(dim));
  }
  return {dx};
}

// band: what lies near the diagonal

Result<std::vector<Type>> infer_band(const Signature& s) {
  const Type& x = s.inputs[0];
  if (x.rank() < 2) {
    return fail(ErrorCode::invalid_argument, "A triangle is part of matrices; {} was given.",
                describe(x));
  }
  if (!is_float(x.dtype) && x.dtype != DType::i32 && x.dtype != DType::u32) {
    return fail(ErrorCode::unsupported,
                "A triangle is cut from f32, f16, bf16, i32 or u32; {} was given.", describe(x));
  }
  return one(x.dtype, x.shape);
}

Result<ops::Plan> lower_band(const LowerArgs& l) {
  const auto& a = as<BandAttributes>(l.attributes);
  return ops::border::plan(
      ops::border::BandArgs{
          .x = l.inputs[0], .y = l.outputs[0], .low = a.low, .high = a.high, .value = a.value},
      l.caps);
}

std::vector<Tensor> gradient_band(const GradientArgs& g) {
  BandAttributes a = as<BandAttributes>(g.attributes);
  a.value = 0;
  return {make(band_part, a, {g.dy[0]}, Where::current())};
}

constexpr InPlace over_x[] = {{0, 0}};

}  // namespace

const Rule resize{
    .name = "resize", .infer = infer_resize, .lower = lower_resize, .gradient = gradient_resize};
const Rule border{
    .name = "border", .infer = infer_border, .lower = lower_border, .gradient = gradient_border};
const Rule band_part{.name = "band_part",
                     .infer = infer_band,
                     .lower = lower_band,
                     .gradient = gradient_band,
                     .in_place = over_x};

}  // namespace weft::graph::kinds
