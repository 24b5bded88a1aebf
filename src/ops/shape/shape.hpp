#pragma once

#include <cstdint>
#include <vector>

#include "ops/plan.hpp"

namespace weft::ops::shape {

// Ops that only move elements. Each is a list of elementwise copies and fills into parts of `y`, so
// they take any strides, and types may differ as they may in a copy. An input must not share memory
// with `y`, except where it already lies at its own place in `y`: then that part is left as it is.

/// y[i, j, …] = x[first[0] + i * step[0], first[1] + j * step[1], …]; the shape of `y` says how
/// many elements are taken.
struct Slice {
  View x;
  std::vector<std::uint64_t> first;  ///< One per dimension of x.
  std::vector<std::uint64_t> step;   ///< One per dimension, at least 1; empty: all 1.
  View y;                            ///< As many dimensions as x.
};

/// `y` is the inputs one after the other along `dim`. Inputs may be empty along it.
struct Concat {
  std::vector<View> inputs;
  std::uint32_t dim = 0;
  View y;  ///< The extents of every input, except along `dim`, where it is their sum.
};

/// What Pad puts around its input.
enum class Border : std::uint8_t {
  constant,  ///< `value`.
  edge,      ///< The nearest element of x, which then has at least one along each padded dimension.
};

/// `x` with `low[i]` elements before and `high[i]` elements after it along dimension i.
struct Pad {
  View x;
  std::vector<std::uint64_t> low;   ///< One per dimension of x.
  std::vector<std::uint64_t> high;  ///< One per dimension of x.
  Border border = Border::constant;
  double value = 0;
  View y;  ///< Extents low + x + high.
};

/// `x` as a whole repeated along each dimension as often as it fits into `y`: element i is x[i %
/// extent of x].
struct Repeat {
  View x;
  View y;  ///< Extents are multiples of those of x; missing leading dimensions of x count as 1.
};

/// `x` with its dimensions in another order, written out: dimension i of `y` is dimension order[i]
/// of x.
struct Contiguous {
  View x;
  std::vector<std::uint32_t> order;  ///< Empty: as they are.
  View y;                            ///< Any strides, though dense is the usual reason to ask.
};

/// The launches for each op, or why there are none.
Result<Plan> plan(const Slice& args, const Caps& caps);
Result<Plan> plan(const Concat& args, const Caps& caps);
Result<Plan> plan(const Pad& args, const Caps& caps);
Result<Plan> plan(const Repeat& args, const Caps& caps);
Result<Plan> plan(const Contiguous& args, const Caps& caps);

}  // namespace weft::ops::shape
