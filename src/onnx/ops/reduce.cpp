#include <limits>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/math.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

/// The lowest and the highest number of a type.
double limit(DType dtype, bool high) {
  switch (dtype) {
    case DType::i8: return high ? 127 : -128;
    case DType::u8: return high ? 255 : 0;
    case DType::i16: return high ? 32767 : -32768;
    case DType::i32: return high ? 2147483647.0 : -2147483648.0;
    case DType::u32: return high ? 4294967295.0 : 0;
    case DType::boolean: return high ? 1 : 0;
    default:
      return high ? std::numeric_limits<double>::infinity()
                  : -std::numeric_limits<double>::infinity();
  }
}

template <class Function>
Values over_axes(Call& c, double of_nothing, Function function) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  const auto named = c.ints_of(1, "axes");
  if ((!named || named->empty()) && c.i("noop_with_empty_axes", 0) != 0) {
    // Each element by itself: what is behind the sum (or before it) is done all the same.
    Shape single = x.shape();
    single.push_back(1);
    if (x.size() == 0 || c.node.op == "ReduceMean") return {x};  // whole numbers stay exact
    return {as(function(x.reshape(single), std::vector<int>{static_cast<int>(rank)}, false),
               x.dtype())};
  }
  std::vector<int> axes = named ? int_axes(c, *named, rank) : std::vector<int>();
  if (axes.empty()) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int>(d));
  }
  const bool keep = c.i("keepdims", 1) != 0;
  if (rank == 0) return {as(function(x.reshape({1}), std::vector<int>{0}, false), x.dtype())};
  if (x.size() == 0) {
    Shape shape;
    std::vector<bool> gone(rank);
    for (const int axis : axes) gone[static_cast<std::size_t>(axis)] = true;
    for (std::size_t d = 0; d < rank; ++d) {
      if (!gone[d])
        shape.push_back(x.shape().at(d));
      else if (keep)
        shape.push_back(1);
    }
    return {full(c.device(), shape, of_nothing, is_float(x.dtype()) ? x.dtype() : DType::f32)
                .to(x.dtype())};
  }
  return {as(function(x, axes, keep), x.dtype())};
}

Tensor wide(const Tensor& x) { return is_float(x.dtype()) ? as(x, DType::f32) : x; }

Tensor extreme(const Tensor& x, const std::vector<int>& axes, bool keep, bool high) {
  if (x.dtype() == DType::boolean) return high ? any(x, axes, keep) : all(x, axes, keep);
  return high ? max(x, axes, keep) : min(x, axes, keep);
}

template <bool high>
Values arg_extreme(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.i("axis", 0), x.shape().size());
  const bool keep = c.i("keepdims", 1) != 0;
  const bool last = c.i("select_last_index", 0) != 0;
  const Tensor from = last ? flip(x, {axis}) : x;
  const Tensor at = high ? argmax(from, {axis}, keep) : argmin(from, {axis}, keep);
  const auto extent = static_cast<double>(x.shape().at(static_cast<std::size_t>(axis)));
  return {(last ? (extent - 1) - at : at).to(DType::i64)};
}

template <bool product>
Values running(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.scalar_int(1), x.shape().size());
  const bool exclusive = c.i("exclusive", 0) != 0;
  const bool reverse = c.i("reverse", 0) != 0;
  if (!product) return {as(cumsum(x, axis, exclusive, reverse), x.dtype())};
  Tensor y = cumprod(x, axis, reverse);
  if (exclusive) {  // one place further, behind a one
    const std::uint64_t extent = x.shape().at(static_cast<std::size_t>(axis));
    if (extent == 0) return {x};
    Shape low(x.shape().size(), 0);
    Shape high = low;
    (reverse ? high : low)[static_cast<std::size_t>(axis)] = 1;
    y = pad(y.slice(axis, reverse ? 1 : 0, extent - 1), low, high, 1);
  }
  return {as(y, x.dtype())};
}

constexpr double infinity = std::numeric_limits<double>::infinity();
using Axes = std::vector<int>;

}  // namespace

void add_reduce(Table& table) {
  table["ReduceSum"] = +[](Call& c) {
    return over_axes(
        c, 0, [](const Tensor& x, const Axes& axes, bool keep) { return sum(x, axes, keep); });
  };
  table["ReduceMean"] = +[](Call& c) {
    return over_axes(
        c, std::numeric_limits<double>::quiet_NaN(),
        [](const Tensor& x, const Axes& axes, bool keep) { return mean(x, axes, keep); });
  };
  table["ReduceProd"] = +[](Call& c) {
    return over_axes(
        c, 1, [](const Tensor& x, const Axes& axes, bool keep) { return prod(x, axes, keep); });
  };
  table["ReduceMax"] = +[](Call& c) {
    return over_axes(
        c, limit(c.t(0).dtype(), false),
        [](const Tensor& x, const Axes& axes, bool keep) { return extreme(x, axes, keep, true); });
  };
  table["ReduceMin"] = +[](Call& c) {
    return over_axes(
        c, limit(c.t(0).dtype(), true),
        [](const Tensor& x, const Axes& axes, bool keep) { return extreme(x, axes, keep, false); });
  };
  table["ReduceL1"] = +[](Call& c) {
    return over_axes(
        c, 0, [](const Tensor& x, const Axes& axes, bool keep) { return sum(abs(x), axes, keep); });
  };
  table["ReduceL2"] = +[](Call& c) {
    return over_axes(c, 0, [](const Tensor& x, const Axes& axes, bool keep) {
      return sqrt(sum(square(wide(x)), axes, keep));
    });
  };
  table["ReduceSumSquare"] = +[](Call& c) {
    return over_axes(c, 0, [](const Tensor& x, const Axes& axes, bool keep) {
      return sum(square(wide(x)), axes, keep);
    });
  };
  table["ReduceLogSum"] = +[](Call& c) {
    return over_axes(c, -infinity, [](const Tensor& x, const Axes& axes, bool keep) {
      return log(sum(wide(x), axes, keep));
    });
  };
  table["ReduceLogSumExp"] = +[](Call& c) {
    return over_axes(c, -infinity, [](const Tensor& x, const Axes& axes, bool keep) {
      return logsumexp(x, axes, keep);
    });
  };
  table["ArgMax"] = arg_extreme<true>;
  table["ArgMin"] = arg_extreme<false>;
  table["CumSum"] = running<false>;
  table["CumProd"] = running<true>;
}

}  // namespace weft::onnx
