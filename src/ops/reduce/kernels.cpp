// The two kernels of a reduction, and how they are divided.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/reduce/launch.hpp"
#include "ops/tile_families.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::reduce {
namespace {

/// Enough workgroups to fill a GPU twice over; more parts than that only make the second pass
/// longer.
std::uint64_t many_groups(const Caps& caps) {
  return caps.traits.overlaps ? caps.traits.fill(16) : 2048;
}
/// Where a workgroup runs subgroup by subgroup, each of them to the next barrier, and waits for
/// memory in order, lanes that share a row fetch each line of it several times; where each of them
/// reads lines of its own, the loads of a subgroup are on their way together. So many rows or parts
/// of rows keep such a device busy.
constexpr std::uint64_t single_rows = 64;
/// One lane adds up so many chunks at most, because more would cost digits.
constexpr std::uint64_t single_part = 1 << 13;
constexpr std::uint32_t single_size = 8;  // invocations per workgroup where rows are few
/// Below this a second launch costs more than one workgroup that reads its row alone.
constexpr std::uint64_t row_bytes_worth_splitting = 160 << 10;

/// The longest chunk of elements that can be read at once along a dimension with stride 1. A
/// remainder is allowed where the kernel has a tail.
std::uint32_t choose_chunk(const Problem& problem, const View& along, const View& across,
                           bool tail) {
  const std::uint32_t inner = along.rank - 1;
  if (along.stride[inner] != 1) return 1;
  const std::uint32_t size = size_of(problem.x().dtype);
  for (const std::uint32_t chunk : {8U, 4U}) {
    const std::uint64_t bytes = std::uint64_t{chunk} * size;
    if (bytes > 16 || along.shape[inner] < chunk) continue;
    if (!tail && along.shape[inner] % chunk != 0) continue;
    View base = along;
    base.dtype = problem.x().dtype;
    base.offset = problem.x().offset;
    View other = across;
    other.dtype = problem.x().dtype;
    other.offset = 0;
    const bool indices_fit = !problem.xi().given() || problem.xi().offset % bytes == 0;
    if (indices_fit && aligned(base, inner, bytes) && aligned(other, -1, bytes)) return chunk;
  }
  return 1;
}

/// How rows and columns are divided, for Traits::reduce_tile to choose among: twice or half the
/// lanes of a row, and loads in flight at most.
struct Division {
  std::uint32_t more_lanes = 1;
  std::uint32_t fewer_lanes = 1;
  std::uint32_t unroll = 8;
};
constexpr std::array<Division, 5> divisions{{{.more_lanes = 2},
                                             {.fewer_lanes = 2},
                                             {.unroll = 4},
                                             {.unroll = 2},
                                             {.fewer_lanes = 4, .unroll = 4}}};

Division division_for(const Caps& caps) {
  const std::uint32_t number = caps.traits.reduce_tile;
  return number > 0 && number <= divisions.size() ? divisions[number - 1] : Division{};
}

/// Loads in flight per invocation when each of them has `loads` to do.
std::uint32_t choose_unroll(std::uint64_t loads, const Problem& problem, const Caps& caps) {
  return narrow(std::min<std::uint64_t>(
      {problem.arg ? 4U : 8U, division_for(caps).unroll, std::bit_ceil(loads)}));
}

Status launch_rows(Plan& plan, const Problem& problem, const Caps& caps) {
  const View& reduced = problem.reduced[0];
  Variant variant = start_variant(problem);
  Params params = start_params(problem);
  const std::uint32_t group_size = workgroup_width(caps);
  variant.size = group_size;
  variant.chunk = choose_chunk(problem, reduced, problem.x(), reduced.rank == 1);
  const std::uint64_t elements = reduced.count();
  const std::uint64_t chunks = elements / variant.chunk;
  params.tail = narrow(elements % variant.chunk);
  variant.tail = params.tail > 0;
  params.reduced_shape[reduced.rank - 1] /= variant.chunk;
  params.rows = narrow(problem.x().count());
  params.count = narrow(chunks);
  // A few loads per lane and at least 128 neighbouring bytes per row where a row has them.
  variant.lanes = chunks <= 1     ? 1
                  : chunks <= 2   ? 2
                  : chunks <= 4   ? 4
                  : chunks <= 32  ? 8
                  : chunks <= 256 ? 32
                                  : group_size;
  if (const Division division = division_for(caps); variant.lanes > 1) {
    variant.lanes =
        std::clamp(variant.lanes * division.more_lanes / division.fewer_lanes, 1U, group_size);
  }
  const bool large = variant.lanes == group_size &&
                     elements * size_of(problem.x().dtype) > row_bytes_worth_splitting;
  std::uint64_t parts = 1;
  if (caps.traits.slow_barriers) {
    if (large) {
      const std::uint64_t fair = ceil_div(chunks * params.rows, single_rows);
      parts = ceil_div(chunks, std::min(single_part, fair));
    }
    variant.alone = large || params.rows >= single_rows;
    variant.lanes = variant.alone ? 1 : std::min(variant.lanes, single_size);
    if (params.rows * parts < std::uint64_t{group_size} * 4) variant.size = single_size;
  } else if (const std::uint64_t groups =
                 ceil_div<std::uint64_t>(params.rows, group_size / variant.lanes);
             large && groups < many_groups(caps) / 2) {
    parts = std::max<std::uint64_t>(
        1, std::min(ceil_div(many_groups(caps), groups), chunks / (std::uint64_t{group_size} * 4)));
  }
  params.span = narrow(ceil_div(chunks, parts));
  params.parts = narrow(ceil_div<std::uint64_t>(chunks, params.span));
  params.groups = narrow(ceil_div<std::uint64_t>(std::uint64_t{params.rows} * params.parts,
                                                 variant.size / variant.lanes));
  variant.unroll =
      choose_unroll(ceil_div<std::uint64_t>(params.span, variant.lanes), problem, caps);
  if (variant.alone) variant.unroll = std::min(variant.unroll, 4U);  // a line
  variant.shuffle = caps.subgroups && variant.lanes > 1 &&
                    (variant.lanes <= caps.subgroup_min || variant.lanes == group_size);
  return finish(plan, problem, variant, params, "reduce/rows.wgsl", true, caps);
}

Status launch_columns(Plan& plan, const Problem& problem, const Caps& caps) {
  const View& kept = problem.x();
  const std::uint32_t inner = kept.rank - 1;
  Variant variant = start_variant(problem);
  Params params = start_params(problem);
  const std::uint64_t elements = problem.reduced[0].count();
  const std::uint64_t outer = kept.count() / kept.shape[inner];
  variant.chunk = choose_chunk(problem, kept, problem.reduced[0], false);
  const std::uint64_t most_rows =
      std::min<std::uint64_t>(8, std::bit_ceil(ceil_div<std::uint64_t>(elements, 4)));
  // Few outputs and few rows to sum: single columns spread them over more of the device.
  if (size_of(kept.dtype) == 4 && kept.count() / variant.chunk * most_rows < (1U << 15) &&
      elements < 256) {
    variant.chunk = 1;
  }
  const std::uint64_t columns = kept.shape[inner] / variant.chunk;
  const std::uint32_t group_size = workgroup_width(caps);
  variant.lanes = narrow(std::min<std::uint64_t>(group_size / most_rows, std::bit_ceil(columns)));
  const std::uint64_t rows_at_once = group_size / variant.lanes;
  params.rows = narrow(columns);
  params.blocks = narrow(ceil_div<std::uint64_t>(columns, variant.lanes));
  params.count = narrow(elements);
  const std::uint64_t groups = outer * params.blocks;
  std::uint64_t parts = 1;
  if (groups < many_groups(caps) / 2) {
    parts = std::min(ceil_div(many_groups(caps) / 2, groups), elements / (rows_at_once * 8));
    const std::uint64_t room = caps.max_binding / 2 / (kept.count() * 4);
    parts = std::max<std::uint64_t>(1, std::min(parts, room));
  }
  params.span = narrow(ceil_div(elements, parts));
  params.parts = narrow(ceil_div<std::uint64_t>(elements, params.span));
  params.groups = narrow(groups * params.parts);
  variant.unroll = choose_unroll(ceil_div<std::uint64_t>(params.span, rows_at_once), problem, caps);
  variant.vector_out = true;
  return finish(plan, problem, variant, params, "reduce/columns.wgsl", false, caps);
}

Status can(const Problem&, const Caps&) { return {}; }

/// Columns would leave most of a workgroup idle when there are few of them side by side and little
/// to sum.
bool worth_rows(const Problem& problem, const Caps&) {
  const View& kept = problem.x();
  const View& reduced = problem.reduced[0];
  const std::uint64_t kept_step = kept.stride[kept.rank - 1];
  const std::uint64_t reduced_step = reduced.stride[reduced.rank - 1];
  const std::uint64_t inner = kept.shape[kept.rank - 1];
  const bool small = inner * reduced.count() < 64 && inner < kept.count();
  return kept.count() == 1 || small || (reduced.count() > 1 && reduced_step <= kept_step);
}

bool worth_columns(const Problem&, const Caps&) { return true; }

/// One kernel of the op's list: both can make any problem that fits bindings; `launch` adds what it
/// takes to a plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Problem&, const Caps&);
  bool (*worth)(const Problem&, const Caps&);
  Status (*launch)(Plan&, const Problem&, const Caps&);
};

constexpr Kernel rows_kernel{"rows", can, worth_rows, launch_rows};
constexpr Kernel columns_kernel{"columns", can, worth_columns, launch_columns};

// In order of preference.
constexpr std::array kernels{&rows_kernel, &columns_kernel};

}  // namespace

std::uint32_t reduce_tile_count() { return divisions.size(); }
std::vector<std::string> reduce_tiles() { return texts_of_tiles(divisions); }

Status emit_fitting(Plan& plan, const Problem& problem, const Caps& caps) {
  const auto kernel = choose_kernel(kernels, "A reduction", {}, problem, caps);
  if (!kernel) return std::unexpected(kernel.error());
  return (*kernel)->launch(plan, problem, caps);
}

}  // namespace weft::ops::reduce
