#include "weft/ops.hpp"

#include <algorithm>
#include <cmath>
#include <format>

#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

Tensor map(std::string_view function, const std::vector<Tensor>& inputs,
           std::array<double, 4> scalars, Where where) {
  return make(kinds::map,
              graph::MapAttributes{.function = std::string(function), .scalars = scalars}, inputs,
              where);
}

Tensor map(std::string_view function, In a, std::array<double, 4> scalars) {
  return map(function, std::vector{a.tensor}, scalars, a.where);
}

Tensor map(std::string_view function, In a, const Tensor& b, std::array<double, 4> scalars) {
  return map(function, std::vector{a.tensor, b}, scalars, a.where);
}

Tensor operator+(const Tensor& a, In b) { return map("add", {a, b.tensor}, {}, b.where); }
Tensor operator-(const Tensor& a, In b) { return map("sub", {a, b.tensor}, {}, b.where); }
Tensor operator*(const Tensor& a, In b) { return map("mul", {a, b.tensor}, {}, b.where); }
Tensor operator/(const Tensor& a, In b) { return map("div", {a, b.tensor}, {}, b.where); }
Tensor operator-(In a) { return map("neg", a); }
Tensor operator+(In a, double b) { return map("scale", a, {1, b}); }
Tensor operator-(In a, double b) { return map("scale", a, {1, -b}); }
Tensor operator*(In a, double b) { return map("scale", a, {b, 0}); }
Tensor operator/(In a, double b) { return map("scale", a, {1 / b, 0}); }
Tensor operator+(double a, In b) { return map("scale", b, {1, a}); }
Tensor operator-(double a, In b) { return map("scale", b, {-1, a}); }
Tensor operator*(double a, In b) { return map("scale", b, {a, 0}); }

Tensor exp(In x) { return map("exp", x); }
Tensor log(In x) { return map("log", x); }
Tensor sqrt(In x) { return map("sqrt", x); }
Tensor tanh(In x) { return map("tanh", x); }
Tensor sigmoid(In x) { return map("sigmoid", x); }
Tensor relu(In x) { return map("relu", x); }
Tensor gelu(In x) { return map("gelu", x); }
Tensor silu(In x) { return map("silu", x); }
Tensor where(In condition, const Tensor& a, const Tensor& b) {
  return map("where", {condition.tensor, a, b}, {}, condition.where);
}

Tensor reduce(std::string_view function, In x, const Dims& dims, bool keep_dims) {
  using ops::reduce::Function;
  const auto* found = std::ranges::find_if(
      ops::reduce::all_functions, [&](Function f) { return ops::reduce::name(f) == function; });
  if (found == ops::reduce::all_functions.end()) {
    throw Error(ErrorCode::not_found, std::format("There is no reduction named `{}`.", function));
  }
  const std::size_t rank = x.tensor.shape().size();
  std::uint32_t axes = dims.empty() ? (1U << rank) - 1U : 0;
  for (const std::uint32_t dim : dims) axes |= 1U << std::min(dim, ops::max_rank);
  return make(kinds::reduce, graph::ReduceAttributes{*found, axes, keep_dims}, {x.tensor}, x.where);
}

Tensor sum(In x, const Dims& dims, bool keep_dims) { return reduce("sum", x, dims, keep_dims); }
Tensor mean(In x, const Dims& dims, bool keep_dims) { return reduce("mean", x, dims, keep_dims); }
Tensor max(In x, const Dims& dims, bool keep_dims) { return reduce("max", x, dims, keep_dims); }
Tensor min(In x, const Dims& dims, bool keep_dims) { return reduce("min", x, dims, keep_dims); }

Tensor cumsum(In x, std::uint32_t dim, bool exclusive, bool reverse) {
  return make(kinds::cumsum, graph::CumsumAttributes{dim, exclusive, reverse}, {x.tensor}, x.where);
}

Tensor softmax(In x, float scale) {
  return make(kinds::softmax, graph::SoftmaxAttributes{.scale = scale}, {x.tensor}, x.where);
}

Tensor log_softmax(In x) {
  return make(kinds::softmax, graph::SoftmaxAttributes{.log = true}, {x.tensor}, x.where);
}

