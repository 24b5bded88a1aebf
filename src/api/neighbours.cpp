#include "weft/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "describe/attributes/bincount.hpp"
#include "describe/attributes/nearest.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/nearest/nearest.hpp"
#include "weft/device.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

using ops::nearest::Metric;

/// Rows of the same direction with length 1; zeros stay zeros.
Tensor unit(const Tensor& x, const Where& at) { return normalize(In(x, at), -1, 1e-30F); }

}  // namespace

Neighbours knn(In queries, const Tensor& points, std::uint64_t k, const KnnOptions& options) {
  need("knn", "queries", queries.tensor, queries.where);
  need("knn", "points", points, queries.where);
  const Where& at = queries.where;
  const Shape& left = queries.tensor.shape();
  const Shape& right = points.shape();
  if (left.size() != 2 || right.size() != 2 || left[1] != right[1] || left[1] == 0 ||
      !is_float(queries.tensor.dtype()) || !is_float(points.dtype()) || k == 0 || k > right[0]) {
    refuse("knn", at,
           formatted("knn needs queries [M, K] and points [N, K] of floats and k from 1 to N; it "
                     "was given {}, {} and {}.",
                     describe(queries.tensor), describe(points), k));
  }
  const bool euclidean = options.metric == "euclidean";
  const bool cosine = options.metric == "cosine";
  if (!euclidean && !cosine && options.metric != "inner") {
    refuse("knn", at,
           formatted("knn has the metrics \"euclidean\", \"cosine\" and \"inner\"; it was given "
                     "\"{}\".",
                     options.metric));
  }
  Tensor a = queries.tensor;
  Tensor b = points;
  if (left[0] == 0) {
    return {a.device().full({0, k}, 0, DType::f32, at), a.device().full({0, k}, 0, DType::i32, at)};
  }
  if (cosine) {  // Lengths are brought to 1 in f32.
    a = unit(a.to(DType::f32, at), at);
    b = unit(b.to(DType::f32, at), at);
  }
  const auto metric = euclidean ? Metric::euclidean : (cosine ? Metric::cosine : Metric::inner);
  const auto node = graph::make_node(
      graph::kinds::nearest,
      graph::NearestAttributes{.count = k, .metric = static_cast<std::uint32_t>(metric)}, {a, b},
      at);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

Tensor bincount(In x, std::uint64_t count, const Tensor& weights) {
  need("bincount", "x", x.tensor, x.where);
  const Where& at = x.where;
  const std::uint64_t n = x.tensor.size();
  if (x.tensor.dtype() != DType::i32 ||
      (weights && (weights.shape() != x.tensor.shape() || weights.dtype() != DType::f32))) {
    refuse("bincount", at,
           formatted("bincount needs whole numbers of i32 and weights f32 of their shape; it was "
                     "given {} and {}.",
                     describe(x.tensor), weights ? describe(weights) : "none"));
  }
  const Tensor ids = x.tensor.reshape({n}, at);
  if (!weights)
    return graph::make(graph::kinds::bincount, graph::BincountAttributes{count}, {ids}, at);
  return segment_sum(In(weights.reshape({n, 1}, at), at), ids, count).reshape({count}, at);
}

Tensor histogram(In x, std::uint64_t bins, double low, double high) {
  need("histogram", "x", x.tensor, x.where);
  const Where& at = x.where;
  // The edges are made on the host; f32 tells no more of them apart in an ordinary range.
  constexpr std::uint64_t most_bins = std::uint64_t{1} << 24U;
  if (!is_float(x.tensor.dtype()) || bins == 0 || bins > most_bins || !(low < high) ||
      !std::isfinite(high - low)) {
    refuse("histogram", at,
           formatted("histogram needs floats, 1 to {} bins and low < high; it was given {}, {} "
                     "bins, {} and {}.",
                     most_bins, describe(x.tensor), bins, low, high));
  }
  const std::uint64_t n = x.tensor.size();
  const Device device = x.tensor.device();
  const Tensor values = x.tensor.to(DType::f32, at).reshape({n}, at);
  // Edges in double, so that each is the nearest f32; an element belongs behind the edges that are
  // not above it.
  std::vector<float> edges(bins + 1);
  for (std::uint64_t i = 0; i <= bins; ++i) {
    edges[i] =
        static_cast<float>(low + (high - low) * static_cast<double>(i) / static_cast<double>(bins));
  }
  const Tensor last = device.full({}, edges.back(), DType::f32, at);
  const Tensor edge = device.tensor({bins + 1}, edges);
  const Tensor behind = searchsorted(In(edge, at), values, true) - 1;
  const Tensor top = device.full({}, static_cast<double>(bins - 1), DType::i32, at);
  // The end of the range belongs to the last bin; NaN and what lies outside to none.
  return bincount(In(where(In(equal(In(values, at), last), at), top,
                           where(In(equal(In(values, at), values), at), behind, top + 1.0)),
                     at),
                  bins);
}

Runs unique_consecutive(In x) {
  need("unique_consecutive", "x", x.tensor, x.where);
  const Where& at = x.where;
  const std::uint64_t n = x.tensor.size();
  if (x.tensor.shape().size() != 1) {
    refuse("unique_consecutive", at,
           formatted("unique_consecutive needs [n]; it was given {}.", describe(x.tensor)));
  }
  const Device device = x.tensor.device();
  if (n == 0) {
    const Tensor none = device.full({0}, 0, DType::i32, at);
    return {x.tensor, none, none, device.full({}, 0, DType::i32, at)};
  }
  const Tensor first = device.full({1}, 0, DType::i32, at);
  Tensor inverse = first;
  if (n > 1) {
    const Tensor changed =
        not_equal(In(x.tensor.slice(0, 1, n - 1, 1, at), at), x.tensor.slice(0, 0, n - 1, 1, at))
            .to(DType::i32, at);
    inverse = cumsum(In(concat({first, changed}, 0, at), at), 0);
  }
  const Tensor places = device.arange(n, 0, 1, DType::i32, at);
  const Tensor starts = searchsorted(In(inverse, at), places);  // n where there is no such run
  const Tensor size = inverse.slice(0, -1, 1, 1, at).reshape({}, at) + 1.0;
  const Tensor is_run = less(In(places, at), size);
  const Tensor safe = where(In(is_run, at), starts, device.full({}, 0, DType::i32, at));
  const Tensor values = take(In(x.tensor, at), safe, 0);
  return {where(In(is_run, at), values, device.full({}, 0, x.tensor.dtype(), at)),
          bincount(In(inverse, at), n), inverse, size};
}

namespace {

Sorted extreme_indices(std::string_view function, In x, int axis, bool largest) {
  need(function, "x", x.tensor, x.where);
  const Where& at = x.where;
  const std::uint32_t number = axis_in(function, axis, x.tensor.shape(), at);
  const int along = static_cast<int>(number);
  const Tensor values = largest ? cummax(x, along) : cummin(x, along);
  const std::uint64_t n = x.tensor.shape()[number];
  Shape shape(x.tensor.shape().size(), 1);
  shape[number] = n;
  const Tensor places = x.tensor.device()
                            .arange(n, 0, 1, DType::i32, at)
                            .reshape(shape, at)
                            .broadcast_to(x.tensor.shape(), at);
  // An element that equals the extreme so far is its last place; NaN equals nothing, but is one as
  // well.
  Tensor found = equal(x, values);
  if (is_float(x.tensor.dtype())) found = logical_or(In(found, at), isnan(x));
  const Tensor marked = where(In(found, at), places, x.tensor.device().full({}, 0, DType::i32, at));
  return {values, cummax(In(marked, at), along)};
}

Tensor no_axis(const Tensor& y, std::uint32_t axis, bool keep_dims, const Where& at) {
  return keep_dims ? y : squeeze(In(y, at), {static_cast<int>(axis)});
}

/// Where a share of n ascending elements lies: at one of them, or between it and the next.
struct Place {
  std::uint64_t low = 0;
  double share = 0;    ///< Of the next one.
  bool whole = false;  ///< The method takes elements and computes nothing.
};

Place between(double place, std::uint64_t n) {
  const double last = static_cast<double>(n) - 1;
  const double inside = std::clamp(place, 0.0, last);
  const double low = std::floor(inside);
  return {.low = static_cast<std::uint64_t>(low), .share = inside - low};
}

Place element(double place, std::uint64_t n) {
  const double last = static_cast<double>(n) - 1;
  return {.low = static_cast<std::uint64_t>(std::clamp(place, 0.0, last)), .whole = true};
}

/// numpy's methods, whose places are counted from 0. Most put element i of n at the share
/// (i + 1 - alpha) / (n + 1 - alpha - beta), with their own alpha and beta.
Place place_of(std::string_view function, std::string_view method, std::uint64_t n, double q,
               const Where& at) {
  const double count = static_cast<double>(n);
  const double linear = q * (count - 1);
  const auto hyndman = [&](double alpha, double beta) {
    return between(count * q + (alpha + q * (1 - alpha - beta)) - 1, n);
  };
  if (method == "linear") return between(linear, n);
  if (method == "lower") return element(std::floor(linear), n);
  if (method == "higher") return element(std::ceil(linear), n);
  if (method == "nearest") return element(std::nearbyint(linear), n);  // halves to even places
  if (method == "midpoint") return between((std::floor(linear) + std::ceil(linear)) / 2, n);
  if (method == "hazen") return hyndman(0.5, 0.5);
  if (method == "weibull") return hyndman(0, 0);
  if (method == "median_unbiased") return hyndman(1 / 3.0, 1 / 3.0);
  if (method == "normal_unbiased") return hyndman(3 / 8.0, 3 / 8.0);
  if (method == "interpolated_inverted_cdf") return hyndman(0, 1);
  const double stepped = count * q - 1;
  if (method == "inverted_cdf") return element(std::ceil(stepped), n);
  if (method == "averaged_inverted_cdf") {
    const double low = std::floor(stepped);
    return between(stepped == low ? low + 0.5 : low + 1, n);
  }
  if (method == "closest_observation") {
    const double half = stepped - 0.5;  // where two are as close, the odd place
    const double low = std::floor(half);
    const bool odd = std::fmod(low, 2) != 0;
    return element(half == low && odd ? low : low + 1, n);
  }
  refuse(function, at,
         formatted("{} has numpy's methods \"linear\", \"lower\", \"higher\", \"nearest\", "
                   "\"midpoint\", \"hazen\", \"weibull\", \"median_unbiased\", "
                   "\"normal_unbiased\", \"inverted_cdf\", \"averaged_inverted_cdf\", "
                   "\"interpolated_inverted_cdf\" and \"closest_observation\"; it was given "
                   "\"{}\".",
                   function, method));
}

Tensor quantile_of(std::string_view function, In x, double q, int axis, bool keep_dims,
                   std::string_view method) {
  need(function, "x", x.tensor, x.where);
  const Where& at = x.where;
  const std::uint32_t number = axis_in(function, axis, x.tensor.shape(), at);
  const std::uint64_t n = x.tensor.shape()[number];
  if (n == 0 || !(q >= 0) || q > 1) {
    refuse(function, at,
           formatted("{} needs at least one element along the axis and a share from 0 to 1; it "
                     "was given {} and {}.",
                     function, describe(x.tensor), q));
  }
  const Place place = place_of(function, method, n, q, at);
  const int along = static_cast<int>(number);
  Tensor sorted = sort(x, along).values;
  if (!place.whole) sorted = sorted.to(DType::f32, at);
  const auto from = static_cast<std::int64_t>(place.low);
  Tensor y = sorted.slice(along, from, 1, 1, at);
  if (place.share > 0) {
    const Tensor next = sorted.slice(along, from + 1, 1, 1, at);
    y = In(y, at) * (1 - place.share) + In(next * place.share, at);
  }
  if (is_float(x.tensor.dtype())) {  // NaN is sorted behind all numbers.
    const Tensor last = sorted.slice(along, static_cast<std::int64_t>(n) - 1, 1, 1, at);
    y = where(In(isnan(In(last, at)), at), last, y);
  }
  const Tensor result = no_axis(y, number, keep_dims, at);
  return is_float(x.tensor.dtype()) ? result.to(x.tensor.dtype(), at) : result;
}

}  // namespace

Sorted cummax_indices(In x, int axis) { return extreme_indices("cummax_indices", x, axis, true); }
Sorted cummin_indices(In x, int axis) { return extreme_indices("cummin_indices", x, axis, false); }

Tensor quantile(In x, double q, int axis, bool keep_dims, std::string_view method) {
  return quantile_of("quantile", x, q, axis, keep_dims, method);
}
Tensor median(In x, int axis, bool keep_dims) {
  return quantile_of("median", x, 0.5, axis, keep_dims, "linear");
}

Sorted mode(In x, int axis, bool keep_dims) {
  need("mode", "x", x.tensor, x.where);
  const Where& at = x.where;
  const std::uint32_t number = axis_in("mode", axis, x.tensor.shape(), at);
  const std::uint64_t n = x.tensor.shape()[number];
  if (n == 0) {
    refuse("mode", at,
           formatted("mode of {} along axis {} has no elements.", describe(x.tensor), axis));
  }
  const int along = static_cast<int>(number);
  const Sorted order = sort(x, along);
  // How long the run of equals is that ends at each place: its number less where the run began.
  Shape shape(x.tensor.shape().size(), 1);
  shape[number] = n;
  const Device device = x.tensor.device();
  const Tensor places =
      device.arange(n, 0, 1, DType::i32, at).reshape(shape, at).broadcast_to(x.tensor.shape(), at);
  Tensor began = places;
  if (n > 1) {
    const Tensor changed = not_equal(In(order.values.slice(along, 1, n - 1, 1, at), at),
                                     order.values.slice(along, 0, n - 1, 1, at));
    const Tensor later = where(In(changed, at), places.slice(along, 1, n - 1, 1, at),
                               device.full({}, 0, DType::i32, at));
    began = cummax(In(concat({places.slice(along, 0, 1, 1, at), later}, along, at), at), along);
  }
  const Tensor lengths = places - In(began, at);
  const Tensor place = argmax(In(lengths, at), {along}, true);
  const Tensor values = gather(In(order.values, at), place, along);
  const Tensor indices = gather(In(order.indices, at), place, along);
  return {no_axis(values, number, keep_dims, at), no_axis(indices, number, keep_dims, at)};
}

}  // namespace weft
