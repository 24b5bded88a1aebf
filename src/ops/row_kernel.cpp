#include "ops/row_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <functional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/row_jobs.hpp"
#include "ops/row_phase.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops {
namespace {

/// Below so many rows a workgroup takes as many invocations as it can use.
constexpr std::uint64_t few_rows = 1024;
/// Splits that the writing launch merges by itself; above, a launch of its own does it once per
/// row.
constexpr std::uint64_t splits_to_merge_late = 64;

/// True when every chunk of `chunk` elements of every row is contiguous and aligned for vector
/// access.
bool rows_in_chunks(const View& view, std::uint32_t chunk) {
  const std::uint32_t row_dim = view.rank - 1;
  if (view.stride[row_dim] != 1 && view.shape[row_dim] > 1) return false;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(16, std::uint64_t{chunk} * size_of(view.dtype));
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i < row_dim; ++i) {
    if (view.shape[i] > 1 && view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

class Planner {
 public:
  Planner(const RowKernel& kernel, const Caps& caps) : kernel_(kernel), caps_(caps) {}

  Result<Plan> run() {
    std::vector<View> views;
    order_.clear();
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) order_.push_back(i);
    // The first output leads, so that rows are numbered in the order in which it holds them.
    std::ranges::stable_partition(
        order_, [&](std::size_t i) { return kernel_.operands[i].role == RowRole::output; });
    for (const std::size_t i : order_) views.push_back(kernel_.operands[i].view);
    if (views.front().empty()) return Plan{};
    for (View& view : views) {
      if (view.rank == 1) view = view.unsqueeze(0);
    }
    collapse_outer(views);
    const Status done = for_each_row_job(std::move(views), kernel_.state_words, caps_,
                                         [&](const RowJob& job) { return emit_job(job); });
    if (!done) return std::unexpected(done.error());
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const RowOperand& operand(std::size_t i) const {
    return kernel_.operands[order_[i]];
  }

  [[nodiscard]] std::uint32_t choose_chunk(const RowJob& job) const {
    const std::uint64_t length = row_length(job.views.front());
    const auto fits = [&](std::uint32_t chunk) {
      if (length % chunk != 0 || job.segment % chunk != 0) return false;
      for (std::size_t i = 0; i < job.views.size(); ++i) {
        if (operand(i).role != RowRole::output) continue;
        // Chunks of 2 exist so that one invocation owns the whole word of two 16-bit elements.
        if (chunk == 2 && size_of(job.views[i].dtype) == 4) {
          if (job.views[i].stride[job.views[i].rank - 1] != 1) return false;
        } else if (!rows_in_chunks(job.views[i], chunk)) {
          return false;
        }
      }
      return true;
    };
    // Chunks of 8 are for rows of 16-bit elements: 16 bytes per access, and no more.
    bool all_narrow = true;
    for (std::size_t i = 0; i < job.views.size(); ++i) {
      const bool counts = operand(i).role == RowRole::output || operand(i).role == RowRole::input;
      if (counts) all_narrow &= size_of(job.views[i].dtype) == 2;
    }
    if (all_narrow && fits(8)) return 8;
    if (fits(4)) return 4;
    return has_narrow_output(job) && fits(2) ? 2 : 1;
  }

  [[nodiscard]] bool has_narrow_output(const RowJob& job) const {
    for (std::size_t i = 0; i < job.views.size(); ++i) {
      if (operand(i).role == RowRole::output && size_of(job.views[i].dtype) == 2) return true;
    }
    return false;
  }

  [[nodiscard]] RowTile choose_tile(const RowJob& job) const {
    const std::uint32_t group_size = workgroup_width(caps_);
    RowTile tile{.chunk = choose_chunk(job), .size = group_size};
    const View& y = job.views.front();
    const std::uint64_t chunks = job.segment / tile.chunk;
    // Single 16-bit elements are stored by compare-and-swap loops: long texts, so fewer of them.
    const bool swaps = tile.chunk == 1 && has_narrow_output(job);
    // Where lanes are joined slowly, they should be few.
    const std::uint32_t most = tile.chunk == 8                                             ? 4
                               : (tile.chunk == 4 && !caps_.traits.slow_barriers) || swaps ? 8
                                                                                           : 16;
    const std::uint64_t target = caps_.traits.slow_barriers ? most : tile.chunk >= 4 ? 4 : 8;
    const std::uint32_t next = y.rank - 2;  // the outer dimension with the smallest steps
    tile.across = tile.chunk == 1 && y.stride[y.rank - 1] > 1 && y.shape[next] > 1 &&
                  y.stride[next] < y.stride[y.rank - 1];
    const std::uint64_t wanted = std::bit_ceil(ceil_div(chunks, target));
    if (tile.across) {
      tile.lanes = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 8));
    } else {
      const std::uint64_t least = std::min<std::uint64_t>(std::bit_ceil(chunks), 8);
      tile.lanes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, least, group_size));
      // A wider workgroup keeps a longer row in registers, which saves reading it twice; few rows
      // need wide workgroups to fill the device.
      const std::uint64_t per_lane =
          row_count(y) < few_rows && chunks <= std::uint64_t{caps_.workgroup_invocations} * target
              ? target
              : most;
      for (std::uint32_t wide = group_size; wide <= std::min(1024U, caps_.workgroup_invocations);
           wide *= 2) {
        if (tile.lanes < group_size || chunks > std::uint64_t{wide} * per_lane) continue;
        tile.size = tile.lanes = wide;
        break;
      }
    }
    if (caps_.traits.slow_barriers) {  // what lies behind the last row takes as long as a row there
      const std::uint64_t needed = tile.lanes * std::bit_ceil(row_count(y));
      tile.size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(needed, 32, tile.size));
    }
    std::uint64_t each = ceil_div<std::uint64_t>(chunks, tile.lanes);
    if (each > most) {  // split: enough workgroups matter more than few partial results
      each = tile.across ? most : target;
    } else if (each > 8) {
      each = round_up<std::uint64_t>(each, 4);
    } else if (each > 4) {
      each = round_up<std::uint64_t>(each, 2);
    }
    tile.chunks = static_cast<std::uint32_t>(each);
    choose_subgroups(tile, swaps);
    return tile;
  }

  void choose_subgroups(RowTile& tile, bool swaps) const {
    const bool usable = caps_.subgroups && std::has_single_bit(caps_.subgroup_min) &&
                        caps_.subgroup_min > 1 && caps_.subgroup_min <= 128;
    if (!usable) return;
    if (!tile.across && tile.lanes > 1) tile.subgroup = std::min(tile.lanes, caps_.subgroup_min);
    if (swaps) tile.pairs = caps_.subgroup_min;
  }

  Status emit_job(const RowJob& given) {
    RowJob job = given;
    collapse_outer(job.views);
    const RowTile tile = choose_tile(job);
    const std::uint64_t length = row_length(job.views.front());
    const std::uint64_t rows = row_count(job.views.front());
    const std::uint64_t block = std::uint64_t{tile.lanes} * tile.chunks * tile.chunk;
    if (block >= length && job.segment == length) return emit(job, tile, RowPhase::whole, {}, {});

    Splits splits;
    for (std::uint64_t at = 0; at < length; at += job.segment) {
      splits.total += ceil_div(std::min(job.segment, length - at), block);
    }
    const auto scratch = [&](std::uint64_t per_row) {
      const std::uint64_t words = per_row * kernel_.state_words;
      const Slot slot = plan_.add_scratch(round_up<std::uint64_t>(rows * words * 4, 16));
      return View::dense(DType::f32, {rows, words}, slot);
    };
    View state = scratch(splits.total);
    const Status reduced =
        for_each_segment(job, tile, splits, [&](const RowJob& part, const Splits& at) {
          return emit(part, tile, RowPhase::partial, at, state);
        });
    if (!reduced) return reduced;
    if (splits.total > splits_to_merge_late) {
      const View merged = scratch(1);
      if (const Status ok = emit_merge(rows, splits.total, state, merged); !ok) return ok;
      state = merged;
    }
    return for_each_segment(job, tile, splits, [&](const RowJob& part, const Splits& at) {
      Splits mine = at;
      mine.total = state.shape[1] / kernel_.state_words;
      return emit(part, tile, RowPhase::apply, mine, state);
    });
  }

  /// Where a segment's splits lie among those of the whole row.
  struct Splits {
    std::uint64_t total = 0;
    std::uint64_t first = 0;
    std::uint64_t row_first = 0;  // element of the row at which the segment starts
  };

  Status for_each_segment(const RowJob& job, const RowTile& tile, Splits splits,
                          const std::function<Status(const RowJob&, const Splits&)>& call) {
    const std::uint64_t length = row_length(job.views.front());
    const std::uint64_t block = std::uint64_t{tile.lanes} * tile.chunks * tile.chunk;
    for (std::uint64_t at = 0; at < length; at += job.segment) {
      RowJob part{.segment = std::min(job.segment, length - at)};
      for (const View& view : job.views) {
        part.views.push_back(view.slice(view.rank - 1, at, part.segment));
      }
      splits.row_first = at;
      if (const Status ok = call(part, splits); !ok) return ok;
      splits.first += ceil_div(part.segment, block);
    }
    return {};
  }

  /// How the operand is read or written, and with that the words of its binding's elements.
  static RowAccess access_of(const RowOperand& operand, const View& view, const RowTile& tile) {
    if (operand.role == RowRole::number) return RowAccess::number;
    if (operand.span > 0) {
      return operand.span % tile.chunk == 0 ? RowAccess::group : RowAccess::each;
    }
    return tile.chunk >= 4 && rows_in_chunks(view, tile.chunk) ? RowAccess::vec : RowAccess::step;
  }

  Status emit(const RowJob& job, RowTile tile, RowPhase phase, const Splits& splits,
              const View& state) {
    const View& lead = job.views.front();
    const std::uint32_t outer = lead.rank - 1;
    const std::uint64_t rows = row_count(lead);
    const std::uint64_t chunks = job.segment / tile.chunk;
    const std::uint64_t per_block = tile.size / tile.lanes;
    const std::uint64_t block_chunks = std::uint64_t{tile.lanes} * tile.chunks;
    tile.exact = chunks % block_chunks == 0;
    const bool writes = phase != RowPhase::partial;
    if (!writes) tile.pairs = 0;

    Launch launch;
    launch.constants = kernel_.constants;
    launch.constants.merge(constants_of(tile));
    launch.constants.emplace("PHASE", std::string(name(phase)));
    launch.constants.emplace("OUTER", std::int64_t{outer});
    launch.params = kernel_.params;
    const auto add = [&](std::string name, std::uint64_t value) {
      launch.params.add(std::move(name), static_cast<std::uint32_t>(value));
    };
    const std::uint64_t blocks = ceil_div(rows, per_block);
    const std::uint64_t my_splits = ceil_div(chunks, block_chunks);
    add("rows", rows);
    add("blocks", blocks);
    add("splits", my_splits);
    add("splits_first", splits.first);
    add("splits_total", splits.total);
    add("row_chunks", chunks);
    add("row_first", splits.row_first);
    for (std::uint32_t d = 0; d < outer; ++d) add(formatted("shape_{}", d), lead.shape[d]);

    for (std::size_t i = 0; i < job.views.size(); ++i) {
      const RowOperand& mine = operand(i);
      if (!writes && mine.role != RowRole::input && mine.role != RowRole::number) continue;
      const View& view = job.views[i];
      const RowAccess access = access_of(mine, view, tile);
      std::string constant(mine.name);
      std::ranges::transform(constant, constant.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      launch.constants.insert_or_assign(constant + "_KIND", std::string(name(access)));
      for (std::uint32_t d = 0; d < outer; ++d) {
        add(formatted("{}_s{}", mine.name, d), view.shape[d] > 1 ? view.stride[d] : 0);
      }
      if (mine.role == RowRole::number) {
        add(formatted("{}_off", mine.name), view.offset / size_of(view.dtype));
        continue;
      }
      View bound = view;
      if (mine.span > 0) {
        bound.shape[outer] = mine.parts;
        bound.stride[outer] = mine.part_stride;
        add(formatted("{}_span", mine.name), mine.span);
      }
      add(formatted("{}_inner", mine.name), bound.stride[outer]);
      const bool narrow = size_of(view.dtype) < 4;
      const bool output = mine.role == RowRole::output;
      const bool wide = access == RowAccess::vec || (output && tile.chunk >= 4);
      if (output) launch.constants.insert_or_assign(constant + "_NARROW", std::int64_t{narrow});
      launch.operands.push_back(
          {.name = mine.name,
           .view = bound,
           .access = !output                     ? Access::read
                     : narrow && tile.chunk == 1 ? Access::atomic
                                                 : Access::write,
           .unit = wide ? std::min(4U, tile.chunk * size_of(view.dtype) / 4) : 1});
    }
    if (writes && kernel_.extra.view.given()) launch.operands.push_back(kernel_.extra);
    if (phase != RowPhase::whole) {
      launch.operands.push_back({.name = "state",
                                 .view = state,
                                 .access = writes ? Access::read : Access::write,
                                 .unit = 1});
    }
    launch.source = kernel_.source;
    launch.text = kernel_.text;
    launch.label =
        phase == RowPhase::whole ? kernel_.label : formatted("{} {}", kernel_.label, name(phase));
    launch.features.subgroups = tile.subgroup > 0 || tile.pairs > 0;
    launch.grid = grid_1d(blocks * my_splits, caps_);
    return push(std::move(launch));
  }

  Status emit_merge(std::uint64_t rows, std::uint64_t splits, const View& state,
                    const View& merged) {
    const std::uint32_t group_size = workgroup_width(caps_);
    RowTile tile{.chunk = 1, .size = group_size, .lanes = group_size};
    choose_subgroups(tile, false);
    Launch launch;
    launch.constants = kernel_.constants;
    launch.constants.merge(constants_of(tile));
    launch.constants.emplace("PHASE", std::string(name(RowPhase::merge)));
    launch.constants.emplace("OUTER", std::int64_t{0});
    launch.params.add("blocks", static_cast<std::uint32_t>(rows));
    launch.params.add("splits_total", static_cast<std::uint32_t>(splits));
    launch.operands = {{.name = "state", .view = state},
                       {.name = "merged", .view = merged, .access = Access::write}};
    launch.source = kernel_.source;
    launch.label = kernel_.label + " merge";
    launch.features.subgroups = tile.subgroup > 0;
    launch.grid = grid_1d(rows, caps_);
    return push(std::move(launch));
  }

  Status push(Launch launch) { return plan_.add(make_dispatch(std::move(launch), caps_)); }

  const RowKernel& kernel_;
  const Caps& caps_;
  std::vector<std::size_t> order_;  // operand numbers in the order of the jobs' views
  Plan plan_;
};

}  // namespace

