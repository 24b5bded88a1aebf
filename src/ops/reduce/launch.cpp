// Fills in the launches of a reduction's kernels.
#include "ops/reduce/launch.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"

namespace weft::ops::reduce {
namespace {

/// The inputs of a chain as operands, and what the kernel has to know about them. Loads of the
/// kernel go along the innermost kept or reduced dimension.
void add_inputs(Launch& launch, const Problem& problem, std::uint32_t chunk, bool along_kept) {
  for (std::size_t k = 0; k < fused::max_inputs; ++k) {
    const std::string constant = formatted("X{}_KIND", k);
    if (k >= problem.inputs.size()) {
      launch.constants.emplace(constant, std::string("none"));
      continue;
    }
    const auto& [kept, reduced] = problem.inputs[k];
    const View& along = along_kept ? kept : reduced;
    const std::uint64_t step = along.stride[along.rank - 1];
    View base = along;
    base.dtype = kept.dtype;
    base.offset = kept.offset;
    View other = along_kept ? reduced : kept;
    other.dtype = kept.dtype;
    other.offset = 0;
    const std::uint64_t bytes = std::uint64_t{chunk} * size_of(kept.dtype);
    const bool vec = chunk >= 4 && step == 1 && aligned(base, along.rank - 1, bytes) &&
                     aligned(other, -1, bytes);
    launch.constants.emplace(constant, std::string(vec ? "vec" : step == 0 ? "splat" : "step"));
    launch.operands.push_back({.name = fused::input_names[k],
                               .view = Problem::whole(kept, reduced),
                               .unit = vec ? std::max(1U, chunk * size_of(kept.dtype) / 4) : 1});
    launch.params.add(formatted("along{}", k), narrow(step));
    for (std::uint32_t d = 0; d < kept.rank; ++d) {
      launch.params.add(formatted("kept{}_{}", k, d), narrow(kept.stride[d]));
    }
    for (std::uint32_t d = 0; d < reduced.rank; ++d) {
      launch.params.add(formatted("reduced{}_{}", k, d), narrow(reduced.stride[d]));
    }
  }
  if (problem.chain == nullptr) return;
  fused::add_scalars(launch.params, *problem.chain);
  launch.text = fused::text_of(*problem.chain);
}

}  // namespace

bool aligned(const View& view, std::int64_t inner, std::uint64_t bytes) {
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i == inner || view.shape[i] == 1) continue;
    if (view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

Variant start_variant(const Problem& problem) {
  return {.combine = problem.combine,
          .pre = problem.pre,
          .post = problem.post,
          .domain = problem.domain,
          .arg = problem.arg,
          .indexed = problem.xi().given(),
          .kept_rank = problem.x().rank,
          .reduced_rank = problem.reduced[0].rank,
          .chain = static_cast<std::uint32_t>(problem.inputs.size())};
}

Params start_params(const Problem& problem) {
  Params params;
  params.identity = problem.identity;
  params.scale = problem.scale;
  params.first_index = narrow(problem.first_index);
  for (std::uint32_t i = 0; i < problem.x().rank; ++i) {
    params.kept_shape[i] = narrow(problem.x().shape[i]);
    params.kept_x[i] = narrow(problem.x().stride[i]);
    params.kept_y[i] = narrow(problem.y().stride[i]);
  }
  for (std::uint32_t i = 0; i < problem.reduced[0].rank; ++i) {
    params.reduced_shape[i] = narrow(problem.reduced[0].shape[i]);
    params.reduced_x[i] = narrow(problem.reduced[0].stride[i]);
    params.reduced_index[i] = narrow(problem.reduced[1].stride[i]);
  }
  return params;
}

Status finish(Plan& plan, const Problem& problem, Variant variant, Params params,
              std::string_view source, bool parts_inner, const Caps& caps) {
  Problem mine = problem;
  Partials partials;
  if (params.parts > 1) {
    partials = make_partials(plan, problem, params.parts, parts_inner);
    mine = into_partials(problem, partials);
    params.part_stride = narrow(partials.stride);
    for (std::uint32_t i = 0; i < mine.y().rank; ++i) params.kept_y[i] = narrow(mine.y().stride[i]);
    variant.post = "none";
  }
  // Partial results of an outer split come without parts of their own; only arg writes them
  // differently.
  variant.partial = mine.yi().given();

  const View x = mine.whole(mine.x());
  const std::uint32_t words = std::max(1U, std::min(4U, variant.chunk * size_of(x.dtype) / 4));
  Launch launch;
  launch.params = block_of(params);
  add_inputs(launch, mine, variant.chunk, !parts_inner);
  if (variant.chain == 0) launch.operands.push_back({.name = "x", .view = x, .unit = words});
  if (variant.indexed) {
    View xi = mine.whole(mine.xi());
    launch.operands.push_back({.name = "xi", .view = xi, .unit = words});
  }
  View y = mine.y();
  if (params.parts > 1) {  // bind all parts
    y.shape[y.rank] = params.parts;
    y.stride[y.rank++] = partials.stride;
  }
  variant.vector_out = variant.vector_out && variant.chunk > 1;
  if (variant.vector_out) {
    const std::uint64_t bytes =
        std::min<std::uint64_t>(16, std::uint64_t{variant.chunk} * size_of(y.dtype));
    variant.vector_out = mine.y().stride[mine.y().rank - 1] == 1 && size_of(y.dtype) < 8 &&
                         aligned(y, mine.y().rank - 1, bytes) && bytes >= 4;
  }
  const std::uint32_t out_words =
      variant.vector_out ? std::min(4U, variant.chunk * size_of(y.dtype) / 4) : 1;
  const bool shares_words = size_of(y.dtype) < 4 && !variant.vector_out;
  launch.operands.push_back({.name = "y",
                             .view = y,
                             .access = shares_words ? Access::atomic : Access::write,
                             .unit = out_words});
  if (variant.partial) {
    View yi = y;
    yi.dtype = mine.yi().dtype;
    yi.slot = mine.yi().slot;
    yi.offset = mine.yi().offset;
    launch.operands.push_back(
        {.name = "yi", .view = yi, .access = Access::write, .unit = out_words});
  }
  launch.source = source;
  launch.label =
      formatted("reduce {} {}", variant.combine,
                mine.chain == nullptr ? std::string(name(x.dtype)) : fused::label_of(*mine.chain));
  launch.features.subgroups = variant.shuffle;
  launch.grid = grid_1d(params.groups, caps);
  launch.constants.merge(constants_of(variant));
  if (const Status ok = plan.add(make_dispatch(std::move(launch), caps)); !ok)
    return std::unexpected(ok.error());
  if (params.parts > 1) return emit(plan, from_partials(problem, partials), caps);
  return {};
}

}  // namespace weft::ops::reduce
