#include "weft/ops.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "api/arguments.hpp"
#include "api/axes.hpp"
#include "api/einsum.hpp"
#include "api/types.hpp"
#include "base/format.hpp"
#include "base/nearby.hpp"
#include "describe/attributes/attention.hpp"
#include "describe/attributes/norm.hpp"
#include "describe/attributes/rope.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/products.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/autodiff.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/shape.hpp"

namespace weft {

namespace kinds = graph::kinds;
using graph::make;

Tensor map(std::string_view function, const std::vector<Tensor>& inputs,
           std::array<double, 4> scalars, Where where) {
  const std::string_view mine = adapted(function, inputs, scalars);
  graph::MapAttributes attributes{.function = std::string(mine), .scalars = scalars};
  const auto real = [](const Tensor& t) { return t && is_float(t.dtype()); };
  if (std::ranges::all_of(inputs, real)) {  // as every function takes them
    return make(kinds::map, std::move(attributes), inputs, where);
  }
  return make(kinds::map, std::move(attributes), fitted(mine, inputs, where), where);
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
Tensor operator/(const Tensor& a, In b) {
  // Quotients of whole numbers are seldom whole; floor_divide() is for those that shall be.
  const auto real = [&](const Tensor& t) {
    return t && !is_float(t.dtype()) && !is_quantized(t.dtype()) ? t.to(DType::f32, b.where) : t;
  };
  const bool whole = a && b.tensor && !is_float(promote(a.dtype(), b.tensor.dtype()));
  if (!whole) return map("div", {a, b.tensor}, {}, b.where);
  return map("div", {real(a), real(b.tensor)}, {}, b.where);
}
Tensor operator-(In a) { return map("neg", a); }

namespace {

/// factor · x + bias, in the type that x and the numbers have together.
Tensor line(std::string_view function, In x, double factor, double bias) {
  const graph::Called called(function, x.where);
  const bool fraction = !std::isfinite(factor) || factor != std::trunc(factor);
  return map("scale", {beside(x, fraction ? factor : bias), x.where}, {factor, bias});
}

}  // namespace

Tensor operator+(In a, double b) { return line("add", a, 1, b); }
Tensor operator-(In a, double b) { return line("sub", a, 1, -b); }
// + 0 would lose the sign of -0
Tensor operator*(In a, double b) { return line("mul", a, b, -0.0); }
Tensor operator/(In a, double b) {
  // A power of two has an exact inverse; other numbers would be rounded twice.
  int exponent = 0;
  const bool exact = std::abs(std::frexp(b, &exponent)) == 0.5 && std::abs(exponent) < 100;
  const bool whole = a.tensor && !is_float(a.tensor.dtype()) && !is_quantized(a.tensor.dtype());
  const Tensor x = whole ? a.tensor.to(DType::f32, a.where) : a.tensor;
  return exact ? map("scale", {x, a.where}, {1 / b, -0.0}) : map("div_scalar", {x, a.where}, {b});
}
Tensor operator+(double a, In b) { return line("add", b, 1, a); }
Tensor operator-(double a, In b) { return line("sub", b, -1, a); }
Tensor operator*(double a, In b) { return line("mul", b, a, -0.0); }
Tensor operator/(double a, In b) {
  return a == 1 ? map("reciprocal", b) : map("scalar_div", b, {a});
}

namespace {

/// The elementwise function for a form of gelu (or of geglu).
std::string_view gelu_form(std::string_view function, const GeluOptions& options, In x) {
  const bool gated = function == "geglu";
  if (options.approximate == "none") return function;
  if (options.approximate == "tanh") return gated ? "geglu_tanh" : "gelu_tanh";
  if (options.approximate == "sigmoid") return gated ? "geglu_quick" : "gelu_quick";
  throw Error(
      ErrorCode::not_found,
      formatted("`approximate` of {} is \"none\", \"tanh\" or \"sigmoid\", not \"{}\" ({}).",
                function, options.approximate, graph::describe_place(function, x.where)));
}

}  // namespace

Tensor gelu(In x, const GeluOptions& options) { return map(gelu_form("gelu", options, x), x); }
Tensor geglu(In a, const Tensor& b, const GeluOptions& options) {
  return map(gelu_form("geglu", options, a), a, b);
}
Tensor reduce(std::string_view function, In x, const Dims& dims, bool keep_dims) {
  using ops::reduce::Function;
  const auto found = std::ranges::find_if(
      ops::reduce::all_functions, [&](Function f) { return ops::reduce::name(f) == function; });
  if (found == ops::reduce::all_functions.end()) {
    std::vector<std::string_view> names;
    for (const Function f : ops::reduce::all_functions) names.push_back(ops::reduce::name(f));
    throw Error(ErrorCode::not_found,
                formatted("There is no reduction named `{}`; {} ({})", function,
                          nearby(function, names), graph::describe_place("reduce", x.where)));
  }
  const Shape& shape = x.tensor.shape();
  std::uint32_t axes = dims.empty() ? (1U << shape.size()) - 1U : 0;
  for (const int dim : dims) {
    const std::uint32_t bit = 1U << axis_of(function, x, dim);
    if ((axes & bit) != 0) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("Dimension {} is named twice in the reduction `{}`. ({})", dim,
                            function, graph::describe_place(function, x.where)));
    }
    axes |= bit;
  }
  // A mean or a norm of integers is seldom a whole number.
  const bool fraction = *found == Function::mean || *found == Function::norm;
  const Tensor input =
      fraction && !is_float(x.tensor.dtype()) ? x.tensor.to(DType::f32, x.where) : x.tensor;
  if (input.dtype() == DType::i64) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < shape.size(); ++i) {
      if ((axes >> i & 1U) != 0) numbers.push_back(i);
    }
    if (numbers.empty()) {  // a scalar is a row of one
      return reduce_wide(function, {input.reshape({1}, x.where), x.where}, {0}, false);
    }
    return reduce_wide(function, {input, x.where}, numbers, keep_dims);
  }
  return make(kinds::reduce, graph::ReduceAttributes{*found, axes, keep_dims}, {input}, x.where);
}

