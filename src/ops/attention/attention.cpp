#include "ops/attention/attention.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/attention/check.hpp"
#include "ops/attention/halve.hpp"
#include "ops/attention/matrix.hpp"
#include "ops/attention/problem.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/quant/quant.hpp"
#include "ops/stages.hpp"

namespace weft::ops::attention {
namespace {

/// In order of preference.
constexpr std::array<const Kernel*, 6> kernels{&lone_kernel, &stream_kernel, &decode_kernel,
                                               &slim_kernel, &matrix_kernel, &tile_kernel};

Result<const Kernel*> choose(std::string_view forced, const Problem& problem, const Caps& caps) {
  return choose_kernel(kernels, "Attention", forced, problem, caps);
}

/// Plans pieces that fit bindings, one after the other.
class Planner {
 public:
  Planner(const Args& args, const Caps& caps) : args_(args), caps_(caps) {}

  Status add(const Problem& problem) {
    const std::array whole{problem.q,    problem.k,     problem.v,  problem.y,
                           problem.mask, problem.sinks, problem.lse};
    if (fit_bindings(whole, caps_)) return emit(problem);
    if (problem.batches() > 1) return halve_batches(problem);
    if (problem.heads() > 1) return halve_heads(problem);
    // One head: queries are cut where the tensors of queries are too long, keys otherwise.
    const std::array rows{problem.q, problem.y, problem.lse};
    const bool rows_fit = fit_bindings(rows, caps_);
    const bool mask_fits = fit_bindings(std::array{problem.mask}, caps_);
    if ((!rows_fit || !mask_fits) && problem.queries() > 1) {
      const std::uint64_t half = half_of(problem.queries());
      return add(problem.slice_queries(0, half)).and_then([&] {
        return add(problem.slice_queries(half, problem.queries() - half));
      });
    }
    return emit(problem);
  }

  Plan take() { return std::move(plan_); }
  /// Whether the launches write args.packed.
  [[nodiscard]] bool packed() const { return packed_; }

 private:
  Status halve_batches(const Problem& problem) {
    const std::uint64_t shared = problem.k.shape[0];
    const std::uint64_t half =
        shared > 1 ? half_of(shared) * problem.batch_group : half_of(problem.batches());
    return add(problem.slice_batches(0, half)).and_then([&] {
      return add(problem.slice_batches(half, problem.batches() - half));
    });
  }

  Status halve_heads(const Problem& problem) {
    const std::uint64_t shared = problem.k.shape[1];
    const std::uint64_t half =
        shared > 1 ? half_of(shared) * problem.head_group : half_of(problem.heads());
    return add(problem.slice_heads(0, half)).and_then([&] {
      return add(problem.slice_heads(half, problem.heads() - half));
    });
  }

  /// A piece whose queries fit; its keys may need several launches.
  Status emit(const Problem& problem) {
    auto kernel = choose(args_.kernel, problem, caps_);
    if (!kernel) return std::unexpected(kernel.error());
    std::uint64_t piece = problem.keys();
    const auto fits = [&](std::uint64_t keys) {
      const Problem part = problem.slice_keys(0, keys);
      return fit_bindings(std::array{part.q, part.k, part.v, part.mask}, caps_);
    };
    while (piece > split_step && !fits(piece)) {
      piece = round_up<std::uint64_t>(ceil_div<std::uint64_t>(piece, 2), split_step);
    }
    const std::uint64_t pieces = ceil_div(problem.keys(), piece);
    std::uint64_t wanted = tuned_splits((*kernel)->splits(problem, caps_), caps_);
    const std::uint64_t row_bytes = problem.rows() * part_row(problem.value_size()) * 4;
    wanted = std::clamp<std::uint64_t>(wanted, pieces,
                                       std::max(pieces, binding_budget(caps_) / row_bytes));
    if (pieces > 1 && pieces * row_bytes > binding_budget(caps_) && problem.queries() > 1) {
      const std::uint64_t half = half_of(problem.queries());
      return add(problem.slice_queries(0, half)).and_then([&] {
        return add(problem.slice_queries(half, problem.queries() - half));
      });
    }
    Splits splits;
    splits.keys = round_up<std::uint64_t>(ceil_div(problem.keys(), wanted), split_step);
    splits.keys = std::min(splits.keys, round_up<std::uint64_t>(piece, split_step));
    splits.total = 0;
    for (std::uint64_t first = 0; first < problem.keys(); first += piece) {
      splits.total += ceil_div(std::min(piece, problem.keys() - first), splits.keys);
    }
    if (splits.total > 1) {
      const std::uint64_t shape[] = {problem.rows() * splits.total, part_row(problem.value_size())};
      splits.part = View::dense(DType::f32, shape);
      splits.part.slot = plan_.add_scratch(round_up<std::uint64_t>(splits.part.bytes().size(), 16));
    }
    for (std::uint64_t first = 0; first < problem.keys(); first += piece) {
      const std::uint64_t count = std::min(piece, problem.keys() - first);
      splits.count = ceil_div(count, splits.keys);
      Problem part = problem.slice_keys(first, count);
      if (const Status ok = add_list(**kernel, part); !ok) return ok;
      if (const Status ok = push((*kernel)->launch(part, splits, caps_)); !ok) return ok;
      splits.first += splits.count;
    }
    if (splits.total == 1) return {};
    packed_ = args_.packed.given() && problem.rows() == whole_problem(args_).rows();
    return push(combine(problem, splits, packed_ ? args_.packed : View{}, caps_));
  }

