// Products of x in 8 bits, by integer dot products.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/mul_mat/vector.hpp"
#include "ops/quant/job.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::mul_mat {
namespace {

constexpr std::uint32_t group_elements = 32;  // of x, with a scale
constexpr std::uint32_t unit_elements = 64;

struct PackVariant {
  bool whole = false;  // blocks for an invocation
};

struct PackParams {
  std::array<std::uint32_t, 5> shape{};
  std::array<std::uint32_t, 5> x{};
  std::uint32_t rows = 0;
  std::uint32_t groups = 0;  // workgroups per row
  std::uint32_t blocks = 0;
  std::uint32_t row_words = 0;
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Whether a subgroup works for itself (lone.wgsl): on software adapters, whose subgroups have four
/// or eight invocations.
bool works_alone(DType type, const Caps& caps) {
  const bool with_table = type == DType::iq4_nl || type == DType::iq4_xs || type == DType::mxfp4 ||
                          type == DType::nvfp4;  // in workgroup memory
  return caps.traits.slow_barriers && caps.subgroups && caps.subgroup_min == caps.subgroup_max &&
         (caps.subgroup_min == 4 || caps.subgroup_min == 8) && !with_table;
}

bool is_plain(DType type) {
  return type == DType::q4_0 || type == DType::q4_1 || type == DType::q5_0 || type == DType::q5_1 ||
         type == DType::q8_0;
}

VectorVariant choose_lone(DType type, const Caps& caps) {
  const auto named = named_teams(caps);
  return {.qtype = type,
          .threads = named ? named->threads : 32,
          .team = caps.subgroup_min,
          .rows = named ? named->rows : 4,
          .subgroup = caps.subgroup_min,
          .lone = true,
          .quarters = is_plain(type)};
}

/// Measured on an H200: as many invocations for a row as it has units, 128 at most, and few rows at
/// a time, more of long ones.
VectorVariant choose(DType type, std::uint64_t n, std::uint64_t k, const Caps& caps) {
  VectorVariant variant{.qtype = type, .threads = 64, .rows = 2};
  variant.cols = std::bit_ceil(u32(n));
  const std::uint64_t units = k / unit_elements;
  if (caps.traits.slow_barriers) {
    variant.team = units < 16 ? 8 : 16;
    if (variant.cols >= 4) variant.rows = 1;  // Compiles in half the time.
  } else {
    const std::uint32_t most = std::min(128U, workgroup_width(caps));
    variant.team = units <= 32 ? 32 : units <= 80 ? 64 : most;
    variant.threads = units <= 32 ? 64 : most;
    if (units > 128) variant.rows = 4;
  }
  if (const auto named = named_teams(caps)) {
    variant.threads = named->threads;
    variant.team = named->team;
    variant.rows = named->rows;
  }
  if (caps.subgroups && caps.subgroup_min >= 2) {
    variant.subgroup = std::min(std::bit_floor(caps.subgroup_min), variant.team);
  }
  // Sums of all invocations must fit the workgroup's memory.
  while (variant.rows > 1 &&
         variant.threads / variant.subgroup * variant.rows * variant.cols * 4 > 8192) {
    variant.rows /= 2;
  }
  return variant;
}

/// Lets a workgroup make whole blocks of a gated unit's results, which it can pack then: by 16
/// teams of 4 rows.
Status choose_blocks(VectorVariant& variant, const Caps& caps) {
  if (variant.lone) {
    variant.rows = 2 * group_elements;
    variant.packs = true;
    return {};
  }
  constexpr std::uint32_t teams = 2 * group_elements / 4;
  variant.rows = 4;
  variant.team = std::min(variant.team, 64U);
  const auto sums = [&] {
    return teams * variant.team / std::min(variant.subgroup, variant.team) * variant.rows *
           variant.cols * 4;
  };
  while (variant.team > 4 && (teams * variant.team > caps.workgroup_invocations || sums() > 8192)) {
    variant.team /= 2;
  }
  if (teams * variant.team > caps.workgroup_invocations || sums() > 8192) {
    return fail(ErrorCode::unsupported,
                "Gated units of {} columns cannot be packed by workgroups of {} invocations.",
                variant.cols, caps.workgroup_invocations);
  }
  variant.threads = teams * variant.team;
  variant.subgroup = std::min(variant.subgroup, variant.team);
  variant.packs = true;
  return {};
}

Launch launch_with(const VectorVariant& variant, VectorParams params, const View& weights,
                   const View& x, const View& y) {
  const std::uint64_t k = weights.shape[weights.rank - 1];
  params.blocks = u32(k / group_elements);
  params.units = u32(k / unit_elements);
  Launch out;
  out.source = variant.lone ? "mul_mat/lone.wgsl" : "mul_mat/packed.wgsl";
  out.label = variant.lone ? formatted("mul_mat {} lone", name(weights.dtype))
                           : formatted("mul_mat {} packed {}", name(weights.dtype), variant.cols);
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "w", .view = weights},
                  {.name = "x", .view = x, .unit = variant.quarters ? 1U : 4U},
                  {.name = "y", .view = y, .access = Access::write}};
  out.features.subgroups = variant.subgroup > 1;
  return out;
}

