// Products whose matrices are named by ids: row by row, or with the rows of each matrix together.
#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/mul_mat/ids.hpp"
#include "ops/mul_mat/problem.hpp"
#include "ops/quant/job.hpp"
#include "ops/stages.hpp"
#include "ops/tables.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::mul_mat {
namespace {

constexpr std::uint32_t tile_width = 32;
/// Counters of buckets lie in workgroup memory.
constexpr std::uint64_t most_experts = 2047;

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Strides of weights: bytes for quantized types, elements for others.
std::uint32_t weight_stride(const View& weights, std::uint32_t dim) {
  if (!is_quantized(weights.dtype)) return u32(weights.stride[dim]);
  return u32(weights.stride[dim] / block_elements(weights.dtype) * block_bytes(weights.dtype));
}

Status check(const IdArgs& args) {
  if (const Status ok = validate(args.weights, "weights", Types::quantized_too); !ok) return ok;
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.ids, "ids"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  const View& weights = args.weights;
  const View& x = args.x;
  const View& ids = args.ids;
  const View& y = args.y;
  const bool ranks = weights.rank == 3 && x.rank == 3 && ids.rank == 2 && y.rank == 3;
  const bool shapes = ranks && weights.shape[2] == x.shape[2] && weights.shape[1] == y.shape[2] &&
                      x.shape[0] == y.shape[0] && ids.shape[0] == y.shape[0] &&
                      ids.shape[1] == y.shape[1] && x.shape[1] != 0 && y.shape[1] % x.shape[1] == 0;
  if (!shapes) {
    return fail(ErrorCode::invalid_argument,
                "Weights [E,M,K] times x [T,U or 1,K] by ids [T,U] give y [T,U,M]; weights are "
                "{}, x is {}, ids are {} and y is {}.",
                describe(weights), describe(x), describe(ids), describe(y));
  }
  const bool weight_type = is_float(weights.dtype) || is_quantized(weights.dtype);
  if (!weight_type || !is_float(x.dtype) || y.dtype != DType::f32 || ids.dtype != DType::i32) {
    return fail(ErrorCode::unsupported,
                "Products by ids take weights and x of float types, ids of i32 and give f32; "
                "weights are {}, x is {}, ids are {} and y is {}.",
                describe(weights), describe(x), describe(ids), describe(y));
  }
  return {};
}

struct AssignVariant {
  std::uint32_t buckets = 0;
  std::uint32_t width = tile_width;
};

struct AssignParams {
  std::uint32_t rows = 0;
  std::uint32_t used = 0;
  std::uint32_t ids_token = 0;
  std::uint32_t ids_slot = 0;
  std::uint32_t tiles = 0;
};

struct GroupedVariant {
  DType qtype = DType::f32;
  bool aligned = false;
  std::uint32_t workgroup = 128;
};

/// Sorts rows into tiles of at most `width`.
Assignment add_assignment(Stages& stages, const IdProblem& problem, std::uint32_t width,
                          const Caps& caps) {
  const std::uint64_t rows = problem.ids.count();
  const std::uint64_t most_tiles = rows / width + std::min(rows, problem.all_experts + 1);
  const Assignment out{stages.scratch(DType::u32, {rows}),
                       stages.scratch(DType::u32, {most_tiles, 3})};
  Launch launch;
  launch.source = "mul_mat/assign.wgsl";
  launch.label = "mul_mat assign";
  launch.constants =
      constants_of(AssignVariant{.buckets = u32(problem.all_experts + 1), .width = width});
  launch.params = block_of(AssignParams{.rows = u32(rows),
                                        .used = u32(problem.ids.shape[1]),
                                        .ids_token = u32(problem.ids.stride[0]),
                                        .ids_slot = u32(problem.ids.stride[1]),
                                        .tiles = u32(most_tiles)});
  launch.operands = {{.name = "ids", .view = problem.ids},
                     {.name = "order", .view = out.order, .access = Access::write},
                     {.name = "tiles", .view = out.tiles, .access = Access::write}};
  stages.add(make_dispatch(std::move(launch), caps));
  return out;
}

Result<Dispatch> launch_grouped(const IdProblem& problem, const Assignment& assignment,
                                const Caps& caps) {
  const View& weights = problem.weights;
  const GroupedParams params = grouped_params(problem, assignment, caps);
  Launch out;
  out.source = "mul_mat/grouped.wgsl";
  out.label = formatted("mul_mat {} grouped", name(weights.dtype));
  out.constants = constants_of(
      GroupedVariant{.qtype = weights.dtype,
                     .aligned = is_quantized(weights.dtype) && quant::blocks_aligned(weights),
                     .workgroup = std::min(128U, workgroup_width(caps))});
  out.params = block_of(params);
  out.operands = {{.name = "w", .view = weights},
                  {.name = "x", .view = problem.x},
                  {.name = "order", .view = assignment.order},
                  {.name = "tiles", .view = assignment.tiles},
                  {.name = "y", .view = problem.y, .access = Access::write}};
  add_codebook(out, weights.dtype);
  out.grid = grouped_grid(problem, params, assignment, tile_rows);
  return make_dispatch(std::move(out), caps);
}

/// Cuts along matrices, then along their rows, until the weights fit one binding.
Status for_each_part(const IdProblem& problem, const Caps& caps,
                     const std::function<Status(const IdProblem&)>& emit) {
  if (problem.weights.bytes().size() <= binding_budget(caps)) return emit(problem);
  IdProblem front = problem;
  IdProblem back = problem;
  const View& weights = problem.weights;
  const std::uint32_t dim = weights.shape[0] > 1 ? 0 : 1;
  if (weights.shape[dim] <= 1) {
    return fail(ErrorCode::unsupported,
                "One row of weights ({}) does not fit one binding of this device.",
                describe(weights));
  }
  const std::uint64_t half = half_of(weights.shape[dim]);
  const std::uint64_t rest = weights.shape[dim] - half;
  front.weights = weights.slice(dim, 0, half);
  back.weights = weights.slice(dim, half, rest);
  if (dim == 0) {
    back.first_expert += half;
  } else {
    front.y = problem.y.slice(2, 0, half);
    back.y = problem.y.slice(2, half, rest);
  }
  if (const Status ok = for_each_part(front, caps, emit); !ok) return ok;
  return for_each_part(back, caps, emit);
}

/// Few rows meet few matrices twice. Rows that share a tile gain nothing where its barriers cost
/// more.
bool is_few(const IdArgs& args, const Caps& caps) {
  return caps.traits.slow_barriers ||
         args.ids.count() <= std::max<std::uint64_t>(16, args.weights.shape[0] / 2);
}

IdProblem problem_of(const IdArgs& args) {
  return {.weights = args.weights,
          .x = args.x,
          .ids = args.ids,
          .y = args.y,
          .all_experts = args.weights.shape[0]};
}

// packed: row by row, x rounded to 8 bits

Status can_packed(const IdArgs& args, const Caps& caps) {
  if (args.ids.count() <= caps.max_workgroups && args.y.bytes().size() <= binding_budget(caps) &&
      can_pack(args.weights, args.x, caps)) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Weights {} by {} ids cannot be multiplied by x ({}) in 8 bits on this device.",
              describe(args.weights), args.ids.count(), describe(args.x));
}

