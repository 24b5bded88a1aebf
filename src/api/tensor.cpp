#include "weft/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <ostream>
#include <utility>

#include "api/arguments.hpp"
#include "api/axes.hpp"
#include "base/format.hpp"
#include "describe/attributes/cast.hpp"
#include "describe/attributes/permute.hpp"
#include "describe/attributes/shape.hpp"
#include "describe/attributes/slice.hpp"
#include "graph/evaluate.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/case.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

// Asked for all the time, so without taking a share in the node.
const Shape& Tensor::shape() const {
  if (!node_) (void)Access::value(*this);  // throws
  return node_->types[output_].shape;
}
DType Tensor::dtype() const {
  if (!node_) (void)Access::value(*this);
  return node_->types[output_].dtype;
}
std::uint64_t Tensor::size() const {
  if (!node_) (void)Access::value(*this);
  return node_->types[output_].count();
}
Device Tensor::device() const { return Access::device(Access::value(*this).node->device); }

Shape Tensor::strides() const {
  const ops::View view = graph::storage_of(*this).view;
  return {view.stride.begin(), view.stride.begin() + view.rank};
}

Tensor Tensor::reshape(const Extents& extents, Where where) const {
  std::optional<Shape> shape = resolved(extents, size());
  if (!shape) {
    refuse("reshape", where,
           formatted("A tensor of shape {} cannot be reshaped to {}: one extent may be -1, where "
                     "the others divide the number of elements.",
                     ops::describe(this->shape()), list(extents.values)));
  }
  if (this->shape() == *shape) return *this;
  return make(kinds::reshape, graph::ShapeAttributes{std::move(*shape)}, {*this}, where);
}

Tensor Tensor::permute(const Dims& order, Where where) const {
  std::vector<std::uint32_t> numbers;
  for (const int axis : order) numbers.push_back(axis_of("permute", {*this, where}, axis));
  return make(kinds::permute, graph::PermuteAttributes{std::move(numbers)}, {*this}, where);
}

Tensor Tensor::transpose(Where where) const {
  std::vector<std::uint32_t> order(shape().size());
  if (order.size() < 2) {
    throw Error(ErrorCode::invalid_argument,
                formatted("transpose needs two dimensions; the tensor has shape {} ({}).",
                          ops::describe(shape()), graph::describe_place("transpose", where)));
  }
  std::iota(order.begin(), order.end(), 0U);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return make(kinds::permute, graph::PermuteAttributes{std::move(order)}, {*this}, where);
}

Tensor Tensor::slice(int axis, std::int64_t first, std::uint64_t count, std::uint64_t step,
                     Where where) const {
  const std::uint32_t number = axis_of("slice", {*this, where}, axis);
  const auto extent = static_cast<std::int64_t>(shape()[number]);
  if (first < -extent) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("There is no element {} along axis {} of a tensor of shape {} ({}).", first, axis,
                  ops::describe(shape()), graph::describe_place("slice", where)));
  }
  const auto from = static_cast<std::uint64_t>(first < 0 ? first + extent : first);
  return make(kinds::slice, graph::SliceAttributes{number, from, count, step}, {*this}, where);
}

Tensor Tensor::broadcast_to(const Shape& shape, Where where) const {
  if (node_ && this->shape() == shape) return *this;
  return make(kinds::broadcast_to, graph::ShapeAttributes{shape}, {*this}, where);
}

Tensor Tensor::to(DType dtype, Where where) const {
  if (node_ && this->dtype() == dtype) return *this;
  return make(kinds::cast, graph::CastAttributes{dtype}, {*this}, where);
}

Tensor Tensor::detach(Where where) const { return make(kinds::detach, {}, {*this}, where); }

void Tensor::eval() const { (void)graph::storage_of(*this); }

void Tensor::read(DType as, std::span<std::byte> bytes) const {
  const bool bytes_of_booleans = dtype() == DType::boolean && as == DType::u8;
  if (dtype() != as && !bytes_of_booleans) {
    throw Error(ErrorCode::invalid_argument,
                formatted("The tensor holds {}, not {}; convert it with to() first.",
                          ::weft::name(dtype()), ::weft::name(as)));
  }
  graph::read_elements(*this, bytes);
}

namespace {

/// How many elements of a dimension are printed.
constexpr std::uint64_t shown = 8;

std::string number(DType dtype, double value) {
  if (std::isnan(value)) return "nan";
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return is_float(dtype) ? formatted("{:.6g}", value) : formatted("{:.0f}", value);
}

/// The elements of a dense tensor as texts. Doubles do not hold every i64.
std::vector<std::string> texts_of(const ops::View& view, std::span<const std::byte> bytes) {
  std::vector<std::string> texts;
  if (view.dtype == DType::i64) {
    for (std::size_t at = 0; at + sizeof(std::int64_t) <= bytes.size();
         at += sizeof(std::int64_t)) {
      std::int64_t value = 0;
      std::memcpy(&value, &bytes[at], sizeof value);
      texts.push_back(formatted("{}", value));
    }
    return texts;
  }
  for (const double value : ops::load_values(view, bytes)) {
    texts.push_back(number(view.dtype, value));
  }
  return texts;
}

/// Brackets round each dimension of a view, which has the first elements of a tensor of this shape.
void append_values(std::string& out, const Shape& shape, const ops::View& view,
                   std::span<const std::string> values, std::uint32_t dim, std::uint64_t first) {
  if (dim == view.rank) {
    out += values[first];
    return;
  }
  std::uint64_t below = 1;
  for (std::uint32_t i = dim + 1; i < view.rank; ++i) below *= view.shape[i];
  out += "[";
  for (std::uint64_t i = 0; i < view.shape[dim]; ++i) {
    if (i > 0) out += ", ";
    append_values(out, shape, view, values, dim + 1, first + i * below);
  }
  out += shape[dim] > shown ? ", …]" : "]";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.to_string();
}

std::string Tensor::to_string() const {
  if (is_quantized(dtype())) {
    return formatted("{} as {}", ::weft::name(dtype()), to(DType::f32).to_string());
  }
  eval();
  Tensor part = *this;  // Only what is printed comes back from the device.
  for (std::size_t dim = 0; dim < shape().size(); ++dim) {
    if (shape()[dim] > shown) part = part.slice(static_cast<int>(dim), 0, shown);
  }
  const ops::View view = ops::View::dense(dtype(), part.shape());
  std::vector<std::byte> bytes(view.bytes().size());
  part.read(dtype(), bytes);
  std::string out = formatted("{}{} ", ::weft::name(dtype()), ops::describe(shape()));
  append_values(out, shape(), view, texts_of(view, bytes), 0, 0);
  return out;
}

}  // namespace weft
