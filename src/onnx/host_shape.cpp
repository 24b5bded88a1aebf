#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "onnx/host.hpp"
#include "onnx/places.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

Array moved(const Array& from, const Places& places) {
  return picked(from, places.shape, places.at);
}

Values transpose(Call& c) {
  const Array& x = c.host(0);
  std::vector<I> reversed(x.shape.size());
  for (std::size_t i = 0; i < reversed.size(); ++i)
    reversed[i] = static_cast<I>(reversed.size() - 1 - i);
  Places places(x.shape);
  const auto order = int_axes(c, c.is("perm", reversed), x.shape.size());
  if (order.size() != x.shape.size())
    c.wrong(formatted("perm has {} axes of {}.", order.size(), x.shape.size()));
  places.permute(order);
  return {moved(x, places)};
}

Values slice(Call& c) {
  const Array& x = c.host(0);
  Places places(x.shape);
  for (const Range& range : ranges_of(c)) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < range.count; ++i)
      numbers.push_back(static_cast<std::uint64_t>(range.first + static_cast<I>(i) * range.step));
    places.take(range.axis, numbers);
  }
  return {moved(x, places)};
}

Values gather(Call& c) {
  const Array& x = c.host(0);
  const Array& indices = c.host(1);
  const std::size_t axis = axis_of(c, c.i("axis", 0), x.shape.size());
  std::vector<std::uint64_t> numbers;
  for (I index : indices.ints()) {
    const auto extent = static_cast<I>(x.shape[axis]);
    if (index < -extent || index >= extent)
      c.wrong(formatted("Index {} is outside of {} elements.", index, extent));
    numbers.push_back(static_cast<std::uint64_t>(index < 0 ? index + extent : index));
  }
  Places places(x.shape);
  places.take(axis, numbers);
  places.shape.erase(places.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  places.shape.insert(places.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                      indices.shape.begin(), indices.shape.end());
  return {moved(x, places)};
}

Values concat(Call& c) {
  Shape shape = c.shape(0);
  const std::size_t axis = axis_of(c, c.i("axis", 0), shape.size());
  // One after the other along the first axis, then in their order.
  std::uint64_t total = 0;
  std::vector<Array> parts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Array& part = c.host(i);
    if (part.type != c.in(0).type() || part.shape.size() != shape.size())
      c.wrong(formatted("{} and {} cannot be joined.", describe(c.in(0)), describe(c.in(i))));
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d != axis && part.shape[d] != shape[d])
        c.wrong(formatted("{} and {} cannot be joined along axis {}.", describe(c.in(0)),
                          describe(c.in(i)), axis));
    }
    total += part.shape[axis];
    parts.push_back(part);
  }
  shape[axis] = total;
  const std::uint64_t outer =
      std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                      std::uint64_t{1}, std::multiplies<>());
  const std::uint64_t inner = std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                              shape.end(), std::uint64_t{1}, std::multiplies<>());
  Array out{.type = parts.front().type, .shape = shape, .bytes = {}, .keep = {}, .strings = {}};
  const auto owner = std::make_shared<std::vector<std::byte>>();
  const std::size_t each = size_of(out.type);
  for (std::uint64_t o = 0; o < outer; ++o) {
    for (const Array& part : parts) {
      const std::uint64_t count = part.shape[axis] * inner;
      if (out.type == Type::string) {
        for (std::uint64_t i = 0; i < count; ++i)
          out.strings.push_back(part.strings[o * count + i]);
      } else {
        const auto from = part.bytes.subspan(o * count * each, count * each);
        owner->insert(owner->end(), from.begin(), from.end());
      }
    }
  }
  out.bytes = *owner;
  out.keep = owner;
  return {out};
}

Values expand(Call& c) {
  const Array& x = c.host(0);
  Places places(x.shape);
  const Shape shape = broadcast_shapes({x.shape, shape_from(c, c.ints(1))});
  if (too_large(shape)) return {};
  places.expand(shape);
  return {moved(x, places)};
}

Values tile(Call& c) {
  const Array& x = c.host(0);
  const auto times = c.ints(1);
  Places places(x.shape);
  if (times.size() != x.shape.size())
    c.wrong(formatted("There are {} repeats for {} dimensions.", times.size(), x.shape.size()));
  Shape shape = shape_from(c, times);
  if (too_large(shape) || too_large(x.shape)) return {};
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= x.shape[d];
  if (too_large(shape)) return {};
  for (std::size_t d = 0; d < times.size(); ++d) {
    std::vector<std::uint64_t> numbers;
    for (I k = 0; k < times[d]; ++k) {
      for (std::uint64_t i = 0; i < x.shape[d]; ++i) numbers.push_back(i);
    }
    places.take(d, numbers);
  }
  return {moved(x, places)};
}

