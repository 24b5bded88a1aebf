#include "weft/create.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/called.hpp"
#include "weft/shape.hpp"

namespace weft {

Tensor zeros(const Device& device, const Shape& shape, DType dtype, Where where) {
  const graph::Called called("zeros", where);
  return device.full(shape, 0, dtype, where);
}

Tensor ones(const Device& device, const Shape& shape, DType dtype, Where where) {
  const graph::Called called("ones", where);
  return device.full(shape, 1, dtype, where);
}

Tensor full(const Device& device, const Shape& shape, double value, DType dtype, Where where) {
  const graph::Called called("full", where);
  return device.full(shape, value, dtype, where);
}

Tensor full_like(In x, double value, std::optional<DType> dtype) {
  const graph::Called called("full_like", x.where);
  need("full_like", "x", x.tensor, x.where);
  return x.tensor.device().full(x.tensor.shape(), value, dtype.value_or(x.tensor.dtype()), x.where);
}

Tensor zeros_like(In x, std::optional<DType> dtype) {
  const graph::Called called("zeros_like", x.where);
  return full_like(x, 0, dtype);
}

Tensor ones_like(In x, std::optional<DType> dtype) {
  const graph::Called called("ones_like", x.where);
  return full_like(x, 1, dtype);
}

Tensor empty_like(In x, std::optional<DType> dtype) {
  need("empty_like", "x", x.tensor, x.where);
  return x.tensor.device().empty(x.tensor.shape(), dtype.value_or(x.tensor.dtype()));
}

Tensor arange(const Device& device, double start, double stop, double step, DType dtype,
              Where where) {
  const bool whole = is_float(dtype) || (start == std::trunc(start) && step == std::trunc(step));
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step) || step == 0 ||
      !whole) {
    refuse("arange", where,
           formatted("arange of {} needs finite numbers, a step other than 0{}; it was given start "
                     "{}, stop {} and step {}.",
                     name(dtype), is_float(dtype) ? "" : ", and whole numbers", start, stop, step));
  }
  const double count = std::max(std::ceil((stop - start) / step), 0.0);
  if (count > 0x1p40) {
    refuse("arange", where,
           formatted("arange from {} to {} by {} has too many elements.", start, stop, step));
  }
  return device.arange(static_cast<std::uint64_t>(count), start, step, dtype, where);
}

Tensor arange(const Device& device, double stop, DType dtype, Where where) {
  return arange(device, 0, stop, 1, dtype, where);
}

Tensor linspace(const Device& device, double start, double stop, std::uint64_t count, bool endpoint,
                DType dtype, Where where) {
  if (!is_float(dtype) || !std::isfinite(start) || !std::isfinite(stop)) {
    refuse("linspace", where,
           formatted("linspace needs finite numbers and a float type; it was given {} to {} as {}.",
                     start, stop, name(dtype)));
  }
  if (count <= 1) return device.full({count}, start, dtype, where);
  const double step = (stop - start) / static_cast<double>(endpoint ? count - 1 : count);
  if (!endpoint) return device.arange(count, start, step, DType::f32, where).to(dtype, where);
  // Each half from its own end, so that both ends are exact.
  const std::uint64_t half = count / 2;
  const Tensor low = device.arange(half, start, step, DType::f32, where);
  const Tensor high = flip(In(device.arange(count - half, stop, -step, DType::f32, where), where));
  return concat({low, high}, 0, where).to(dtype, where);
}

Tensor eye(const Device& device, std::uint64_t rows, std::optional<std::uint64_t> columns,
           std::int64_t diagonal, DType dtype, Where where) {
  const Tensor all = device.full({rows, columns.value_or(rows)}, 1, dtype, where);
  return triu(In(tril(In(all, where), diagonal), where), diagonal);
}

Tensor tri(const Device& device, std::uint64_t rows, std::optional<std::uint64_t> columns,
           std::int64_t diagonal, DType dtype, Where where) {
  return tril(In(device.full({rows, columns.value_or(rows)}, 1, dtype, where), where), diagonal);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, std::string_view indexing,
                             Where where) {
  if (indexing != "xy" && indexing != "ij") {
    refuse("meshgrid", where,
           formatted("meshgrid takes the indexing \"xy\" or \"ij\"; \"{}\" was given.", indexing));
  }
  Shape shape;
  for (const Tensor& vector : vectors) {
    need("meshgrid", "a vector", vector, where);
    if (vector.shape().size() != 1) {
      refuse("meshgrid", where,
             formatted("meshgrid takes vectors; {} was given.", describe(vector)));
    }
    shape.push_back(vector.shape()[0]);
  }
  const bool swapped = indexing == "xy" && vectors.size() > 1;
  if (swapped) std::swap(shape[0], shape[1]);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape own(shape.size(), 1);
    own[swapped && i < 2 ? 1 - i : i] = vectors[i].shape()[0];
    out.push_back(vectors[i].reshape(own, where).broadcast_to(shape, where));
  }
  return out;
}

}  // namespace weft
