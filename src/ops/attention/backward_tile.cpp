#include <utility>

#include "base/format.hpp"
#include "ops/attention/backward.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::attention {
namespace {

constexpr std::uint64_t block_rows = 16;

struct Variant {
  bool vec = false;
  bool out_vec = false;
  bool mask = false;
  bool cap = false;
  bool rolled = false;
  std::uint32_t chunks = 1;        // of 64 columns of q and k
  std::uint32_t value_chunks = 1;  // of v
  std::uint32_t workgroup = narrow_workgroup;
};

constexpr std::uint32_t most_chunks = 4;

std::uint32_t chunks_of(std::uint64_t size) { return narrow(ceil_div(size, chunk_columns)); }

Variant variant_of(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  return {.vec = rows_aligned(problem.q, 4) && rows_aligned(problem.k, 4) &&
                 rows_aligned(problem.v, 4) && rows_aligned(gradient.dy, 4),
          .mask = problem.mask.given(),
          .cap = problem.rules.soft_cap > 0,
          .rolled = caps.traits.slow_compile,
          .chunks = caps.traits.slow_compile ? most_chunks : chunks_of(problem.size()),
          .value_chunks = caps.traits.slow_compile ? most_chunks : chunks_of(problem.value_size())};
}

Status can(const Gradient& gradient, const Caps&) {
  const Problem& problem = gradient.forward;
  if (problem.size() > most_chunks * chunk_columns ||
      problem.value_size() > most_chunks * chunk_columns) {
    return fail(ErrorCode::unsupported,
                "The backward pass of attention takes heads of up to {} elements; q is {} and "
                "v is {}.",
                most_chunks * chunk_columns, describe(problem.q), describe(problem.v));
  }
  return {};
}

bool worth(const Gradient&, const Caps&) { return true; }

Result<Dispatch> launch_q(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  Variant variant = variant_of(gradient, caps);
  variant.out_vec = rows_aligned(gradient.dq, 4);
  Launch out = backward_launch(gradient, 4);
  out.source = "attention/backward_q.wgsl";
  out.label = formatted("attention dq {}", name(problem.q.dtype));
  out.constants = constants_of(variant);
  add_output(out, "dq", gradient.dq, variant.out_vec, 4);
  set_blocks(out, ceil_div(problem.queries(), block_rows), problem.batches() * problem.heads(),
             caps);
  return make_dispatch(std::move(out), caps);
}

Result<Dispatch> launch_kv(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  Variant variant = variant_of(gradient, caps);
  variant.out_vec = rows_aligned(gradient.dk, 4) && rows_aligned(gradient.dv, 4);
  Launch out = backward_launch(gradient, 4);
  out.source = "attention/backward_kv.wgsl";
  out.label = formatted("attention dkv {}", name(problem.k.dtype));
  out.constants = constants_of(variant);
  add_output(out, "dk", gradient.dk, variant.out_vec, 4);
  add_output(out, "dv", gradient.dv, variant.out_vec, 4);
  set_blocks(out, ceil_div(problem.keys(), block_rows), problem.k.shape[0] * problem.k.shape[1],
             caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace

constinit const BackwardKernel backward_tile_kernel{"tile", can, worth, launch_q, launch_kv};

}  // namespace weft::ops::attention