double same(double value) { return value; }

/// Sums and the like of small arrays; `end` makes the result of what was gathered.
template <class Step, class End = double (*)(double)>
Values reduce(Call& c, double start, Step step, End end = same) {
  const Array& x = c.host(0);
  if (!is_integer(x.type) && !is_float(x.type)) return {};
  const auto named = c.ints_of(1, "axes");
  const bool by_itself = c.i("noop_with_empty_axes", 0) != 0;  // each element, without axes
  if ((!named || named->empty()) && by_itself && c.node.op == "ReduceMean") return {c.in(0)};
  std::vector<bool> gone(x.shape.size(), (!named || named->empty()) && !by_itself);
  if (named) {
    for (const std::size_t axis : axes_of(c, *named, x.shape.size())) gone[axis] = true;
  }
  Shape kept;
  for (std::size_t d = 0; d < x.shape.size(); ++d) kept.push_back(gone[d] ? 1 : x.shape[d]);
  if (too_large(kept)) return {};
  const auto places = broadcast_places(kept, x.shape);
  Shape shape;
  const bool keep_dims = c.i("keepdims", 1) != 0;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (!gone[d] || keep_dims) shape.push_back(kept[d]);
  }
  const auto values = x.doubles();
  std::vector<double> out(count_of(kept), start);
  for (std::size_t i = 0; i < values.size(); ++i) out[places[i]] = step(out[places[i]], values[i]);
  if (c.node.op == "ReduceMean") {
    for (double& v : out) v /= static_cast<double>(values.size()) / static_cast<double>(out.size());
  }
  for (double& v : out) v = end(v);
  if (is_integer(x.type)) {  // exact as long as doubles are
    for (const double v : out) {
      if (std::fabs(v) > 9e15) return {};
    }
  }
  return {array_of(x.type, shape, out)};
}

/// The same of doubles only: the device computes others.
template <class Step, class End = double (*)(double)>
Values reduce_doubles(Call& c, Step step, End end = same) {
  return c.in(0).type() == Type::f64 ? reduce(c, 0, step, end) : Values();
}

/// log(exp a + exp b), without overflow.
double log_add(double a, double b) {
  const double most = std::max(a, b);
  if (std::isnan(a) || std::isnan(b) || !std::isfinite(most))
    return std::isnan(a) || std::isnan(b) ? a + b : most;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

}  // namespace

void add_host_shape(HostTable& table) {
  table["Transpose"] = transpose;
  table["Slice"] = slice;
  table["Gather"] = gather;
  table["Concat"] = concat;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["ReduceSum"] =
      +[](Call& c) { return reduce(c, 0, [](double a, double b) { return a + b; }); };
  table["ReduceMean"] = table["ReduceSum"];
  table["ReduceProd"] =
      +[](Call& c) { return reduce(c, 1, [](double a, double b) { return a * b; }); };
  table["ReduceMax"] = +[](Call& c) {
    return reduce(c, -std::numeric_limits<double>::infinity(),
                  [](double a, double b) { return std::isnan(b) || b > a ? b : a; });
  };
  table["ReduceMin"] = +[](Call& c) {
    return reduce(c, std::numeric_limits<double>::infinity(),
                  [](double a, double b) { return std::isnan(b) || b < a ? b : a; });
  };
  table["ReduceL1"] = +[](Call& c) {
    return reduce_doubles(c, [](double a, double b) { return a + std::fabs(b); });
  };
  table["ReduceL2"] = +[](Call& c) {
    return reduce_doubles(
        c, [](double a, double b) { return a + b * b; }, [](double v) { return std::sqrt(v); });
  };
  table["ReduceSumSquare"] =
      +[](Call& c) { return reduce_doubles(c, [](double a, double b) { return a + b * b; }); };
  table["ReduceLogSum"] = +[](Call& c) {
    return reduce_doubles(
        c, [](double a, double b) { return a + b; }, [](double v) { return std::log(v); });
  };
  table["ReduceLogSumExp"] = +[](Call& c) {
    return c.in(0).type() == Type::f64
               ? reduce(c, -std::numeric_limits<double>::infinity(), log_add)
               : Values();
  };
}

}  // namespace weft::onnx
