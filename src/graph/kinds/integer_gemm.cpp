#include "ops/integer_gemm/integer_gemm.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// matmul_integer: a […, M, K], b […, K, N] of i8 or u8, zero points of a ([] or [M]) and of b ([] or [N]) → i32 […, M, N]

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
  return one(DType::i32, *shape);
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
                                  .y = y},
                                 l.caps);
}

}  // namespace

const Rule matmul_integer{
    .name = "matmul_integer", .infer = infer_matmul_integer, .lower = lower_matmul_integer};

}  // namespace weft::graph::kinds
