#include <numeric>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/axes.hpp"
#include "api/wide.hpp"
#include "base/format.hpp"
#include "describe/attributes/cumsum.hpp"
#include "describe/attributes/fourier.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/create.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;
using Scan = ops::cumsum::Function;

namespace {

/// How two results are joined.
std::string_view joined(Scan function) {
  switch (function) {
    case Scan::prod: return "mul";
    case Scan::max: return "maximum";
    case Scan::min: return "minimum";
    default: return "add";
  }
}

/// Of i64, whose kernels take two words: each step joins what lies twice as far apart.
Tensor scan_wide(const graph::CumsumAttributes& attributes, In x) {
  const int axis = static_cast<int>(attributes.axis);
  const std::uint64_t n = x.tensor.shape()[attributes.axis];
  const auto at = [&](const Tensor& t) { return In(t, x.where); };
  const auto part = [&](const Tensor& t, std::uint64_t first, std::uint64_t count) {
    return t.slice(axis, static_cast<std::int64_t>(first), count, 1, x.where);
  };
  Tensor y = attributes.reverse ? flip(x, {axis}) : x.tensor;
  for (std::uint64_t distance = 1; distance < n; distance *= 2) {
    const Tensor later =
        map(joined(attributes.function),
            {part(y, distance, n - distance), part(y, 0, n - distance)}, {}, x.where);
    y = concat({part(y, 0, distance), later}, axis, x.where);
  }
  if (attributes.exclusive && n > 0) {
    const Tensor none = zeros_like(at(part(y, 0, 1)));
    y = concat({none, part(y, 0, n - 1)}, axis, x.where);
  }
  return attributes.reverse ? flip(at(y), {axis}) : y;
}

/// Running sums and products of narrow integers and booleans have the room of 32 bits; extremes
/// keep their type.
Tensor scan(const graph::CumsumAttributes& attributes, In x) {
  const DType dtype = x.tensor.dtype();
  if (dtype == DType::i64 && attributes.function != Scan::logsumexp) {
    return scan_wide(attributes, x);
  }
  const bool real = is_float(dtype) || is_quantized(dtype);
  if (!real && attributes.function == Scan::logsumexp) {
    return make(kinds::cumsum, attributes, {x.tensor.to(DType::f32, x.where)}, x.where);
  }
  if (real || size_of(dtype) == 4) return make(kinds::cumsum, attributes, {x.tensor}, x.where);
  const bool extreme = attributes.function == Scan::max || attributes.function == Scan::min;
  const DType words = dtype == DType::u8 ? DType::u32 : DType::i32;
  const Tensor y = make(kinds::cumsum, attributes, {x.tensor.to(words, x.where)}, x.where);
  return extreme ? y.to(dtype, x.where) : y;
}

Tensor scan(std::string_view name, Scan function, In x, int axis, bool exclusive, bool reverse) {
  return scan(graph::CumsumAttributes{axis_of(name, x, axis), exclusive, reverse, function}, x);
}

Tensor transform(In x, bool inverse, double scale) {
  return make(kinds::fft, graph::FourierAttributes{inverse, static_cast<float>(scale)}, {x.tensor},
              x.where);
}

/// The number of an axis among those of complex numbers: the last dimension is none.
std::uint32_t complex_axis(std::string_view function, In x, int axis) {
  if (x.tensor.shape().size() < 2) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("{} needs complex numbers, a dimension and one of extent 2 behind it; the "
                  "tensor has shape {} ({}).",
                  function, ops::describe(x.tensor.shape()),
                  graph::describe_place(function, x.where)));
  }
  return axis_of(function, x, axis < 0 ? axis - 1 : axis);
}

/// Swaps an axis of complex numbers with the one before the last dimension, along which transforms
/// go; its own inverse.
Tensor swapped(In x, std::uint32_t axis) {
  const auto rank = static_cast<int>(x.tensor.shape().size());
  if (static_cast<int>(axis) == rank - 2) return x.tensor;
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[order.size() - 2]);
  return x.tensor.permute(order, x.where);
}

}  // namespace