bool worth_packed(const IdArgs& args, const Caps& caps) {
  const std::uint64_t matrix = args.weights.bytes().size() / args.weights.shape[0];
  return args.allow_q8 && !args.exact && is_few(args, caps) &&
         (args.packed.given() || pays_to_pack(matrix, args.ids.count(), caps));
}

Status make_packed(Stages& stages, const IdArgs& args, IdProblem problem, const Caps& caps) {
  if (const Status ok = check_packed(args.packed, args.x); !ok) return ok;
  problem.x = args.packed.given() ? args.packed : add_pack(stages, args.x, caps);
  return for_each_part(problem, caps, [&](const IdProblem& part) -> Status {
    stages.add(launch_packed(part, caps));
    return {};
  });
}

// vector: row by row

Status can_vector(const IdArgs& args, const Caps& caps) {
  const std::uint64_t k = args.x.shape[2];
  if (k % 16 == 0 && k > 0 && args.ids.count() <= caps.max_workgroups &&
      (is_quantized(args.weights.dtype) || quant::rows_in_chunks(args.weights, 8))) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Weights {} by {} ids cannot be multiplied row by row: rows must be aligned and "
              "multiples of 16, and ids fewer than {}.",
              describe(args.weights), args.ids.count(), caps.max_workgroups);
}

