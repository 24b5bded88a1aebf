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

namespace {

/// Entries of all lines, and places where they may belong.
std::pair<std::uint64_t, std::uint64_t> counts_of(const ScatterPiece& piece) {
  const ScatterParams& params = piece.params;
  return {std::uint64_t{params.line_count} * params.entries,
          std::uint64_t{params.line_count} * params.piece_rows};
}

}  // namespace

Status can_sorted(const ScatterPiece& piece, const Caps& caps) {
  const auto [slots, keys] = counts_of(piece);
  const std::uint64_t bytes = std::max(slots, keys + 1) * 4;
  if (bytes <= binding_budget(caps)) return {};
  return fail(ErrorCode::unsupported,
              "Sorting the entries of a scatter_add takes {} bytes; bindings of this device have "
              "{}.",
              bytes, caps.max_binding);
}

bool worth_sorted(const ScatterPiece& piece, const Caps&) {
  return piece.job.entries >= entries_to_sort;
}

Status launch_sorted(Plan& plan, const ScatterPiece& piece, const Caps& caps) {
  const auto& [job, given, params, groups] = piece;
  ScatterVariant variant = given;
  variant.groups = groups;
  variant.entries_inner = false;
  const auto [slots, keys] = counts_of(piece);
  Stages stages({job.lines[0], job.lines[1], job.lines[2], job.status});
  const View counts = stages.scratch(DType::u32, {keys + 1});
  const View starts = stages.scratch(DType::u32, {keys + 1});
  const View order = stages.scratch(DType::u32, {slots});
  const View sorted = stages.scratch(DType::u32, {slots});
  const Operand index{.name = "index", .view = whole_index(job)};
  const Operand read_starts{.name = "starts", .view = starts};
  const bool has_status = variant.has_status;
  const auto add = [&](Pass pass, std::vector<Operand> operands, std::uint64_t count) {
    variant.pass = pass;
    variant.has_status = has_status && pass == Pass::count;
    Launch launch{.source = "gather/scatter_sorted.wgsl"};
    launch.constants = constants_of(variant);
    launch.params = block_of(params);
    launch.operands = std::move(operands);
    if (variant.has_status)
      launch.operands.push_back({.name = "status", .view = job.status, .access = Access::atomic});
    launch.grid = grid_1d(count, caps);
    launch.label = formatted("scatter_add {}", name(pass));
    stages.add(make_dispatch(std::move(launch), caps));
  };
  const std::uint64_t all = ceil_div<std::uint64_t>(slots, workgroup_width(caps));
  const Operand atomic_counts{.name = "counts", .view = counts, .access = Access::atomic};
  stages.add(map::plan({.function = "fill", .y = counts}, caps));
  add(Pass::count, {index, atomic_counts}, all);
  stages.add(cumsum::plan({.x = counts, .y = starts, .exclusive = true}, caps));
  add(Pass::place,
      {index,
       atomic_counts,
       read_starts,
       {.name = "order", .view = order, .access = Access::write}},
      all);
  add(Pass::rank,
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
  add(Pass::sum,
      {index,
       read_starts,
       {.name = "sorted", .view = sorted},
       {.name = "source", .view = source, .unit = words(source)},
       {.name = "y",
        .view = y,
        .access = shares_words ? Access::atomic : Access::write,
        .unit = words(y)}},
      groups ? slots * params.blocks
             : ceil_div<std::uint64_t>(slots * params.columns, workgroup_width(caps)));
  auto planned = std::move(stages).finish();
  if (!planned) return std::unexpected(planned.error());
  plan.append(std::move(*planned));
  return {};
}

}  // namespace weft::ops::gather
