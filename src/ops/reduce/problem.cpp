#include "ops/reduce/problem.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::reduce {

View Problem::whole(const View& base, const View& reduced_dims) {
  View all = base;
  all.rank = 0;
  for (const View* part : {&base, &reduced_dims}) {
    for (std::uint32_t i = 0; i < part->rank; ++i) {
      if (part->shape[i] == 1) continue;
      all.shape[all.rank] = part->shape[i];
      all.stride[all.rank++] = part->stride[i];
    }
  }
  return all;
}

std::uint64_t Problem::input_bytes() const {
  if (chain == nullptr) return whole(x()).bytes().size();
  std::uint64_t most = 0;
  for (const ChainInput& input : inputs) {
    most = std::max(most, whole(input.kept, input.reduced).bytes().size());
  }
  return most;
}

namespace {

void slice_kept(Problem& problem, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  for (View& view : problem.kept) view = view.slice(dim, first, count);
  for (ChainInput& input : problem.inputs) input.kept = input.kept.slice(dim, first, count);
}

void slice_reduced(Problem& problem, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t skipped = first * problem.reduced[0].stride[dim];
  problem.x().offset += skipped * size_of(problem.x().dtype);
  problem.xi().offset += skipped * size_of(problem.xi().dtype);
  problem.first_index += first * problem.reduced[1].stride[dim];
  for (View& view : problem.reduced) view.shape[dim] = count;
  for (ChainInput& input : problem.inputs) {
    input.kept.offset += first * input.reduced.stride[dim] * size_of(input.kept.dtype);
    input.reduced.shape[dim] = count;
  }
}

/// Collapses the kept and the reduced dimensions, each for all tensors together.
void collapse_both(Problem& problem) {
  std::vector<View> kept(problem.kept.begin(), problem.kept.end());
  std::vector<View> reduced(problem.reduced.begin(), problem.reduced.end());
  for (const ChainInput& input : problem.inputs) {
    kept.push_back(input.kept);
    reduced.push_back(input.reduced);
  }
  collapse(kept);
  collapse(reduced);
  std::copy_n(kept.begin(), problem.kept.size(), problem.kept.begin());
  std::copy_n(reduced.begin(), problem.reduced.size(), problem.reduced.begin());
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    problem.inputs[i] = {kept[problem.kept.size() + i], reduced[problem.reduced.size() + i]};
  }
}

struct Widest {
  std::uint32_t dim = 0;
  std::uint64_t spread = 0;  // elements between the first and the last along the dimension
};

Widest widest(const View& view, bool by_count) {
  Widest found;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    const std::uint64_t step = by_count ? 1 : view.stride[i];
    const std::uint64_t spread = (view.shape[i] - 1) * step;
    if (spread > found.spread) found = {i, spread};
  }
  return found;
}

Status split_kept(Plan& plan, const Problem& problem, std::uint32_t dim, const Caps& caps) {
  const std::uint64_t extent = problem.x().shape[dim];
  std::uint64_t half = extent / 2;
  for (const std::uint64_t step : {256U, 64U, 8U}) {  // keep both halves aligned
    if (half >= step) {
      half = round_down(half, step);
      break;
    }
  }
  Problem front = problem;
  Problem back = problem;
  slice_kept(front, dim, 0, half);
  slice_kept(back, dim, half, extent - half);
  if (const Status ok = emit(plan, front, caps); !ok) return ok;
  return emit(plan, back, caps);
}

