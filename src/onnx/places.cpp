#include "onnx/places.hpp"

#include <algorithm>
#include <numeric>

#include "onnx/host.hpp"

namespace weft::onnx {
namespace {

std::vector<std::uint64_t> steps_of(const Shape& shape) {
  std::vector<std::uint64_t> steps(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * shape[i];
  return steps;
}

/// Calls `each` with the place (by steps) of every element of a shape, in order.
template <class Each>
void walk(const Shape& shape, const std::vector<std::uint64_t>& steps, Each each) {
  const std::uint64_t count = count_of(shape);
  Shape at(shape.size(), 0);
  std::uint64_t place = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    each(place, at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      place += steps[d];
      if (++at[d] < shape[d]) break;
      place -= steps[d] * shape[d];
      at[d] = 0;
    }
  }
}

}  // namespace

std::uint64_t count_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

Places::Places(const Shape& of) : shape(of), at(count_of(of)) {
  std::iota(at.begin(), at.end(), 0);
}

void Places::permute(const std::vector<int>& order) {
  const auto steps = steps_of(shape);
  Shape turned;
  std::vector<std::uint64_t> by;
  for (const int axis : order) {
    turned.push_back(shape[static_cast<std::size_t>(axis)]);
    by.push_back(steps[static_cast<std::size_t>(axis)]);
  }
  std::vector<std::uint64_t> out;
  out.reserve(at.size());
  walk(turned, by, [&](std::uint64_t place, const Shape&) { out.push_back(at[place]); });
  shape = turned;
  at = std::move(out);
}

void Places::take(std::size_t axis, const std::vector<std::uint64_t>& numbers) {
  auto steps = steps_of(shape);
  const std::uint64_t step = steps[axis];
  steps[axis] = 0;
  Shape cut = shape;
  cut[axis] = numbers.size();
  std::vector<std::uint64_t> out;
  out.reserve(count_of(cut));
  walk(cut, steps, [&](std::uint64_t place, const Shape& where) {
    out.push_back(at[place + numbers[where[axis]] * step]);
  });
  shape = cut;
  at = std::move(out);
}

void Places::expand(const Shape& to) {
  std::vector<std::uint64_t> out = broadcast_places(shape, to);
  for (std::uint64_t& place : out) place = at[place];
  shape = to;
  at = std::move(out);
}

std::size_t axis_of(const Call& call, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    call.wrong(formatted("There is no axis {} of {} dimensions.", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::vector<std::size_t> axes_of(const Call& call, const std::vector<std::int64_t>& axes,
                                 std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t axis : axes) {
    const std::size_t one = axis_of(call, axis, rank);
    if (std::ranges::find(out, one) != out.end())
      call.wrong(formatted("Axis {} is named twice.", axis));
    out.push_back(one);
  }
  return out;
}

std::vector<int> int_axes(const Call& call, const std::vector<std::int64_t>& axes,
                          std::size_t rank) {
  std::vector<int> out;
  for (const std::size_t axis : axes_of(call, axes, rank)) out.push_back(static_cast<int>(axis));
  return out;
}

Shape shape_from(const Call& call, const std::vector<std::int64_t>& extents) {
  Shape out;
  std::uint64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) call.wrong(formatted("An extent is {}.", extent));
    out.push_back(static_cast<std::uint64_t>(extent));
    if (extent != 0 && count > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(extent))
      call.wrong(formatted("The shape {} is too large.", text_of(out)));
    count *= std::max<std::uint64_t>(static_cast<std::uint64_t>(extent), 1);
  }
  return out;
}

Value with_shape(const Call& call, const Value& value, const Shape& shape) {
  if (count_of(shape) != value.size())
    call.wrong(formatted("{} has {} elements; {} has {}.", describe(value), value.size(),
                         text_of(shape), count_of(shape)));
  if (const Array* known = value.known()) {
    Array out = *known;
    out.shape = shape;
    return out;
  }
  return value.on(call.device()).reshape(shape);
}

std::vector<Range> ranges_of(const Call& call) {
  const Shape& shape = call.shape(0);
  const auto starts = call.ints_of(1, "starts").value_or(std::vector<std::int64_t>());
  const auto ends = call.ints_of(2, "ends").value_or(std::vector<std::int64_t>());
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = axes_of(call, call.ints_of(3, "axes").value_or(all), shape.size());
  const auto steps = call.has(4) ? call.ints(4) : std::vector<std::int64_t>(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.wrong(formatted("There are {} starts, {} ends, {} axes and {} steps.", starts.size(),
                         ends.size(), axes.size(), steps.size()));
  }
  std::vector<Range> out;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto extent = static_cast<std::int64_t>(shape[axes[i]]);
    const std::int64_t step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min())
      call.wrong(formatted("A step is {}.", step));
    const auto placed = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + extent : at, low, high);
    };
    // Backwards, a start before the first element is the first one (numpy takes none).
    const std::int64_t first =
        step > 0 ? placed(starts[i], 0, extent)
                 : placed(starts[i], std::min<std::int64_t>(0, extent - 1), extent - 1);
    const std::int64_t end =
        step > 0 ? placed(ends[i], 0, extent) : placed(ends[i], -1, extent - 1);
    const std::int64_t way = step > 0 ? end - first : first - end;
    const std::int64_t size = step > 0 ? step : -step;
    out.push_back(
        {axes[i], first, step, way <= 0 ? 0 : static_cast<std::uint64_t>((way - 1) / size + 1)});
  }
  return out;
}

}  // namespace weft::onnx
