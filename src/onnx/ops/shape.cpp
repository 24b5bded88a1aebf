#include "weft/shape.hpp"

#include <algorithm>
#include <numeric>

#include "onnx/host.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/ops.hpp"

namespace weft::onnx {
namespace {

using I = std::int64_t;

Values reshape(Call& c) {
  const auto wanted = c.ints_of(1, "shape");
  if (!wanted) c.wrong("The new shape is missing.");
  const Shape& old = c.shape(0);
  const bool zeros_count = c.i("allowzero", 0) != 0;
  Shape shape;
  std::optional<std::size_t> open;
  std::uint64_t rest = 1;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    I extent = (*wanted)[i];
    if (extent > I{1} << 48) c.wrong(formatted("An extent is {}.", extent));
    if (extent == 0 && !zeros_count) {
      if (i >= old.size())
        c.wrong(formatted("Extent {} is to stay as it is, but {} has no such dimension.", i,
                          describe(c.in(0))));
      extent = static_cast<I>(old[i]);
    }
    if (extent == -1) {
      if (open) c.wrong("Two extents are -1.");
      open = i;
      extent = 1;
    }
    if (extent < 0) c.wrong(formatted("An extent is {}.", extent));
    shape.push_back(static_cast<std::uint64_t>(extent));
    if (rest > (std::uint64_t{1} << 48) / std::max<std::uint64_t>(shape.back(), 1))
      c.wrong(formatted("The shape {} is too large.", text_of(shape)));
    rest *= shape.back();
  }
  if (open) {
    const std::uint64_t count = c.in(0).size();
    if (rest == 0 || count % rest != 0)
      c.wrong(formatted("{} cannot be divided into parts of {}.", describe(c.in(0)), rest));
    shape[*open] = count / rest;
  }
  return {with_shape(c, c.in(0), shape)};
}

Values flatten(Call& c) {
  const Shape& shape = c.shape(0);
  const auto rank = static_cast<I>(shape.size());
  I axis = c.i("axis", 1);
  if (axis < -rank || axis > rank)
    c.wrong(formatted("There is no axis {} of {} dimensions.", axis, rank));
  if (axis < 0) axis += rank;
  const auto middle = shape.begin() + axis;
  const std::uint64_t rows =
      std::accumulate(shape.begin(), middle, std::uint64_t{1}, std::multiplies<>());
  const std::uint64_t columns =
      std::accumulate(middle, shape.end(), std::uint64_t{1}, std::multiplies<>());
  return {with_shape(c, c.in(0), {rows, columns})};
}

Values squeeze(Call& c) {
  const Shape& shape = c.shape(0);
  const auto axes = c.ints_of(1, "axes");
  std::vector<bool> gone(shape.size());
  if (axes) {
    for (const std::size_t axis : axes_of(c, *axes, shape.size())) {
      if (shape[axis] != 1)
        c.wrong(formatted("Axis {} of {} has more than one element.", axis, describe(c.in(0))));
      gone[axis] = true;
    }
  } else {
    for (std::size_t d = 0; d < shape.size(); ++d) gone[d] = shape[d] == 1;
  }
  Shape out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!gone[d]) out.push_back(shape[d]);
  }
  return {with_shape(c, c.in(0), out)};
}

Values unsqueeze(Call& c) {
  const auto axes = c.ints_of(1, "axes");
  if (!axes) c.wrong("The axes are missing.");
  const Shape& shape = c.shape(0);
  const std::size_t rank = shape.size() + axes->size();
  std::vector<bool> fresh(rank);
  for (const std::size_t axis : axes_of(c, *axes, rank)) fresh[axis] = true;
  Shape out;
  for (std::size_t d = 0, from = 0; d < rank; ++d) out.push_back(fresh[d] ? 1 : shape[from++]);
  return {with_shape(c, c.in(0), out)};
}

Values transpose(Call& c) {
  const std::size_t rank = c.shape(0).size();
  std::vector<I> reversed(rank);
  for (std::size_t i = 0; i < rank; ++i) reversed[i] = static_cast<I>(rank - 1 - i);
  return {c.t(0).permute(int_axes(c, c.is("perm", reversed), rank))};
}

Values concat(Call& c) {
  std::vector<Tensor> parts;
  const int axis = int_axis(c, c.i("axis", c.opset < 4 ? 1 : 0), c.shape(0).size());
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Shape& shape = c.shape(i);
    if (shape.size() != c.shape(0).size() || c.in(i).type() != c.in(0).type())
      c.wrong(formatted("{} and {} cannot be joined.", describe(c.in(0)), describe(c.in(i))));
    if (shape[static_cast<std::size_t>(axis)] != 0 || i + 1 == c.inputs.size())
      parts.push_back(c.t(i));
  }
  if (parts.size() > 1 && parts.back().shape().at(static_cast<std::size_t>(axis)) == 0)
    parts.pop_back();
  return {parts.size() == 1 ? parts.front() : weft::concat(parts, axis)};
}

