#include "ops/gemm/gemm.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "ops/choose.hpp"
#include "ops/gemm/problem.hpp"
#include "ops/gemm/shape.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::gemm {
namespace {

// In order of preference: the first that can run a problem and is worth it there wins.
constexpr std::array kernels{&naive_kernel,  &matvec_kernel, &thin_kernel,
                             &matrix_kernel, &lone_kernel,   &tile_kernel};
constexpr std::string_view split_k_name = "split_k";

const Kernel* find_kernel(std::string_view name) {
  const auto found =
      std::ranges::find(kernels, name, [](const Kernel* kernel) { return kernel->name; });
  return found == kernels.end() ? nullptr : *found;
}

/// A kernel, and how it makes a problem.
struct Chosen {
  const Kernel* kernel = &naive_kernel;
  Choice choice{};
};

Result<Chosen> chosen(const Kernel& kernel, const Problem& problem, const Context& context) {
  auto choice = kernel.choose(problem, context);
  if (!choice) return std::unexpected(choice.error());
  return Chosen{&kernel, *choice};
}

Result<Chosen> choose_kernel(const Problem& problem, const Context& context) {
  ++choices_made;
  const std::string_view forced = context.args.kernel;
  if (problem.k() == 0) return Chosen{};
  if (forced == split_k_name) {
    auto out = chosen(matrix_kernel, problem, context);
    if (!out) out = chosen(tile_kernel, problem, context);
    if (out) out->choice.parts = std::max(2U, out->choice.parts);
    return out;
  }
  if (!forced.empty()) {
    const Kernel* kernel = find_kernel(forced);
    if (kernel == nullptr) {
      return fail(ErrorCode::not_found,
                  "There is no matrix product kernel named `{}`; there are naive, matvec, thin, "
                  "split_k, matrix, lone, tile and, for bf16 in aligned rows, halves.",
                  forced);
    }
    auto out = chosen(*kernel, problem, context);
    if (!out) return wrap(out.error(), formatted("choosing kernel `{}`", forced));
    if (kernel != &matvec_kernel && kernel != &thin_kernel) out->choice.parts = 1;
    return out;
  }
  for (const Kernel* kernel : kernels) {
    if (!kernel->worth(problem, context)) continue;
    if (auto out = chosen(*kernel, problem, context)) return out;
  }
  return Chosen{};
}

Status add_launch(Plan& plan, const Problem& problem, const Chosen& chosen,
                  const Context& context) {
  const auto& [kernel, choice] = chosen;
  return plan.add(kernel->launch(choice.turned ? problem.transposed() : problem, choice, context));
}

/// Emits the launches of one piece that fits the device's bindings.
Status emit(Plan& plan, const Problem& problem, const Context& context) {
  auto made = choose_kernel(problem, context);
  if (!made) return std::unexpected(made.error());
  const Choice& choice = made->choice;
  std::uint32_t parts = context.args.parts != 0 ? context.args.parts : choice.parts;
  const std::uint64_t slice = problem.c.count();
  const std::uint64_t most = std::min(binding_budget(context.caps) / (slice * sizeof(float)),
                                      context.caps.max_workgroups / problem.batches());
  parts = static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, most));
  std::uint64_t length = problem.k();
  if (parts > 1) {
    length = round_up(ceil_div<std::uint64_t>(problem.k(), parts), choice.step);
    parts = static_cast<std::uint32_t>(ceil_div(problem.k(), length));
  }
  if (parts <= 1) return add_launch(plan, problem, *made, context);
  Problem partial = plain(problem);
  partial.splits = parts;
  partial.k_split = length;
  partial.c =
      View::dense(DType::f32, problem.c.extents(), plan.add_scratch(parts * slice * sizeof(float)));
  if (choice.turned) {  // For the sake of c, perhaps; parts have rows.
    made = chosen(*made->kernel, partial, context);
    if (!made) return std::unexpected(made.error());
  }
  if (const Status ok = add_launch(plan, partial, *made, context); !ok) return ok;
  const View slices = View::dense(DType::f32, {parts * slice}, partial.c.slot);
  return plan.add(launch_reduce(problem, slices, context.caps));
}

Status emit_pieces(Plan& plan, const Problem& problem, const Context& context);

/// Sums over K in two halves one after the other. Where c cannot hold the sum of the first half
/// (its type is narrow or the activation comes last) an f32 scratch does.
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
    if (const auto halves = choose_halves(problem, context)) {
      auto made = halved(problem, *halves, context);
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
