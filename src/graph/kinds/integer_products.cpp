#include "ops/integer_gemm/integer_gemm.hpp"

#include "describe/attributes/cast.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/windows.hpp"
#include "ops/integer_conv/integer_conv.hpp"

namespace weft::graph::kinds {
namespace {

// matmul_integer: a […, M, K], b […, K, N] of i8 or u8, zero points of a ([] or [M]) and of b ([]
// or [N]) → i32 […, M, N], or with factors f32 [3, N], and scales for rows f32 [M], another type

Result<std::vector<Type>> infer_matmul_integer(const Signature& s) {
  const Type& a = s.inputs[0];
  const Type& b = s.inputs[1];
  const auto bytes = [](const Type& t) {
    return t.given && (t.dtype == DType::i8 || t.dtype == DType::u8) && t.rank() >= 2;
  };
  if (!bytes(a) || !bytes(b) || a.shape.back() != b.shape[b.rank() - 2]) {
    return fail(ErrorCode::invalid_argument,
                "matmul_integer needs [..., M, K] and [..., K, N] of i8 or u8; it was given {} and "
                "{}.",
                describe(a), describe(b));
  }
  const std::uint64_t m = a.shape[a.rank() - 2];
  const std::uint64_t n = b.shape.back();
  const auto zero = [](const Type& t, std::uint64_t extent) {
    return !t.given || (t.dtype == DType::i32 && (t.count() == 1 || t.shape == Shape{extent}));
  };
  if (!zero(s.inputs[2], m) || !zero(s.inputs[3], n)) {
    return fail(ErrorCode::invalid_argument,
                "matmul_integer of {} and {} needs zero points of i32, one or [{}] for the first "
                "and one or [{}] for the second; they are {} and {}.",
                describe(a), describe(b), m, n, describe(s.inputs[2]), describe(s.inputs[3]));
  }
  auto shape = graph::broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                                Shape(b.shape.begin(), b.shape.end() - 2));
  if (!shape) return wrap(shape.error(), "matching the batches of matmul_integer");
  shape->insert(shape->end(), {m, n});
  return one(as<CastAttributes>(s.attributes).dtype, *shape);
}

/// A zero point as [extent].
ops::View along(ops::View view, std::uint64_t extent) {
  if (!view.given()) return view;
  const std::uint64_t step = view.rank == 1 && view.shape[0] > 1 ? view.stride[0] : 0;
  view.rank = 1;
  view.shape = {extent};
  view.stride = {step};
  return view;
}

Result<ops::Plan> lower_matmul_integer(const LowerArgs& l) {
  const ops::View& y = l.outputs[0];
  return ops::integer_gemm::plan({.a = l.inputs[0],
                                  .b = l.inputs[1],
                                  .a_zero = along(l.inputs[2], y.shape[y.rank - 2]),
                                  .b_zero = along(l.inputs[3], y.shape[y.rank - 1]),
                                  .y = y,
                                  .factors = l.inputs[4],
                                  .others = l.inputs[5]},
                                 l.caps);
}

// conv_integer: x [N, C, spatial…], weights [OC, C / groups, k…] of i8 or u8, zero points of x ([])
// and of the weights ([] or [OC]) → i32 [N, OC, o…], or with factors f32 [3, OC] another type

Result<std::vector<Type>> infer_conv_integer(const Signature& s) {
  const auto& a = as<ConvAttributes>(s.attributes);
  const Type& x = s.inputs[0];
  const Type& w = s.inputs[1];
  const auto bytes = [](const Type& t) {
    return t.given && (t.dtype == DType::i8 || t.dtype == DType::u8) && countable(t);
  };
  if (!bytes(x) || !bytes(w) || x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank() ||
      a.groups < 1 || x.shape[1] != w.shape[1] * a.groups || w.shape[0] % a.groups != 0) {
    return fail(ErrorCode::invalid_argument,
                "conv_integer needs x [N, C, 1 to 3 spatial dimensions] and weights [OC, C / "
                "groups, k...] of i8 or u8; it was given {} and {} with {} groups.",
                describe(x), describe(w), a.groups);
  }
  const auto zero = [](const Type& t, std::uint64_t extent) {
    return !t.given || (t.dtype == DType::i32 && (t.count() == 1 || t.shape == Shape{extent}));
  };
  if (!zero(s.inputs[2], 1) || !zero(s.inputs[3], w.shape[0])) {
    return fail(ErrorCode::invalid_argument,
                "conv_integer of {} with {} needs zero points of i32, one for x and one or [{}] "
                "for the weights; they are {} and {}.",
                describe(x), describe(w), w.shape[0], describe(s.inputs[2]), describe(s.inputs[3]));
  }
  const Shape kernel(w.shape.begin() + 2, w.shape.end());
  auto spatial = window_counts(x, kernel, a.axes, a.high, a.spatial);
  if (!spatial) return std::unexpected(spatial.error());
  Shape shape{x.shape[0], w.shape[0]};
  shape.insert(shape.end(), spatial->begin(), spatial->end());
  return one(a.dtype, shape);
}

Result<ops::Plan> lower_conv_integer(const LowerArgs& l) {
  const auto& a = as<ConvAttributes>(l.attributes);
  return ops::integer_conv::plan({.x = l.inputs[0],
                                  .w = l.inputs[1],
                                  .x_zero = along(l.inputs[2], 1),
                                  .w_zero = along(l.inputs[3], l.outputs[0].shape[1]),
                                  .y = l.outputs[0],
                                  .factors = l.inputs[4],
                                  .axes = a.axes,
                                  .groups = a.groups},
                                 l.caps);
}

}  // namespace

const Rule matmul_integer{
    .name = "matmul_integer", .infer = infer_matmul_integer, .lower = lower_matmul_integer};
const Rule conv_integer{
    .name = "conv_integer", .infer = infer_conv_integer, .lower = lower_conv_integer};

}  // namespace weft::graph::kinds
