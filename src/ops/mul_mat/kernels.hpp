#pragma once

#include <cstdint>
#include <string_view>

#include "ops/mul_mat/problem.hpp"
#include "ops/stages.hpp"

namespace weft::ops::mul_mat {

/// One kernel of the op's list: `can` says why it cannot make a product at all, `worth` whether it
/// is a good choice, `make` adds its launches. Rows of x are f32 in chunks of four there, unless it
/// takes them raw.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Caps&);
  bool (*worth)(const Args&, const Caps&);
  Status (*make)(Stages&, const Args&, const Problem&, const Caps&);
  bool raw = false;
};

/// Floats as they are: the kernels of ops/gemm make these, which take the caller's own views.
extern const Kernel product_kernel;

/// The kernel for a product.
Result<const Kernel*> choose(const Args& args, const Caps& caps);

/// The view with batches broadcast to those of y, and rank 6.
Result<View> with_batches(const View& view, const View& y);

/// The views of a product in the form that kernels take.
Result<Problem> problem_of(const Args& args);

/// Neighbours that share weights are columns of one product: weights are then read once for all of
/// them.
void fold_batches(Problem& problem);

}  // namespace weft::ops::mul_mat
