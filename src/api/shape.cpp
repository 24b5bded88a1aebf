#include "weft/shape.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "api/arguments.hpp"
#include "api/types.hpp"
#include "base/format.hpp"
#include "describe/attributes/axis.hpp"
#include "describe/attributes/border.hpp"
#include "describe/attributes/slice.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

namespace {

/// As many elements along a dimension as indices on the host are made for.
constexpr std::uint64_t most_repeated = 0x7FFFFFFF;

std::uint64_t product(auto first, auto last) {
  return std::accumulate(first, last, std::uint64_t{1}, std::multiplies<>());
}

void need_rank(std::string_view function, std::size_t rank, const Where& where) {
  if (rank <= ops::max_rank) return;
  refuse(function, where,
         formatted("{} would give {} dimensions; a tensor has at most {}.", function, rank,
                   ops::max_rank));
}

}  // namespace

Tensor squeeze(In x) {
  Shape shape = x.tensor.shape();
  std::erase(shape, 1U);
  return x.tensor.reshape(shape, x.where);
}

Tensor squeeze(In x, const Dims& axes) {
  Shape shape;
  const auto gone = axes_in("squeeze", axes, x.tensor.shape(), x.where);
  for (std::uint32_t i = 0; i < x.tensor.shape().size(); ++i) {
    const std::uint64_t extent = x.tensor.shape()[i];
    if (!std::ranges::contains(gone, i)) {
      shape.push_back(extent);
    } else if (extent != 1) {
      refuse("squeeze", x.where,
             formatted("squeeze takes out dimensions of extent 1; dimension {} of the shape {} has "
                       "{}.",
                       i, ops::describe(x.tensor.shape()), extent));
    }
  }
  return x.tensor.reshape(shape, x.where);
}

Tensor unsqueeze(In x, int axis) {
  Shape shape = x.tensor.shape();
  need_rank("unsqueeze", shape.size() + 1, x.where);
  Shape longer = shape;
  longer.push_back(1);  // the axis is one of the result
  const std::uint32_t at = axis_in("unsqueeze", axis, longer, x.where);
  shape.insert(shape.begin() + at, 1);
  return x.tensor.reshape(shape, x.where);
}

Tensor expand_dims(In x, int axis) {
  const graph::Called called("expand_dims", x.where);
  return unsqueeze(x, axis);
}

Tensor flatten(In x, int first, int last) {
  const Shape& shape = x.tensor.shape();
  if (shape.empty()) return x.tensor.reshape({1}, x.where);
  const std::uint32_t from = axis_in("flatten", first, shape, x.where);
  const std::uint32_t to = axis_in("flatten", last, shape, x.where);
  if (from > to) {
    refuse("flatten", x.where,
           formatted("flatten of the shape {} was given the first dimension {} and the last {}, "
                     "which is before it.",
                     ops::describe(shape), first, last));
  }
  Shape flat(shape.begin(), shape.begin() + from);
  flat.push_back(product(shape.begin() + from, shape.begin() + to + 1));
  flat.insert(flat.end(), shape.begin() + to + 1, shape.end());
  return x.tensor.reshape(flat, x.where);
}

Tensor unflatten(In x, int axis, const Extents& extents) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("unflatten", axis, shape, x.where);
  const std::optional<Shape> parts = resolved(extents, shape[at]);
  if (!parts || parts->empty() || product(parts->begin(), parts->end()) != shape[at]) {
    refuse("unflatten", x.where,
           formatted("unflatten cannot divide dimension {} of the shape {} into {}.", axis,
                     ops::describe(shape), list(extents.values)));
  }
  need_rank("unflatten", shape.size() - 1 + parts->size(), x.where);
  Shape parted(shape.begin(), shape.begin() + at);
  parted.insert(parted.end(), parts->begin(), parts->end());
  parted.insert(parted.end(), shape.begin() + at + 1, shape.end());
  return x.tensor.reshape(parted, x.where);
}

Tensor movedim(In x, int from, int to) { return movedim(x, Dims{from}, Dims{to}); }

Tensor movedim(In x, const Dims& from, const Dims& to) {
  const Shape& shape = x.tensor.shape();
  const auto sources = axes_in("movedim", from, shape, x.where);
  const auto targets = axes_in("movedim", to, shape, x.where);
  if (sources.size() != targets.size()) {
    refuse("movedim", x.where,
           formatted("movedim was given {} dimensions and {} places for them.", sources.size(),
                     targets.size()));
  }
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (!std::ranges::contains(sources, i)) others.push_back(i);
  }
  std::vector<std::uint32_t> order(shape.size());
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    const auto found = std::ranges::find(targets, i);
    order[i] = found != targets.end() ? sources[static_cast<std::size_t>(found - targets.begin())]
                                      : others[next++];
  }
  return reorder(x.tensor, order, x.where);
}

