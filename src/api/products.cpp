#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "api/einsum.hpp"
#include "base/format.hpp"
#include "describe/attributes/axis.hpp"
#include "describe/attributes/nearest.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/view.hpp"
#include "weft/device.hpp"
#include "weft/math.hpp"
#include "weft/shape.hpp"

namespace weft {
namespace {

Shape broadcast_shape(std::string_view function, const Tensor& a, const Tensor& b,
                      const Where& at) {
  need(function, "a", a, at);
  need(function, "b", b, at);
  auto shape = graph::broadcast(a.shape(), b.shape());
  if (!shape) {
    refuse(function, at,
           formatted("{} needs shapes that broadcast; they are {} and {}.", function, describe(a),
                     describe(b)));
  }
  return *shape;
}

Tensor sum_of_pairs(std::string_view function, In a, const Tensor& b,
                    const std::vector<std::uint32_t>& of_a,
                    const std::vector<std::uint32_t>& of_b) {
  std::string left;
  std::string right;
  std::string kept;
  for (std::uint32_t i = 0; i < a.tensor.shape().size(); ++i) {
    left += static_cast<char>('a' + i);
    if (!std::ranges::contains(of_a, i)) kept += left.back();
  }
  for (std::uint32_t i = 0; i < b.shape().size(); ++i) {
    const auto found = std::ranges::find(of_b, i);
    if (found == of_b.end()) {
      right += static_cast<char>('A' + i);
      kept += right.back();
      continue;
    }
    const std::uint32_t other = of_a[static_cast<std::size_t>(found - of_b.begin())];
    if (a.tensor.shape()[other] != b.shape()[i]) {
      refuse(function, a.where,
             formatted("{} needs equal extents; dimension {} of {} meets dimension {} of {}.",
                       function, other, describe(a.tensor), i, describe(b)));
    }
    right += left[other];
  }
  if (kept.size() > ops::max_rank) {
    refuse(function, a.where,
           formatted("{} of {} and {} would have {} dimensions; a tensor has at most {}.", function,
                     describe(a.tensor), describe(b), kept.size(), ops::max_rank));
  }
  return contract(function, {left, right}, kept, {a.tensor, b}, a.where);
}

}  // namespace

Tensor tensordot(In a, const Tensor& b, std::uint64_t axes) {
  need("tensordot", "a", a.tensor, a.where);
  need("tensordot", "b", b, a.where);
  const std::size_t rank = a.tensor.shape().size();
  if (axes > rank || axes > b.shape().size()) {
    refuse(
        "tensordot", a.where,
        formatted("tensordot over {} dimensions needs tensors that have as many; they are {} and "
                  "{}.",
                  axes, describe(a.tensor), describe(b)));
  }
  std::vector<std::uint32_t> last;
  std::vector<std::uint32_t> first;
  for (std::uint32_t i = 0; i < axes; ++i) {
    last.push_back(static_cast<std::uint32_t>(rank - axes) + i);
    first.push_back(i);
  }
  return sum_of_pairs("tensordot", a, b, last, first);
}

Tensor tensordot(In a, const Tensor& b, const Dims& axes_a, const Dims& axes_b) {
  need("tensordot", "a", a.tensor, a.where);
  need("tensordot", "b", b, a.where);
  if (axes_a.size() != axes_b.size()) {
    refuse("tensordot", a.where,
           formatted("tensordot needs as many axes of a as of b; {} and {} were given.",
                     axes_a.size(), axes_b.size()));
  }
  return sum_of_pairs("tensordot", a, b, axes_in("tensordot", axes_a, a.tensor.shape(), a.where),
                      axes_in("tensordot", axes_b, b.shape(), a.where));
}

Tensor outer(In a, const Tensor& b) {
  need("outer", "a", a.tensor, a.where);
  need("outer", "b", b, a.where);
  return a.tensor.reshape({a.tensor.size(), 1}, a.where) *
         In(b.reshape({1, b.size()}, a.where), a.where);
}

Tensor inner(In a, const Tensor& b) {
  need("inner", "a", a.tensor, a.where);
  need("inner", "b", b, a.where);
  if (a.tensor.shape().empty() || b.shape().empty()) return a.tensor * In(b, a.where);
  const auto last = [](const Tensor& t) {
    return static_cast<std::uint32_t>(t.shape().size() - 1);
  };
  return sum_of_pairs("inner", a, b, {last(a.tensor)}, {last(b)});
}

Tensor kron(In a, const Tensor& b) {
  need("kron", "a", a.tensor, a.where);
  need("kron", "b", b, a.where);
  const std::size_t rank = std::max(a.tensor.shape().size(), b.shape().size());
  if (2 * rank > ops::max_rank) {
    refuse("kron", a.where,
           formatted("kron takes tensors with at most {} dimensions; they are {} and {}.",
                     ops::max_rank / 2, describe(a.tensor), describe(b)));
  }
  Shape left;
  Shape right;
  Shape both;
  const auto extent = [&](const Tensor& t, std::size_t i) {
    const std::size_t added = rank - t.shape().size();
    return i < added ? 1 : t.shape()[i - added];
  };
  for (std::size_t i = 0; i < rank; ++i) {
    left.insert(left.end(), {extent(a.tensor, i), 1});
    right.insert(right.end(), {1, extent(b, i)});
    both.push_back(extent(a.tensor, i) * extent(b, i));
  }
  return (a.tensor.reshape(left, a.where) * In(b.reshape(right, a.where), a.where))
      .reshape(both, a.where);
}

Tensor cross(In a, const Tensor& b, int axis) {
  const Shape shape = broadcast_shape("cross", a.tensor, b, a.where);
  const std::uint32_t at = axis_in("cross", axis, shape, a.where);
  if (shape[at] != 3) {
    refuse("cross", a.where,
           formatted("cross needs three numbers along axis {}; the tensors are {} and {}.", axis,
                     describe(a.tensor), describe(b)));
  }
  const auto parts = [&](const Tensor& t) {
    return split(In(t.broadcast_to(shape, a.where), a.where), 3, static_cast<int>(at));
  };
  const std::vector<Tensor> x = parts(a.tensor);
  const std::vector<Tensor> y = parts(b);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3;
    const std::size_t k = (i + 2) % 3;
    out.push_back(x[j] * In(y[k], a.where) - In(x[k] * In(y[j], a.where), a.where));
  }
  return graph::make(graph::kinds::concat, graph::AxisAttributes{at}, out, a.where);
}