/// Bytes that rows of units must be aligned to; 0 for types that have no units
/// (lib/quant/unit.wgsl).
std::uint64_t unit_alignment(DType type) {
  switch (type) {
    case DType::q4_0:
    case DType::q4_1:
    case DType::q5_0:
    case DType::q5_1:
    case DType::q8_0:
    case DType::q2_k:
    case DType::q4_k:
    case DType::q5_k:
    case DType::iq4_nl:
    case DType::iq4_xs:
    case DType::nvfp4: return 4;
    case DType::q3_k:
    case DType::q6_k:
    case DType::mxfp4: return 1;
    default: return 0;
  }
}

bool has_units(const View& weights) {
  const std::uint64_t alignment = unit_alignment(weights.dtype);
  const std::uint64_t k = weights.shape[weights.rank - 1];
  if (alignment == 0 || k == 0 || k % unit_elements != 0 || weights.offset % alignment != 0) {
    return false;
  }
  for (std::uint32_t i = 0; i + 1 < weights.rank; ++i) {
    const std::uint64_t bytes =
        weights.stride[i] / block_elements(weights.dtype) * block_bytes(weights.dtype);
    if (weights.shape[i] > 1 && bytes % alignment != 0) return false;
  }
  return true;
}

std::uint64_t packed_words(std::uint64_t k) {
  return round_up<std::uint64_t>(k / group_elements * 9, 4);
}

/// x [.., K] of rank 6 with contiguous rows as signed bytes; `packed` is dense.
Result<Dispatch> launch_pack(const View& x, const View& packed, const Caps& caps) {
  PackParams params;
  std::uint64_t rows = 1;
  for (std::uint32_t i = 0; i < 5; ++i) {
    params.shape[i] = u32(x.shape[i]);
    params.x[i] = u32(x.stride[i]);
    rows *= x.shape[i];
  }
  params.rows = u32(rows);
  params.blocks = u32(x.shape[5] / group_elements);
  const PackVariant variant{.whole = caps.traits.slow_barriers};
  const std::uint64_t elements = variant.whole ? group_elements : 4;  // of an invocation
  params.groups = u32(ceil_div<std::uint64_t>(x.shape[5], elements * workgroup_width(caps)));
  params.row_words = u32(packed_words(x.shape[5]));
  Launch out;
  out.source = "mul_mat/pack.wgsl";
  out.label = "mul_mat pack";
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "x", .view = x, .unit = 4},
                  {.name = "packed", .view = packed, .access = Access::write}};
  out.grid = grid_1d(rows * params.groups, caps);
  return make_dispatch(std::move(out), caps);
}

/// Adds what packs x of any layout.
void add_pack_to(Stages& stages, const View& x, const View& packed, const Caps& caps) {
  View rows = x;
  if (x.dtype != DType::f32 || !quant::rows_in_chunks(x, 4)) {
    rows = stages.scratch(DType::f32, x.extents());
    stages.add(map::plan({.function = "copy", .inputs = {x}, .y = rows}, caps));
  }
  while (rows.rank < 6) rows = rows.unsqueeze(0);
  stages.add(launch_pack(rows, packed, caps));
}

}  // namespace

/// Packing costs a launch: products of fewer bytes of weights are faster without.
bool pays_to_pack(std::uint64_t weight_bytes, std::uint64_t columns, const Caps& caps) {
  return weight_bytes * columns >= caps.traits.launch_bytes;
}

PackedColumns packed_columns(DType weights, const Caps& caps) {
  // One column after the other takes longer than all at once, but compiling other kernels takes
  // seconds.
  if (works_alone(weights, caps)) return {.at_once = 64, .most = 64};
  return {.at_once = vector_columns, .most = 2 * vector_columns};
}