Status split_reduced(Plan& plan, const Problem& problem, std::uint32_t dim, std::uint64_t pieces,
                     const Caps& caps) {
  const std::uint64_t extent = problem.reduced[0].shape[dim];
  std::uint64_t length = ceil_div(extent, std::min(pieces, extent));
  for (const std::uint64_t step : {256U, 64U, 8U}) {
    if (length >= 2 * step) {
      length = round_down(length, step);
      break;
    }
  }
  const Partials partials = make_partials(plan, problem, ceil_div(extent, length), false);
  for (std::uint64_t i = 0; i < partials.count; ++i) {
    Problem piece = into_partials(problem, partials);
    slice_reduced(piece, dim, i * length, std::min(length, extent - i * length));
    piece.y().offset += i * partials.stride * size_of(piece.y().dtype);
    piece.yi().offset += i * partials.stride * size_of(piece.yi().dtype);
    if (const Status ok = emit(plan, piece, caps); !ok) return ok;
  }
  return emit(plan, from_partials(problem, partials), caps);
}

}  // namespace

Partials make_partials(Plan& plan, const Problem& problem, std::uint64_t count, bool parts_inner) {
  Partials partials;
  partials.count = count;
  const View& kept = problem.x();
  const std::uint64_t outputs = kept.count();
  View view = View::dense(problem.domain, kept.extents());
  if (parts_inner) {
    for (std::uint32_t i = 0; i < view.rank; ++i) view.stride[i] *= count;
  }
  partials.stride = parts_inner ? 1 : outputs;
  const std::uint64_t bytes = round_up<std::uint64_t>(outputs * count * 4, 16);
  partials.values = view;
  partials.values.slot = plan.add_scratch(bytes);
  partials.indices = view;
  partials.indices.dtype = DType::u32;
  partials.indices.slot = problem.arg ? plan.add_scratch(bytes) : Slot{};
  return partials;
}

Problem into_partials(Problem problem, const Partials& partials) {
  problem.post = "none";
  problem.y() = partials.values;
  problem.yi() = partials.indices;
  return problem;
}

Problem from_partials(Problem problem, const Partials& partials) {
  problem.pre = "none";
  problem.chain = nullptr;
  problem.inputs.clear();
  problem.x() = partials.values;
  problem.xi() = partials.indices;
  View parts{.dtype = partials.values.dtype, .rank = 1};
  parts.shape[0] = partials.count;
  parts.stride[0] = partials.stride;
  problem.reduced = {parts, parts};
  problem.first_index = 0;
  return problem;
}

Status emit(Plan& plan, Problem problem, const Caps& caps) {
  collapse_both(problem);
  const std::uint64_t budget = binding_budget(caps);
  constexpr std::uint64_t max_count = 1ULL << 31;
  const View whole = problem.whole(problem.x());
  const std::uint64_t bytes = problem.input_bytes();
  const bool too_many = whole.count() >= max_count;
  if (bytes > budget || too_many) {
    const bool by_count = bytes <= budget;
    const Widest kept = widest(problem.x(), by_count);
    const Widest reduced = widest(problem.reduced[0], by_count);
    const std::uint64_t pieces = by_count ? 2 : ceil_div(bytes, budget * 3 / 4) + 1;
    // Partial results that do not fit a binding themselves would have to be split in the same way,
    // without end.
    const std::uint64_t partial_bytes =
        std::min(pieces, problem.reduced[0].shape[reduced.dim]) * problem.x().count() * 4;
    if (kept.spread > 0 && (kept.spread >= reduced.spread || partial_bytes > budget))
      return split_kept(plan, problem, kept.dim, caps);
    if (partial_bytes > budget && problem.x().count() > 1)  // kept dimensions that repeat
      return split_kept(plan, problem, widest(problem.x(), true).dim, caps);
    if (reduced.spread == 0) {
      return fail(ErrorCode::unsupported,
                  "One element of {} needs more than the {} bytes that this device binds.",
                  describe(problem.x()), caps.max_binding);
    }
    return split_reduced(plan, problem, reduced.dim, pieces, caps);
  }
  if (problem.y().bytes().size() > budget) {
    const Widest kept = widest(problem.y(), false);
    if (kept.spread > 0) return split_kept(plan, problem, kept.dim, caps);
  }
  return emit_fitting(plan, problem, caps);
}

}  // namespace weft::ops::reduce
