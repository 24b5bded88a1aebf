#include "ops/attention/backward.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/check.hpp"
#include "ops/attention/halve.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::attention {
namespace {

/// In order of preference.
constexpr std::array<const BackwardKernel*, 3> kernels{
    &backward_slim_kernel, &backward_matrix_kernel, &backward_tile_kernel};

Result<const BackwardKernel*> choose(std::string_view forced, const Gradient& gradient,
                                     const Caps& caps) {
  return choose_kernel(kernels, "The backward pass of attention", forced, gradient, caps);
}

struct DeltaVariant {
  bool vec = false;
  std::uint32_t lanes = 1;  // of a row
  std::uint32_t workgroup = narrow_workgroup;
};

Result<Dispatch> launch_delta(const Gradient& gradient, const Caps& caps) {
  const Problem& problem = gradient.forward;
  Params params = params_of(problem, {});
  params.jobs = narrow(problem.rows());
  Launch out;
  out.source = "attention/delta.wgsl";
  out.label = formatted("attention delta {}", name(problem.y.dtype));
  const DeltaVariant variant{.vec = rows_aligned(problem.y, 4) && rows_aligned(gradient.dy, 4),
                             .lanes = caps.traits.slow_barriers ? 1U : 8U};
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_strides(out.params, "y", problem.y);
  add_strides(out.params, "dy", gradient.dy);
  out.operands.push_back(operand_of("y", problem.y));
  out.operands.push_back(operand_of("dy", gradient.dy));
  add_strides(out.params, "lse", problem.lse);
  out.operands.push_back({.name = "lse", .view = problem.lse});
  out.operands.push_back({.name = "stats", .view = gradient.stats, .access = Access::write});
  out.grid =
      grid_1d(ceil_div<std::uint64_t>(problem.rows(), narrow_workgroup / variant.lanes), caps);
  return make_dispatch(std::move(out), caps);
}

/// Plans pieces that fit bindings, one after the other.
class Planner {
 public:
  Planner(const BackwardArgs& args, const Caps& caps) : args_(args), caps_(caps) {}

  Status add(const Gradient& gradient) {
    const Problem& problem = gradient.forward;
    const std::array views{problem.q,    problem.k,   problem.v,   problem.y,   problem.lse,
                           problem.mask, gradient.dy, gradient.dq, gradient.dk, gradient.dv};
    if (fit_bindings(views, caps_)) return emit(gradient);
    // Heads and batches that share keys stay together, because the gradients of the keys are sums
    // over them.
    if (problem.k.shape[0] > 1) {
      const std::uint64_t half = half_of(problem.k.shape[0]) * problem.batch_group;
      return add(gradient.slice_batches(0, half)).and_then([&] {
        return add(gradient.slice_batches(half, problem.batches() - half));
      });
    }
    if (problem.k.shape[1] > 1) {
      const std::uint64_t half = half_of(problem.k.shape[1]) * problem.head_group;
      return add(gradient.slice_heads(0, half)).and_then([&] {
        return add(gradient.slice_heads(half, problem.heads() - half));
      });
    }
    return fail(ErrorCode::unsupported,
                "The backward pass needs all queries that share a head of keys in one binding of "
                "{} bytes; q is {} and k is {}.",
                caps_.max_binding, describe(problem.q), describe(problem.k));
  }

  Plan take() { return std::move(plan_); }

 private:
  Status emit(Gradient gradient) {
    gradient.stats = View::dense(DType::f32, {gradient.forward.rows(), 2});
    gradient.stats.slot =
        plan_.add_scratch(round_up<std::uint64_t>(gradient.stats.bytes().size(), 16));
    auto kernel = choose(args_.kernel, gradient, caps_);
    if (!kernel) return std::unexpected(kernel.error());
    return push(launch_delta(gradient, caps_))
        .and_then([&] { return push((*kernel)->launch_kv(gradient, caps_)); })
        .and_then([&] { return push((*kernel)->launch_q(gradient, caps_)); });
  }

  Status push(Result<Dispatch> dispatch) { return plan_.add(std::move(dispatch)); }