Result<Plan> plan_rows(const RowKernel& kernel, const Caps& caps) {
  return Planner(kernel, caps).run();
}

Status check_in_place(const View& input, std::string_view input_name, const View& output,
                      std::string_view output_name) {
  if (!input.given() || !output.given()) return {};
  if (input.slot != output.slot || input.empty() || output.empty()) return {};
  const ByteRange a = input.bytes();
  const ByteRange b = output.bytes();
  if (a.end <= b.begin || b.end <= a.begin) return {};
  const bool same_size = size_of(input.dtype) == size_of(output.dtype);
  bool same_steps = input.rank == output.rank && same_size;
  std::uint64_t step = 0;  // the largest stride: views that stay apart inside it never meet
  View inside = output;
  for (std::uint32_t i = 0; same_steps && i < output.rank; ++i) {
    if (output.shape[i] == 1) continue;
    same_steps = input.shape[i] == output.shape[i] && input.stride[i] == output.stride[i];
    step = std::max(step, output.stride[i]);
  }
  for (std::uint32_t i = 0; i < output.rank; ++i) {
    if (output.stride[i] == step) inside.shape[i] = 1;
  }
  const std::uint64_t gap =
      std::max(input.offset, output.offset) - std::min(input.offset, output.offset);
  const std::uint64_t extent = inside.bytes().size();
  if (same_steps && gap == 0) return {};
  if (same_steps && gap >= extent && gap + extent <= step * size_of(output.dtype)) return {};
  return fail(ErrorCode::invalid_argument,
              "Input `{}` ({}) overlaps the output `{}` ({}) in the same buffer without being the "
              "same view.",
              input_name, describe(input), output_name, describe(output));
}

Status check_float_tensor(const View& view, std::string_view name,
                          std::span<const std::uint64_t> shape, bool output) {
  if (!view.given()) {
    return fail(ErrorCode::invalid_argument, "Tensor `{}` was not given.", name);
  }
  if (const Status ok = validate(view, name); !ok) return ok;
  if (!is_float(view.dtype)) {
    return fail(ErrorCode::unsupported, "Tensor `{}` is {}; it must be f32, f16 or bf16.", name,
                describe(view));
  }
  if (!std::ranges::equal(view.extents(), shape)) {
    return fail(ErrorCode::invalid_argument, "Tensor `{}` is {}; its shape should be {}.", name,
                describe(view), describe(shape));
  }
  return output ? check_distinct(view, name) : Status{};
}

}  // namespace weft::ops
