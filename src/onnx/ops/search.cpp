#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "onnx/host.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

Values top_k(Call& c) {
  const Value& x = c.in(0);
  const int axis = int_axis(c, c.i("axis", -1), x.shape().size());
  const I count = c.opset < 10 ? c.i("k", 0) : c.scalar_int(1);
  const auto extent = static_cast<I>(x.shape().at(static_cast<std::size_t>(axis)));
  if (count < 0 || count > extent)
    c.wrong(formatted("{} elements of {} cannot be chosen.", count, extent));
  const Sorted found =
      weft::top_k(c.t(0), static_cast<std::uint64_t>(count), axis, c.i("largest", 1) != 0);
  return {found.values, found.indices.to(DType::i64)};
}

Values non_zero(Call& c) {
  const Array& x = c.host(0);
  std::vector<bool> set;
  if (is_float(x.type)) {
    for (const double v : x.doubles()) set.push_back(v != 0);
  } else {
    for (const I v : x.ints()) set.push_back(v != 0);
  }
  const std::size_t rank = x.shape.size();
  std::vector<std::vector<I>> at(rank);
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < set.size(); ++i) {
    if (!set[i]) continue;
    ++count;
    std::uint64_t rest = i;
    for (std::size_t d = rank; d-- > 0;) {
      at[d].push_back(static_cast<I>(rest % x.shape[d]));
      rest /= x.shape[d];
    }
  }
  std::vector<I> out;
  for (const auto& row : at) out.insert(out.end(), row.begin(), row.end());
  return {array_of(Type::i64, {rank, count}, out)};
}

Values compress(Call& c) {
  const auto chosen = c.ints(1);
  std::vector<I> numbers;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] != 0) numbers.push_back(static_cast<I>(i));
  }
  const bool flat = c.attribute("axis") == nullptr;
  Tensor x = flat ? c.t(0).reshape({c.in(0).size()}) : c.t(0);
  const int axis = flat ? 0 : int_axis(c, c.i("axis", 0), x.shape().size());
  const auto extent = static_cast<I>(x.shape().at(static_cast<std::size_t>(axis)));
  std::erase_if(numbers, [extent](I number) { return number >= extent; });
  if (numbers.empty()) return {x.slice(axis, 0, 0)};
  return {take(x,
               c.device().tensor({numbers.size()},
                                 std::vector<std::int32_t>(numbers.begin(), numbers.end())),
               axis)};
}

Values unique(Call& c) {
  const Array& x = c.host(0);
  if (is_integer(x.type) && size_of(x.type) == 8 &&
      std::ranges::any_of(x.ints(), [](I v) { return v > I{1} << 53 || v < -(I{1} << 53); }))
    c.refuse("Numbers past 2^53 are not told apart.");
  const bool flat = c.attribute("axis") == nullptr;
  const std::size_t axis = flat ? 0 : axis_of(c, c.i("axis", 0), x.shape.size());
  // Rows to compare: single elements, or everything that belongs to a place of the axis.
  const Shape whole = flat ? Shape{x.size()} : x.shape;
  const std::uint64_t extent = whole[axis];
  const auto values = x.doubles();
  std::vector<int> front{
      static_cast<int>(axis)};  // the axis first: rows then lie one after the other
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (d != axis) front.push_back(static_cast<int>(d));
  }
  Places turned(whole);
  turned.permute(front);
  const std::uint64_t width = extent == 0 ? 0 : turned.at.size() / extent;
  std::vector<std::vector<double>> rows(extent);
  for (std::uint64_t i = 0; i < turned.at.size(); ++i)
    rows[i / width].push_back(values[turned.at[i]]);
  // NaN is larger than every number, and the same as any other.
  const auto below = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](double p, double q) { return p < q || (std::isnan(q) && !std::isnan(p)); });
  };
  std::map<std::vector<double>, I, decltype(below)> known(below);
  std::vector<std::uint64_t> firsts;
  std::vector<I> counts;
  std::vector<I> belongs(extent);
  for (std::uint64_t i = 0; i < extent; ++i) {
    const auto [same, is_new] = known.try_emplace(rows[i], static_cast<I>(firsts.size()));
    belongs[i] = same->second;
    if (is_new) {
      firsts.push_back(i);
      counts.push_back(0);
    }
    ++counts[static_cast<std::size_t>(belongs[i])];
  }
  std::vector<std::size_t> order(firsts.size());
  std::iota(order.begin(), order.end(), 0);
  if (c.i("sorted", 1) != 0)
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return below(rows[firsts[a]], rows[firsts[b]]);
    });
  std::vector<std::uint64_t> numbers;
  std::vector<I> indices;
  std::vector<I> inverse(extent);
  std::vector<I> sizes;
  std::vector<I> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<I>(i);
    numbers.push_back(firsts[order[i]]);
    indices.push_back(static_cast<I>(firsts[order[i]]));
    sizes.push_back(counts[order[i]]);
  }
  for (std::uint64_t i = 0; i < extent; ++i)
    inverse[i] = rank[static_cast<std::size_t>(belongs[i])];
  Places places(whole);
  places.take(axis, numbers);
  return {picked(x, places.shape, places.at), array_of(Type::i64, {indices.size()}, indices),
          array_of(Type::i64, {extent}, inverse), array_of(Type::i64, {sizes.size()}, sizes)};
}

