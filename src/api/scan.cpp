#include "base/format.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;
using Scan = ops::cumsum::Function;

namespace {

Tensor scan(Scan function, In x, std::uint32_t dim, bool reverse) {
  return make(kinds::cumsum,
              graph::CumsumAttributes{.axis = dim, .reverse = reverse, .function = function},
              {x.tensor}, x.where);
}

Tensor transform(In x, bool inverse, double scale) {
  return make(kinds::fft, graph::FourierAttributes{inverse, static_cast<float>(scale)}, {x.tensor},
              x.where);
}

/// The number of complex elements of a row; 0 where there are no rows.
std::uint64_t length(const Tensor& x) {
  return x.shape().size() < 2 ? 0 : x.shape()[x.shape().size() - 2];
}

}  // namespace

Tensor cumsum(In x, std::uint32_t dim, bool exclusive, bool reverse) {
  return make(kinds::cumsum, graph::CumsumAttributes{dim, exclusive, reverse}, {x.tensor}, x.where);
}

Tensor cumprod(In x, std::uint32_t dim, bool reverse) { return scan(Scan::prod, x, dim, reverse); }
Tensor cummax(In x, std::uint32_t dim, bool reverse) { return scan(Scan::max, x, dim, reverse); }
Tensor cummin(In x, std::uint32_t dim, bool reverse) { return scan(Scan::min, x, dim, reverse); }
Tensor logcumsumexp(In x, std::uint32_t dim, bool reverse) {
  return scan(Scan::logsumexp, x, dim, reverse);
}

Tensor fft(In x) { return transform(x, false, 1); }

Tensor ifft(In x) {
  const std::uint64_t n = length(x.tensor);
  return transform(x, true, n == 0 ? 1 : 1 / static_cast<double>(n));
}

Tensor rfft(In x) {
  Shape shape = x.tensor.shape();
  if (shape.empty()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("rfft needs a last dimension; the tensor is a scalar ({}).",
                          graph::describe_place("rfft", x.where)));
  }
  const std::uint64_t n = shape.back();
  shape.push_back(1);
  const Shape none(shape.size(), 0);
  Shape one = none;
  one.back() = 1;  // imaginary parts of 0
  const Tensor complex = pad({x.tensor.reshape(shape, x.where), x.where}, none, one);
  return transform({complex, x.where}, false, 1)
      .slice(static_cast<std::uint32_t>(shape.size() - 2), 0, n == 0 ? 0 : n / 2 + 1, 1, x.where);
}

/// Half of the elements stand for two: the real part of the inverse transform of those alone, counted twice.
Tensor irfft(In x, std::uint64_t n) {
  const std::uint64_t half = length(x.tensor);
  if (half == 0 || half != n / 2 + 1) {
    throw Error(ErrorCode::invalid_argument,
                formatted("The transform of {} real numbers has {} elements; x has shape {} ({}).",
                          n, n / 2 + 1, ops::describe(x.tensor.shape()),
                          graph::describe_place("irfft", x.where)));
  }
  std::vector<float> counts(half, 2.0F);
  counts.front() = 1;
  if (n % 2 == 0) counts.back() = 1;
  const Tensor weighted =
      map("mul", {x.tensor, x.tensor.device().tensor({half, 1}, counts)}, {}, x.where);
  const std::size_t rank = x.tensor.shape().size();
  const Shape none(rank, 0);
  Shape rest = none;
  rest[rank - 2] = n - half;
  const Tensor y =
      transform({pad({weighted, x.where}, none, rest), x.where}, true, 1 / static_cast<double>(n))
          .slice(static_cast<std::uint32_t>(rank - 1), 0, 1, 1, x.where);
  Shape shape = y.shape();
  shape.pop_back();
  return y.reshape(shape, x.where);
}

}  // namespace weft