bool worth_vector(const IdArgs& args, const Caps& caps) {
  return is_few(args, caps) || (args.exact && is_quantized(args.weights.dtype)) ||
         args.weights.shape[0] > most_experts;
}

Status make_vector(Stages& stages, const IdArgs&, IdProblem problem, const Caps& caps) {
  return for_each_part(problem, caps, [&](const IdProblem& part) -> Status {
    stages.add(launch_vector(part, caps));
    return {};
  });
}

// grouped: rows of one matrix together; matrix: the same by matrix units

Status can_group(const IdArgs& args, const Caps&) {
  if (args.weights.shape[0] <= most_experts) return {};
  return fail(ErrorCode::unsupported, "Rows can be sorted by {} matrices at most; weights are {}.",
              most_experts, describe(args.weights));
}

Status can_matrix(const IdArgs& args, const Caps& caps) {
  if (matrix_width(problem_of(args), caps) != 0) return can_group(args, caps);
  return fail(ErrorCode::unsupported,
              "Weights {} cannot be multiplied by matrix units of this device.",
              describe(args.weights));
}

bool worth_matrix(const IdArgs& args, const Caps& caps) {
  return !args.exact && caps.traits.matrix_units;
}

Status make_matrix(Stages& stages, const IdArgs&, IdProblem problem, const Caps& caps) {
  const View halves = stages.scratch(DType::f16, problem.x.extents());
  View x = problem.x;
  while (x.rank < 6) x = x.unsqueeze(0);
  const View scales = add_halved(stages, x, halves, caps);
  const Assignment assignment = add_assignment(stages, problem, matrix_width(problem, caps), caps);
  return for_each_part(problem, caps, [&](const IdProblem& part) -> Status {
    stages.add(launch_grouped_matrix(part, assignment, halves, scales, caps));
    return {};
  });
}

bool always(const IdArgs&, const Caps&) { return true; }

Status make_grouped(Stages& stages, const IdArgs&, IdProblem problem, const Caps& caps) {
  const Assignment assignment = add_assignment(stages, problem, tile_width, caps);
  return for_each_part(problem, caps, [&](const IdProblem& part) -> Status {
    stages.add(launch_grouped(part, assignment, caps));
    return {};
  });
}

/// One kernel of the list for products by ids; as Kernel.
struct IdKernel {
  std::string_view name;
  Status (*can)(const IdArgs&, const Caps&);
  bool (*worth)(const IdArgs&, const Caps&);
  Status (*make)(Stages&, const IdArgs&, IdProblem, const Caps&);
  bool raw = false;
};

constexpr IdKernel packed_kernel{"packed", can_packed, worth_packed, make_packed, true};
constexpr IdKernel vector_kernel{"vector", can_vector, worth_vector, make_vector};
constexpr IdKernel matrix_kernel{"matrix", can_matrix, worth_matrix, make_matrix};
constexpr IdKernel grouped_kernel{"grouped", can_group, always, make_grouped};

// In order of preference.
constexpr std::array kernels{&packed_kernel, &vector_kernel, &matrix_kernel, &grouped_kernel};

