#include "weft/ops.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
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
Tensor operator/(In a, double b) {
  const bool whole = a.tensor && !is_float(a.tensor.dtype()) && !is_quantized(a.tensor.dtype()) &&
                     b == std::trunc(b);
  if (!whole) return map("scale", a, {1 / b, 0});
  return map("div", a, a.tensor.device().full({}, b, a.tensor.dtype(), a.where));
}
Tensor operator+(double a, In b) { return map("scale", b, {1, a}); }
Tensor operator-(double a, In b) { return map("scale", b, {-1, a}); }
Tensor operator*(double a, In b) { return map("scale", b, {a, 0}); }
Tensor operator/(double a, In b) { return map("reciprocal", b) * a; }

Tensor exp(In x) { return map("exp", x); }
Tensor log(In x) { return map("log", x); }
Tensor sqrt(In x) { return map("sqrt", x); }
Tensor tanh(In x) { return map("tanh", x); }
Tensor sigmoid(In x) { return map("sigmoid", x); }
Tensor relu(In x) { return map("relu", x); }
Tensor gelu(In x) { return map("gelu", x); }
Tensor silu(In x) { return map("silu", x); }
Tensor abs(In x) { return map("abs", x); }
Tensor sqr(In x) { return map("sqr", x); }
Tensor rsqrt(In x) { return map("rsqrt", x); }
Tensor sin(In x) { return map("sin", x); }
Tensor cos(In x) { return map("cos", x); }
Tensor erf(In x) { return map("erf", x); }
Tensor softplus(In x) { return map("softplus", x); }
Tensor pow(In x, const Tensor& exponent) { return map("pow", x, exponent); }
Tensor maximum(In a, const Tensor& b) { return map("max", a, b); }
Tensor minimum(In a, const Tensor& b) { return map("min", a, b); }
Tensor clamp(In x, double low, double high) { return map("clamp", x, {low, high}); }
Tensor swiglu(In a, const Tensor& b) { return map("swiglu", a, b); }
Tensor geglu(In a, const Tensor& b) { return map("geglu", a, b); }
Tensor reglu(In a, const Tensor& b) { return map("reglu", a, b); }
Tensor equal(In a, const Tensor& b) { return map("eq", a, b); }
Tensor not_equal(In a, const Tensor& b) { return map("ne", a, b); }
Tensor less(In a, const Tensor& b) { return map("lt", a, b); }
Tensor less_equal(In a, const Tensor& b) { return map("le", a, b); }
Tensor greater(In a, const Tensor& b) { return map("gt", a, b); }
Tensor greater_equal(In a, const Tensor& b) { return map("ge", a, b); }
Tensor where(In condition, const Tensor& a, const Tensor& b) {
  return map("where", {condition.tensor, a, b}, {}, condition.where);
}

Tensor reduce(std::string_view function, In x, const Dims& dims, bool keep_dims) {
  using ops::reduce::Function;
  const auto found = std::ranges::find_if(
      ops::reduce::all_functions, [&](Function f) { return ops::reduce::name(f) == function; });
  if (found == ops::reduce::all_functions.end()) {
    std::string known;
    for (const Function f : ops::reduce::all_functions)
      known += formatted(" {}", ops::reduce::name(f));
    throw Error(ErrorCode::not_found,
                formatted("There is no reduction named `{}`; there are{}. ({})", function, known,
                          graph::describe_place("reduce", x.where)));
  }
  const Shape& shape = x.tensor.shape();
  std::uint32_t axes = dims.empty() ? (1U << shape.size()) - 1U : 0;
  for (const std::uint32_t dim : dims) {
    if (dim >= shape.size()) {
      throw Error(
          ErrorCode::invalid_argument,
          formatted("Dimension {} of the reduction `{}` is not one of a tensor of shape "
                    "{}. ({})",
                    dim, function, ops::describe(shape), graph::describe_place("reduce", x.where)));
    }
    if ((axes >> dim & 1U) != 0) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Dimension {} is named twice in the reduction `{}`. ({})", dim,
                            function, graph::describe_place("reduce", x.where)));
    }
    axes |= 1U << dim;
  }
  // A mean or a norm of integers is seldom a whole number.
  const bool fraction = *found == Function::mean || *found == Function::norm;
  const Tensor input =
      fraction && !is_float(x.tensor.dtype()) ? x.tensor.to(DType::f32, x.where) : x.tensor;
  return make(kinds::reduce, graph::ReduceAttributes{*found, axes, keep_dims}, {input}, x.where);
}

Tensor sum(In x, const Dims& dims, bool keep_dims) { return reduce("sum", x, dims, keep_dims); }
Tensor mean(In x, const Dims& dims, bool keep_dims) { return reduce("mean", x, dims, keep_dims); }
Tensor max(In x, const Dims& dims, bool keep_dims) { return reduce("max", x, dims, keep_dims); }
Tensor min(In x, const Dims& dims, bool keep_dims) { return reduce("min", x, dims, keep_dims); }
Tensor prod(In x, const Dims& dims, bool keep_dims) { return reduce("prod", x, dims, keep_dims); }
Tensor argmax(In x, const Dims& dims, bool keep_dims) {
  return reduce("argmax", x, dims, keep_dims);
}
Tensor argmin(In x, const Dims& dims, bool keep_dims) {
  return reduce("argmin", x, dims, keep_dims);
}

