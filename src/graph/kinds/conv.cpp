#include "ops/conv/conv.hpp"

#include <algorithm>

#include "graph/attributes/windows.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/windows.hpp"

namespace weft::graph::kinds {
namespace {

// One set of tensors, whichever of them is computed: an image [N, C, spatial…], its windows'
// results [N, OC, o…] and weights [OC, C / groups, k…]. Each of the three kinds is the derivative
// of the other two.

Status need_images(const Signature& s, std::string_view what) {
  const auto& a = as<ConvAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  const Type& y = s.inputs[1];
  const bool fits = y.given && is_float(x.dtype) && is_float(y.dtype) && x.rank() >= 3 &&
                    x.rank() <= 5 && y.rank() == x.rank() && a.axes.size() == x.rank() - 2 &&
                    a.high.size() == a.axes.size() && a.groups >= 1 &&
                    (a.spatial.empty() || a.spatial.size() == a.axes.size()) && countable(x) &&
                    countable(y);
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              "{} needs floats with 1 to 3 spatial dimensions and strides, paddings and dilations "
              "for each of them; it was given {} and {} with {} of these and {} groups.",
              what, describe(x), describe(y), a.axes.size(), a.groups);
}

Status need_channels(bool fit, const Signature& s, std::string_view what) {
  if (fit) return {};
  return fail(ErrorCode::invalid_argument, "The channels of {} and {} do not fit {} in {} groups.",
              describe(s.inputs[0]), describe(s.inputs[1]), what,
              as<ConvAttributes>(s.attributes).groups);
}

Status need_bias(const Signature& s, std::uint64_t channels) {
  if (s.inputs.size() < 3 || !s.inputs[2].given || s.inputs[2].shape == Shape{channels}) return {};
  return fail(ErrorCode::invalid_argument, "The bias of {} channels is {}.", channels,
              describe(s.inputs[2]));
}

Result<std::vector<Type>> infer_conv(const Signature& s) {
  const auto& a = as<ConvAttributes>(s.attributes);
  if (const Status ok = need_images(s, "A convolution"); !ok) return std::unexpected(ok.error());
  const Shape& x = s.inputs[0].shape;
  const Shape& w = s.inputs[1].shape;
  const bool fit = x[1] == w[1] * a.groups && w[0] % a.groups == 0;
  if (const Status ok = need_channels(fit, s, "a convolution"); !ok)
    return std::unexpected(ok.error());
  if (const Status ok = need_bias(s, w[0]); !ok) return std::unexpected(ok.error());
  const Shape kernel(w.begin() + 2, w.end());
  auto spatial = window_counts(s.inputs[0], kernel, a.axes, a.high, a.spatial);
  if (!spatial) return std::unexpected(spatial.error());
  Shape shape{x[0], w[0]};
  shape.insert(shape.end(), spatial->begin(), spatial->end());
  return one(a.dtype, shape);
}

Result<std::vector<Type>> infer_transposed(const Signature& s) {
  const auto& a = as<ConvAttributes>(s.attributes);
  if (const Status ok = need_images(s, "A transposed convolution"); !ok)
    return std::unexpected(ok.error());
  const Shape& x = s.inputs[0].shape;
  const Shape& w = s.inputs[1].shape;
  const bool fit = x[1] == w[0] && w[0] % a.groups == 0;
  if (const Status ok = need_channels(fit, s, "a transposed convolution"); !ok)
    return std::unexpected(ok.error());
  if (const Status ok = need_bias(s, w[1] * a.groups); !ok) return std::unexpected(ok.error());
  Shape shape{x[0], w[1] * a.groups};
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (!a.spatial.empty()) {
      shape.push_back(a.spatial[i]);
      continue;
    }
    const ops::unfold::Axis& axis = a.axes[i];
    const auto covered = x[i + 2] == 0 || w[i + 2] == 0
                             ? std::int64_t{0}
                             : static_cast<std::int64_t>((x[i + 2] - 1) * axis.stride +
                                                         (w[i + 2] - 1) * axis.dilation + 1);
    const std::int64_t extent = covered - 2 * axis.pad + static_cast<std::int64_t>(a.high[i]);
    if (extent < 0) {
      return fail(ErrorCode::invalid_argument,
                  "A transposed convolution of {} with {} covers {} elements of dimension {}; "
                  "a padding of {} leaves none.",
                  describe(s.inputs[0]), describe(s.inputs[1]), covered, i + 2, axis.pad);
    }
    shape.push_back(static_cast<std::uint64_t>(extent));
  }
  return one(a.dtype, shape);
}

