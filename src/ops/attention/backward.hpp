#pragma once

#include "ops/attention/problem.hpp"

namespace weft::ops::attention {

/// A piece of the backward pass that fits bindings.
struct Gradient {
  Problem forward;
  View dy;
  View dq;
  View dk;
  View dv;
  View stats{};  ///< Scratch: f32, lse and sum(dy * y) of each row of the piece.

  [[nodiscard]] Gradient slice_batches(std::uint64_t first, std::uint64_t count) const;
  [[nodiscard]] Gradient slice_heads(std::uint64_t first, std::uint64_t count) const;
};

/// A pair of kernels for the backward pass.
struct BackwardKernel {
  std::string_view name;
  Status (*can)(const Gradient& gradient, const Caps& caps);
  bool (*worth)(const Gradient& gradient, const Caps& caps);
  Result<Dispatch> (*launch_q)(const Gradient& gradient, const Caps& caps);
  Result<Dispatch> (*launch_kv)(const Gradient& gradient, const Caps& caps);
};

extern const BackwardKernel backward_slim_kernel;
extern const BackwardKernel backward_matrix_kernel;
extern const BackwardKernel backward_tile_kernel;

/// Parameters and operands that all kernels of the backward pass take.
Launch backward_launch(const Gradient& gradient, std::uint32_t width);

/// Sets the grid: so many blocks for each head. Their numbers go into the parameters, which are
/// complete but for these.
void set_blocks(Launch& launch, std::uint64_t blocks, std::uint64_t heads, const Caps& caps);

/// Adds an output with its strides; atomic where several invocations share words.
void add_output(Launch& launch, std::string_view name, const View& view, bool vec,
                std::uint32_t width);

}  // namespace weft::ops::attention
