// Attention of bf16 on matrix units, which know f16 alone: tensors are written as f16 first, times
// a power of two for each head of keys and all queries that share it, which takes the largest value
// near 2^14. f16 has three bits more than bf16, so nothing changes down to 2^-28 of the largest
// value, and less than 2^-39 of it is lost below that. The kernels put the factors back, in f32.
// Masks may hide keys that hold anything, so those are left to other kernels.
#include "ops/attention/halve.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/attention/backward.hpp"
#include "ops/attention/check.hpp"
#include "ops/attention/problem.hpp"
#include "ops/iterate.hpp"
#include "ops/stages.hpp"

namespace weft::ops::attention {
namespace {

/// Below so many multiplications the launches that write f16 cost more than they gain.
constexpr std::uint64_t least_work = 1ULL << 24;
constexpr std::uint64_t most_parts = 32;
constexpr std::uint64_t part_rows = 32;  // A part of a group has so many rows at least.

struct HalveVariant {
  std::uint32_t count = 0;  // tensors: q, k, v and perhaps dy
};

struct HalveParams {
  std::uint32_t jobs = 0;
  std::uint32_t parts = 1;   // of a group,
  std::uint32_t owners = 1;  // and heads of keys
  std::uint32_t key_heads = 1;
};

/// Tensors as f16 with their factors, f32 [key batches, key heads, 1, 4].
struct Halved {
  std::vector<View> halves;
  View factors;
};

View as_halves(const View& view) { return View::dense(DType::f16, view.extents()); }

bool can_halve(std::span<const View* const> views, const Caps& caps) {
  std::uint64_t elements = 0;
  for (const View* view : views) {
    if (!rows_aligned(*view, 8) || view->bytes().size() > binding_budget(caps)) return false;
    elements += view->count();
  }
  return elements * 2 <= binding_budget(caps) && elements < (1ULL << 31);
}

/// A problem as the kernel for slim heads gets it.
Problem halved_problem(Args args) {
  for (View* view : {&args.q, &args.k, &args.v}) *view = as_halves(*view);
  return whole_problem(args);
}

bool suits(const Args& args, std::string_view kernel) {
  const bool brain = args.k.dtype == DType::bf16 && args.v.dtype == DType::bf16;
  return brain && (kernel.empty() || forces_halves(kernel)) && !args.mask.given() &&
         !args.packed.given() && args.rules.soft_cap == 0 && !args.y.empty() && !args.k.empty() &&
         !args.v.empty();
}

Args forward_of(const BackwardArgs& args) {
  return {.q = args.q,
          .k = args.k,
          .v = args.v,
          .y = args.y,
          .mask = args.mask,
          .lse = args.lse,
          .rules = args.rules};
}

Gradient halved_gradient(const BackwardArgs& args) {
  return {.forward = halved_problem(forward_of(args)),
          .dy = as_halves(args.dy),
          .dq = args.dq,
          .dk = args.dk,
          .dv = args.dv};
}

bool pays(const Problem& problem) {
  return problem.rows() * problem.keys() * (problem.size() + problem.value_size()) >= least_work;
}
bool pays(const Gradient& gradient) { return pays(gradient.forward); }

/// The kernel that multiplies the halves: that for slim heads where it can.
template <class Problem, class Kernel>
std::optional<std::string_view> kernel_for(const Problem& problem, std::string_view forced,
                                           const Kernel& slim, const Kernel& matrix,
                                           const Caps& caps) {
  if (!forces_halves(forced) && !(matrix.worth(problem, caps) && pays(problem))) return {};
  if (forced != matrix_halves_name && slim.can(problem, caps)) return slim.name;
  return matrix.can(problem, caps) ? std::optional(matrix.name) : std::nullopt;
}

/// What a tensor adds to the parameters: its strides, its rows of a group, and where its halves
/// start.
void add_tensor(ParamBlock& block, const std::string& name, const View& view,
                const Problem& problem, std::uint64_t start) {
  const bool shared = view.shape[0] * view.shape[1] == problem.k.shape[0] * problem.k.shape[1];
  const std::uint64_t heads = shared ? 1 : problem.head_group;
  const std::uint64_t batches = shared ? 1 : problem.batch_group;
  add_strides(block, name, view);
  block.add(name + "_len", narrow(view.shape[2]));
  block.add(name + "_heads", narrow(heads));
  block.add(name + "_batches", narrow(batches));
  block.add(name + "_rows", narrow(batches * heads * view.shape[2]));
  block.add(name + "_row8", narrow(view.shape[3] / 8));
  block.add(name + "_out", narrow(start));
}

/// Writes q, k, v and perhaps dy as f16.
Halved halve(Stages& stages, std::span<const View* const> views, const Problem& problem,
             const Caps& caps) {
  constexpr std::array names{"q", "k", "v", "dy"};
  const std::uint64_t owners = problem.k.shape[0] * problem.k.shape[1];
  std::uint64_t elements = 0;
  std::uint64_t rows = 1;  // of the group that has most
  for (const View* view : views) {
    elements += view->count();
    rows = std::max(rows, view->count() / view->shape[3] / owners);
  }
  const std::uint64_t pairs = owners * views.size();
  const std::uint64_t parts = std::clamp<std::uint64_t>(
      caps.traits.groups(8) / pairs, 1, std::min(most_parts, ceil_div(rows, part_rows)));
  const View all = stages.scratch(DType::f16, {elements});
  const View most = stages.scratch(DType::u32, {pairs * parts});
  Halved out{.halves = {},
             .factors = stages.scratch(DType::f32, {problem.k.shape[0], problem.k.shape[1], 1, 4})};
  Launch launch;
  launch.source = "attention/halve_most.wgsl";
  launch.label = "attention largest values";
  launch.constants = constants_of(HalveVariant{.count = narrow(views.size())});
  launch.params = block_of(HalveParams{.jobs = narrow(pairs * parts),
                                       .parts = narrow(parts),
                                       .owners = narrow(owners),
                                       .key_heads = narrow(problem.k.shape[1])});
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    add_tensor(launch.params, names[i], *views[i], problem, start);
    launch.operands.push_back(operand_of(names[i], *views[i], Access::read, 8));
    View halves = as_halves(*views[i]);
    halves.slot = all.slot;
    halves.offset = all.offset + start * size_of(DType::f16);
    out.halves.push_back(halves);
    start += views[i]->count();
  }
  launch.grid = grid_1d(pairs * parts, caps);
  Launch write = launch;
  launch.operands.push_back({.name = "most", .view = most, .access = Access::write});
  stages.add(make_dispatch(std::move(launch), caps));
  write.source = "attention/halve.wgsl";
  write.label = "attention halves";
  write.operands.push_back({.name = "most", .view = most});
  write.operands.push_back({.name = "halves", .view = all, .access = Access::write, .unit = 4});
  write.operands.push_back({.name = "factors", .view = out.factors, .access = Access::write});
  stages.add(make_dispatch(std::move(write), caps));
  return out;
}

}  // namespace