namespace {

/// Matrices of more batches take a launch together; fewer take one each, with nothing but distances
/// in memory.
constexpr std::uint64_t most_batches = 64;

/// Euclidean distances of a […, M, K] and b […, N, K] as f32 […, M, N], batch by batch; nothing
/// where there are too many of them.
Tensor distances(const Tensor& a, const Tensor& b, const Where& at) {
  const auto batches_of = [](const Tensor& x) {
    return Shape(x.shape().begin(), x.shape().end() - 2);
  };
  const auto batches = graph::broadcast(batches_of(a), batches_of(b));
  if (!batches) return {};
  std::uint64_t count = 1;
  for (const std::uint64_t extent : *batches) count *= extent;
  if (count == 0 || count > most_batches) return {};
  const auto all = [&](const Tensor& x) {
    Shape shape = *batches;
    shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
    return x.broadcast_to(shape, at);
  };
  const Tensor left = all(a);
  const Tensor right = all(b);
  const auto batch = [&](Tensor x, std::uint64_t number) {
    for (std::size_t i = batches->size(); i-- > 0;) {
      const std::uint64_t extent = (*batches)[i];
      x = x.slice(static_cast<int>(i), static_cast<std::int64_t>(number % extent), 1, 1, at);
      number /= extent;
    }
    return x.reshape(Shape(x.shape().end() - 2, x.shape().end()), at);
  };
  std::vector<Tensor> parts;
  for (std::uint64_t i = 0; i < count; ++i) {
    parts.push_back(graph::make(graph::kinds::nearest, graph::NearestAttributes{.count = 0},
                                {batch(left, i), batch(right, i)}, at));
  }
  const Tensor y = parts.size() == 1 ? parts[0] : concat(parts, 0, at);
  Shape shape = *batches;
  shape.insert(shape.end(), {a.shape().end()[-2], b.shape().end()[-2]});
  return y.reshape(shape, at);
}

}  // namespace

Tensor cdist(In a, const Tensor& b, const CdistOptions& options) {
  need("cdist", "a", a.tensor, a.where);
  need("cdist", "b", b, a.where);
  const Shape& left = a.tensor.shape();
  const Shape& right = b.shape();
  if (left.size() < 2 || right.size() < 2 || left.back() != right.back() ||
      !is_float(a.tensor.dtype()) || a.tensor.dtype() != b.dtype()) {
    refuse("cdist", a.where,
           formatted("cdist needs rows […, M, K] and […, N, K] of one float type; it was given {} "
                     "and {}.",
                     describe(a.tensor), describe(b)));
  }
  if (options.by_product && options.p != 2) {
    refuse("cdist", a.where,
           formatted("cdist by a product has p = 2; it was given {}.", options.p));
  }
  if (!options.by_product && options.p == 2) {
    if (const Tensor found = distances(a.tensor, b, a.where)) {
      return found.to(a.tensor.dtype(), a.where);
    }
  }
  const Tensor x = a.tensor.to(DType::f32, a.where);
  const Tensor y = b.to(DType::f32, a.where);
  if (!options.by_product) {
    const Tensor apart = unsqueeze(In(x, a.where), -2) - In(unsqueeze(In(y, a.where), -3), a.where);
    return norm(In(apart, a.where), options.p, {-1}).to(a.tensor.dtype(), a.where);
  }
  const auto squares = [&](const Tensor& t) {
    return sum(In(t * In(t, a.where), a.where),
               {static_cast<Dims::value_type>(t.shape().size() - 1)}, true);
  };
  const Tensor products = matmul(In(x, a.where), y.transpose(a.where));
  const Tensor squared = squares(x) + In(squares(y).transpose(a.where), a.where) -
                         In(In(products, a.where) * 2, a.where);
  const Tensor zero = x.device().full({}, 0, DType::f32, a.where);
  const Tensor one = x.device().full({}, 1, DType::f32, a.where);
  const Tensor apart = greater(In(squared, a.where), zero);
  const Tensor root = sqrt(In(where(In(apart, a.where), squared, one), a.where));
  return where(In(apart, a.where), root, zero).to(a.tensor.dtype(), a.where);
}

}  // namespace weft