  const BackwardArgs& args_;
  const Caps& caps_;
  Plan plan_;
};

}  // namespace

Gradient Gradient::slice_batches(std::uint64_t first, std::uint64_t count) const {
  const std::uint64_t group = forward.batch_group;
  return {.forward = forward.slice_batches(first, count),
          .dy = dy.slice(0, first, count),
          .dq = dq.slice(0, first, count),
          .dk = dk.slice(0, first / group, count / group),
          .dv = dv.slice(0, first / group, count / group)};
}

Gradient Gradient::slice_heads(std::uint64_t first, std::uint64_t count) const {
  const std::uint64_t group = forward.head_group;
  return {.forward = forward.slice_heads(first, count),
          .dy = dy.slice(1, first, count),
          .dq = dq.slice(1, first, count),
          .dk = dk.slice(1, first / group, count / group),
          .dv = dv.slice(1, first / group, count / group)};
}

Launch backward_launch(const Gradient& gradient, std::uint32_t width) {
  const Problem& problem = gradient.forward;
  Launch out;
  Params params = params_of(problem, {});
  params.chunks = narrow(ceil_div(problem.size(), chunk_columns));
  params.value_chunks = narrow(ceil_div(problem.value_size(), chunk_columns));
  out.params = block_of(params);
  out.params.add("key_heads", narrow(problem.k.shape[1]));
  const auto add = [&](std::string_view name, const View& view) {
    add_strides(out.params, name, view);
    out.operands.push_back(operand_of(name, view, Access::read, width));
  };
  add("q", problem.q);
  add("k", problem.k);
  add("v", problem.v);
  add("dy", gradient.dy);
  if (problem.mask.given()) add("mask", problem.mask);
  out.operands.push_back({.name = "stats", .view = gradient.stats});
  return out;
}

void set_blocks(Launch& launch, std::uint64_t blocks, std::uint64_t heads, const Caps& caps) {
  for (std::size_t i = 0; i < launch.params.fields.size(); ++i) {
    if (launch.params.fields[i].name == "blocks") launch.params.words[i] = narrow(blocks);
    if (launch.params.fields[i].name == "jobs") launch.params.words[i] = narrow(blocks * heads);
  }
  launch.grid = grid_1d(blocks * heads, caps);
}

void add_output(Launch& launch, std::string_view name, const View& view, bool vec,
                std::uint32_t width) {
  add_strides(launch.params, name, view);
  const bool atomic = !vec && view.dtype != DType::f32;
  launch.operands.push_back(operand_of(name, view, atomic ? Access::atomic : Access::write, width));
}

Result<Plan> plan(const BackwardArgs& args, const Caps& caps) {
  if (const Status ok = check(args); !ok)
    return wrap(ok.error(), "planning the backward pass of attention");
  Plan empty;
  if (args.q.empty() || args.k.empty() || args.v.empty()) {
    // What exists got nothing from the rest.
    for (const View* view : {&args.dq, &args.dk, &args.dv}) {
      if (view->empty()) continue;
      auto zeros = map::plan({.function = "fill", .inputs = {}, .y = *view}, caps);
      if (!zeros) return zeros;
      empty.append(std::move(*zeros));
    }
    return empty;
  }
  const Args forward{.q = args.q,
                     .k = args.k,
                     .v = args.v,
                     .y = args.y,
                     .mask = args.mask,
                     .sinks = {},
                     .lse = args.lse,
                     .rules = args.rules,
                     .kernel = {},
                     .packed = {},
                     .factors = args.factors};
  if (takes_halves(args, caps)) return in_halves(args, caps);
  if (forces_halves(args.kernel)) return no_halves(args.k, args.v);
  Planner planner(args, caps);
  const Gradient whole{.forward = whole_problem(forward),
                       .dy = args.dy,
                       .dq = args.dq,
                       .dk = args.dk,
                       .dv = args.dv};
  if (const Status ok = planner.add(whole); !ok)
    return wrap(ok.error(), "planning the backward pass of attention");
  return planner.take();
}

}  // namespace weft::ops::attention
