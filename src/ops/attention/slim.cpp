#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/matrix.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  std::uint32_t dk = 0;
  std::uint32_t dv = 0;
  std::uint32_t bk = 32;        // keys of a block
  std::uint32_t wm = 4;         // subgroups
  std::uint32_t subgroup = 32;  // invocations of one
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  bool k_full = true;
  bool q_vec = false;
  bool y_vec = false;
  bool mask = false;
  bool mask_vec = false;
  bool listed = false;
  bool cap = false;
  bool simple = false;  // logits are products times a positive scale
  bool sinks = false;
  bool lse = false;
  bool partial = false;
  bool factors = false;  // of q, k and v
};

/// Measured on an H200: causal attention of 32 x 4096 x 128 takes 800 µs; with 8 subgroups 846,
/// with blocks of 16 keys 897, with two rows of matrices for each subgroup 935, with two sets of
/// tiles, which leave room for fewer workgroups, 988, with two subgroups 1052. Splitting the keys
/// of a prompt behind 8192 tokens, whose workgroups all run at once, makes 583 µs of 504.
constexpr std::uint32_t subgroups = 4;
constexpr std::uint32_t block_keys = 32;
/// Two workgroups of this width have the registers and the workgroup memory of a processor, wider
/// ones have not.
constexpr std::uint64_t most_columns = 128;

std::uint64_t workgroup_bytes(const Problem& problem, const MatrixConfig& shape) {
  const std::uint64_t tiles = block_keys * ((problem.size() + problem.value_size()) / 8 + 2);
  const std::uint64_t row = std::max<std::uint64_t>(shape.n / 4 + 2, block_keys / 8 + 1);
  return 16 * (tiles + row * subgroups * shape.m);
}

/// Whether a row of so many elements divides the invocations of a workgroup, which divide the keys
/// of a block.
bool divides(std::uint64_t size, std::uint64_t threads) {
  return size > 0 && size % 16 == 0 && size <= most_columns && threads % (size / 8) == 0 &&
         block_keys % (threads / (size / 8)) == 0;
}

Status can(const Problem& problem, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) {
    return fail(ErrorCode::unsupported,
                "This device has no subgroup matrices of 8 elements per invocation that multiply "
                "f16 into f32.");
  }
  const std::uint64_t threads = std::uint64_t{subgroups} * matrices->subgroup;
  const bool rows = rows_aligned(problem.k, 8) && rows_aligned(problem.v, 8) &&
                    problem.k.dtype == DType::f16 && problem.v.dtype == DType::f16;
  if (!rows || !divides(problem.size(), threads) || !divides(problem.value_size(), threads) ||
      threads > caps.workgroup_invocations ||
      workgroup_bytes(problem, matrices->shape) > caps.workgroup_bytes) {
    return fail(
        ErrorCode::unsupported,
        "The kernel for slim heads takes k and v of f16 in aligned rows of 16, 32, 64 or 128 "
        "elements; k is {} and v is {}.",
        describe(problem.k), describe(problem.v));
  }
  return {};
}

/// Few queries leave most of a tile empty.
bool worth(const Problem& problem, const Caps& caps) {
  return caps.traits.matrix_units && problem.queries() > 8;
}

std::uint64_t blocks_of(const Problem& problem, const MatrixConfig& shape) {
  return ceil_div<std::uint64_t>(problem.queries(), std::uint64_t{subgroups} * shape.m);
}

std::uint64_t splits(const Problem& problem, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) return 1;
  const std::uint64_t groups =
      problem.batches() * problem.heads() * blocks_of(problem, matrices->shape);
  const std::uint64_t wanted = busy_workgroups(caps) / 4;
  if (groups * 2 > wanted) return 1;
  return std::min(wanted / groups, ceil_div<std::uint64_t>(problem.keys(), 8 * split_step));
}

Result<Dispatch> launch(const Problem& problem, const Splits& splits, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) return fail(ErrorCode::internal, "There are no matrix units for this launch.");
  const bool partial = splits.part.given();
  Variant variant{.dk = narrow(problem.size()),
                  .dv = narrow(problem.value_size()),
                  .bk = block_keys,
                  .wm = subgroups,
                  .subgroup = matrices->subgroup,
                  .mm = matrices->shape.m,
                  .mn = matrices->shape.n,
                  .mk = matrices->shape.k,
                  .q_vec = problem.q.dtype == DType::f16 && rows_aligned(problem.q, 8),
                  .y_vec = !partial && rows_aligned(problem.y, 4),
                  .mask = problem.mask.given(),
                  .mask_vec = problem.mask.given() && rows_aligned(problem.mask, 4),
                  .listed = problem.list.given(),
                  .cap = problem.rules.soft_cap > 0,
                  .sinks = !partial && problem.sinks.given(),
                  .lse = !partial && problem.lse.given(),
                  .partial = partial,
                  .factors = problem.factors.given()};
  Params params = params_of(problem, splits);
  variant.simple = !variant.mask && !variant.cap && params.scale > 0;
  params.blocks = narrow(blocks_of(problem, matrices->shape));
  const std::uint64_t jobs = problem.batches() * problem.heads() * params.blocks * splits.count;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "attention/slim.wgsl";
  out.label = formatted("attention slim {}x{}", variant.dk, variant.dv);
  out.features = features_of(*matrices, caps);
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_operands(out, problem, splits, {.query = 8, .key = 8, .mask = 4});
  add_factors(out, problem.factors);
  if (variant.listed) {
    out.params.add("list_row", narrow(problem.list.shape[3]));
    out.operands.push_back({.name = "list", .view = problem.list});
  }
  out.grid = grid_1d(jobs, caps);
  return make_dispatch(std::move(out), caps);
}

MaskBlock mask_block(const Problem& /*problem*/, const Caps& caps) {
  const auto matrices = slim_matrices_for(caps);
  if (!matrices) return {};
  return {.queries = subgroups * matrices->shape.m, .keys = block_keys};
}

}  // namespace

std::optional<Matrices> slim_matrices_for(const Caps& caps) {
  const auto found = matrices_for(caps);
  if (!found || caps.subgroup_min != caps.subgroup_max) return std::nullopt;
  const MatrixConfig& shape = found->shape;
  const bool suits = shape.component == MatrixType::f16 && shape.m == shape.n &&
                     shape.n == shape.k && shape.n * shape.m == 8 * found->subgroup;
  return suits ? found : std::nullopt;
}

constinit const Kernel slim_kernel{"slim", can, worth, splits, launch, mask_block};

}  // namespace weft::ops::attention