Values slice(Call& c) {
  Tensor x = c.t(0);
  std::vector<int> turned;
  for (const Range& range : ranges_of(c)) {
    const auto step = static_cast<std::uint64_t>(range.step > 0 ? range.step : -range.step);
    const int axis = static_cast<int>(range.axis);
    if (range.count == 0) {
      x = x.slice(axis, 0, 0);
      continue;
    }
    const I first =
        range.step > 0 ? range.first : range.first + static_cast<I>(range.count - 1) * range.step;
    x = x.slice(axis, first, range.count, range.count == 1 ? 1 : step);
    if (range.step < 0) turned.push_back(axis);
  }
  return {turned.empty() ? x : flip(x, turned)};
}

Values split(Call& c) {
  const Value& x = c.in(0);
  const std::size_t axis = axis_of(c, c.i("axis", 0), x.shape().size());
  const std::uint64_t extent = x.shape().at(axis);
  std::vector<I> sizes;
  if (const auto named = c.ints_of(1, "split")) {
    sizes = *named;
    if (sizes.size() != c.outputs())
      c.wrong(formatted("{} parts are not the {} results.", sizes.size(), c.outputs()));
  } else {
    const auto parts = static_cast<std::uint64_t>(c.i("num_outputs", static_cast<I>(c.outputs())));
    if (parts == 0 || parts != c.outputs())
      c.wrong(formatted("{} parts are not the {} results.", parts, c.outputs()));
    const std::uint64_t each = (extent + parts - 1) / parts;
    for (std::uint64_t i = 0, left = extent; i < parts; ++i) {
      sizes.push_back(static_cast<I>(std::min(each, left)));
      left -= std::min(each, left);
    }
  }
  Values out;
  std::uint64_t at = 0;
  for (const I size : sizes) {
    if (size < 0 || static_cast<std::uint64_t>(size) > extent - at)
      c.wrong(formatted("Parts of {} do not fit in axis {} of {}.", size, axis, describe(x)));
    const auto count = static_cast<std::uint64_t>(size);
    if (const Array* known = x.known()) {
      out.emplace_back(cut(*known, axis, at, count));
    } else {
      out.emplace_back(
          c.t(0).slice(static_cast<int>(axis), static_cast<I>(count == 0 ? 0 : at), count));
    }
    at += count;
  }
  if (at != extent)
    c.wrong(formatted("The parts have {} elements of the {} of axis {}.", at, extent, axis));
  return out;
}

Values expand(Call& c) {
  return {c.t(0).broadcast_to(broadcast_shapes({c.shape(0), shape_from(c, c.ints(1))}))};
}

Values tile(Call& c) {
  std::vector<std::uint64_t> times;
  for (const std::uint64_t n : shape_from(c, c.ints(1))) times.push_back(n);
  if (times.size() != c.shape(0).size())
    c.wrong(formatted("There are {} repeats for {}.", times.size(), describe(c.in(0))));
  return {weft::tile(c.t(0), times)};
}

Values pad(Call& c) {
  Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  const auto pads = c.ints_of(1, c.opset < 2 ? "paddings" : "pads");
  if (!pads) c.wrong("The pads are missing.");
  std::vector<I> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const auto axes = axes_of(c, c.has(3) ? c.ints(3) : all, rank);
  if (pads->size() != 2 * axes.size())
    c.wrong(formatted("There are {} pads for {} axes.", pads->size(), axes.size()));
  const double value = c.has(2) ? c.scalar(2) : c.f("value", 0);
  Shape low(rank, 0);
  Shape high(rank, 0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const I before = (*pads)[k];
    const I after = (*pads)[k + axes.size()];
    const auto extent = static_cast<I>(x.shape().at(axes[k]));
    constexpr I most = I{1} << 40;
    if (before > most || after > most || before < -most || after < -most)
      c.wrong(formatted("Pads of {} and {} are too large.", before, after));
    if (std::max<I>(-before, 0) + std::max<I>(-after, 0) > extent)
      c.wrong(formatted("Pads of {} and {} leave nothing of {} elements.", before, after, extent));
    if (before < 0 || after < 0) {
      const I first = std::max<I>(-before, 0);
      x = x.slice(static_cast<int>(axes[k]), first,
                  static_cast<std::uint64_t>(extent - first - std::max<I>(-after, 0)));
    }
    low[axes[k]] = static_cast<std::uint64_t>(std::max<I>(before, 0));
    high[axes[k]] = static_cast<std::uint64_t>(std::max<I>(after, 0));
  }
  const std::string mode = c.s("mode", "constant");
  if (mode == "constant") {
    if (x.dtype() == DType::boolean)
      return {weft::pad(x.to(DType::u8), low, high, value).to(DType::boolean)};
    return {weft::pad(x, low, high, value)};
  }
  const Edge edge = mode == "edge"   ? Edge::replicate
                    : mode == "wrap" ? Edge::circular
                                     : Edge::reflect;
  if (mode != "edge" && mode != "wrap" && mode != "reflect")
    c.refuse(formatted("Mode '{}' is not known.", mode));
  return {weft::pad(x, low, high, edge)};
}