Result<std::vector<Type>> infer_weight(const Signature& s) {
  const auto& a = as<ConvAttributes>(s.attributes);
  if (const Status ok = need_images(s, "The gradient of weights"); !ok)
    return std::unexpected(ok.error());
  const Shape& x = s.inputs[0].shape;
  const Shape& dy = s.inputs[1].shape;
  const bool fit = x[0] == dy[0] && x[1] % a.groups == 0 && dy[1] % a.groups == 0 &&
                   a.spatial.size() == a.axes.size();
  if (const Status ok = need_channels(fit, s, "a convolution"); !ok)
    return std::unexpected(ok.error());
  Shape shape{dy[1], x[1] / a.groups};
  shape.insert(shape.end(), a.spatial.begin(), a.spatial.end());
  return one(a.dtype, shape);
}

template <class Args>
Args common(const LowerArgs& l) {
  const auto& a = as<ConvAttributes>(l.attributes);
  Args args;
  args.x = l.inputs[0];
  args.axes = a.axes;
  args.groups = a.groups;
  args.allow_f16 = a.allow_f16;
  return args;
}

template <class Args>
Result<ops::Plan> lower_product(const LowerArgs& l) {
  auto args = common<Args>(l);
  args.w = l.inputs[1];
  if (l.inputs.size() > 2) args.bias = l.inputs[2];
  args.y = l.outputs[0];
  return ops::conv::plan(args, l.caps);
}

Result<ops::Plan> lower_weight(const LowerArgs& l) {
  auto args = common<ops::conv::WeightArgs>(l);
  args.dy = l.inputs[1];
  args.dw = l.outputs[0];
  return ops::conv::plan(args, l.caps);
}

/// The attributes of a derivative that has the type and the spatial extents of `like`.
ConvAttributes for_result(const GradientArgs& g, const Tensor& like) {
  ConvAttributes a = as<ConvAttributes>(g.attributes);
  a.dtype = like.dtype();
  a.spatial = Shape(like.shape().begin() + 2, like.shape().end());
  return a;
}

Tensor make_conv(const Rule& rule, const GradientArgs& g, const Tensor& x, const Tensor& y,
                 const Tensor& like) {
  return make(rule, for_result(g, like), {x, y}, Where::current());
}

/// The sums over everything but the channels.
Tensor bias_gradient(const GradientArgs& g) {
  Dims dims{0};
  for (std::uint32_t i = 2; i < g.dy[0].shape().size(); ++i) dims.push_back(static_cast<int>(i));
  return weft::sum(g.dy[0], dims).to(g.inputs[2].dtype());
}

bool wants_bias(const GradientArgs& g) { return g.wanted.size() > 2 && g.wanted[2]; }

std::vector<Tensor> gradient_conv(const GradientArgs& g) {
  const Tensor& x = g.inputs[0];
  const Tensor& w = g.inputs[1];
  std::vector<Tensor> out(g.inputs.size());
  if (g.wanted[0]) out[0] = make_conv(conv_transpose, g, g.dy[0], w, x);
  if (g.wanted[1]) out[1] = make_conv(conv_weight, g, x, g.dy[0], w);
  if (wants_bias(g)) out[2] = bias_gradient(g);
  return out;
}

std::vector<Tensor> gradient_transposed(const GradientArgs& g) {
  const Tensor& x = g.inputs[0];
  const Tensor& w = g.inputs[1];
  std::vector<Tensor> out(g.inputs.size());
  if (g.wanted[0]) out[0] = make_conv(conv, g, g.dy[0], w, x);
  if (g.wanted[1]) out[1] = make_conv(conv_weight, g, g.dy[0], x, w);
  if (wants_bias(g)) out[2] = bias_gradient(g);
  return out;
}

std::vector<Tensor> gradient_weight(const GradientArgs& g) {
  const Tensor& x = g.inputs[0];
  const Tensor& dy = g.inputs[1];
  std::vector<Tensor> out(2);
  if (g.wanted[0]) out[0] = make_conv(conv_transpose, g, dy, g.dy[0], x);
  if (g.wanted[1]) out[1] = make_conv(conv, g, x, g.dy[0], dy);
  return out;
}

}  // namespace

const Rule conv{.name = "conv",
                .infer = infer_conv,
                .lower = lower_product<ops::conv::Args>,
                .gradient = gradient_conv};
const Rule conv_transpose{.name = "conv_transpose",
                          .infer = infer_transposed,
                          .lower = lower_product<ops::conv::TransposedArgs>,
                          .gradient = gradient_transposed};
const Rule conv_weight{.name = "conv_weight",
                       .infer = infer_weight,
                       .lower = lower_weight,
                       .gradient = gradient_weight};

}  // namespace weft::graph::kinds
