#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/ops/products.hpp"
#include "onnx/ops/quantize.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Operations of the domain com.microsoft that exporters write.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// x + skip + bias, its norm, and the sum.
Values skip_norm(Call& c, bool simple) {
  const std::size_t beta = simple ? 0 : 3;
  const std::size_t bias = simple ? 3 : 4;
  Tensor x = c.t(0) + c.t(1);
  if (c.has(bias)) x = x + c.t(bias);
  const auto eps = static_cast<float>(c.f("epsilon", 1e-12));
  const Tensor y =
      simple ? rms_norm(x, c.t(2), eps)
             : layer_norm(x, c.t(2), beta != 0 && c.has(beta) ? c.t(beta) : Tensor(), eps);
  return {y, Value(), Value(), x};
}

/// As LayerNormalization of one axis without a mean.
Values simple_norm(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.i("axis", -1), x.shape().size());
  if (static_cast<std::size_t>(axis) + 1 != x.shape().size())
    c.refuse("Only the last axis is done.");
  return {rms_norm(x, as(c.t(1), x.dtype()), static_cast<float>(c.f("epsilon", 1e-5)))};
}

Values bias_gelu(Call& c, std::string_view approximate) {
  Tensor x = c.t(0);
  if (c.has(1)) x = x + c.t(1);
  return {gelu(x, {.approximate = approximate})};
}

Values fused_matmul(Call& c) {
  Tensor a = c.t(0);
  Tensor b = c.t(1);
  // Rows that lie before the batches: [rows, batch…, columns].
  if (c.i("transBatchA", 0) != 0) a = movedim(a, 0, -2);
  if (c.i("transBatchB", 0) != 0) b = movedim(b, 0, -2);
  if (c.i("transA", 0) != 0) a = a.transpose();
  if (c.i("transB", 0) != 0) b = b.transpose();
  const Tensor y = matmul(a, b);
  const double alpha = c.f("alpha", 1);
  return {alpha == 1 ? y : y * alpha};
}

Tensor activated(const Call& c, const Tensor& x, const std::string& name) {
  const auto p = c.fs("activation_params");
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return leaky_relu(x, p.empty() ? 0.01 : p[0]);
  if (name == "Clip") return clamp(x, p.empty() ? -infinity : p[0], p.size() < 2 ? infinity : p[1]);
  if (name == "HardSigmoid")
    return clamp(x * (p.empty() ? 0.2 : p[0]) + (p.size() < 2 ? 0.5 : p[1]), 0, 1);
  c.refuse(formatted("The activation '{}' is not known.", name));
}

Values fused_conv(Call& c) {
  Tensor y = convolve(c, c.t(0), c.t(1), c.maybe(2));
  if (c.has(3)) y = y + c.t(3);
  return {activated(c, y, c.s("activation", ""))};
}

Values integer_to_float(Call& c) {
  const Tensor sums = whole_product(c.t(0), c.maybe(4), c.t(1), c.maybe(5)).to(DType::f32);
  Tensor y = sums * (c.t(2) * c.t(3));
  if (c.has(6)) y = y + c.t(6);
  return {y};
}

Values dynamic_matmul(Call& c) {
  const Dynamic x = dynamically_quantized(c.t(0));
  Tensor y = whole_product(x.y, x.zero, c.t(1), c.maybe(3)).to(DType::f32) * (x.scale * c.t(2));
  if (c.has(4)) y = y + c.t(4);
  return {y};
}

/// Embeddings of words, places and segments, their sum, and its norm.
Values embed_norm(Call& c) {
  const Tensor words = c.t(0);
  if (words.shape().size() != 2)
    c.wrong(formatted("{} are not the words of sequences.", describe(c.in(0))));
  const U batch = words.shape().at(0);
  const U length = words.shape().at(1);
  const Tensor places =
      c.has(8) ? c.t(8) : c.device().arange(length, 0, 1, DType::i32).reshape({1, length});
  const auto rows = [&](std::size_t table, const Tensor& at) {
    return as(take(c.t(table), at, 0), DType::f32);
  };
  Tensor sum = rows(2, words) + rows(3, places);
  if (c.has(1) && c.has(4)) sum = sum + rows(4, c.t(1));
  const DType dtype = c.t(2).dtype();
  const Tensor y = layer_norm(sum, as(c.t(5), DType::f32), as(c.t(6), DType::f32),
                              static_cast<float>(c.f("epsilon", 1e-12)));
  Tensor lengths = zeros(c.device(), {batch}, DType::i32);
  if (c.has(7)) {
    const Tensor mask = as(c.t(7), DType::i32);
    lengths = as(weft::sum(equal(mask, ones_like(mask)).to(DType::i32), {1}), DType::i32);
  }
  return {as(y, dtype), lengths, as(sum, dtype)};
}

