#include <algorithm>
#include <cmath>

#include "onnx/ops/common.hpp"
#include "onnx/ops/contrib.hpp"
#include "onnx/ops/quantize.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/linalg.hpp"
#include "weft/math.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

// Operations of com.microsoft that are others of ONNX, or two of them in one.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// An operation of ONNX with this node's attributes.
Values like(Call& c, std::string_view op, const Values& inputs, I opset) {
  Call inner(c.context, c.node, c.scope, inputs, opset);
  return table().find(op)->second(inner);
}

template <std::size_t N>
struct Name {
  char text[N];  // NOLINT: of a template's argument
  consteval Name(const char (&from)[N]) { std::copy_n(from, N, text); }  // NOLINT
};
template <Name op, I opset>
Values same(Call& c) {
  return like(c, op.text, c.inputs, opset);
}

Tensor activated(const Call& c, const Tensor& x, const std::string& name, const std::string& at) {
  const auto number = [&](const char* which, double otherwise) {
    return c.f(at + "_" + which, otherwise);
  };
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Gelu") return gelu(x, {.approximate = "none"});
  if (name == "FastGelu") return gelu(x, {.approximate = "tanh"});
  if (name == "Softplus") return softplus(x);
  if (name == "Softsign") return x / (abs(x) + 1);
  if (name == "LeakyRelu") return leaky_relu(x, number("alpha", 0.01));
  if (name == "Elu") return elu(x, number("alpha", 1));
  if (name == "HardSigmoid") return clamp(x * number("alpha", 0.2) + number("beta", 0.5), 0, 1);
  c.refuse(formatted("The activation '{}' is not known.", name));
}

Values fused_gemm(Call& c) {
  const Tensor y = like(c, "Gemm", c.inputs, 13).at(0).on(c.device());
  return {activated(c, y, c.s("activation", ""), "activation")};
}

Values fused_matmul_activation(Call& c) {
  const Tensor y = table().find("com.microsoft.FusedMatMul")->second(c).at(0).on(c.device());
  return {activated(c, y, c.s("activation", ""), "activation")};
}

/// A softmax of x + bias over all dimensions from an axis on; the bias repeats along the first
/// dimensions, or along those right before the axis.
Values bias_softmax(Call& c) {
  const Tensor x = c.t(0);
  Tensor bias = c.t(1);
  const std::size_t rank = x.shape().size();
  const std::size_t axis = axis_of(c, c.i("axis", 1), rank);
  if (c.i("is_inner_broadcast", 1) != 0) {
    Shape shape = bias.shape();
    while (shape.size() < rank && !shape.empty() && bias.shape().size() > rank - axis)
      shape.insert(shape.end() - static_cast<std::ptrdiff_t>(rank - axis), 1);
    bias = bias.reshape(shape);
  }
  const Tensor sum = x + bias;
  U rows = 1;
  for (std::size_t d = 0; d < axis; ++d) rows *= x.shape().at(d);
  return {softmax(sum.reshape({rows, rows == 0 ? 1 : x.size() / rows}), 1).reshape(x.shape())};
}

Values distances(Call& c) {
  const std::string metric = c.s("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    c.refuse(formatted("The metric '{}' is not known.", metric));
  const Tensor y = cdist(c.t(0), c.t(1));
  return {metric == "euclidean" ? y : y * y};
}

Values split_gelu(Call& c) {
  const Tensor x = c.t(0) + c.t(1);
  const U half = last_of(x.shape()) / 2;
  return {x.slice(-1, 0, half) *
          gelu(x.slice(-1, static_cast<I>(half), half), {.approximate = "none"})};
}

/// A pool of an image whose channels come last.
Values nhwc_max_pool(Call& c) {
  const Tensor x = movedim(c.t(0), -1, 1);
  const DType dtype = c.t(0).dtype();
  const Tensor y = like(c, "MaxPool", {Value(x)}, 12).at(0).on(c.device());
  return {as(movedim(y, 1, -1), dtype)};
}

/// As QLinearConv, also of images whose channels come last; the weights lie as ONNX has them.
Values quantized_conv(Call& c) {
  if (c.i("channels_last", 0) == 0) return like(c, "QLinearConv", c.inputs, 10);
  Values inputs = c.inputs;
  inputs.at(0) = movedim(c.t(0), -1, 1);
  return {movedim(like(c, "QLinearConv", inputs, 10).at(0).on(c.device()), 1, -1)};
}

/// One bias for each distance of a query and a key: [1, heads, queries, keys], where near distances
/// have a place each in the table [places, heads] and far ones share them in steps that grow.
Values relative_bias(Call& c) {
  const Shape& table = c.shape(0);
  const I queries = c.scalar_int(1);
  const I keys = c.scalar_int(2);
  const I far = c.i("max_distance", 128);
  const bool both_ways = c.i("is_bidirectional", 0) != 0;
  constexpr I most = 1 << 16;
  if (table.size() != 2 || table[0] < 2 || queries < 0 || keys < 0 || queries > most ||
      keys > most || queries * keys > I{1} << 22)
    c.wrong(
        formatted("{} is no table of {} queries and {} keys.", describe(c.in(0)), queries, keys));
  const I places = static_cast<I>(table[0]) / (both_ways ? 2 : 1);
  const I near = places / 2;
  std::vector<I> at;
  for (I q = 0; q < queries; ++q) {
    for (I k = 0; k < keys; ++k) {
      I way = q - k;
      const I start = both_ways && way < 0 ? places : 0;
      way = both_ways ? std::abs(way) : std::max<I>(way, 0);
      if (way >= near) {
        const double part = std::log(static_cast<double>(way) / static_cast<double>(near)) /
                            std::log(static_cast<double>(far) / static_cast<double>(near));
        way =
            std::min(near + static_cast<I>(part * static_cast<double>(places - near)), places - 1);
      }
      at.push_back(start + way);
    }
  }
  const Value index = array_of(Type::i32, {static_cast<U>(queries * keys)}, at);
  const Tensor rows = take(c.t(0), index.on(c.device()), 0);
  return {rows.transpose().reshape({1, table[1], static_cast<U>(queries), static_cast<U>(keys)})};
}

}  // namespace

void add_contrib_more(Table& table) {
  const auto add = [&](const std::string& name, Op op) { table["com.microsoft." + name] = op; };
  add("TransposeMatMul", table.at("com.microsoft.FusedMatMul"));
  add("Trilu", same<"Trilu", 14>);
  add("GridSample", same<"GridSample", 16>);
  add("GatherND", same<"GatherND", 13>);
  add("Pad", same<"Pad", 13>);
  add("Range", same<"Range", 11>);
  add("FusedGemm", fused_gemm);
  add("FusedMatMulActivation", fused_matmul_activation);
  add(
      "GemmFastGelu", +[](Call& c) {
        Tensor y = matmul(c.t(0), c.t(1));
        if (c.has(2)) y = y + c.t(2);
        return Values{gelu(y, {.approximate = "tanh"})};
      });
  add("BiasSoftmax", bias_softmax);
  add("BiasSplitGelu", split_gelu);
  add("CDist", distances);
  add(
      "Inverse",
      +[](Call& c) { return Values{as(inverse(as(c.t(0), DType::f32)), c.t(0).dtype())}; });
  add("NhwcMaxPool", nhwc_max_pool);
  add("QLinearConv", quantized_conv);
  add("RelativePositionBias", relative_bias);
}

}  // namespace weft::onnx