Values depth_to_space(Call& c) {
  const Tensor x = c.t(0);
  const Shape& s = x.shape();
  const auto block = static_cast<std::uint64_t>(c.i("blocksize", 1));
  if (s.size() != 4 || block == 0 || block > 65536 || s[1] % (block * block) != 0)
    c.wrong(formatted("{} has no blocks of {}.", describe(c.in(0)), block));
  const std::uint64_t channels = s[1] / (block * block);
  const Tensor y =
      c.s("mode", "DCR") == "DCR"
          ? x.reshape({s[0], block, block, channels, s[2], s[3]}).permute({0, 3, 4, 1, 5, 2})
          : x.reshape({s[0], channels, block, block, s[2], s[3]}).permute({0, 1, 4, 2, 5, 3});
  return {y.reshape({s[0], channels, s[2] * block, s[3] * block})};
}

Values space_to_depth(Call& c) {
  const Tensor x = c.t(0);
  const Shape& s = x.shape();
  const auto block = static_cast<std::uint64_t>(c.i("blocksize", 1));
  if (s.size() != 4 || block == 0 || block > 65536 || s[2] % block != 0 || s[3] % block != 0)
    c.wrong(formatted("{} has no blocks of {}.", describe(c.in(0)), block));
  return {x.reshape({s[0], s[1], s[2] / block, block, s[3] / block, block})
              .permute({0, 3, 5, 1, 2, 4})
              .reshape({s[0], s[1] * block * block, s[2] / block, s[3] / block})};
}

Values trilu(Call& c) {
  const I k = c.has(1) ? c.scalar_int(1) : 0;
  const Tensor x = c.t(0);
  const I far = std::clamp<I>(k, -(I{1} << 30), I{1} << 30);
  const bool upper = c.i("upper", 1) != 0;
  if (is_float(x.dtype())) return {upper ? triu(x, far) : tril(x, far)};
  // Integers by a mask, so that every bit stays.
  const Shape& s = x.shape();
  if (s.size() < 2) c.wrong(formatted("{} is not a matrix.", describe(c.in(0))));
  const Tensor rows =
      c.device().arange(s[s.size() - 2], 0, 1, DType::i32).reshape({s[s.size() - 2], 1});
  const Tensor columns = c.device().arange(s.back(), 0, 1, DType::i32).reshape({1, s.back()});
  const Tensor keep =
      upper
          ? greater_equal(columns - rows, c.device().full({}, static_cast<double>(far), DType::i32))
          : less_equal(columns - rows, c.device().full({}, static_cast<double>(far), DType::i32));
  return {where(keep, x, zeros_like(x))};
}

Values reverse_sequence(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t time = axis_of(c, c.i("time_axis", 0), x.shape().size());
  const std::size_t batch = axis_of(c, c.i("batch_axis", 1), x.shape().size());
  const std::uint64_t steps = x.shape().at(time);
  Shape lengths_shape(x.shape().size(), 1);
  lengths_shape[batch] = x.shape().at(batch);
  Shape time_shape(x.shape().size(), 1);
  time_shape[time] = steps;
  const Tensor length = c.t(1).to(DType::i32).reshape(lengths_shape);
  const Tensor at = c.device().arange(steps, 0, 1, DType::i32).reshape(time_shape);
  const Tensor from = where(less(at, length), length - at - 1, at);
  return {take_along(x, from.broadcast_to([&] {
    Shape s(x.shape().size(), 1);
    s[time] = steps;
    s[batch] = x.shape().at(batch);
    return s;
  }()),
                     static_cast<int>(time))};
}

Values center_crop_pad(Call& c) {
  Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  std::vector<I> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const auto axes = axes_of(c, c.is("axes", all), rank);
  const Shape wanted = shape_from(c, c.ints(1));
  if (wanted.size() != axes.size())
    c.wrong(formatted("There are {} extents for {} axes.", wanted.size(), axes.size()));
  Shape low(rank, 0);
  Shape high(rank, 0);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::uint64_t extent = x.shape().at(axes[k]);
    if (extent >= wanted[k])
      x = x.slice(static_cast<int>(axes[k]), static_cast<I>((extent - wanted[k]) / 2), wanted[k]);
    else
      low[axes[k]] = (wanted[k] - extent) / 2, high[axes[k]] = wanted[k] - extent - low[axes[k]];
  }
  return {weft::pad(x, low, high)};
}

}  // namespace

void add_shape(Table& table) {
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Transpose"] = transpose;
  table["Concat"] = concat;
  table["Slice"] = slice;
  table["Split"] = split;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["Pad"] = pad;
  table["DepthToSpace"] = depth_to_space;
  table["SpaceToDepth"] = space_to_depth;
  table["Trilu"] = trilu;
  table["ReverseSequence"] = reverse_sequence;
  table["CenterCropPad"] = center_crop_pad;
  table["Identity"] = +[](Call& c) { return Values{c.inputs.at(0)}; };
}

}  // namespace weft::onnx