std::unexpected<Failure> no_halves(const View& k, const View& v) {
  return fail(
      ErrorCode::unsupported,
      "Attention takes halves of k and v of bf16 in aligned rows of up to 128 elements, without "
      "a mask or a soft cap, on matrix units; k is {} and v is {}.",
      describe(k), describe(v));
}

bool takes_halves(const Args& args, const Caps& caps) {
  return suits(args, args.kernel) && can_halve(std::array{&args.q, &args.k, &args.v}, caps) &&
         kernel_for(halved_problem(args), args.kernel, slim_kernel, matrix_kernel, caps);
}

Result<Plan> in_halves(const Args& args, const Caps& caps) {
  Stages stages{args.q, args.k, args.v, args.y, args.sinks, args.lse};
  const std::array views{&args.q, &args.k, &args.v};
  const Halved halved = halve(stages, views, whole_problem(args), caps);
  Args plain = args;
  plain.q = halved.halves[0];
  plain.k = halved.halves[1];
  plain.v = halved.halves[2];
  plain.factors = halved.factors;
  plain.kernel = kernel_for(halved_problem(args), args.kernel, slim_kernel, matrix_kernel, caps)
                     .value_or(matrix_kernel.name);
  stages.add(plan(plain, caps));
  return std::move(stages).finish();
}

bool takes_halves(const BackwardArgs& args, const Caps& caps) {
  return suits(forward_of(args), args.kernel) &&
         can_halve(std::array{&args.q, &args.k, &args.v, &args.dy}, caps) &&
         kernel_for(halved_gradient(args), args.kernel, backward_slim_kernel,
                    backward_matrix_kernel, caps);
}

Result<Plan> in_halves(const BackwardArgs& args, const Caps& caps) {
  Stages stages{args.q, args.k, args.v, args.y, args.lse, args.dy, args.dq, args.dk, args.dv};
  const std::array views{&args.q, &args.k, &args.v, &args.dy};
  const Halved halved = halve(stages, views, whole_problem(forward_of(args)), caps);
  BackwardArgs plain = args;
  plain.q = halved.halves[0];
  plain.k = halved.halves[1];
  plain.v = halved.halves[2];
  plain.dy = halved.halves[3];
  plain.factors = halved.factors;
  plain.kernel = kernel_for(halved_gradient(args), args.kernel, backward_slim_kernel,
                            backward_matrix_kernel, caps)
                     .value_or(backward_matrix_kernel.name);
  stages.add(plan(plain, caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::attention
