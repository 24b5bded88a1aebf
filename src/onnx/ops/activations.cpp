#include <cmath>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

Tensor hard_sigmoid(const Tensor& x, double alpha, double beta) {
  return clamp(x * alpha + beta, 0, 1);
}

Values clip(Call& c) {
  Tensor x = c.t(0);
  if (c.opset < 11) {
    const double low = c.f("min", -3.4028234663852886e38);
    const double high = c.f("max", 3.4028234663852886e38);
    if (x.dtype() == DType::f16) return {clamp(x.to(DType::f32), low, high).to(DType::f16)};
    return {clamp(x, low, high)};
  }
  if (c.has(1)) x = as(maximum(x, c.t(1)), x.dtype());
  if (c.has(2)) x = as(minimum(x, c.t(2)), x.dtype());
  return {x};
}

Values prelu(Call& c) {
  const Tensor x = c.t(0);
  Tensor slope = c.t(1);
  if (c.opset < 7 && slope.shape().size() == 1 && slope.size() > 1) {  // one for each channel
    Shape shape(x.shape().size(), 1);
    shape.at(1) = slope.size();
    slope = slope.reshape(shape);
  }
  return {as(where(less(x, zeros_like(x)), x * slope, x), x.dtype())};
}

Values shrink(Call& c) {
  const Tensor x = c.t(0);
  const double lambda = c.f("lambd", 0.5);
  const double bias = c.f("bias", 0);
  const Tensor wide = is_float(x.dtype()) ? x : x.to(DType::f32);
  const Tensor zero = zeros_like(wide);
  const Tensor low = where(less(wide, full_like(wide, -lambda)), wide + bias, zero);
  return {as(where(greater(wide, full_like(wide, lambda)), wide - bias, low), x.dtype())};
}

/// Softmax and its kin: before opset 13 over all dimensions from an axis on.
template <class Function>
Values along(Call& c, Function function) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  if (rank == 0) return {function(x.reshape({1}), 0).reshape({})};
  const int axis = int_axis(c, c.i("axis", c.opset < 13 ? 1 : -1), rank);
  if (c.opset >= 13) return {function(x, axis)};
  std::uint64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= x.shape().at(static_cast<std::size_t>(d));
  const std::uint64_t columns = rows == 0 ? 1 : x.size() / rows;
  return {function(x.reshape({rows, columns}), 1).reshape(x.shape())};
}

Tensor hardmax(const Tensor& x, int axis) {
  const Tensor best = argmax(x, {axis}, true);
  Shape shape(x.shape().size(), 1);
  shape[static_cast<std::size_t>(axis)] = x.shape().at(static_cast<std::size_t>(axis));
  const Device device = x.device();
  const Tensor places =
      device.arange(shape[static_cast<std::size_t>(axis)], 0, 1, DType::i32).reshape(shape);
  return equal(places, best).to(x.dtype());
}

}  // namespace

void add_activations(Table& table) {
  table["Relu"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{is_float(x.dtype()) ? relu(x) : maximum(x, zeros_like(x))};
  };
  table["LeakyRelu"] = +[](Call& c) { return Values{leaky_relu(c.t(0), c.f("alpha", 0.01))}; };
  table["Elu"] = +[](Call& c) { return Values{elu(c.t(0), c.f("alpha", 1))}; };
  table["Celu"] = +[](Call& c) {
    const double alpha = c.f("alpha", 1);
    return Values{elu(c.t(0) / alpha, 1) * alpha};
  };
  table["Selu"] = +[](Call& c) {
    return Values{elu(c.t(0), c.f("alpha", 1.67326319217681884765625)) *
                  c.f("gamma", 1.05070102214813232421875)};
  };
  table["HardSigmoid"] =
      +[](Call& c) { return Values{hard_sigmoid(c.t(0), c.f("alpha", 0.2), c.f("beta", 0.5))}; };
  table["HardSwish"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{hardswish(x)};
  };
  table["ThresholdedRelu"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{where(greater(x, full_like(x, c.f("alpha", 1))), x, zeros_like(x))};
  };
  table["Softplus"] = +[](Call& c) { return Values{softplus(c.t(0))}; };
  table["Softsign"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{x / (abs(x) + 1)};
  };
  table["Mish"] = +[](Call& c) { return Values{mish(c.t(0))}; };
  table["Gelu"] = +[](Call& c) {
    return Values{
        gelu(c.t(0), {.approximate = c.s("approximate", "none") == "tanh" ? "tanh" : "none"})};
  };
  table["Swish"] = +[](Call& c) {
    const Tensor x = c.t(0);
    return Values{x * sigmoid(x * c.f("alpha", 1))};
  };
  table["Clip"] = clip;
  table["PRelu"] = prelu;
  table["Shrink"] = shrink;
  table["Softmax"] =
      +[](Call& c) { return along(c, [](const Tensor& x, int axis) { return softmax(x, axis); }); };
  table["LogSoftmax"] = +[](Call& c) {
    return along(c, [](const Tensor& x, int axis) { return log_softmax(x, axis); });
  };
  table["Hardmax"] = +[](Call& c) { return along(c, hardmax); };
  // In inference nothing is dropped; the random family has the training form.
}

}  // namespace weft::onnx