Tensor softmax(In x, float scale) {
  return make(kinds::softmax, graph::SoftmaxAttributes{.scale = scale}, {x.tensor}, x.where);
}

Tensor log_softmax(In x) {
  return make(kinds::softmax, graph::SoftmaxAttributes{.log = true}, {x.tensor}, x.where);
}

Tensor softmax(In x, const SoftmaxOptions& options) {
  const graph::SoftmaxAttributes attributes{options.scale, options.log, options.max_bias};
  std::vector<Tensor> inputs{x.tensor};
  if (options.mask || options.sinks) inputs.insert(inputs.end(), {options.mask, options.sinks});
  return make(kinds::softmax, attributes, inputs, x.where);
}

Tensor layer_norm(In x, const Tensor& weight, const Tensor& bias, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::layer, eps},
              {x.tensor, weight, bias}, x.where);
}

Tensor rms_norm(In x, const Tensor& weight, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::rms, eps},
              {x.tensor, weight, Tensor()}, x.where);
}

Tensor l2_norm(In x, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::l2, eps},
              {x.tensor, Tensor(), Tensor()}, x.where);
}

Tensor group_norm(In x, std::uint64_t groups, const Tensor& weight, const Tensor& bias, float eps) {
  return make(kinds::norm, graph::NormAttributes{ops::norm::Kind::group, eps, groups},
              {x.tensor, weight, bias}, x.where);
}

Tensor matmul(In a, const Tensor& b, const MatmulOptions& options) {
  graph::MatmulAttributes attributes;
  attributes.dtype = options.dtype.value_or(a.tensor.dtype());
  attributes.allow_f16 = options.allow_f16;
  return make(kinds::matmul, attributes, {a.tensor, b}, a.where);
}

Tensor cross_entropy(In logits, const Tensor& labels) { return cross_entropy(logits, labels, {}); }

Tensor cross_entropy(In logits, const Tensor& labels, const CrossEntropyOptions& options) {
  const graph::CrossEntropyAttributes attributes{
      static_cast<ops::cross_entropy::Reduction>(options.reduction), options.ignored};
  const bool shares = labels && is_float(labels.dtype());
  return make(kinds::cross_entropy, attributes,
              {logits.tensor, shares ? Tensor() : labels, shares ? labels : Tensor()},
              logits.where);
}

Tensor attention(In q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 const Tensor& mask) {
  const Shape& shape = q.tensor.shape();
  const float size = shape.empty() ? 1 : static_cast<float>(shape.back());
  const float scale = options.scale != 0 ? options.scale : 1 / std::sqrt(size);
  Tensor fitted = mask;
  if (mask && mask.shape().size() < 4) {  // it repeats over the dimensions that it does not have
    Shape wide = mask.shape();
    wide.insert(wide.begin(), 4 - wide.size(), 1);
    fitted = mask.reshape(wide, q.where);
  }
  return make(kinds::attention,
              graph::AttentionAttributes{scale, options.soft_cap, options.causal, options.window,
                                         options.max_bias},
              {q.tensor, k, v, fitted, options.sinks}, q.where);
}

Tensor rope(In x, const RopeOptions& options, const Tensor& positions) {
  const Shape& shape = x.tensor.shape();
  auto all = shape.empty() ? 0U : static_cast<std::uint32_t>(shape.back());
  if (options.mode == RopeMode::vision) all /= 2;
  graph::RopeAttributes attributes;
  attributes.mode = static_cast<ops::rope::Mode>(options.mode);
  attributes.dims = options.dims != 0 ? options.dims : all;
  attributes.offset = options.offset;
  attributes.sections = options.sections;
  attributes.first = options.first;
  attributes.base = options.base;
  attributes.scale = options.scale;
  attributes.extrapolation = options.extrapolation;
  attributes.magnitude = options.magnitude;
  attributes.beta_fast = options.beta_fast;
  attributes.beta_slow = options.beta_slow;
  attributes.trained_context = options.trained_context;
  return make(kinds::rope, attributes, {x.tensor, positions, options.factors}, x.where);
}

Tensor sinusoid(In x, std::uint64_t size, double period) {
  return make(kinds::sinusoid, graph::SinusoidAttributes{size, period}, {x.tensor}, x.where);
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

SgdStep sgd(In weights, const Tensor& gradients, const Tensor& numbers, const Tensor& momentum,
            const AdamOptions& options) {
  const graph::AdamAttributes attributes{false, options.working.has_value(),
                                         options.working.value_or(DType::f16)};
  const auto node = graph::make_node(momentum ? kinds::sgd_momentum : kinds::sgd, attributes,
                                     {weights.tensor, gradients, momentum, numbers, options.scale},
                                     weights.where);
  const auto output = [&](std::uint32_t i) { return Access::tensor({node, i}); };
  return {output(0), momentum ? output(1) : Tensor(),
          options.working ? output(momentum ? 2 : 1) : Tensor()};
}

Clip clip_by_norm(const std::vector<Tensor>& gradients, float max_norm, const Tensor& loss_scale,
                  Where where) {
  std::vector<Tensor> inputs = gradients;
  inputs.push_back(loss_scale);
  const auto node = graph::make_node(kinds::clip, graph::ClipAttributes{max_norm}, inputs, where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

}  // namespace weft
