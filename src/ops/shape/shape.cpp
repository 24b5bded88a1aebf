#include "ops/shape/shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "ops/map/map.hpp"

namespace weft::ops::shape {
namespace {

bool same_place(const View& a, const View& b) {
  if (a.slot != b.slot || a.dtype != b.dtype || a.offset != b.offset || a.rank != b.rank) {
    return false;
  }
  for (std::uint32_t i = 0; i < a.rank; ++i) {
    if (a.shape[i] != b.shape[i]) return false;
    if (a.shape[i] != 1 && a.stride[i] != b.stride[i]) return false;
  }
  return true;
}

/// Several launches write `y`, so an input that shares memory with any of it could be overwritten
/// before it is read.
Status check_apart(const View& input, std::string_view name, const View& y, const View& place) {
  if (input.slot != y.slot || input.empty() || y.empty()) return {};
  const ByteRange a = input.bytes();
  const ByteRange b = y.bytes();
  if (a.end <= b.begin || b.end <= a.begin || same_place(input, place)) return {};
  return fail(ErrorCode::invalid_argument,
              "Input `{}` ({}) shares memory with the output ({}) and does not lie at its place in "
              "it, which is {}.",
              name, describe(input), describe(y), describe(place));
}

Status check_one_per_dim(std::size_t given, std::string_view name, const View& x) {
  if (given == x.rank) return {};
  return fail(ErrorCode::invalid_argument,
              "`{}` has {} values; x is {} and needs one for each of its {} dimensions.", name,
              given, describe(x), x.rank);
}

Status check_shape(const View& y, std::span<const std::uint64_t> wanted, std::string_view why) {
  if (std::ranges::equal(y.extents(), wanted)) return {};
  return fail(ErrorCode::invalid_argument, "The output is {}; {} give the shape {}.", describe(y),
              why, describe(wanted));
}

/// Integer types hold only some values; a fill would cut the others silently. i64 is computed as
/// i32.
Status check_value(double value, DType type) {
  if (is_float(type)) return {};
  const bool is_signed = !is_unsigned(type);
  const int bits = static_cast<int>(std::min(4U, size_of(type))) * 8;
  const double high = std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
  const double low = is_signed ? -high - 1 : 0;
  if (value >= low && value <= high && value == std::trunc(value)) return {};
  return fail(ErrorCode::invalid_argument,
              "The value {} cannot pad a tensor of type {}, which takes whole numbers from {} to "
              "{}.",
              value, name(type), low, high);
}

Status add_copy(Plan& plan, const View& x, const View& y, const Caps& caps) {
  if (y.empty() || same_place(x, y)) return {};
  auto copy = map::plan({.function = "copy", .inputs = {x}, .y = y}, caps);
  if (!copy) return std::unexpected(copy.error());
  plan.append(std::move(*copy));
  return {};
}

Status add_fill(Plan& plan, double value, const View& y, const Caps& caps) {
  if (y.empty()) return {};
  auto fill = map::plan({.function = "fill", .y = y, .scalars = {value}}, caps);
  if (!fill) return std::unexpected(fill.error());
  plan.append(std::move(*fill));
  return {};
}

Status add_slice(Plan& plan, const Slice& args, const Caps& caps) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (const Status ok = check_one_per_dim(args.first.size(), "first", args.x); !ok) return ok;
  if (!args.step.empty()) {
    if (const Status ok = check_one_per_dim(args.step.size(), "step", args.x); !ok) return ok;
  }
  if (args.y.rank != args.x.rank) {
    return fail(ErrorCode::invalid_argument,
                "A slice has the dimensions of its input; x is {} and y is {}.", describe(args.x),
                describe(args.y));
  }
  View part = args.x;
  for (std::uint32_t i = 0; i < part.rank; ++i) {
    const std::uint64_t step = args.step.empty() ? 1 : args.step[i];
    const std::uint64_t count = args.y.shape[i];
    const std::uint64_t extent = args.x.shape[i];
    // In terms of what is left behind `first`, so that no sum can overflow.
    const bool fits =
        step > 0 &&
        (count == 0 ? args.first[i] <= extent
                    : args.first[i] < extent && count - 1 <= (extent - 1 - args.first[i]) / step);
    if (!fits) {
      return fail(ErrorCode::invalid_argument,
                  "{} elements from {} in steps of {} do not lie within the {} elements of "
                  "dimension {} of x ({}).",
                  count, args.first[i], step, extent, i, describe(args.x));
    }
    part = part.slice(i, args.first[i], count, count > 1 ? step : 1);
  }
  if (const Status ok = check_apart(part, "x", args.y, args.y); !ok) return ok;
  return add_copy(plan, part, args.y, caps);
}

Status add_concat(Plan& plan, const Concat& args, const Caps& caps) {
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (args.inputs.empty()) {
    return fail(ErrorCode::invalid_argument, "There is nothing to concatenate: no input is given.");
  }
  const View& y = args.y;
  if (args.dim >= y.rank) {
    return fail(ErrorCode::invalid_argument, "Dimension {} does not exist in the output, {}.",
                args.dim, describe(y));
  }
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < args.inputs.size(); ++k) {
    const View& x = args.inputs[k];
    const std::string name = formatted("inputs[{}]", k);
    if (const Status ok = validate(x, name); !ok) return ok;
    bool fits = x.rank == y.rank;
    for (std::uint32_t i = 0; fits && i < y.rank; ++i) {
      fits = i == args.dim || x.shape[i] == y.shape[i];
    }
    if (!fits) {
      return fail(ErrorCode::invalid_argument,
                  "Input {} is {} and the output is {}; all extents but that of dimension {} must "
                  "agree.",
                  k, describe(x), describe(y), args.dim);
    }
    total += x.shape[args.dim];
  }
  if (total != y.shape[args.dim]) {
    return fail(ErrorCode::invalid_argument,
                "The {} inputs have {} elements along dimension {}; the output, {}, has {}.",
                args.inputs.size(), total, args.dim, describe(y), y.shape[args.dim]);
  }
  std::uint64_t first = 0;
  std::vector<View> places;
  for (std::size_t k = 0; k < args.inputs.size(); ++k) {
    const View& x = args.inputs[k];
    places.push_back(y.slice(args.dim, first, x.shape[args.dim]));
    first += x.shape[args.dim];
    if (const Status ok = check_apart(x, formatted("inputs[{}]", k), y, places.back()); !ok) {
      return ok;
    }
  }
  for (std::size_t k = 0; k < args.inputs.size(); ++k) {
    if (const Status ok = add_copy(plan, args.inputs[k], places[k], caps); !ok) return ok;
  }
  return {};
}