namespace {

/// A softmax of the last dimension, or along another one through views.
Tensor softmax_along(std::string_view function, In x, int axis, const SoftmaxOptions& options,
                     bool log) {
  const std::uint32_t number = axis_of(function, x, axis);
  const bool last = number + 1 == x.tensor.shape().size();
  if (!last && (options.mask || options.sinks || options.max_bias != 0)) {
    throw Error(
        ErrorCode::unsupported,
        formatted("A mask, sinks and max_bias need the last axis; axis {} of a tensor of "
                  "shape {} is another ({}).",
                  axis, ops::describe(x.tensor.shape()), graph::describe_place(function, x.where)));
  }
  const graph::SoftmaxAttributes attributes{options.scale, log, options.max_bias};
  std::vector<Tensor> inputs{axis_to_last(x, number)};
  if (options.mask || options.sinks) inputs.insert(inputs.end(), {options.mask, options.sinks});
  return axis_from_last({make(kinds::softmax, attributes, inputs, x.where), x.where}, number);
}

/// A normalisation of the last dimension, or along another one through views.
Tensor norm_along(std::string_view function, ops::norm::Kind kind, In x, const Tensor& weight,
                  const Tensor& bias, float eps, int axis) {
  const std::uint32_t number = axis_of(function, x, axis);
  const Tensor y = make(kinds::norm, graph::NormAttributes{kind, eps},
                        {axis_to_last(x, number), weight, bias}, x.where);
  return axis_from_last({y, x.where}, number);
}

}  // namespace

Tensor softmax(In x, int axis, const SoftmaxOptions& options) {
  return softmax_along("softmax", x, axis, options, false);
}

Tensor log_softmax(In x, int axis, const SoftmaxOptions& options) {
  return softmax_along("log_softmax", x, axis, options, true);
}

Tensor layer_norm(In x, const Tensor& weight, const Tensor& bias, float eps, int axis) {
  return norm_along("layer_norm", ops::norm::Kind::layer, x, weight, bias, eps, axis);
}

Tensor rms_norm(In x, const Tensor& weight, float eps, int axis) {
  return norm_along("rms_norm", ops::norm::Kind::rms, x, weight, {}, eps, axis);
}

Tensor normalize(In x, int axis, float eps) {
  return norm_along("normalize", ops::norm::Kind::l2, x, {}, {}, eps, axis);
}

