#include <algorithm>

#include "onnx/ops/blocks.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/contrib.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/sequence.hpp"
#include "weft/shape.hpp"

// Mixtures of experts of com.microsoft: only the weights of the experts that a token chooses are
// multiplied.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// The weights of a layer of all experts, [experts, results, inputs], and their biases.
struct Layer {
  Tensor weight;
  Tensor bias;
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& ids) const {
    const Tensor y = grouped_linear(x, weight, ids);
    return bias ? y + as(take(bias, ids, 0), DType::f32) : y;
  }
};

/// Half of a layer's results are a gate for the other half.
Tensor gated(const Call& c, const Tensor& both, I fusion) {
  const U half = last_of(both.shape()) / 2;
  Tensor gate = fusion == 1 ? both.slice(-1, 0, half, 2) : both.slice(-1, 0, half);
  Tensor line =
      fusion == 1 ? both.slice(-1, 1, half, 2) : both.slice(-1, static_cast<I>(half), half);
  if (const double limit = c.f("swiglu_limit", 0); limit > 0) {
    gate = minimum(gate, full_like(gate, limit));
    line = clamp(line, -limit, limit);
  }
  return gate * sigmoid(gate * c.f("activation_alpha", 1)) * (line + c.f("activation_beta", 0));
}

Tensor activated(const Call& c, const Tensor& x) {
  const std::string name = c.s("activation_type", "relu");
  if (name == "relu") return relu(x);
  if (name == "gelu") return gelu(x, {.approximate = "none"});
  if (name == "silu") return silu(x);
  if (name == "identity") return x;
  c.refuse(formatted("The activation '{}' is not known.", name));
}

/// Tokens through the experts that they choose.
Values mixed(const Call& c, const Layer& first, const Layer& second, const Layer& third) {
  if (c.i("use_sparse_mixer", 0) != 0) c.refuse("The sparse mixer is not done.");
  const Tensor given = c.t(0);
  if (given.shape().empty()) c.wrong(formatted("{} are no tokens.", describe(c.in(0))));
  const U width = last_of(given.shape());
  const U tokens = width == 0 ? 0 : given.size() / width;
  const Tensor logits = as(c.t(1), DType::f32);
  const I count = c.i("k", 1);
  if (logits.shape().size() != 2 || logits.shape().at(0) != tokens ||
      logits.shape().at(1) != first.weight.shape().at(0) || count < 1 ||
      static_cast<U>(count) > logits.shape().at(1))
    c.wrong(formatted("{} does not choose {} of {} experts for {} tokens.", describe(c.in(1)),
                      count, first.weight.shape().at(0), tokens));
  const Routed chosen =
      route(logits, static_cast<U>(count), {.normalize = c.i("normalize_routing_weights", 0) != 0});
  const Tensor x = given.reshape({tokens, 1, width});
  Tensor inner = first(x, chosen.ids);
  if (c.s("activation_type", "relu") == "swiglu") {
    const I fusion = c.i("swiglu_fusion", 0);
    if (fusion == 0 && !third.weight) c.wrong("swiglu needs a third layer, or swiglu_fusion.");
    inner = fusion == 0 ? silu(inner) : gated(c, inner, fusion);
  } else {
    inner = activated(c, inner);
  }
  if (third.weight) inner = inner * third(x, chosen.ids);
  const Tensor y = second(as(inner, given.dtype()), chosen.ids);
  const Tensor total = sum(y * chosen.weights.reshape({tokens, static_cast<U>(count), 1}), {1});
  return {as(total, given.dtype()).reshape(given.shape())};
}

/// Weights [experts, results, inputs], or, as older versions have them, the other way round.
Tensor weights_for(const Call& c, std::size_t input, U inputs) {
  const Tensor w = c.t(input);
  const Shape& s = w.shape();
  if (s.size() != 3 || (s[2] != inputs && s[1] != inputs))
    c.wrong(
        formatted("{} are no weights of experts for {} numbers.", describe(c.in(input)), inputs));
  return s[2] == inputs ? w : w.permute({0, 2, 1});
}

Values experts(Call& c) {
  const U width = c.shape(0).empty() ? 0 : last_of(c.shape(0));
  const Layer first{.weight = weights_for(c, 2, width), .bias = c.maybe(3)};
  const Layer third{.weight = c.has(6) ? weights_for(c, 6, width) : Tensor(), .bias = c.maybe(7)};
  U inner = first.weight.shape().at(1);
  if (c.s("activation_type", "relu") == "swiglu" && c.i("swiglu_fusion", 0) != 0) inner /= 2;
  return mixed(c, first, {.weight = weights_for(c, 4, inner), .bias = c.maybe(5)}, third);
}

/// Weights of 4 or 8 bits [experts, results, bytes], with a scale for each row or each block.
Layer quantized_layer(Call& c, std::size_t input, U inputs) {
  const I bits = c.i("expert_weight_bits", 4);
  const Shape& s = c.shape(input);
  const U each = bits == 8 ? 1 : 2;
  if ((bits != 4 && bits != 8) || s.size() != 3 || s[2] * each != inputs)
    c.wrong(formatted("{} are no weights of {} bits for {} numbers.", describe(c.in(input)), bits,
                      inputs));
  const U rows = s[0] * s[1];
  const U scales = rows == 0 ? 0 : c.in(input + 1).size() / rows;
  if (scales == 0 || inputs % scales != 0 || c.in(input + 1).size() != rows * scales)
    c.wrong(formatted("{} are no scales of {}.", describe(c.in(input + 1)), describe(c.in(input))));
  const Blocks from{.numbers = c.in(input),
                    .scales = c.in(input + 1),
                    .zeros = {},
                    .bits = bits,
                    .rows = rows,
                    .blocks = scales,
                    .block = inputs / scales};
  const Shape shape{s[0], s[1], inputs};
  const Repacked made = repacked(c.context, from, shape);
  if (made.weights.size() == 1) return {.weight = made.weights[0], .bias = c.maybe(input + 2)};
  const Tensor wide = expanded(c.device(), from).reshape(shape);
  return {.weight = as(wide, c.t(0).dtype()), .bias = c.maybe(input + 2)};
}

Values quantized_experts(Call& c) {
  for (std::size_t i = 11; i < 14; ++i)
    if (c.has(i)) c.refuse("Zero points of experts are not done.");
  const U width = c.shape(0).empty() ? 0 : last_of(c.shape(0));
  const Layer first = quantized_layer(c, 2, width);
  const Layer third = c.has(8) ? quantized_layer(c, 8, width) : Layer();
  U inner = first.weight.shape().at(1);
  if (c.s("activation_type", "relu") == "swiglu" && c.i("swiglu_fusion", 0) != 0) inner /= 2;
  return mixed(c, first, quantized_layer(c, 5, inner), third);
}

}  // namespace

void add_contrib_experts(Table& table) {
  table["com.microsoft.MoE"] = experts;
  table["com.microsoft.QMoE"] = quantized_experts;
}

}  // namespace weft::onnx