  /// Looks through the mask beforehand where the kernel asks for it.
  Status add_list(const Kernel& kernel, Problem& problem) {
    if (kernel.mask_block == nullptr || !problem.mask.given()) return {};
    const MaskBlock block = kernel.mask_block(problem, caps_);
    auto extents = flag_extents(problem, block);
    View flags = View::dense(DType::u32, extents);
    flags.slot = plan_.add_scratch(round_up<std::uint64_t>(flags.bytes().size(), 16));
    ++extents[3];
    problem.list = View::dense(DType::u32, extents);
    problem.list.slot = plan_.add_scratch(round_up<std::uint64_t>(problem.list.bytes().size(), 16));
    return push(mask_flags(problem, flags, block, caps_)).and_then([&] {
      return push(mask_list(problem, flags, caps_));
    });
  }

  Status push(Result<Dispatch> dispatch) { return plan_.add(std::move(dispatch)); }

  const Args& args_;
  const Caps& caps_;
  Plan plan_;
  bool packed_ = false;
};

/// Without keys there is nothing to weigh: zeros.
Result<Plan> without_keys(const Args& args, const Caps& caps) {
  auto plan = map::plan({.function = "fill", .inputs = {}, .y = args.y}, caps);
  if (!plan || !args.lse.given()) return plan;
  auto lse =
      map::plan({.function = "fill", .inputs = {}, .y = args.lse, .scalars = {-3.0e38F}}, caps);
  if (!lse) return lse;
  plan->append(std::move(*lse));
  return plan;
}

/// Keys and values of quantized types are decoded to f16 first, each once.
Result<Plan> decoded_first(const Args& args, const Caps& caps) {
  Stages stages{args.q, args.k, args.v, args.y, args.mask, args.sinks, args.lse, args.packed};
  Args plain = args;
  for (View* view : {&plain.k, &plain.v}) {
    if (!view->given() || !is_quantized(view->dtype)) continue;
    if (const Status ok = validate(*view, view == &plain.k ? "k" : "v", Types::quantized_too); !ok)
      return wrap(ok.error(), "planning attention");
    const View blocks = *view;
    *view = stages.scratch(DType::f16, blocks.extents());
    stages.add(quant::plan(quant::DecodeArgs{.table = blocks, .y = *view}, caps));
  }
  stages.add(plan(plain, caps));
  return std::move(stages).finish();
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (is_quantized(args.k.dtype) || is_quantized(args.v.dtype)) return decoded_first(args, caps);
  if (const Status ok = check(args); !ok) return wrap(ok.error(), "planning attention");
  if (args.y.empty()) return Plan{};
  if (args.k.shape[2] == 0) return without_keys(args, caps);
  if (takes_halves(args, caps)) return in_halves(args, caps);
  if (forces_halves(args.kernel)) return no_halves(args.k, args.v);
  Planner planner(args, caps);
  if (const Status ok = planner.add(whole_problem(args)); !ok)
    return wrap(ok.error(), "planning attention");
  if (args.packed.given() && !planner.packed()) {
    return fail(ErrorCode::unsupported,
                "Attention packs its result where its keys are split among workgroups; k is {}.",
                describe(args.k));
  }
  return planner.take();
}

}  // namespace weft::ops::attention