Tensor group_norm(In x, std::uint64_t groups, const Tensor& weight, const Tensor& bias, float eps,
                  int axis) {
  const graph::NormAttributes attributes{ops::norm::Kind::group, eps, groups};
  const std::uint32_t channels = axis_of("group_norm", x, axis);
  if (channels == 1) return make(kinds::norm, attributes, {x.tensor, weight, bias}, x.where);
  if (channels == 0) {
    throw Error(ErrorCode::invalid_argument,
                formatted("group_norm needs its channels behind the batch, which is axis 0; the "
                          "axis is {} of a tensor of shape {} ({}).",
                          axis, ops::describe(x.tensor.shape()),
                          graph::describe_place("group_norm", x.where)));
  }
  const int from = static_cast<int>(channels);
  const Tensor first = movedim(x, from, 1);
  const Tensor y = make(kinds::norm, attributes, {first, weight, bias}, x.where);
  return movedim({y, x.where}, 1, from);
}

namespace {

/// Whether elements are whole numbers or booleans.
bool is_whole(const Tensor& t) { return !is_float(t.dtype()) && !is_quantized(t.dtype()); }

/// A product of matrices of integers, which goes round the range of their type: sums of products by
/// letters.
Tensor whole_product(In a, const Tensor& b, const MatmulOptions& options) {
  const Shape& left = a.tensor.shape();
  const Shape& right = b.shape();
  if (left.size() < 2 || right.size() < 2 || left.back() != right[right.size() - 2]) {
    refuse("matmul", a.where,
           formatted("matmul needs [..., M, K] and [..., K, N]; the shapes are {} and {}.",
                     ops::describe(left), ops::describe(right)));
  }
  // Batches are counted from the matrices on, so that they meet as in broadcasting.
  const auto batches = [](std::size_t rank) {
    std::string letters;
    for (std::size_t i = rank - 2; i-- > 0;) letters += static_cast<char>('0' + i);
    return letters;
  };
  const std::string all = batches(std::max(left.size(), right.size()));
  const Tensor y = contract("matmul", {batches(left.size()) + "mk", batches(right.size()) + "kn"},
                            all + "mn", {a.tensor, b}, a.where);
  return options.dtype ? y.to(*options.dtype, a.where) : y;
}

/// A product in which one is a vector: a row on the left, a column on the right, which the result
/// does not have.
Tensor vector_product(In a, const Tensor& b, const MatmulOptions& options) {
  const graph::Called called("matmul", a.where);
  const Shape& left = a.tensor.shape();
  const Shape& right = b.shape();
  if (left.back() != right[right.size() < 2 ? 0 : right.size() - 2]) {
    refuse(
        "matmul", a.where,
        formatted("matmul needs [..., M, K] or [K] and [..., K, N] or [K]; the shapes are {} and "
                  "{}.",
                  ops::describe(left), ops::describe(right)));
  }
  const bool row = left.size() == 1;
  const bool column = right.size() == 1;
  const Tensor x = row ? a.tensor.reshape({1, left[0]}, a.where) : a.tensor;
  const Tensor y = column ? b.reshape({right[0], 1}, a.where) : b;
  const Tensor product = matmul(In(x, a.where), y, options);
  Shape shape = product.shape();
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return product.reshape(shape, a.where);
}

}  // namespace

Tensor matmul(In a, const Tensor& b, const MatmulOptions& options) {
  if (a.tensor && b && std::min(a.tensor.shape().size(), b.shape().size()) == 1) {
    return vector_product(a, b, options);
  }
  if (a.tensor && b && is_whole(a.tensor) && is_whole(b)) return whole_product(a, b, options);
  if (a.tensor && b && is_whole(a.tensor) != is_whole(b)) {
    const DType common = promote(a.tensor.dtype(), b.dtype());
    if (is_float(common)) {
      return matmul({a.tensor.to(common, a.where), a.where}, b.to(common, a.where), options);
    }
  }
  graph::MatmulAttributes attributes;
  attributes.dtype = a.tensor ? a.tensor.dtype() : DType::f32;
  if (a.tensor && b && is_float(attributes.dtype) && is_float(b.dtype())) {
    attributes.dtype = promote(attributes.dtype, b.dtype());
  }
  attributes.dtype = options.dtype.value_or(attributes.dtype);
  attributes.allow_f16 = options.allow_f16;
  return make(kinds::matmul, attributes, {a.tensor, b}, a.where);
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

}  // namespace weft