/// Boxes [batches, boxes, 4] of the best scores [batches, classes, boxes] that do not cover each
/// other.
Values non_max_suppression(Call& c) {
  const Shape& boxes_shape = c.shape(0);
  const Shape& scores_shape = c.shape(1);
  if (boxes_shape.size() != 3 || boxes_shape[2] != 4 || scores_shape.size() != 3 ||
      scores_shape[2] != boxes_shape[1] || scores_shape[0] != boxes_shape[0]) {
    c.wrong(formatted("Boxes {} and scores {} do not belong together.", text_of(boxes_shape),
                      text_of(scores_shape)));
  }
  const auto boxes = c.host(0).doubles();
  const auto scores = c.host(1).doubles();
  const I most = c.has(2) ? c.scalar_int(2) : 0;
  const double overlap = c.has(3) ? c.scalar(3) : 0;
  const bool centers = c.i("center_point_box", 0) != 0;
  const bool has_threshold = c.has(4);
  const double threshold = has_threshold ? c.scalar(4) : 0;
  const auto corners = [&](const double* b) {
    if (centers)
      return std::array{b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return std::array{std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]),
                      std::max(b[1], b[3])};
  };
  std::vector<I> out;
  for (std::uint64_t n = 0; n < boxes_shape[0]; ++n) {
    for (std::uint64_t k = 0; k < scores_shape[1]; ++k) {
      const double* row = scores.data() + (n * scores_shape[1] + k) * scores_shape[2];
      std::vector<std::uint64_t> order;
      for (std::uint64_t i = 0; i < scores_shape[2]; ++i) {
        if (!has_threshold || row[i] > threshold) order.push_back(i);
      }
      std::ranges::stable_sort(order,
                               [&](std::uint64_t a, std::uint64_t b) { return row[a] > row[b]; });
      std::vector<std::uint64_t> kept;
      for (const std::uint64_t i : order) {
        if (static_cast<I>(kept.size()) >= most) break;
        const auto a = corners(boxes.data() + (n * boxes_shape[1] + i) * 4);
        const bool covered = std::ranges::any_of(kept, [&](std::uint64_t other) {
          const auto b = corners(boxes.data() + (n * boxes_shape[1] + other) * 4);
          const double height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
          const double width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
          if (height <= 0 || width <= 0) return false;
          const double common = height * width;
          const double both =
              (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common;
          return both > 0 && common / both > overlap;
        });
        if (!covered) kept.push_back(i);
      }
      for (const std::uint64_t i : kept)
        out.insert(out.end(), {static_cast<I>(n), static_cast<I>(k), static_cast<I>(i)});
    }
  }
  return {array_of(Type::i64, {out.size() / 3, 3}, out)};
}

}  // namespace

void add_search(Table& table) {
  table["TopK"] = top_k;
  table["NonZero"] = non_zero;
  table["Compress"] = compress;
  table["Unique"] = unique;
  table["NonMaxSuppression"] = non_max_suppression;
}

}  // namespace weft::onnx