/// Covers `y` from dimension `dim` on; before it, `x` and `y` are already cut to matching parts.
Status pad_from(Plan& plan, const Pad& args, const View& x, const View& y, std::uint32_t dim,
                const Caps& caps) {
  if (y.empty()) return {};
  if (dim == y.rank) return add_copy(plan, x, y, caps);
  const std::uint64_t low = args.low[dim];
  const std::uint64_t high = args.high[dim];
  const std::uint64_t extent = args.x.shape[dim];
  const View front = y.slice(dim, 0, low);
  const View middle = y.slice(dim, low, extent);
  const View back = y.slice(dim, low + extent, high);
  if (args.border == Border::constant) {
    if (const Status ok = add_fill(plan, args.value, front, caps); !ok) return ok;
    if (const Status ok = add_fill(plan, args.value, back, caps); !ok) return ok;
  } else {
    // A single slice of x along this dimension broadcasts over the border.
    if (low > 0) {
      const Status ok = pad_from(plan, args, x.slice(dim, 0, 1), front, dim + 1, caps);
      if (!ok) return ok;
    }
    if (high > 0) {
      const Status ok = pad_from(plan, args, x.slice(dim, extent - 1, 1), back, dim + 1, caps);
      if (!ok) return ok;
    }
  }
  return pad_from(plan, args, x, middle, dim + 1, caps);
}

Status add_pad(Plan& plan, const Pad& args, const Caps& caps) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (const Status ok = check_one_per_dim(args.low.size(), "low", args.x); !ok) return ok;
  if (const Status ok = check_one_per_dim(args.high.size(), "high", args.x); !ok) return ok;
  std::vector<std::uint64_t> wanted;
  View place = args.y;
  for (std::uint32_t i = 0; i < args.x.rank; ++i) {
    const std::uint64_t extent = args.x.shape[i];
    constexpr std::uint64_t most = 1ULL
                                   << 56;  // as in validate(): keeps the sum from wrapping round
    if (args.low[i] > most || args.high[i] > most) {
      return fail(ErrorCode::invalid_argument,
                  "Padding dimension {} by {} and {} elements gives a tensor that is too large.", i,
                  args.low[i], args.high[i]);
    }
    wanted.push_back(args.low[i] + extent + args.high[i]);
    if (args.border == Border::edge && extent == 0 && wanted.back() > 0) {
      return fail(ErrorCode::invalid_argument,
                  "Dimension {} of x ({}) has no element to repeat into its border of {}.", i,
                  describe(args.x), wanted.back());
    }
  }
  if (const Status ok = check_shape(args.y, wanted, "x and the padding"); !ok) return ok;
  if (args.border == Border::constant) {
    if (const Status ok = check_value(args.value, args.y.dtype); !ok) return ok;
  }
  for (std::uint32_t i = 0; i < place.rank; ++i) {
    place = place.slice(i, args.low[i], args.x.shape[i]);
  }
  if (const Status ok = check_apart(args.x, "x", args.y, place); !ok) return ok;
  return pad_from(plan, args, args.x, args.y, 0, caps);
}

