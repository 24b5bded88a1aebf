#include "ops/gemm/gemm.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "ops/gemm/problem.hpp"
#include "ops/gemm/shape.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::gemm {
namespace {

// In order of preference: the first that can run a problem and is worth it there wins.
constexpr std::array kernels{&naive_kernel, &matvec_kernel, &thin_kernel, &matrix_kernel,
                             &tile_kernel};
constexpr std::string_view split_k_name = "split_k";

const Kernel* find_kernel(std::string_view name) {
  const auto found =
      std::ranges::find(kernels, name, [](const Kernel* kernel) { return kernel->name; });
  return found == kernels.end() ? nullptr : *found;
}

/// The kernel for a problem; `parts` is set to the number of parts of K to sum on their own.
Result<const Kernel*> choose_kernel(const Problem& problem, const Context& context,
                                    std::uint32_t& parts) {
  const std::string_view forced = context.args.kernel;
  parts = 1;
  if (problem.k() == 0) return &naive_kernel;
  if (forced == split_k_name) {
    const Kernel* inner = matrix_kernel.can(problem, context) ? &matrix_kernel : &tile_kernel;
    if (const Status can = inner->can(problem, context); !can) return std::unexpected(can.error());
    parts = std::max(2U, inner->parts(problem, context));
    return inner;
  }
  if (!forced.empty()) {
    const Kernel* kernel = find_kernel(forced);
    if (kernel == nullptr) {
      return fail(ErrorCode::not_found,
                  "There is no matrix product kernel named `{}`; there are naive, matvec, thin, "
                  "split_k, matrix, tile and, for bf16 in aligned rows, halves.",
                  forced);
    }
    if (const Status can = kernel->can(problem, context); !can) {
      return wrap(can.error(), formatted("choosing kernel `{}`", forced));
    }
    if (kernel == &matvec_kernel || kernel == &thin_kernel) parts = kernel->parts(problem, context);
    return kernel;
  }
  for (const Kernel* kernel : kernels) {
    if (!kernel->worth(problem, context) || !kernel->can(problem, context)) continue;
    parts = kernel->parts(problem, context);
    return kernel;
  }
  return &naive_kernel;
}

/// Emits the launches of one piece that fits the device's bindings.
Status emit(Plan& plan, const Problem& problem, const Context& context) {
  std::uint32_t parts = 1;
  const auto kernel = choose_kernel(problem, context, parts);
  if (!kernel) return std::unexpected(kernel.error());
  if (context.args.parts != 0) parts = context.args.parts;
  const std::uint64_t slice = problem.c.count();
  const std::uint64_t most = std::min(binding_budget(context.caps) / (slice * sizeof(float)),
                                      context.caps.max_workgroups / problem.batches());
  parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, most));
  if (parts > 1) {
    const std::uint64_t step = (*kernel)->step(problem, context);
    const std::uint64_t length = round_up(ceil_div<std::uint64_t>(problem.k(), parts), step);
    parts = static_cast<std::uint32_t>(ceil_div(problem.k(), length));
    Problem partial = plain(problem);
    partial.splits = parts;
    partial.k_split = length;
    partial.c = View::dense(DType::f32, problem.c.extents(),
                            plan.add_scratch(parts * slice * sizeof(float)));
    if (parts > 1) {
      if (const Status ok = plan.add((*kernel)->launch(partial, context)); !ok) return ok;
      const View slices = View::dense(DType::f32, {parts * slice}, partial.c.slot);
      return plan.add(launch_reduce(problem, slices, context.caps));
    }
    plan.scratch.pop_back();
  }
  return plan.add((*kernel)->launch(problem, context));
}

Status emit_pieces(Plan& plan, const Problem& problem, const Context& context);

/// Sums over K in two halves one after the other. Where c cannot hold the sum of the first half (its type is narrow
/// or the activation comes last) an f32 scratch does.
Status emit_halves_of_k(Plan& plan, const Problem& problem, const Context& context) {
  const std::uint64_t half = half_of(problem.k());
  Problem target = problem;
  const bool direct = problem.c.dtype == DType::f32 && problem.activation == "copy" &&
                      std::ranges::none_of(spread_operands, [&](const auto& operand) {
                        return (problem.*operand.second).given();
                      });
  if (!direct) {
    target = plain(problem);
    target.c = View::dense(DType::f32, problem.c.extents(),
                           plan.add_scratch(problem.c.count() * sizeof(float)));
  }
  Problem front = target;
  front.a = target.a.slice(4, 0, half);
  front.b = target.b.slice(3, 0, half);
  if (const Status ok = emit_pieces(plan, front, context); !ok) return ok;
  Problem back = target;
  back.a = target.a.slice(4, half, problem.k() - half);
  back.b = target.b.slice(3, half, problem.k() - half);
  back.beta = 1;
  if (const Status ok = emit_pieces(plan, back, context); !ok) return ok;
  if (direct) return {};
  const View sums = View::dense(DType::f32, {problem.c.count()}, target.c.slot);
  return plan.add(launch_reduce(problem, sums, context.caps));
}

/// Cuts a problem until every operand fits one binding and the grid fits the device.
Status emit_pieces(Plan& plan, const Problem& problem, const Context& context) {
  const auto cut = next_cut(problem, context.caps);
  if (!cut) return std::unexpected(cut.error());
  switch (cut->what) {
    case Cut::What::nothing: return emit(plan, problem, context);
    case Cut::What::k: return emit_halves_of_k(plan, problem, context);
    case Cut::What::dimension: break;
  }
  const std::uint64_t extent = problem.c.shape[cut->dim];
  const std::uint64_t half = half_of(extent);
  if (const Status ok = emit_pieces(plan, sliced(problem, cut->dim, 0, half), context); !ok) {
    return ok;
  }
  return emit_pieces(plan, sliced(problem, cut->dim, half, extent - half), context);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  Plan out;
  const auto problems = normalize(args);
  if (!problems) return std::unexpected(problems.error());
  for (const Problem& problem : *problems) {
    const Context context{caps, args};
    if (wants_halves(problem, context)) {
      auto made = halved(problem, context);
      if (!made) return std::unexpected(made.error());
      out.append(std::move(*made));
      continue;
    }
    const Status ok = emit_pieces(out, problem, context);
    if (!ok) {
      return wrap(ok.error(), formatted("planning the product of {} and {}", describe(args.a),
                                        describe(args.b)));
    }
  }
  return out;
}

}  // namespace weft::ops::gemm
