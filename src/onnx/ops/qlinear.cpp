#include <algorithm>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/ops/quantize.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Operations of com.microsoft on whole numbers of 8 bits that have a scale and a zero point: they
// are those of ONNX on the numbers that these stand for.

namespace weft::onnx {
namespace {

/// The one number of an input, which exporters write with or without a dimension.
Tensor single(const Call& c, std::size_t i) {
  if (c.in(i).size() != 1)
    c.refuse(formatted("A scale or zero point {} that is not one number is not done.",
                       describe(c.in(i))));
  return as(c.t(i).reshape({}), DType::f32);
}

/// The numbers that input i stands for: its scale and its zero point (which may be left out) are
/// the inputs after it.
Tensor real(const Call& c, std::size_t i) {
  Tensor x = as(c.t(i), DType::f32);
  if (c.has(i + 2)) x = x - single(c, i + 2);
  return x * single(c, i + 1);
}

/// Numbers as those of 8 bits again, with the scale in input i and the zero point after it.
Values whole(const Call& c, const Tensor& y, std::size_t i, std::size_t like = 0) {
  return {quantized(y, single(c, i), c.has(i + 1) ? single(c, i + 1) : Tensor(),
                    c.has(i + 1) ? c.t(i + 1).dtype() : c.t(like).dtype())};
}

/// An image with its channels before its extents, where they come last, and the way back.
Tensor channels_first(const Call& c, const Tensor& x) {
  return c.i("channels_last", 0) != 0 ? movedim(x, -1, 1) : Tensor(x);
}
Tensor as_given(const Call& c, const Tensor& y) {
  return c.i("channels_last", 0) != 0 ? movedim(y, 1, -1) : Tensor(y);
}

/// An operation of ONNX on other inputs, with this node's attributes.
Tensor through(const Call& c, std::string_view op, const Tensor& x) {
  Call inner(c.context, c.node, c.scope, {Value(x)}, 19);
  return table().find(op)->second(inner).at(0).on(c.device());
}

Values pooled(Call& c, std::string_view op) {
  if (c.shape(0).size() < 3) c.wrong(formatted("{} is no image.", describe(c.in(0))));
  return whole(c, as_given(c, through(c, op, channels_first(c, real(c, 0)))), 3);
}

Values softmax_op(Call& c) {
  const Tensor x = real(c, 0);
  const std::size_t axis = axis_of(c, c.i("axis", -1), x.shape().size());
  if (c.i("opset", 13) >= 13) return whole(c, softmax(x, static_cast<int>(axis)), 3);
  Shape flat{1, 1};  // Before, all dimensions from the axis on were one.
  for (std::size_t d = 0; d < x.shape().size(); ++d) flat[d < axis ? 0 : 1] *= x.shape()[d];
  return whole(c, softmax(x.reshape(flat)).reshape(x.shape()), 3);
}

Values reduce_mean(Call& c) {
  const Tensor x = real(c, 0);
  std::vector<int> axes = int_axes(c, c.is("axes"), x.shape().size());
  return whole(c, mean(x, axes, c.i("keepdims", 1) != 0), 3);
}

/// The scale and the zero point of the result, then each part with its own.
Values concat_op(Call& c) {
  if (c.inputs.size() < 5 || c.inputs.size() % 3 != 2)
    c.wrong(
        formatted("{} inputs are not parts with a scale and a zero point each.", c.inputs.size()));
  std::vector<Tensor> parts;
  for (std::size_t i = 2; i < c.inputs.size(); i += 3) parts.push_back(real(c, i));
  const int axis = int_axis(c, c.i("axis", 0), parts.front().shape().size());
  return whole(c, concat(parts, axis), 0, 2);
}

/// alpha · a · b + c for matrices; c has 32 bits, and the scale of the product. Without a scale for
/// the result it is f32.
Values gemm(Call& c) {
  Tensor a = c.t(0);
  Tensor b = c.t(3);
  if (a.shape().size() != 2 || b.shape().size() != 2)
    c.wrong(formatted("{} and {} are not matrices.", describe(c.in(0)), describe(c.in(3))));
  if (c.i("transA", 0) != 0) a = a.transpose();
  if (c.i("transB", 0) != 0) b = b.transpose();
  Tensor sums = whole_product(a, c.maybe(2), b, c.maybe(5));
  if (c.has(6)) sums = sums + c.t(6);
  const Tensor scale = c.in(4).size() == 1 ? single(c, 4) : as(c.t(4), DType::f32);
  const Tensor y = sums.to(DType::f32) * (single(c, 1) * scale * c.f("alpha", 1));
  return c.has(7) ? whole(c, y, 7) : Values{y};
}

}  // namespace

void add_qlinear(Table& table) {
  const auto add = [&](const std::string& name, Op op) {
    table["com.microsoft.QLinear" + name] = op;
  };
  add("Add", +[](Call& c) { return whole(c, real(c, 0) + real(c, 3), 6); });
  add("Mul", +[](Call& c) { return whole(c, real(c, 0) * real(c, 3), 6); });
  add("Sigmoid", +[](Call& c) { return whole(c, sigmoid(real(c, 0)), 3); });
  add(
      "LeakyRelu",
      +[](Call& c) { return whole(c, leaky_relu(real(c, 0), c.f("alpha", 0.01)), 3); });
  add("AveragePool", +[](Call& c) { return pooled(c, "AveragePool"); });
  add("GlobalAveragePool", +[](Call& c) { return pooled(c, "GlobalAveragePool"); });
  add("ReduceMean", reduce_mean);
  add("Softmax", softmax_op);
  add("Concat", concat_op);
  add("Where", +[](Call& c) { return whole(c, where(c.t(0), real(c, 1), real(c, 4)), 7, 1); });
  table["com.microsoft.QGemm"] = gemm;
}

}  // namespace weft::onnx
