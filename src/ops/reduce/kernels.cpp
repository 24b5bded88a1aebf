// Chooses between the two kernels of a reduction and fills in their launches.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/reduce/problem.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::reduce {
namespace {

/// Enough workgroups to fill a GPU twice over; more parts than that only make the second pass longer.
std::uint64_t many_groups(const Caps& caps) {
  return caps.traits.overlaps ? caps.traits.fill(16) : 2048;
}
/// Where a workgroup runs subgroup by subgroup, each of them to the next barrier, and waits for memory in order, lanes that
/// share a row fetch each line of it several times; where each of them reads lines of its own, the loads of a subgroup are
/// on their way together. So many rows or parts of rows keep such a device busy.
constexpr std::uint64_t single_rows = 64;
/// One lane adds up so many chunks at most, because more would cost digits.
constexpr std::uint64_t single_part = 1 << 13;
constexpr std::uint32_t single_size = 8;  // invocations per workgroup where rows are few
/// Below this a second launch costs more than one workgroup that reads its row alone.
constexpr std::uint64_t row_bytes_worth_splitting = 160 << 10;

struct Variant {
  std::string_view combine;
  std::string_view pre;
  std::string_view post;
  std::string_view domain;
  bool arg = false;
  bool indexed = false;  // indices come from an operand
  bool partial = false;  // results stay in accumulator form
  std::uint32_t kept_rank = 1;
  std::uint32_t reduced_rank = 1;
  std::uint32_t chunk = 1;   // elements per load
  std::uint32_t size = 256;  // rows: invocations per workgroup
  std::uint32_t lanes = 1;   // rows: invocations per row; columns: chunks of columns per workgroup
  bool alone = false;        // rows: one lane per row or part of a row
  std::uint32_t unroll = 1;  // loads in flight per invocation
  bool tail = false;         // rows: elements are left behind the last whole chunk
  bool shuffle = false;      // rows: the lanes of a row lie in one subgroup
  bool vector_out = false;   // columns: a chunk of results is stored at once
  std::uint32_t chain = 0;   // inputs of the chain that x is; 0: x is an operand
};

struct Params {
  std::uint32_t identity = 0;
  float scale = 1;
  std::uint32_t first_index = 0;
  std::uint32_t groups = 0;  // workgroups that have work
  std::uint32_t rows = 0;  // rows: number of rows; columns: chunks of the innermost kept dimension
  std::uint32_t blocks = 0;  // columns: workgroups side by side along the innermost kept dimension
  std::uint32_t parts = 1;   // workgroups that share one output
  std::uint32_t part_stride = 0;
  std::uint32_t span = 0;   // reduced chunks (columns: elements) per part
  std::uint32_t count = 0;  // reduced chunks (columns: elements) in all
  std::uint32_t tail = 0;   // elements behind the last whole chunk
  std::array<std::uint32_t, max_rank> kept_shape{};
  std::array<std::uint32_t, max_rank> kept_x{};
  std::array<std::uint32_t, max_rank> kept_y{};
  std::array<std::uint32_t, max_rank> reduced_shape{};
  std::array<std::uint32_t, max_rank> reduced_x{};
  std::array<std::uint32_t, max_rank> reduced_index{};
};

/// Every step of `view` except along `inner` keeps chunks of `bytes` aligned.
bool aligned(const View& view, std::int64_t inner, std::uint64_t bytes) {
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i == inner || view.shape[i] == 1) continue;
    if (view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

/// The longest chunk of elements that can be read at once along a dimension with stride 1. A remainder is allowed
/// where the kernel has a tail.
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

/// The inputs of a chain as operands, and what the kernel has to know about them. Loads of the kernel go along the
/// innermost kept or reduced dimension.
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

/// Adds the launch; with more than one part the results go to scratch, and a further pass reduces them.
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
  // Partial results of an outer split come without parts of their own; only arg writes them differently.
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

/// Loads in flight per invocation when each of them has `loads` to do.
std::uint32_t choose_unroll(std::uint64_t loads, const Problem& problem) {
  return narrow(std::min<std::uint64_t>(problem.arg ? 4 : 8, std::bit_ceil(loads)));
}

Status emit_rows(Plan& plan, const Problem& problem, const Caps& caps) {
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
  variant.unroll = choose_unroll(ceil_div<std::uint64_t>(params.span, variant.lanes), problem);
  if (variant.alone) variant.unroll = std::min(variant.unroll, 4U);  // a line
  variant.shuffle = caps.subgroups && variant.lanes > 1 &&
                    (variant.lanes <= caps.subgroup_min || variant.lanes == group_size);
  return finish(plan, problem, variant, params, "reduce/rows.wgsl", true, caps);
}

Status emit_columns(Plan& plan, const Problem& problem, const Caps& caps) {
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
  variant.unroll = choose_unroll(ceil_div<std::uint64_t>(params.span, rows_at_once), problem);
  variant.vector_out = true;
  return finish(plan, problem, variant, params, "reduce/columns.wgsl", false, caps);
}

}  // namespace

Status emit_fitting(Plan& plan, const Problem& problem, const Caps& caps) {
  const View& kept = problem.x();
  const View& reduced = problem.reduced[0];
  const std::uint64_t kept_step = kept.stride[kept.rank - 1];
  const std::uint64_t reduced_step = reduced.stride[reduced.rank - 1];
  // Columns would leave most of a workgroup idle when there are few of them side by side and little to sum.
  const std::uint64_t inner = kept.shape[kept.rank - 1];
  const bool small = inner * reduced.count() < 64 && inner < kept.count();
  const bool rows =
      kept.count() == 1 || small || (reduced.count() > 1 && reduced_step <= kept_step);
  return rows ? emit_rows(plan, problem, caps) : emit_columns(plan, problem, caps);
}

}  // namespace weft::ops::reduce
