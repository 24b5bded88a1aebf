#include <cmath>
#include <vector>

#include "describe/attributes/rope.hpp"
#include "describe/attributes/sinusoid.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/rope/rope.hpp"
#include "ops/sinusoid/sinusoid.hpp"

namespace weft::graph::kinds {
namespace {

using ops::rope::Mode;

// rope: x, positions (optional), factors (optional)

bool has_sections(Mode mode) { return mode != Mode::interleaved && mode != Mode::halves; }

Result<std::vector<Type>> infer_rope(const Signature& s) {
  const auto& a = as<RopeAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (!is_float(x.dtype) || x.rank() != 4 || a.dims + a.offset > x.shape[3] || a.dims % 2 != 0) {
    return fail(ErrorCode::invalid_argument,
                "rope turns an even number of elements of [batch, tokens, heads, size]; it was "
                "given {} and {} elements.",
                describe(x), a.dims);
  }
  const Shape wanted = has_sections(a.mode) ? Shape{4, x.shape[1]} : Shape{x.shape[1]};
  if (s.inputs[1].given && s.inputs[1] != Type{DType::i32, wanted}) {
    return fail(ErrorCode::invalid_argument, "Positions for {} are i32{}; {} was given.",
                describe(x), ops::describe(wanted), describe(s.inputs[1]));
  }
  return one(x.dtype, x.shape);
}

ops::rope::Args args_of(const RopeAttributes& a) {
  ops::rope::Args args;
  args.mode = a.mode;
  args.dims = a.dims;
  args.offset = a.offset;
  args.sections = a.sections;
  args.first_position = a.first;
  args.base = a.base;
  args.scale = a.scale;
  args.extrapolation = a.extrapolation;
  args.magnitude = a.magnitude;
  args.beta_fast = a.beta_fast;
  args.beta_slow = a.beta_slow;
  args.trained_context = a.trained_context;
  args.backward = a.backward;
  return args;
}

Result<ops::Plan> lower_rope(const LowerArgs& l) {
  ops::rope::Args args = args_of(as<RopeAttributes>(l.attributes));
  args.x = l.inputs[0];
  args.y = l.outputs[0];
  args.positions = l.inputs[1];
  args.factors = l.inputs[2];
  return ops::rope::plan(args, l.caps);
}

// rope_rows: x [1, R, heads, size], positions, factors, table [N, heads · size], rows [R] → the
// table

Result<std::vector<Type>> infer_rope_rows(const Signature& s) {
  return std::vector<Type>{s.inputs[3]};
}

Result<ops::Plan> lower_rope_rows(const LowerArgs& l) {
  ops::rope::Args args = args_of(as<RopeAttributes>(l.attributes));
  args.x = l.inputs[0];
  args.positions = l.inputs[1];
  args.factors = l.inputs[2];
  args.rows = l.inputs[4];
  args.y = l.outputs[0].split(1, args.x.shape[3]).unsqueeze(0);
  return ops::rope::plan(args, l.caps);
}

constexpr InPlace over_table[] = {{0, 3}};

std::vector<Tensor> gradient_rope(const GradientArgs& g) {
  if (g.wanted[2]) {
    throw Error(ErrorCode::unsupported,
                "rope has no derivative by the factors of its frequencies; detach() them if none "
                "is wanted.");
  }
  RopeAttributes turned = as<RopeAttributes>(g.attributes);
  turned.backward = !turned.backward;
  return {make(rope, turned, {g.dy[0], g.inputs[1], g.inputs[2]}, Where::current())};
}

// sinusoid: x [N] → [N, size]

Result<std::vector<Type>> infer_sinusoid(const Signature& s) {
  const auto& a = as<SinusoidAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  if (x.rank() != 1) {
    return fail(ErrorCode::invalid_argument, "Waves are made of positions [N]; {} was given.",
                describe(x));
  }
  return one(is_float(x.dtype) ? x.dtype : DType::f32, {x.shape[0], a.size});
}

Result<ops::Plan> lower_sinusoid(const LowerArgs& l) {
  return ops::sinusoid::plan(
      {.x = l.inputs[0], .y = l.outputs[0], .period = as<SinusoidAttributes>(l.attributes).period},
      l.caps);
}

/// The cosine of an angle has minus its sine as derivative, the sine its cosine: both are in the
/// result.
std::vector<Tensor> gradient_sinusoid(const GradientArgs& g) {
  const auto& a = as<SinusoidAttributes>(g.attributes);
  const std::uint64_t half = a.size / 2;
  std::vector<float> frequencies;
  for (std::uint64_t j = 0; j < half; ++j) {
    const double place = static_cast<double>(j) / static_cast<double>(half);
    frequencies.push_back(static_cast<float>(std::pow(a.period, -place)));
  }
  const Tensor y = g.outputs[0].to(DType::f32);
  const Tensor dy = g.dy[0].to(DType::f32);
  const auto part = [&](const Tensor& t, std::uint64_t first) {
    return t.slice(1, static_cast<std::int64_t>(first), half);
  };
  const Tensor turned = part(dy, half) * part(y, 0) - part(dy, 0) * part(y, half);
  const Tensor dx = weft::sum(turned * constant_like(dy, {half}, frequencies), {1});
  return {dx.to(g.inputs[0].dtype())};
}

constexpr InPlace over_x[] = {{0, 0}};

}  // namespace

const Rule rope_rows{.name = "rope_rows",
                     .infer = infer_rope_rows,
                     .lower = lower_rope_rows,
                     .in_place = over_table,
                     .accumulates = true};
const Rule rope{.name = "rope",
                .infer = infer_rope,
                .lower = lower_rope,
                .gradient = gradient_rope,
                .in_place = over_x};
const Rule sinusoid{.name = "sinusoid",
                    .infer = infer_sinusoid,
                    .lower = lower_sinusoid,
                    .gradient = gradient_sinusoid};

}  // namespace weft::graph::kinds