/// x plus a bias for each channel, which lie last, and what was before.
Values bias_add(Call& c) {
  const Tensor x = c.t(0) + c.t(1);
  return {c.has(2) ? x + c.t(2) : x};
}

/// Norms of groups of channels, which lie last unless the node says otherwise; the second form
/// adds another image (or a number for each channel of it) and a bias first, and gives the sum.
Values group_norm_op(Call& c, bool skip) {
  const bool last = c.i("channels_last", 1) != 0;
  Tensor x = as(c.t(0), DType::f32);
  const Shape& shape = x.shape();
  if (shape.size() != 4) c.wrong(formatted("{} is no image.", describe(c.in(0))));
  Shape by_channel(4, 1);
  by_channel[last ? 3 : 1] = shape[last ? 3 : 1];
  if (skip) {
    Tensor more = as(c.t(3), DType::f32);
    if (more.shape().size() == 2) {
      Shape each = by_channel;
      each[0] = more.shape().at(0);
      more = more.reshape(each);
    }
    x = x + more;
    if (c.has(4)) x = x + as(c.t(4), DType::f32).reshape(by_channel);
  }
  Tensor y =
      group_norm(x, static_cast<U>(c.i("groups", 1)), as(c.t(1), DType::f32),
                 as(c.t(2), DType::f32), static_cast<float>(c.f("epsilon", 1e-5)), last ? 3 : 1);
  const I activation = c.i("activation", 0);
  if (activation != 0 && activation != 1)
    c.refuse(formatted("Activation {} is not known.", activation));
  if (activation == 1) y = y * sigmoid(y);
  const DType dtype = c.t(0).dtype();
  Values out{as(y, dtype)};
  if (skip) out.emplace_back(as(x, dtype));
  return out;
}

/// A convolution of [N, extents…, C]. The weights lie like the image, as those do that exporters
/// write, or, where only that fits, with their channels first.
Values nhwc_conv(Call& c) {
  const Tensor x = movedim(c.t(0), -1, 1);
  Tensor w = c.t(1);
  if (x.shape().size() < 3 || w.shape().size() != x.shape().size())
    c.wrong(
        formatted("{} and {} are not an image and weights.", describe(c.in(0)), describe(c.in(1))));
  const auto groups = static_cast<U>(std::max<I>(c.i("group", 1), 1));
  if (last_of(w.shape()) * groups == x.shape().at(1)) w = movedim(w, -1, 1);
  return {movedim(convolve(c, x, w, c.maybe(2)), 1, -1)};
}

/// An LSTM whose weights have 8 bits, [directions, input, 4 * hidden]. Its values are not quantized
/// as they go.
Values quantized_lstm(Call& c) {
  const auto weight = [&](std::size_t i, std::size_t scale) {
    const auto along = [&](const Tensor& t) {  // one for each direction, or for each column
      const U directions = c.shape(i).at(0);
      return as(t, DType::f32).reshape({directions, 1, t.size() / std::max<U>(directions, 1)});
    };
    Tensor w = as(c.t(i), DType::f32);
    if (c.has(scale + 1)) w = w - along(c.t(scale + 1));
    return (w * along(c.t(scale))).transpose();
  };
  Values inputs = c.inputs;
  inputs.resize(8);
  inputs[1] = weight(1, 8);
  inputs[2] = weight(2, 10);
  Call inner(c.context, c.node, c.scope, inputs, 14);
  return table().find("LSTM")->second(inner);
}

}  // namespace

void add_contrib(Table& table) {
  const auto add = [&](const std::string& name, Op op) { table["com.microsoft." + name] = op; };
  add("SkipLayerNormalization", +[](Call& c) { return skip_norm(c, false); });
  add("SkipSimplifiedLayerNormalization", +[](Call& c) { return skip_norm(c, true); });
  add("SimplifiedLayerNormalization", simple_norm);
  table["SimplifiedLayerNormalization"] = simple_norm;
  add("BiasGelu", +[](Call& c) { return bias_gelu(c, "none"); });
  add("Gelu", +[](Call& c) { return bias_gelu(c, "none"); });
  add("FastGelu", +[](Call& c) { return bias_gelu(c, "tanh"); });
  add(
      "QuickGelu", +[](Call& c) {
        const Tensor x = c.t(0);
        return Values{x * sigmoid(x * c.f("alpha", 1.702))};
      });
  add("FusedMatMul", fused_matmul);
  add("FusedConv", fused_conv);
  add("NhwcConv", nhwc_conv);
  add("EmbedLayerNormalization", embed_norm);
  add("BiasAdd", bias_add);
  add("GroupNorm", +[](Call& c) { return group_norm_op(c, false); });
  add("SkipGroupNorm", +[](Call& c) { return group_norm_op(c, true); });
  add("DynamicQuantizeLSTM", quantized_lstm);
  add("MatMulIntegerToFloat", integer_to_float);
  add("DynamicQuantizeMatMul", dynamic_matmul);
}

}  // namespace weft::onnx