Tensor swapaxes(In x, int a, int b) {
  const Shape& shape = x.tensor.shape();
  std::vector<std::uint32_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0U);
  std::swap(order.at(axis_in("swapaxes", a, shape, x.where)),
            order.at(axis_in("swapaxes", b, shape, x.where)));
  return reorder(x.tensor, order, x.where);
}

Tensor expand(In x, const Extents& extents) {
  const std::vector<std::int64_t>& shape = extents.values;
  const Shape& own = x.tensor.shape();
  bool fits = shape.size() >= own.size();
  Shape out;
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    const std::size_t added = shape.size() - own.size();
    if (i < added) {
      fits = shape[i] >= 0;
      out.push_back(static_cast<std::uint64_t>(shape[i]));
    } else {
      const std::uint64_t extent = own[i - added];
      out.push_back(shape[i] == -1 ? extent : static_cast<std::uint64_t>(shape[i]));
      fits = shape[i] >= -1 && (out.back() == extent || extent == 1);
    }
  }
  if (!fits) {
    refuse("expand", x.where,
           formatted("expand repeats extents of 1; the shape {} cannot become {}.",
                     ops::describe(own), list(shape)));
  }
  need_rank("expand", out.size(), x.where);
  return x.tensor.broadcast_to(out, x.where);
}

Tensor stack(const std::vector<Tensor>& tensors, int axis, Where where) {
  if (tensors.empty()) refuse("stack", where, "stack needs at least one tensor.");
  for (const Tensor& tensor : tensors) {
    need("stack", "one of its tensors", tensor, where);
    if (tensor.shape() != tensors[0].shape()) {
      refuse("stack", where,
             formatted("stack needs tensors of one shape; {} and {} were given.",
                       describe(tensors[0]), describe(tensor)));
    }
  }
  Shape shape = tensors[0].shape();
  need_rank("stack", shape.size() + 1, where);
  Shape longer = shape;
  longer.push_back(1);
  const std::uint32_t at = axis_in("stack", axis, longer, where);
  shape.insert(shape.begin() + at, 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : alike(tensors, where)) {
    parts.push_back(tensor.reshape(shape, where));
  }
  return make(kinds::concat, graph::AxisAttributes{at}, parts, where);
}

namespace {

/// Views of [first, last) for each pair of neighbouring places.
std::vector<Tensor> parts_between(In x, std::uint32_t axis,
                                  const std::vector<std::uint64_t>& places) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    out.push_back(make(kinds::slice,
                       graph::SliceAttributes{axis, places[i], places[i + 1] - places[i], 1},
                       {x.tensor}, x.where));
  }
  return out;
}

std::vector<Tensor> parts_of(In x, std::uint32_t axis, std::uint64_t size) {
  const std::uint64_t extent = x.tensor.shape()[axis];
  std::vector<std::uint64_t> places{0};
  while (places.back() < extent) places.push_back(std::min(places.back() + size, extent));
  if (extent == 0) places.push_back(0);
  return parts_between(x, axis, places);
}

}  // namespace

std::vector<Tensor> split(In x, std::uint64_t parts, int axis) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("split", axis, shape, x.where);
  if (parts == 0 || shape[at] % parts != 0) {
    refuse("split", x.where,
           formatted("split cannot divide dimension {} of the shape {} into {} equal parts.", axis,
                     ops::describe(shape), parts));
  }
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i <= parts; ++i) places.push_back(shape[at] / parts * i);
  return parts_between(x, at, places);
}

std::vector<Tensor> split(In x, const std::vector<std::uint64_t>& places, int axis) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("split", axis, shape, x.where);
  std::vector<std::uint64_t> all{0};
  all.insert(all.end(), places.begin(), places.end());
  all.push_back(shape[at]);
  if (!std::ranges::is_sorted(all)) {
    refuse("split", x.where,
           formatted("split needs places that do not decrease and lie within dimension {} of the "
                     "shape {}; they are {}.",
                     axis, ops::describe(shape), ops::describe(places)));
  }
  return parts_between(x, at, all);
}

std::vector<Tensor> chunk(In x, std::uint64_t parts, int axis) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("chunk", axis, shape, x.where);
  if (parts == 0) refuse("chunk", x.where, "chunk needs at least one part; 0 were asked for.");
  return parts_of(x, at, shape[at] / parts + (shape[at] % parts != 0 ? 1 : 0));
}

Tensor repeat_interleave(In x, std::uint64_t times, int axis) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("repeat_interleave", axis, shape, x.where);
  const std::uint64_t outer = product(shape.begin(), shape.begin() + at);
  const std::uint64_t inner = product(shape.begin() + at + 1, shape.end());
  Shape out = shape;
  if (__builtin_mul_overflow(shape[at], times, &out[at])) {
    refuse("repeat_interleave", x.where,
           formatted("Dimension {} of the shape {} cannot be repeated {} times.", axis,
                     ops::describe(shape), times));
  }
  return x.tensor.reshape({outer, shape[at], 1, inner}, x.where)
      .broadcast_to({outer, shape[at], times, inner}, x.where)
      .reshape(out, x.where);
}

