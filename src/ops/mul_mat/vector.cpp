#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/mul_mat/vector.hpp"
#include "ops/quant/job.hpp"
#include "ops/tables.hpp"
#include "ops/tile_families.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::mul_mat {
namespace {

constexpr std::array<VectorTeams, 8> teams{{{64, 32, 2},
                                            {64, 64, 2},
                                            {128, 64, 2},
                                            {128, 128, 4},
                                            {64, 32, 4},
                                            {64, 16, 2},
                                            {32, 8, 8},
                                            {64, 8, 2}}};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

std::uint32_t weight_bytes(const View& weights,
                           std::uint32_t dim) {  // blocks of one element for plain types
  return u32(weights.stride[dim] / block_elements(weights.dtype) * block_bytes(weights.dtype));
}

/// Teams so long that each invocation has a few pieces to do, workgroups so many that the device is
/// busy.
VectorVariant choose(const View& weights, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                     std::uint64_t others, std::uint32_t rows, const Caps& caps) {
  const bool aligned = is_quantized(weights.dtype) && quant::blocks_aligned(weights);
  VectorVariant variant{.qtype = weights.dtype, .aligned = aligned};
  variant.cols = std::bit_ceil(static_cast<std::uint32_t>(n));
  variant.threads = caps.traits.slow_barriers ? 64 : workgroup_width(caps);
  const std::uint64_t pieces = k / piece_elements;
  // Longer ones gain nothing where invocations run in turn, and take a slow compiler minutes.
  const std::uint32_t longest = caps.traits.slow_barriers ? 8 : variant.threads / 2;
  variant.team =
      std::clamp<std::uint32_t>(std::bit_floor(u32(std::max<std::uint64_t>(pieces / 4, 1))),
                                caps.traits.slow_barriers ? 8 : 32, longest);
  const auto named = named_teams(caps);
  if (named && rows == 0) {
    variant.threads = named->threads;
    variant.team = named->team;
  }
  if (caps.subgroups && caps.subgroup_min >= 2) {
    variant.subgroup = std::min(std::bit_floor(caps.subgroup_min), variant.team);
  }
  if (named && rows == 0) rows = named->rows;
  if (rows == 0) {
    // Measured on an H200: with columns to share a decoded weight, 8 rows in short teams are faster
    // by 1.4.
    const bool wide = !caps.traits.slow_barriers && variant.cols >= 4;
    if (wide) {
      variant.threads = std::min(128U, workgroup_width(caps));
      variant.team = std::min(variant.team, variant.threads / 2);
    }
    rows = wide ? 8 : 4;
    const std::uint64_t enough = caps.traits.fill(wide ? 2 : 4);  // workgroups
    const auto groups = [&](std::uint64_t r) {
      return ceil_div<std::uint64_t>(m, variant.threads / variant.team * r) * others;
    };
    while (rows > 1 && groups(rows) < enough) rows /= 2;
  }
  // Sums of all invocations must fit the workgroup's memory.
  while (rows > 1 && variant.threads / variant.subgroup * rows * variant.cols * 4 > 8192) rows /= 2;
  variant.rows = rows;
  return variant;
}

Launch launch_with(const VectorVariant& variant, const VectorParams& params, const View& weights,
                   const View& x, const View& y) {
  Launch out;
  out.source = "mul_mat/vector.wgsl";
  out.label = formatted("mul_mat {} vector {}", name(weights.dtype), variant.cols);
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands = {{.name = "w", .view = weights, .unit = is_quantized(weights.dtype) ? 1U : 4U},
                  {.name = "x", .view = x, .unit = 4},
                  {.name = "y", .view = y, .access = Access::write}};
  out.features.subgroups = variant.subgroup > 1;
  return out;
}

}  // namespace

std::optional<VectorTeams> named_teams(const Caps& caps) {
  const std::uint32_t number = caps.traits.quantized_tile;
  if (number == 0 || number > teams.size()) return std::nullopt;
  const VectorTeams& found = teams[number - 1];
  return found.threads <= caps.workgroup_invocations ? std::optional(found) : std::nullopt;
}

std::uint32_t quantized_tile_count() { return teams.size(); }
std::vector<std::string> quantized_tiles() { return texts_of_tiles(teams); }

