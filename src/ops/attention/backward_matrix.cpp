#include <algorithm>
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
  std::uint32_t wm = 2;         // subgroups along rows of the own side,
  std::uint32_t wn = 2;         // and along columns
  std::uint32_t tm = 2;         // rows of matrices of a subgroup
  std::uint32_t subgroup = 32;  // invocations of one
  std::string_view component = "f16";
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool k_full = false;
  bool v_full = false;
  bool vec = false;
  bool out_vec = false;
  bool factors = false;  // of q, k, v and dy

  [[nodiscard]] std::uint64_t rows() const { return std::uint64_t{wm} * tm * mm; }
};

std::uint64_t workgroup_bytes(const Variant& v) {
  const std::uint64_t tile_rows = std::max(v.bk, v.tm * v.mm);
  const std::uint64_t per = v.component == "f32" ? 4 : 8;
  return tile_rows * (v.dk / per + v.dv / per + 2) * 16 +
         v.rows() * (v.bk / 4 + 2) * 2 * (16 + 64 / per) + std::uint64_t{v.bk} * 8;
}

/// The tile for a device; small where matrices are emulated. Measured on an H200: 790 µs for
/// GPT-2's heads, forward pass included, 832 with two rows of matrices for half as many subgroups.
Result<Variant> variant_of(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  const auto matrices = matrices_for(caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices that multiply f16 or f32 into f32.");
  }
  Variant variant{.subgroup = matrices->subgroup,
                  .component = matrices->component(),
                  .mm = matrices->shape.m,
                  .mn = matrices->shape.n,
                  .mk = matrices->shape.k,
                  .vec = rows_aligned(problem.q, 8) && rows_aligned(problem.k, 8) &&
                         rows_aligned(problem.v, 8) && rows_aligned(gradient.dy, 8),
                  .factors = problem.factors.given()};
  if (caps.traits.slow_compile) {
    variant.wm = 1;
    variant.bk = 16;
  } else if (lanes_fit(*matrices, variant.wn, 1)) {
    variant.wm = 4;
    variant.tm = 1;
  }
  if (matrices->shape.component == MatrixType::f32) variant.bk = 16;  // as many bytes as 32 halves
  const std::uint64_t columns =
      std::max<std::uint64_t>(16, std::uint64_t{variant.wn} * matrices->shape.n);
  variant.dk = narrow(round_up(problem.size(), columns));
  variant.dv = narrow(round_up(problem.value_size(), columns));
  // Devices with less workgroup memory have fewer rows at a time.
  while (variant.wm > 1 && workgroup_bytes(variant) > caps.workgroup_bytes) variant.wm /= 2;
  variant.k_full = variant.dk == problem.size();
  variant.v_full = variant.dv == problem.value_size();
  return variant;
}

Status can(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  const auto variant = variant_of(gradient, caps);
  if (!variant) return std::unexpected(variant.error());
  for (const View* view : {&problem.q, &problem.k, &problem.v, &gradient.dy}) {
    if (view->dtype != DType::f16) {
      return fail(ErrorCode::unsupported,
                  "Matrix units take q, k, v and dy of f16; one of them is {}.", describe(*view));
    }
  }
  if (problem.mask.given() || problem.rules.soft_cap > 0) {
    return fail(ErrorCode::unsupported,
                "The backward pass on matrix units knows no masks and no soft cap.");
  }
  const std::uint32_t invocations = variant->wm * variant->wn * variant->subgroup;
  const Matrices matrices{{.m = variant->mm}, variant->subgroup};
  if (!lanes_fit(matrices, variant->wn, variant->tm) ||
      variant->bk % (variant->wn * variant->mn) != 0 || variant->dk > 128 || variant->dv > 128 ||
      workgroup_bytes(*variant) > caps.workgroup_bytes ||
      invocations > caps.workgroup_invocations) {
    return fail(ErrorCode::unsupported,
                "Heads of {} and {} elements need {} bytes of workgroup memory and {} "
                "invocations; the kernel takes heads of up to 128, and this device has {} and {}.",
                problem.size(), problem.value_size(), workgroup_bytes(*variant), invocations,
                caps.workgroup_bytes, caps.workgroup_invocations);
  }
  return {};
}

bool worth(const Gradient&, const Caps& caps) { return caps.traits.matrix_units; }

Result<Dispatch> finish(Launch launch, const Variant& variant, std::uint64_t rows,
                        std::uint64_t heads, const Caps& caps) {
  if (const auto matrices = matrices_for(caps)) launch.features = features_of(*matrices, caps);
  launch.constants = constants_of(variant);
  set_blocks(launch, ceil_div(rows, variant.rows()), heads, caps);
  return make_dispatch(std::move(launch), caps);
}

Result<Dispatch> launch_q(const Gradient& gradient, const Caps& caps) {
  auto variant = variant_of(gradient, caps);
  if (!variant) return std::unexpected(variant.error());
  const Problem& problem = gradient.forward;
  variant->out_vec = rows_aligned(gradient.dq, 4);
  Launch out = backward_launch(gradient, 8);
  out.source = "attention/backward_matrix_q.wgsl";
  out.label = formatted("attention matrix dq {}", variant->dk);
  add_factors(out, problem.factors);
  add_output(out, "dq", gradient.dq, variant->out_vec, 4);
  return finish(std::move(out), *variant, problem.queries(), problem.batches() * problem.heads(),
                caps);
}

Result<Dispatch> launch_kv(const Gradient& gradient, const Caps& caps) {
  auto variant = variant_of(gradient, caps);
  if (!variant) return std::unexpected(variant.error());
  const Problem& problem = gradient.forward;
  variant->out_vec = rows_aligned(gradient.dk, 4) && rows_aligned(gradient.dv, 4);
  Launch out = backward_launch(gradient, 8);
  out.source = "attention/backward_matrix_kv.wgsl";
  out.label = formatted("attention matrix dkv {}", variant->dk);
  add_factors(out, problem.factors);
  add_output(out, "dk", gradient.dk, variant->out_vec, 4);
  add_output(out, "dv", gradient.dv, variant->out_vec, 4);
  return finish(std::move(out), *variant, problem.keys(), problem.k.shape[0] * problem.k.shape[1],
                caps);
}

}  // namespace

constinit const BackwardKernel backward_matrix_kernel{"matrix", can, worth, launch_q, launch_kv};

}  // namespace weft::ops::attention