Result<const IdKernel*> choose(const IdArgs& args, const Caps& caps) {
  return choose_kernel(kernels, "A product by ids", args.kernel, args, caps);
}

}  // namespace

bool wants_packed(const IdArgs& args, const Caps& caps) {
  if (args.weights.rank != 3 || args.y.empty() || args.weights.empty()) return false;
  const auto kernel = choose(args, caps);
  return kernel && *kernel == &packed_kernel;
}

GroupedParams grouped_params(const IdProblem& problem, const Assignment& assignment,
                             const Caps& caps) {
  const auto& [weights, x, ids, y, first_expert, all_experts] = problem;
  const std::uint64_t tiles = assignment.tiles.shape[0];
  const std::uint64_t tiles_z = ceil_div<std::uint64_t>(tiles, caps.max_workgroups);
  return {.m = u32(y.shape[2]),
          .k = u32(x.shape[2]),
          .pieces = u32(x.shape[2] / 16),
          .steps = u32(ceil_div<std::uint64_t>(x.shape[2], 32)),
          .used = u32(y.shape[1]),
          .w_expert = weight_stride(weights, 0),
          .w_row = weight_stride(weights, 1),
          .w_step = u32(weights.stride[2]),
          .x_token = u32(x.stride[0]),
          .x_slot = u32(x.stride[1]),
          .x_slots = u32(x.shape[1]),
          .y_token = u32(y.stride[0]),
          .y_slot = u32(y.stride[1]),
          .y_row = u32(y.stride[2]),
          .first_expert = u32(first_expert),
          .experts = u32(weights.shape[0]),
          .all_experts = u32(all_experts),
          .tiles_y = u32(ceil_div<std::uint64_t>(tiles, tiles_z))};
}

Grid grouped_grid(const IdProblem& problem, const GroupedParams& params,
                  const Assignment& assignment, std::uint32_t rows) {
  return {u32(ceil_div<std::uint64_t>(problem.y.shape[2], rows)), params.tiles_y,
          u32(ceil_div<std::uint64_t>(assignment.tiles.shape[0], params.tiles_y))};
}

Result<Plan> plan(const IdArgs& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (args.y.empty()) return Plan{};
  if (args.weights.empty()) return map::plan({.function = "fill", .y = args.y}, caps);
  const std::uint64_t tokens = args.y.shape[0];
  const std::uint64_t largest = std::max(args.x.bytes().size(), args.y.bytes().size());
  // One workgroup in z for each id.
  const bool too_many = args.exact && args.ids.count() > caps.max_workgroups;
  if ((largest > binding_budget(caps) || too_many) && tokens > 1) {
    const std::uint64_t half = half_of(tokens);
    Plan whole;
    for (const auto& [first, count] : {std::pair{std::uint64_t{0}, half}, {half, tokens - half}}) {
      auto part = plan(IdArgs{.weights = args.weights,
                              .x = args.x.slice(0, first, count),
                              .ids = args.ids.slice(0, first, count),
                              .y = args.y.slice(0, first, count),
                              .kernel = args.kernel,
                              .allow_q8 = args.allow_q8,
                              .exact = args.exact},
                       caps);
      if (!part) return part;
      whole.append(std::move(*part));
    }
    return whole;
  }
  const auto kernel = choose(args, caps);
  if (!kernel) return std::unexpected(kernel.error());
  IdProblem problem = problem_of(args);
  Stages stages{args.weights, args.x, args.ids, args.y, args.packed};
  if (!(*kernel)->raw && (args.x.dtype != DType::f32 || !quant::rows_in_chunks(args.x, 4))) {
    problem.x = stages.scratch(DType::f32, args.x.extents());
    stages.add(map::plan({.function = "copy", .inputs = {args.x}, .y = problem.x}, caps));
  }
  const Status ok = (*kernel)->make(stages, args, problem, caps);
  if (!ok) return std::unexpected(ok.error());
  return std::move(stages).finish();
}

}  // namespace weft::ops::mul_mat
