#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/fields.hpp"
#include "ops/mul_mat/problem.hpp"

namespace weft::ops::mul_mat {

/// Elements of a piece, the step of vector.wgsl.
inline constexpr std::uint32_t piece_elements = 16;

/// What the texts of the kernels for few columns, vector.wgsl and packed.wgsl, depend on.
struct VectorVariant {
  DType qtype = DType::q4_0;
  bool aligned = false;  // blocks: vector.wgsl alone
  bool ids = false;
  std::uint32_t threads = 256;
  std::uint32_t team = 32;
  std::uint32_t rows = 4;
  std::uint32_t cols = 1;
  std::uint32_t subgroup = 1;  // invocations that add up by shuffles
  std::uint32_t joined = 0;    // products in a launch
  bool gated = false;          // rows of two take turns
  bool packs = false;          // the results also go to `packed`: packed.wgsl and lone.wgsl
  bool lone = false;           // teams are subgroups, which need neither barriers nor memory,
  bool quarters = false;       // and whose lanes have one word of every four: lone.wgsl
  bool bias = false;
  std::string_view function = "none";  // applied at the end

  [[nodiscard]] std::uint32_t rows_per_group() const { return threads / team * rows; }
};

/// How workgroups for few columns are divided, for Traits::quantized_tile to choose among.
struct VectorTeams {
  std::uint32_t threads = 64;
  std::uint32_t team = 32;
  std::uint32_t rows = 2;
};
/// The one that the traits name, if they name one that the device can run.
std::optional<VectorTeams> named_teams(const Caps& caps);

/// Parameters of those kernels.
struct VectorParams {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t pieces = 0;  // of 16 elements
  std::uint32_t blocks = 0;  // of 32 elements, and
  std::uint32_t units = 0;   // of 64: packed.wgsl alone
  std::array<std::uint32_t, 4> batch{};
  std::array<std::uint32_t, 4> w{};  // bytes
  std::array<std::uint32_t, 4> x{};
  std::array<std::uint32_t, 4> y{};
  std::uint32_t w_row = 0;
  std::uint32_t x_column = 0;
  std::uint32_t y_column = 0;
  std::uint32_t y_row = 0;
  std::array<std::uint32_t, 3> part_m{};  // of joined products: rows, first workgroup,
  std::array<std::uint32_t, 3> part_group{};
  std::array<std::uint32_t, 3> part_w{};  // where weights and y start, in bytes and elements
  std::array<std::uint32_t, 3> part_y{};
  std::array<std::uint32_t, 3> part_column{};
  std::array<std::uint32_t, 3> part_bias{};
  std::array<std::uint32_t, 4> bias{};  // strides of the bias, as those of y
  std::uint32_t bias_column = 0;
  std::uint32_t bias_row = 0;
  std::uint32_t packed_blocks = 0;  // of a packed row of results
  std::uint32_t packed_row = 0;     // words
  std::array<float, 4> s{};         // scalars of the function
  std::uint32_t used = 0;           // with ids, from here on
  std::uint32_t x_slots = 0;
  std::uint32_t ids_token = 0;
  std::uint32_t ids_slot = 0;
  std::uint32_t first_expert = 0;
  std::uint32_t experts = 0;
  std::uint32_t all_experts = 0;
};

/// The parameters of a launch; those of packed.wgsl alone are left 0.
VectorParams vector_params(const Problem& problem);
VectorParams vector_params(const IdProblem& problem);

/// Adds the parameters of joined products to those of a launch whose workgroups make so many rows
/// each; returns how many workgroups it takes. A problem that is not joined has only those of its
/// rows.
std::uint64_t add_join(VectorParams& params, const Join& join, std::uint64_t m,
                       std::uint32_t rows_per_group);

}  // namespace weft::ops::mul_mat
