#include <utility>

#include "base/format.hpp"
#include "ops/attention/backward.hpp"
#include "ops/attention/matrix.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t dk = 0;
  std::uint32_t dv = 0;
  std::uint32_t bk = 32;        // rows of the other side in a block
  std::uint32_t wm = 4;         // subgroups
  std::uint32_t subgroup = 32;  // invocations of one
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool out_vec = false;
  bool factors = false;  // of q, k, v and dy

  [[nodiscard]] std::uint64_t rows() const { return std::uint64_t{wm} * mm; }
};

/// Columns of keys and values together whose operands and gradients are within the registers of two
/// workgroups.
constexpr std::uint64_t most_columns = 128;

/// Measured on an H200 with GPT-2's heads, forward pass included: 489 µs, 706 with the kernels that
/// share rows among subgroups; 570 with 8 subgroups, 532 with two, 556 with blocks of 16 rows.
Variant variant_of(const Problem& problem, const Matrices& matrices, const Caps& caps) {
  return {.dk = narrow(problem.size()),
          .dv = narrow(problem.value_size()),
          .bk = caps.traits.slow_compile ? 16U : 32U,
          .subgroup = matrices.subgroup,
          .mm = matrices.shape.m,
          .mn = matrices.shape.n,
          .mk = matrices.shape.k,
          .factors = problem.factors.given()};
}

std::uint64_t workgroup_bytes(const Variant& v) {
  const std::uint64_t tiles = std::uint64_t{v.bk} * ((v.dk + v.dv) / 8 + 2);
  return 16 * (tiles + v.rows() * (v.mn / 4 + 2)) + 8 * v.rows() * (v.bk / 4 + 2) +
         std::uint64_t{v.bk} * 8;
}

Status can(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices of 8 elements per invocation that multiply "
                "f16 into f32.");
  }
  for (const View* view : {&problem.q, &problem.k, &problem.v, &gradient.dy}) {
    if (view->dtype != DType::f16 || !rows_aligned(*view, 8)) {
      return fail(
          ErrorCode::unsupported,
          "The backward pass of slim heads takes q, k, v and dy of f16 in aligned rows; one "
          "of them is {}.",
          describe(*view));
    }
  }
  if (problem.mask.given() || problem.rules.soft_cap > 0) {
    return fail(ErrorCode::unsupported,
                "The backward pass on matrix units knows no masks and no soft cap.");
  }
  const Variant variant = variant_of(problem, *matrices, caps);
  if (problem.size() % 16 != 0 || problem.value_size() % 16 != 0 ||
      problem.size() + problem.value_size() > most_columns ||
      variant.wm * variant.subgroup > caps.workgroup_invocations ||
      workgroup_bytes(variant) > caps.workgroup_bytes) {
    return fail(
        ErrorCode::unsupported,
        "Heads of {} and {} elements are no multiples of 16, or more than {} together, or "
        "need more than the {} bytes of workgroup memory and {} invocations of this device.",
        problem.size(), problem.value_size(), most_columns, caps.workgroup_bytes,
        caps.workgroup_invocations);
  }
  return {};
}

bool worth(const Gradient&, const Caps& caps) { return caps.traits.matrix_units; }

Result<Dispatch> finish(Launch launch, const Variant& variant, std::uint64_t rows,
                        std::uint64_t heads, const Caps& caps) {
  if (const auto matrices = slim_matrices_for(caps)) launch.features = features_of(*matrices, caps);
  launch.constants = constants_of(variant);
  set_blocks(launch, ceil_div(rows, variant.rows()), heads, caps);
  return make_dispatch(std::move(launch), caps);
}

Result<Dispatch> launch_q(const Gradient& gradient, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const Problem& problem = gradient.forward;
  Variant variant = variant_of(problem, *matrices, caps);
  variant.out_vec = rows_aligned(gradient.dq, 4);
  Launch out = backward_launch(gradient, 8);
  out.source = "attention/backward_slim_q.wgsl";
  out.label = formatted("attention slim dq {}", variant.dk);
  add_factors(out, problem.factors);
  add_output(out, "dq", gradient.dq, variant.out_vec, 4);
  return finish(std::move(out), variant, problem.queries(), problem.batches() * problem.heads(),
                caps);
}

Result<Dispatch> launch_kv(const Gradient& gradient, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const Problem& problem = gradient.forward;
  Variant variant = variant_of(problem, *matrices, caps);
  variant.out_vec = rows_aligned(gradient.dk, 4) && rows_aligned(gradient.dv, 4);
  Launch out = backward_launch(gradient, 8);
  out.source = "attention/backward_slim_kv.wgsl";
  out.label = formatted("attention slim dkv {}", variant.dk);
  add_factors(out, problem.factors);
  add_output(out, "dk", gradient.dk, variant.out_vec, 4);
  add_output(out, "dv", gradient.dv, variant.out_vec, 4);
  return finish(std::move(out), variant, problem.keys(), problem.k.shape[0] * problem.k.shape[1],
                caps);
}

}  // namespace

constinit const BackwardKernel backward_slim_kernel{"slim", can, worth, launch_q, launch_kv};

}  // namespace weft::ops::attention