Tensor cumsum(In x, int axis, bool exclusive, bool reverse) {
  return scan("cumsum", Scan::sum, x, axis, exclusive, reverse);
}
Tensor cumprod(In x, int axis, bool reverse) {
  return scan("cumprod", Scan::prod, x, axis, false, reverse);
}
Tensor cummax(In x, int axis, bool reverse) {
  return scan("cummax", Scan::max, x, axis, false, reverse);
}
Tensor cummin(In x, int axis, bool reverse) {
  return scan("cummin", Scan::min, x, axis, false, reverse);
}
Tensor logcumsumexp(In x, int axis, bool reverse) {
  return scan("logcumsumexp", Scan::logsumexp, x, axis, false, reverse);
}

Tensor fft(In given, int axis) {
  const graph::Called called("fft", given.where);
  const std::uint32_t number = complex_axis("fft", given, axis);
  return in_f32(given, [&](In x) {
    return swapped({transform({swapped(x, number), x.where}, false, 1), x.where}, number);
  });
}

Tensor ifft(In given, int axis) {
  const graph::Called called("ifft", given.where);
  const std::uint32_t number = complex_axis("ifft", given, axis);
  const std::uint64_t n = given.tensor.shape()[number];
  const double scale = n == 0 ? 1 : 1 / static_cast<double>(n);
  return in_f32(given, [&](In x) {
    return swapped({transform({swapped(x, number), x.where}, true, scale), x.where}, number);
  });
}

namespace {

Tensor half_transform(In x, int axis) {
  const std::uint32_t number = axis_of("rfft", x, axis);
  const std::uint64_t n = x.tensor.shape()[number];
  Shape shape = x.tensor.shape();
  shape.push_back(1);
  const Shape none(shape.size(), 0);
  Shape one = none;
  one.back() = 1;  // imaginary parts of 0
  const Tensor complex = pad({x.tensor.reshape(shape, x.where), x.where}, none, one);
  return fft({complex, x.where}, static_cast<int>(number))
      .slice(static_cast<int>(number), 0, n == 0 ? 0 : n / 2 + 1, 1, x.where);
}

/// Half of the elements stand for two: the real part of the inverse transform of those alone,
/// counted twice.
Tensor from_half(In x, std::uint64_t n, int axis) {
  const std::uint32_t number = complex_axis("irfft", x, axis);
  const std::uint64_t half = x.tensor.shape()[number];
  if (half == 0 || half != n / 2 + 1) {
    throw Error(ErrorCode::invalid_argument,
                formatted("The transform of {} real numbers has {} elements; x has shape {} ({}).",
                          n, n / 2 + 1, ops::describe(x.tensor.shape()),
                          graph::describe_place("irfft", x.where)));
  }
  std::vector<float> counts(half, 2.0F);
  counts.front() = 1;
  if (n % 2 == 0) counts.back() = 1;
  const Tensor rows = swapped(x, number);
  const Tensor weighted =
      map("mul", {rows, x.tensor.device().tensor({half, 1}, counts)}, {}, x.where);
  const std::size_t rank = x.tensor.shape().size();
  const Shape none(rank, 0);
  Shape rest = none;
  rest[rank - 2] = n - half;
  const Tensor y = swapped({transform({pad({weighted, x.where}, none, rest), x.where}, true,
                                      1 / static_cast<double>(n)),
                            x.where},
                           number)
                       .slice(-1, 0, 1, 1, x.where);
  Shape shape = y.shape();
  shape.pop_back();
  return y.reshape(shape, x.where);
}

}  // namespace

Tensor rfft(In x, int axis) {
  const graph::Called called("rfft", x.where);
  if (!is_float(x.tensor.dtype())) {
    refuse("rfft", x.where,
           formatted("rfft needs real numbers […, n] of floats; it was given {}.",
                     describe(x.tensor)));
  }
  return in_f32(x, [&](In wide) { return half_transform(wide, axis); });
}

Tensor irfft(In x, std::uint64_t n, int axis) {
  const graph::Called called("irfft", x.where);
  if (n == 0) refuse("irfft", x.where, "irfft makes at least one number; 0 were asked for.");
  return in_f32(x, [&](In wide) { return from_half(wide, n, axis); });
}

}  // namespace weft