View packed_view(const View& x) {
  std::vector<std::uint64_t> shape(x.extents().begin(), x.extents().end());
  if (!shape.empty()) shape.back() = packed_words(shape.back());
  return View::dense(DType::u32, shape);
}

bool can_pack(const View& weights, const View& x, const Caps& caps) {
  const std::uint64_t largest =
      std::max(View::dense(DType::f32, x.extents()).bytes().size(), x.bytes().size());
  return is_quantized(weights.dtype) && has_units(weights) && x.rank <= 6 &&
         largest <= binding_budget(caps);
}

View add_pack(Stages& stages, const View& x, const Caps& caps) {
  const View packed = stages.scratch(DType::u32, packed_view(x).extents());
  add_pack_to(stages, x, packed, caps);
  return packed;
}

Status check_packed(const View& packed, const View& x) {
  if (!packed.given()) return {};
  if (const Status ok = validate(packed, "packed"); !ok) return ok;
  const View wanted = packed_view(x);
  if (x.shape[x.rank - 1] % group_elements != 0 || packed.dtype != DType::u32 ||
      !packed.is_dense() || packed.offset % 16 != 0 ||
      !std::ranges::equal(packed.extents(), wanted.extents())) {
    return fail(
        ErrorCode::invalid_argument,
        "x […, K] with K a multiple of 32 is packed to a dense {}; x is {} and packed is {}.",
        describe(wanted), describe(x), describe(packed));
  }
  return {};
}

Result<Plan> plan(const PackArgs& args, const Caps& caps) {
  if (const Status ok = validate(args.x, "x"); !ok) return std::unexpected(ok.error());
  if (args.x.rank < 1 || args.x.rank > 6 || !is_float(args.x.dtype) || !args.packed.given()) {
    return fail(ErrorCode::invalid_argument,
                "Floats of one to six dimensions can be packed, to a view that is given; x is {} "
                "and packed is {}.",
                describe(args.x), describe(args.packed));
  }
  if (const Status ok = check_packed(args.packed, args.x); !ok) return std::unexpected(ok.error());
  if (args.x.empty()) return Plan{};
  Stages stages{args.x, args.packed};
  add_pack_to(stages, args.x, args.packed, caps);
  return std::move(stages).finish();
}

Result<Dispatch> launch_packed(const Problem& problem, const Caps& caps, const Join& join) {
  const View& weights = problem.weights;
  const View& x = problem.x;
  const View& y = problem.y;
  const bool joined = join.parts > 0;
  VectorVariant variant = works_alone(weights.dtype, caps)
                              ? choose_lone(weights.dtype, caps)
                              : choose(weights.dtype, problem.n(), weights.shape[5], caps);
  variant.joined = join.parts;
  variant.gated = join.gated;
  variant.bias = problem.bias.given();
  variant.function = problem.activation;
  if (join.gated) variant.rows = std::max(variant.rows, 2U);
  VectorParams params = vector_params(problem);
  if (join.packed.given()) {
    if (const Status ok = choose_blocks(variant, caps); !ok) return std::unexpected(ok.error());
    params.packed_blocks = u32(join.rows[0] / group_elements);
    params.packed_row = u32(packed_words(join.rows[0]));
  }
  const std::uint64_t groups = add_join(params, join, problem.m(), variant.rows_per_group());
  Launch out = launch_with(variant, params, weights, x, y);
  if (joined && !join.gated) out.label += " joined";
  if (problem.activation != "none") out.label += formatted(" {}", problem.activation);
  if (variant.bias) {
    out.label += " bias";
    out.operands.push_back({.name = "bias", .view = problem.bias});
  }
  if (variant.packs) {
    out.label += " to packed";
    out.operands.push_back({.name = "packed", .view = join.packed, .access = Access::write});
  }
  out.grid = grid_1d(groups, caps);
  out.grid.z = u32((joined ? 1 : problem.batches()) * (variant.lone ? problem.n() : 1));
  return make_dispatch(std::move(out), caps);
}

Result<Dispatch> launch_packed(const IdProblem& problem, const Caps& caps) {
  const View& y = problem.y;
  VectorVariant variant = choose(problem.weights.dtype, 1, problem.weights.shape[2], caps);
  variant.ids = true;
  Launch out = launch_with(variant, vector_params(problem), problem.weights, problem.x, y);
  out.label += " by id";
  out.operands.push_back({.name = "ids", .view = problem.ids});
  out.grid = grid_1d(ceil_div<std::uint64_t>(y.shape[2], variant.rows_per_group()), caps);
  out.grid.z = u32(y.shape[0] * y.shape[1]);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::mul_mat