VectorParams vector_params(const Problem& problem) {
  const View& weights = problem.weights;
  const View& x = problem.x;
  const View& y = problem.y;
  VectorParams params{.m = u32(problem.m()),
                      .n = u32(problem.n()),
                      .pieces = u32(problem.k() / piece_elements),
                      .w_row = weight_bytes(weights, 4),
                      .x_column = u32(x.stride[4]),
                      .y_column = u32(y.stride[4]),
                      .y_row = u32(y.stride[5])};
  for (std::uint32_t i = 0; i < 4; ++i) {
    params.batch[i] = u32(y.shape[i]);
    params.w[i] = weight_bytes(weights, i);
    params.x[i] = u32(x.stride[i]);
    params.y[i] = u32(y.stride[i]);
    params.s[i] = static_cast<float>(problem.scalars[i]);
    if (problem.bias.given()) params.bias[i] = u32(problem.bias.stride[i]);
  }
  if (problem.bias.given()) {
    params.bias_column = u32(problem.bias.stride[4]);
    params.bias_row = u32(problem.bias.stride[5]);
  }
  return params;
}

VectorParams vector_params(const IdProblem& problem) {
  const auto& [weights, x, ids, y, first_expert, all_experts] = problem;
  return {.m = u32(y.shape[2]),
          .n = 1,
          .pieces = u32(x.shape[2] / piece_elements),
          .w = {0, 0, 0, weight_bytes(weights, 0)},
          .x = {0, 0, u32(x.stride[0]), u32(x.stride[1])},
          .y = {0, 0, u32(y.stride[0]), u32(y.stride[1])},
          .w_row = weight_bytes(weights, 1),
          .y_row = u32(y.stride[2]),
          .used = u32(y.shape[1]),
          .x_slots = u32(x.shape[1]),
          .ids_token = u32(ids.stride[0]),
          .ids_slot = u32(ids.stride[1]),
          .first_expert = u32(first_expert),
          .experts = u32(weights.shape[0]),
          .all_experts = u32(all_experts)};
}

std::uint64_t add_join(VectorParams& params, const Join& join, std::uint64_t m,
                       std::uint32_t rows_per_group) {
  for (std::size_t i = 0; i < join.rows.size(); ++i) {
    params.part_w[i] = u32(join.w_bytes[i]);
    params.part_y[i] = u32(join.y_start[i]);
    params.part_m[i] = u32(join.rows[i]);
    params.part_column[i] = u32(join.y_column[i]);
    params.part_bias[i] = u32(join.bias_start[i]);
  }
  if (join.parts == 0 || join.gated) {
    params.m = u32(join.parts == 0 ? m : join.all_rows());
    return ceil_div<std::uint64_t>(params.m, rows_per_group);
  }
  std::uint64_t groups = 0;
  for (std::size_t i = 0; i < join.rows.size(); ++i) {
    params.part_group[i] = i < join.parts ? u32(groups) : ~0U;
    groups += ceil_div<std::uint64_t>(join.rows[i], rows_per_group);
  }
  return groups;
}

Result<Dispatch> launch_vector(const Problem& problem, std::uint32_t rows, const Caps& caps,
                               const Join& join) {
  const View& weights = problem.weights;
  const View& x = problem.x;
  const View& y = problem.y;
  const bool joined = join.parts > 0;
  const std::uint64_t batches = joined ? 1 : problem.batches();
  VectorVariant variant = choose(weights, joined ? join.all_rows() : problem.m(), problem.n(),
                                 problem.k(), batches, rows, caps);
  if (joined) variant.aligned = join.aligned;
  variant.joined = join.parts;
  variant.gated = join.gated;
  variant.bias = problem.bias.given();
  variant.function = problem.activation;
  if (join.gated) variant.rows = std::max(variant.rows, 2U);
  VectorParams params = vector_params(problem);
  const std::uint64_t groups = add_join(params, join, problem.m(), variant.rows_per_group());
  Launch out = launch_with(variant, params, weights, x, y);
  if (joined && !join.gated) out.label += " joined";
  if (problem.activation != "none") out.label += formatted(" {}", problem.activation);
  if (variant.bias) {
    out.label += " bias";
    out.operands.push_back({.name = "bias", .view = problem.bias});
  }
  add_codebook(out, weights.dtype);
  out.grid = grid_1d(groups, caps);
  out.grid.z = u32(batches);
  return make_dispatch(std::move(out), caps);
}

Result<Dispatch> launch_vector(const IdProblem& problem, const Caps& caps) {
  const auto& [weights, x, ids, y, first_expert, all_experts] = problem;
  const std::uint64_t pairs = y.shape[0] * y.shape[1];
  VectorVariant variant = choose(weights, y.shape[2], 1, x.shape[2], pairs, 0, caps);
  variant.ids = true;
  Launch out = launch_with(variant, vector_params(problem), weights, x, y);
  out.label += " by id";
  out.operands.push_back({.name = "ids", .view = ids});
  add_codebook(out, weights.dtype);
  out.grid = grid_1d(ceil_div<std::uint64_t>(y.shape[2], variant.rows_per_group()), caps);
  out.grid.z = u32(pairs);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::mul_mat
