#pragma once

#include <cstdint>

#include "ops/fields.hpp"
#include "ops/mul_mat/problem.hpp"

namespace weft::ops::mul_mat {

/// Rows of weights that a workgroup of the grouped kernels makes, as a rule.
inline constexpr std::uint32_t tile_rows = 64;

/// Parameters of the grouped kernels.
struct GroupedParams {
  std::uint32_t m = 0;
  std::uint32_t k = 0;
  std::uint32_t pieces = 0;
  std::uint32_t steps = 0;
  std::uint32_t used = 0;
  std::uint32_t w_expert = 0;
  std::uint32_t w_row = 0;
  std::uint32_t w_step = 0;
  std::uint32_t x_token = 0;
  std::uint32_t x_slot = 0;
  std::uint32_t x_slots = 0;
  std::uint32_t y_token = 0;
  std::uint32_t y_slot = 0;
  std::uint32_t y_row = 0;
  std::uint32_t first_expert = 0;
  std::uint32_t experts = 0;
  std::uint32_t all_experts = 0;
  std::uint32_t tiles_y = 0;
};

/// What assign.wgsl leaves for the products.
struct Assignment {
  View order;
  View tiles;  // [tiles, 3]
};

/// The parameters of a launch over all tiles.
GroupedParams grouped_params(const IdProblem& problem, const Assignment& assignment,
                             const Caps& caps);

/// Workgroups of a launch over all tiles, each with that many rows of weights.
Grid grouped_grid(const IdProblem& problem, const GroupedParams& params,
                  const Assignment& assignment, std::uint32_t rows);

/// Rows of x per tile that the matrix kernel takes for a problem; 0 where it cannot run it.
std::uint32_t matrix_width(const IdProblem& problem, const Caps& caps);

/// Products of tiles by matrix units: `halves` is x [T, U or 1, K] as f16, `scales` the factors of
/// its rows.
Result<Dispatch> launch_grouped_matrix(const IdProblem& problem, const Assignment& assignment,
                                       const View& halves, const View& scales, const Caps& caps);

}  // namespace weft::ops::mul_mat