Tensor layer_norm(In x, const Tensor& weight, const Tensor& bias, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::layer, eps},
              {x.tensor, weight, bias}, x.where);
}

Tensor rms_norm(In x, const Tensor& weight, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::rms, eps},
              {x.tensor, weight, Tensor()}, x.where);
}

Tensor matmul(In a, const Tensor& b, const MatmulOptions& options) {
  graph::MatmulAttributes attributes;
  attributes.dtype = options.dtype.value_or(a.tensor.dtype());
  attributes.allow_f16 = options.allow_f16;
  return make(kinds::matmul, attributes, {a.tensor, b}, a.where);
}

Tensor concat(const std::vector<Tensor>& tensors, std::uint32_t dim, Where where) {
  if (tensors.empty()) {
    throw Error(ErrorCode::invalid_argument, "concat needs at least one tensor.");
  }
  return make(kinds::concat, graph::AxisAttributes{dim}, tensors, where);
}

Tensor pad(In x, const Shape& low, const Shape& high, double value) {
  return make(kinds::pad, graph::PadAttributes{low, high, value}, {x.tensor}, x.where);
}

Tensor embedding(In table, const Tensor& indices) {
  Shape shape = indices.shape();
  const Tensor flat = indices.reshape({indices.size()}, table.where);
  const Tensor rows = make(kinds::get_rows, {}, {table.tensor, flat}, table.where);
  shape.push_back(rows.shape().back());
  return rows.reshape(shape, table.where);
}

Tensor gather(In x, const Tensor& index, std::uint32_t dim) {
  return make(kinds::gather, graph::AxisAttributes{dim}, {x.tensor, index}, x.where);
}

Tensor scatter_add(In x, const Tensor& index, const Tensor& source, std::uint32_t dim) {
  return make(kinds::scatter_add, graph::AxisAttributes{dim}, {x.tensor, index, source}, x.where);
}

Tensor cross_entropy(In logits, const Tensor& labels) {
  return make(kinds::cross_entropy, {}, {logits.tensor, labels}, logits.where);
}

Tensor attention(In q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 const Tensor& mask) {
  const Shape& shape = q.tensor.shape();
  const float size = shape.empty() ? 1 : static_cast<float>(shape.back());
  const float scale = options.scale != 0 ? options.scale : 1 / std::sqrt(size);
  return make(kinds::attention,
              graph::AttentionAttributes{scale, options.soft_cap, options.causal, options.window},
              {q.tensor, k, v, mask}, q.where);
}

Tensor rope(In x, const RopeOptions& options, const Tensor& positions) {
  const Shape& shape = x.tensor.shape();
  const std::uint32_t all = shape.empty() ? 0 : static_cast<std::uint32_t>(shape.back());
  return make(kinds::rope,
              graph::RopeAttributes{.halves = options.halves,
                                    .dims = options.dims != 0 ? options.dims : all,
                                    .first = options.first,
                                    .base = options.base},
              {x.tensor, positions}, x.where);
}

Tensor dropout(In x, float rate, const Tensor& seed, std::uint32_t stream) {
  return make(kinds::dropout, graph::DropoutAttributes{rate, stream}, {x.tensor, seed}, x.where);
}

AdamStep adamw(In weights, const Tensor& gradients, const Tensor& m, const Tensor& v,
               const Tensor& numbers, const AdamOptions& options) {
  const graph::AdamAttributes attributes{options.coupled, options.working.has_value(),
                                         options.working.value_or(DType::f16)};
  const auto node =
      graph::make_node(kinds::adam, attributes,
                       {weights.tensor, gradients, m, v, numbers, options.scale}, weights.where);
  const auto output = [&](std::uint32_t i) { return Access::tensor({node, i}); };
  return {output(0), output(1), output(2), options.working ? output(3) : Tensor()};
}

Clip clip_by_norm(const std::vector<Tensor>& gradients, float max_norm, const Tensor& loss_scale,
                  Where where) {
  std::vector<Tensor> inputs{loss_scale};
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  const auto node = graph::make_node(kinds::clip, graph::ClipAttributes{max_norm}, inputs, where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

}  // namespace weft
