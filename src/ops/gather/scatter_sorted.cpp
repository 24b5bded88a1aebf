// A scatter_add whose entries are sorted by the rows that they name.
#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/gather/scatter.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::gather {

Result<bool> launch_sorted(Plan& plan, const ScatterJob& job, ScatterVariant variant,
                           ScatterParams params, const Caps& caps) {
  const std::uint64_t slots = std::uint64_t{params.line_count} * params.entries;
  const std::uint64_t keys = std::uint64_t{params.line_count} * params.piece_rows;
  if (std::max(slots, keys + 1) * 4 > binding_budget(caps)) return false;
  Stages stages({job.lines[0], job.lines[1], job.lines[2], job.status});
  const View counts = stages.scratch(DType::u32, {keys + 1});
  const View starts = stages.scratch(DType::u32, {keys + 1});
  const View order = stages.scratch(DType::u32, {slots});
  const View sorted = stages.scratch(DType::u32, {slots});
  const Operand index{.name = "index", .view = whole_index(job)};
  const Operand read_starts{.name = "starts", .view = starts};
  const bool has_status = variant.has_status;
  const auto add = [&](std::string_view pass, std::vector<Operand> operands, std::uint64_t groups) {
    variant.pass = pass;
    variant.has_status = has_status && pass == "count";
    Launch launch{.source = "gather/scatter_sorted.wgsl"};
    launch.constants = constants_of(variant);
    launch.params = block_of(params);
    launch.operands = std::move(operands);
    if (variant.has_status)
      launch.operands.push_back({.name = "status", .view = job.status, .access = Access::atomic});
    launch.grid = grid_1d(groups, caps);
    launch.label = formatted("scatter_add {}", pass);
    stages.add(make_dispatch(std::move(launch), caps));
  };
  const std::uint64_t all = ceil_div<std::uint64_t>(slots, workgroup_width(caps));
  const Operand atomic_counts{.name = "counts", .view = counts, .access = Access::atomic};
  stages.add(map::plan({.function = "fill", .y = counts}, caps));
  add("count", {index, atomic_counts}, all);
  stages.add(cumsum::plan({.x = counts, .y = starts, .exclusive = true}, caps));
  add("place",
      {index,
       atomic_counts,
       read_starts,
       {.name = "order", .view = order, .access = Access::write}},
      all);
  add("rank",
      {index,
       read_starts,
       {.name = "order", .view = order},
       {.name = "sorted", .view = sorted, .access = Access::write}},
      all);
  const View y = whole_y(job);
  const View source = whole_source(job);
  const auto words = [&](const View& view) {
    return std::clamp(variant.chunk * size_of(view.dtype) / 4, 1U, 4U);
  };
  const bool shares_words = size_of(y.dtype) < 4 && variant.chunk == 1;
  add("sum",
      {index,
       read_starts,
       {.name = "sorted", .view = sorted},
       {.name = "source", .view = source, .unit = words(source)},
       {.name = "y",
        .view = y,
        .access = shares_words ? Access::atomic : Access::write,
        .unit = words(y)}},
      variant.groups ? slots * params.blocks
                     : ceil_div<std::uint64_t>(slots * params.columns, workgroup_width(caps)));
  auto planned = std::move(stages).finish();
  if (!planned) return std::unexpected(planned.error());
  plan.append(std::move(*planned));
  return true;
}

}  // namespace weft::ops::gather