Tensor repeat_interleave(In x, const std::vector<std::uint64_t>& times, int axis) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t at = axis_in("repeat_interleave", axis, shape, x.where);
  if (times.size() != shape[at]) {
    refuse("repeat_interleave", x.where,
           formatted("repeat_interleave needs a number for each of the {} elements of dimension {} "
                     "of the shape {}; {} were given.",
                     shape[at], axis, ops::describe(shape), times.size()));
  }
  std::uint64_t all = 0;
  for (const std::uint64_t count : times) {
    if (__builtin_add_overflow(all, count, &all) || all > most_repeated) {
      refuse("repeat_interleave", x.where,
             formatted("repeat_interleave of dimension {} of the shape {} by {} would give more "
                       "than {} elements.",
                       axis, ops::describe(shape), ops::describe(times), most_repeated));
    }
  }
  std::vector<std::int32_t> from;
  from.reserve(all);
  for (std::size_t i = 0; i < times.size(); ++i) {
    from.insert(from.end(), times[i], static_cast<std::int32_t>(i));
  }
  const Tensor places = x.tensor.device().tensor({from.size()}, from);
  return take(x, places, axis);
}

Tensor flip(In x, const Dims& axes) {
  const Shape& shape = x.tensor.shape();
  auto turned = axes_in("flip", axes, shape, x.where);
  if (axes.empty()) {
    turned.resize(shape.size());
    std::iota(turned.begin(), turned.end(), 0U);
  }
  if (x.tensor.size() == 0) return x.tensor;
  // Mirrored at the first element, and moved so far that nothing else is left of it.
  std::vector<std::int64_t> low(shape.size(), 0);
  bool moves = false;
  for (const std::uint32_t axis : turned) {
    low[axis] = static_cast<std::int64_t>(shape[axis]) - 1;
    moves = moves || low[axis] > 0;
  }
  if (!moves) return x.tensor;
  return moved(x, [&](const Tensor& t) {
    return make(kinds::border, graph::BorderAttributes{low, t.shape(), ops::border::Mode::reflect},
                {t}, x.where);
  });
}

Tensor masked_fill(In x, const Tensor& mask, double value) {
  const graph::Called called("masked_fill", x.where);
  need("masked_fill", "its mask", mask, x.where);
  const Tensor filled = x.tensor.device().full({}, value, x.tensor.dtype(), x.where);
  const auto shape = graph::broadcast(x.tensor.shape(), mask.shape());
  if (!shape || *shape != x.tensor.shape()) {
    refuse("masked_fill", x.where,
           formatted("masked_fill of {} needs a mask that broadcasts to its shape; it is {}.",
                     describe(x.tensor), describe(mask)));
  }
  return where(In(mask, x.where), filled, x.tensor);
}

Tensor diagonal(In x, std::int64_t offset, int axis1, int axis2) {
  const Shape& shape = x.tensor.shape();
  const auto pair = axes_in("diagonal", {axis1, axis2}, shape, x.where);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (!std::ranges::contains(pair, i)) order.push_back(i);
  }
  order.insert(order.end(), pair.begin(), pair.end());
  const Tensor last = reorder(x.tensor, order, x.where);
  const std::uint64_t rows = shape[pair[0]];
  const std::uint64_t columns = shape[pair[1]];
  const std::uint64_t down = offset < 0 ? 0 - static_cast<std::uint64_t>(offset) : 0;
  const std::uint64_t right = offset > 0 ? static_cast<std::uint64_t>(offset) : 0;
  const std::uint64_t count =
      down >= rows || right >= columns ? 0 : std::min(rows - down, columns - right);
  // In the matrix as one row, neighbours on a diagonal are a row and an element apart.
  Shape flat(last.shape().begin(), last.shape().end() - 2);
  flat.push_back(rows * columns);
  const auto axis = static_cast<std::uint32_t>(flat.size() - 1);
  const std::uint64_t first = count == 0 ? 0 : down * columns + right;
  return make(kinds::slice, graph::SliceAttributes{axis, first, count, columns + 1},
              {last.reshape(flat, x.where)}, x.where);
}

Tensor trace(In x, std::int64_t offset, int axis1, int axis2) {
  (void)axes_in("trace", {axis1, axis2}, x.tensor.shape(), x.where);
  const Tensor line = diagonal(x, offset, axis1, axis2);
  return sum(In(line, x.where), {static_cast<Dims::value_type>(line.shape().size() - 1)});
}

}  // namespace weft
