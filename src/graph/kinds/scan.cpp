#include "describe/attributes/cumsum.hpp"
#include "describe/attributes/fourier.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/fft/fft.hpp"
#include "weft/shape.hpp"

namespace weft::graph::kinds {
namespace {

using ops::cumsum::Function;

// cumsum: running sums, and what else is carried along a dimension

Result<std::vector<Type>> infer_cumsum(const Signature& s) {
  const auto& a = as<CumsumAttributes>(s.attributes);
  if (a.axis >= s.inputs[0].rank()) {
    return fail(ErrorCode::invalid_argument, "Dimension {} is not one of a tensor of shape {}.",
                a.axis, ops::describe(s.inputs[0].shape));
  }
  return one(s.inputs[0].dtype, s.inputs[0].shape);
}

Result<ops::Plan> lower_cumsum(const LowerArgs& l) {
  const auto& a = as<CumsumAttributes>(l.attributes);
  return ops::cumsum::plan({.x = l.inputs[0],
                            .y = l.outputs[0],
                            .axis = a.axis,
                            .exclusive = a.exclusive,
                            .reverse = a.reverse,
                            .function = a.function},
                           l.caps);
}

/// A scan along the same dimension from the other end, or from the same.
Tensor scan(const GradientArgs& g, const Tensor& x, Function function, bool turned) {
  CumsumAttributes a = as<CumsumAttributes>(g.attributes);
  a.reverse = a.reverse != turned;
  a.function = function;
  return make(cumsum, a, {x}, Where::current());
}

/// The extreme element so far is the last one that is equal to the result; each gets the sum of
/// what it is the extreme of.
Tensor extreme_gradient(const GradientArgs& g) {
  const auto& a = as<CumsumAttributes>(g.attributes);
  const Tensor& x = g.inputs[0];
  Shape line(x.shape().size(), 1);
  line[a.axis] = x.shape()[a.axis];
  const Tensor places = x.device().arange(line[a.axis], 0, 1, DType::f32).reshape(line);
  const double never = a.reverse ? static_cast<double>(line[a.axis]) : -1.0;
  const Tensor none = full_like(x, {}, DType::f32, never);
  const Tensor own = weft::where(weft::map("equal", x, g.outputs[0]),
                                 places.broadcast_to(x.shape()), none.broadcast_to(x.shape()));
  const Tensor last = scan(g, own, a.reverse ? Function::min : Function::max, false);
  const Tensor zeros = full_like(x, x.shape(), x.dtype());
  return weft::scatter_add(zeros, last.to(DType::i32), g.dy[0], static_cast<int>(a.axis));
}

/// dx[i] = Π x[k] before i · s[i], where s[i] = dy[i] + x[i + 1] · s[i + 1]: nothing is divided, so
/// that zeros have derivatives too. The recurrence is solved by joining what lies twice as far
/// apart, again and again.
Tensor product_gradient(const GradientArgs& g) {
  const auto& a = as<CumsumAttributes>(g.attributes);
  const Shape& shape = g.inputs[0].shape();
  const auto axis = static_cast<int>(a.axis);
  const std::uint64_t n = shape[a.axis];
  if (n == 0) return g.dy[0];
  const auto turned = [&](const Tensor& t) {
    return a.reverse ? weft::flip(t.to(DType::f32), {axis}) : t.to(DType::f32);
  };
  const Shape none(shape.size(), 0);
  // t[i + places], and 0 behind the end.
  const auto ahead = [&](const Tensor& t, std::uint64_t places) {
    Shape high = none;
    high[a.axis] = places;
    return weft::pad(t.slice(axis, static_cast<std::int64_t>(places), n - places), none, high);
  };
  Tensor sums = turned(g.dy[0]);
  Tensor factors = ahead(turned(g.inputs[0]), 1);
  for (std::uint64_t distance = 1; distance < n; distance *= 2) {
    sums = sums + factors * ahead(sums, distance);
    factors = factors * ahead(factors, distance);
  }
  Shape low = none;
  low[a.axis] = 1;
  const Tensor before = weft::pad(turned(g.outputs[0]).slice(axis, 0, n - 1), low, none, 1);
  const Tensor dx = before * sums;
  return (a.reverse ? weft::flip(dx, {axis}) : dx).to(g.inputs[0].dtype());
}

/// exp(x) · Σ dy · exp(-y) behind each element, with positive and negative dy apart, as logarithms:
/// neither overflows.
Tensor logarithm_gradient(const GradientArgs& g) {
  const Tensor x = g.inputs[0].to(DType::f32);
  const Tensor y = g.outputs[0].to(DType::f32);
  const Tensor dy = g.dy[0].to(DType::f32);
  const auto part = [&](const Tensor& d) {
    const Tensor logs = weft::log(weft::clamp(d, 1e-37, 1e38)) - y;
    const Tensor sums = scan(g, weft::where(weft::map("step", d), logs, logs * 0 - 1e30),
                             Function::logsumexp, true);
    return weft::exp(x + sums);
  };
  return (part(dy) - part(-dy)).to(g.inputs[0].dtype());
}

std::vector<Tensor> gradient_cumsum(const GradientArgs& g) {
  const auto& a = as<CumsumAttributes>(g.attributes);
  if (a.exclusive && a.function != Function::sum) {
    throw Error(ErrorCode::unsupported, "Of exclusive scans only sums have derivatives.");
  }
  switch (a.function) {
    case Function::sum: return {scan(g, g.dy[0], Function::sum, true)};
    case Function::prod: return {product_gradient(g)};
    case Function::max:
    case Function::min: return {extreme_gradient(g)};
    case Function::logsumexp: return {logarithm_gradient(g)};
  }
  return {};
}

// fft: complex numbers […, n, 2]

Result<std::vector<Type>> infer_fft(const Signature& s) {
  const Type& x = s.inputs[0];
  if (x.dtype != DType::f32 || x.rank() < 2 || x.shape.back() != 2) {
    return fail(ErrorCode::invalid_argument,
                "A Fourier transform needs complex numbers [..., n, 2] of f32; it was given {}.",
                describe(x));
  }
  return one(x.dtype, x.shape);
}

Result<ops::Plan> lower_fft(const LowerArgs& l) {
  const auto& a = as<FourierAttributes>(l.attributes);
  return ops::fft::plan(
      {.x = l.inputs[0], .y = l.outputs[0], .inverse = a.inverse, .scale = a.scale}, l.caps);
}

/// The matrix of a transform is symmetric: its adjoint has the other sign.
std::vector<Tensor> gradient_fft(const GradientArgs& g) {
  FourierAttributes a = as<FourierAttributes>(g.attributes);
  a.inverse = !a.inverse;
  return {make(fft, a, {g.dy[0]}, Where::current())};
}

constexpr InPlace over_x[] = {{0, 0}};

}  // namespace

const Rule cumsum{.name = "cumsum",
                  .infer = infer_cumsum,
                  .lower = lower_cumsum,
                  .gradient = gradient_cumsum,
                  .in_place = over_x};
const Rule fft{.name = "fft", .infer = infer_fft, .lower = lower_fft, .gradient = gradient_fft};

}  // namespace weft::graph::kinds
