#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/reduce/problem.hpp"

namespace weft::ops::reduce {

/// What the texts of the kernels depend on.
struct Variant {
  std::string_view combine;
  std::string_view pre;
  std::string_view post;
  DType domain = DType::f32;
  bool arg = false;
  bool indexed = false;  // indices come from an operand
  bool partial = false;  // results stay in accumulator form
  std::uint32_t kept_rank = 1;
  std::uint32_t reduced_rank = 1;
  std::uint32_t chunk = 1;   // elements per load
  std::uint32_t size = 256;  // rows: invocations per workgroup
  std::uint32_t lanes = 1;   // rows: invocations per row; columns: chunks of columns per workgroup
  bool alone = false;        // rows: one lane per row or part of a row
  std::uint32_t unroll = 1;  // loads in flight per invocation
  bool tail = false;         // rows: elements are left behind the last whole chunk
  bool shuffle = false;      // rows: the lanes of a row lie in one subgroup
  bool vector_out = false;   // columns: a chunk of results is stored at once
  std::uint32_t chain = 0;   // inputs of the chain that x is; 0: x is an operand
};

/// The parameters of both kernels.
struct Params {
  std::uint32_t identity = 0;
  float scale = 1;
  std::uint32_t first_index = 0;
  std::uint32_t groups = 0;  // workgroups that have work
  std::uint32_t rows = 0;  // rows: number of rows; columns: chunks of the innermost kept dimension
  std::uint32_t blocks = 0;  // columns: workgroups side by side along the innermost kept dimension
  std::uint32_t parts = 1;   // workgroups that share one output
  std::uint32_t part_stride = 0;
  std::uint32_t span = 0;   // reduced chunks (columns: elements) per part
  std::uint32_t count = 0;  // reduced chunks (columns: elements) in all
  std::uint32_t tail = 0;   // elements behind the last whole chunk
  std::array<std::uint32_t, max_rank> kept_shape{};
  std::array<std::uint32_t, max_rank> kept_x{};
  std::array<std::uint32_t, max_rank> kept_y{};
  std::array<std::uint32_t, max_rank> reduced_shape{};
  std::array<std::uint32_t, max_rank> reduced_x{};
  std::array<std::uint32_t, max_rank> reduced_index{};
};

/// What follows from a problem alone.
Variant start_variant(const Problem& problem);
Params start_params(const Problem& problem);

/// Every step of `view` except along `inner` keeps chunks of `bytes` aligned.
bool aligned(const View& view, std::int64_t inner, std::uint64_t bytes);

/// Adds the launch; with more than one part the results go to scratch, and a further pass reduces
/// them. `parts_inner` is true for the kernel that goes along rows.
Status finish(Plan& plan, const Problem& problem, Variant variant, Params params,
              std::string_view source, bool parts_inner, const Caps& caps);

}  // namespace weft::ops::reduce