/// Leaves as few dimensions as it can, because splitting them is limited: those of one element go,
/// and one along which x does not repeat joins the dimension before it where both views step
/// through the two evenly.
void merge_dims(View& x, View& y) {
  for (std::uint32_t i = y.rank; i-- > 0;) {
    const bool even = i > 0 && x.shape[i] == y.shape[i] &&
                      (x.shape[i - 1] == 1 || x.stride[i - 1] == x.stride[i] * x.shape[i]) &&
                      y.stride[i - 1] == y.stride[i] * y.shape[i];
    if (y.shape[i] != 1 && !even) continue;
    for (View* view : {&x, &y}) {
      if (view->shape[i] != 1) {
        view->shape[i - 1] *= view->shape[i];
        view->stride[i - 1] = view->stride[i];
      }
      for (std::uint32_t j = i; j + 1 < view->rank; ++j) {
        view->shape[j] = view->shape[j + 1];
        view->stride[j] = view->stride[j + 1];
      }
      --view->rank;
    }
  }
}

/// Makes repetition explicit, most repetitions first: a dimension of y becomes (repetitions, extent
/// of x), and x stands still along the first. Where the dimensions run out, each repetition is a
/// copy of its own.
Status repeat_into(Plan& plan, const View& x, const View& y, const Caps& caps) {
  std::uint32_t dim = y.rank;
  std::uint64_t most = 1;
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    // Extents of 1 need no split: a copy broadcasts them.
    if (x.shape[i] <= 1 || y.shape[i] / x.shape[i] <= most) continue;
    most = y.shape[i] / x.shape[i];
    dim = i;
  }
  if (dim == y.rank) return add_copy(plan, x, y, caps);
  const std::uint64_t extent = x.shape[dim];
  if (y.rank < max_rank) return repeat_into(plan, x.unsqueeze(dim), y.split(dim, extent), caps);
  for (std::uint64_t k = 0; k < most; ++k) {
    const Status ok = repeat_into(plan, x, y.slice(dim, k * extent, extent), caps);
    if (!ok) return ok;
  }
  return {};
}

Status add_repeat(Plan& plan, const Repeat& args, const Caps& caps) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  View x = args.x;
  bool fits = x.rank <= args.y.rank;
  while (fits && x.rank < args.y.rank) x = x.unsqueeze(0);
  for (std::uint32_t i = 0; fits && i < args.y.rank; ++i) {
    fits = x.shape[i] == 0 ? args.y.shape[i] == 0 : args.y.shape[i] % x.shape[i] == 0;
  }
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "Repeating {} cannot give {}: each extent of the output must be a multiple of "
                "that of the input.",
                describe(args.x), describe(args.y));
  }
  if (const Status ok = check_apart(x, "x", args.y, args.y); !ok) return ok;
  if (args.y.empty()) return {};
  View y = args.y;
  merge_dims(x, y);
  return repeat_into(plan, x, y, caps);
}

Status add_contiguous(Plan& plan, const Contiguous& args, const Caps& caps) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  View x = args.x;
  if (!args.order.empty()) {
    if (const Status ok = check_one_per_dim(args.order.size(), "order", x); !ok) return ok;
    std::vector<std::uint32_t> sorted = args.order;
    std::ranges::sort(sorted);
    for (std::uint32_t i = 0; i < x.rank; ++i) {
      if (sorted[i] == i) continue;
      const std::vector<std::uint64_t> order(args.order.begin(), args.order.end());
      return fail(ErrorCode::invalid_argument,
                  "The order {} does not name each of the {} dimensions of x once.",
                  describe(order), x.rank);
    }
    x = x.permute(args.order);
  }
  if (const Status ok = check_shape(args.y, x.extents(), "x and the order"); !ok) return ok;
  if (const Status ok = check_apart(x, "x", args.y, args.y); !ok) return ok;
  return add_copy(plan, x, args.y, caps);
}

template <class Args>
Result<Plan> finish(Status (*add)(Plan&, const Args&, const Caps&), const Args& args,
                    const Caps& caps, std::string_view doing) {
  Plan plan;
  if (const Status ok = add(plan, args, caps); !ok) return wrap(ok.error(), doing);
  return plan;
}

}  // namespace

Result<Plan> plan(const Slice& args, const Caps& caps) {
  return finish(add_slice, args, caps, "planning slice");
}

Result<Plan> plan(const Concat& args, const Caps& caps) {
  return finish(add_concat, args, caps, "planning concat");
}

Result<Plan> plan(const Pad& args, const Caps& caps) {
  return finish(add_pad, args, caps, "planning pad");
}

Result<Plan> plan(const Repeat& args, const Caps& caps) {
  return finish(add_repeat, args, caps, "planning repeat");
}

Result<Plan> plan(const Contiguous& args, const Caps& caps) {
  return finish(add_contiguous, args, caps, "planning contiguous");
}

}  // namespace weft::ops::shape
