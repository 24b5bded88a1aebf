// Splits a scatter_add into launches and chooses their kernel.
#include "ops/gather/scatter.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::gather {
namespace {

/// Lines that keep a processor busy where an invocation has one.
constexpr std::uint64_t lines_per_processor = 16;

struct Dim {
  std::uint64_t extent = 1;
  std::uint64_t stride = 0;
};

/// A view of the lines with further dimensions, without those that do not move it.
View with(const View& lines, std::initializer_list<Dim> further) {
  View view = lines;
  view.rank = 0;
  const auto add = [&](std::uint64_t extent, std::uint64_t stride) {
    if (extent <= 1 || stride == 0) return;
    view.shape[view.rank] = extent;
    view.stride[view.rank++] = stride;
  };
  for (std::uint32_t i = 0; i < lines.rank; ++i) add(lines.shape[i], lines.stride[i]);
  for (const Dim& dim : further) add(dim.extent, dim.stride);
  return view;
}

/// Chunks of columns are aligned in `view`, whose last dimension is the columns, with stride 1.
bool aligned(const View& view, std::uint64_t chunk) {
  const std::uint64_t bytes = chunk * size_of(view.dtype);
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i + 1 < view.rank; ++i) {
    if (view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

ScatterPiece piece_of(const ScatterJob& job, const Caps& caps) {
  std::array<View, 4> lines = job.lines;
  collapse(lines);
  const View y = whole_y(job);
  ScatterPiece piece{.job = job, .variant = {}, .params = {}, .groups = job.columns >= 32};
  ScatterVariant& variant = piece.variant;
  variant = {.domain = is_float(y.dtype) ? DType::f32 : DType::i32,
             .has_status = job.status.given() && job.report && job.first_row == 0,
             .rank = lines[0].rank};
  if (piece.groups && job.columns % 4 == 0 && job.y_column == 1 && job.source_column == 1 &&
      aligned(y, 4) && aligned(whole_source(job), 4)) {
    variant.chunk = 4;
  }
  const std::uint64_t inner_line = lines[2].stride[lines[2].rank - 1];
  variant.entries_inner = !piece.groups && job.index_entry <= inner_line;
  ScatterParams& params = piece.params;
  params.line_count = narrow(lines[0].count());
  params.entries = narrow(job.entries);
  params.columns = narrow(job.columns / variant.chunk);
  params.blocks = narrow(ceil_div<std::uint64_t>(params.columns, workgroup_width(caps)));
  params.rows = narrow(job.rows);
  params.first_row = narrow(job.first_row);
  params.piece_rows = narrow(job.piece_rows);
  params.y_row = narrow(job.y_row);
  params.y_column = narrow(job.y_column * variant.chunk);
  params.source_entry = narrow(job.source_entry);
  params.source_column = narrow(job.source_column * variant.chunk);
  params.index_entry = narrow(job.index_entry);
  params.first_position = narrow(job.first_position);
  for (std::uint32_t i = 0; i < variant.rank; ++i) {
    params.shape[i] = narrow(lines[0].shape[i]);
    params.y_line[i] = narrow(lines[0].stride[i]);
    params.source_line[i] = narrow(lines[1].stride[i]);
    params.index_line[i] = narrow(lines[2].stride[i]);
    params.position_line[i] = narrow(lines[3].stride[i]);
  }
  const std::uint64_t pairs = std::uint64_t{params.line_count} * params.entries;
  params.total = narrow(pairs * (piece.groups ? params.blocks : params.columns));
  return piece;
}

/// Each entry of a line takes long: all processors should have some lines.
constexpr std::uint32_t serial_workgroup = 32;

/// The launch of a kernel whose workgroups have so many invocations with something to do, and
/// `workgroup` invocations where that is not the usual number.
Status launch(Plan& plan, const ScatterPiece& piece, std::string_view kernel, std::uint64_t width,
              const Caps& caps, std::uint32_t workgroup = 0) {
  const auto& [job, variant, params, groups] = piece;
  const View y = whole_y(job);
  const View source = whole_source(job);
  const std::uint32_t chunk = variant.chunk;
  const auto words = [chunk](const View& view) {
    return std::clamp(chunk * size_of(view.dtype) / 4, 1U, 4U);
  };
  const bool shares_words = size_of(y.dtype) < 4 && chunk == 1;
  Launch launch;
  launch.source = kernel;
  launch.label = formatted("scatter_add {}", name(y.dtype));
  launch.operands = {{.name = "index", .view = whole_index(job)},
                     {.name = "source", .view = source, .unit = words(source)},
                     {.name = "y",
                      .view = y,
                      .access = shares_words ? Access::atomic : Access::write,
                      .unit = words(y)}};
  if (variant.has_status)
    launch.operands.push_back({.name = "status", .view = job.status, .access = Access::atomic});
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, width), caps);
  launch.constants = constants_of(variant);
  if (workgroup != 0) launch.constants.merge(constants_of(NarrowVariant{workgroup}));
  launch.params = block_of(params);
  return plan.add(make_dispatch(std::move(launch), caps));
}

Status can(const ScatterPiece&, const Caps&) { return {}; }
bool always(const ScatterPiece&, const Caps&) { return true; }

Status can_serial(const ScatterPiece& piece, const Caps&) {
  const DType dtype = piece.job.lines[0].dtype;
  if (!piece.groups && size_of(dtype) == 4) return {};
  return fail(ErrorCode::unsupported,
              "Lines of a scatter_add go through their entries alone where they have fewer than 32 "
              "columns of 4 bytes; these have {} of {}.",
              piece.job.columns, name(dtype));
}

/// Lines and columns enough to keep a device busy need no order: each goes through its entries
/// alone.
bool worth_serial(const ScatterPiece& piece, const Caps& caps) {
  return piece.job.entries >= entries_to_sort && !piece.variant.entries_inner &&
         std::uint64_t{piece.params.line_count} * piece.params.columns >=
             lines_per_processor * caps.traits.groups(1);
}

Status launch_serial(Plan& plan, const ScatterPiece& piece, const Caps& caps) {
  ScatterPiece mine = piece;
  mine.params.total = piece.params.line_count * piece.params.columns;
  return launch(plan, mine, "gather/scatter_serial.wgsl", serial_workgroup, caps, serial_workgroup);
}

bool worth_rows(const ScatterPiece& piece, const Caps&) { return piece.groups; }

Status launch_rows(Plan& plan, const ScatterPiece& piece, const Caps& caps) {
  return launch(plan, piece, "gather/scatter_rows.wgsl", 1, caps);
}

Status launch_singles(Plan& plan, const ScatterPiece& piece, const Caps& caps) {
  return launch(plan, piece, "gather/scatter.wgsl", workgroup_width(caps), caps);
}

/// One kernel of the op's list: `can` says why it cannot make a piece at all, `worth` whether it is
/// a good choice, `launch` adds what it takes to a plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const ScatterPiece&, const Caps&);
  bool (*worth)(const ScatterPiece&, const Caps&);
  Status (*launch)(Plan&, const ScatterPiece&, const Caps&);
};

constexpr Kernel serial_kernel{"serial", can_serial, worth_serial, launch_serial};
constexpr Kernel sorted_kernel{"sorted", can_sorted, worth_sorted, launch_sorted};
constexpr Kernel rows_kernel{"rows", can, worth_rows, launch_rows};
constexpr Kernel singles_kernel{"singles", can, always, launch_singles};

// In order of preference.
constexpr std::array kernels{&serial_kernel, &sorted_kernel, &rows_kernel, &singles_kernel};

std::uint64_t spread(std::uint64_t extent, std::uint64_t stride) { return (extent - 1) * stride; }

/// Halves of a job along a dimension of its lines, its entries, its rows or its columns.
std::pair<ScatterJob, ScatterJob> split_lines(const ScatterJob& job, std::uint32_t dim) {
  std::pair halves{job, job};
  const std::uint64_t extent = job.lines[0].shape[dim];
  const std::uint64_t half = extent / 2;
  halves.second.first_position += half * job.lines[3].stride[dim];
  for (View& view : halves.first.lines) view = view.slice(dim, 0, half);
  for (View& view : halves.second.lines) view = view.slice(dim, half, extent - half);
  return halves;
}

std::pair<ScatterJob, ScatterJob> split_entries(const ScatterJob& job) {
  std::pair halves{job, job};
  auto& [front, back] = halves;
  front.entries = job.entries / 2;
  back.entries -= front.entries;
  back.first_position += front.entries;
  back.lines[1].offset += front.entries * job.source_entry * size_of(job.lines[1].dtype);
  back.lines[2].offset += front.entries * job.index_entry * size_of(job.lines[2].dtype);
  return halves;
}

std::pair<ScatterJob, ScatterJob> split_rows(const ScatterJob& job) {
  std::pair halves{job, job};
  auto& [front, back] = halves;
  front.piece_rows = job.piece_rows / 2;
  back.piece_rows -= front.piece_rows;
  back.first_row += front.piece_rows;
  return halves;
}

std::pair<ScatterJob, ScatterJob> split_columns(const ScatterJob& job) {
  std::pair halves{job, job};
  auto& [front, back] = halves;
  front.columns =
      job.columns >= 8 ? round_down<std::uint64_t>(job.columns / 2, 4) : job.columns / 2;
  back.columns -= front.columns;
  back.lines[0].offset += front.columns * job.y_column * size_of(job.lines[0].dtype);
  back.lines[1].offset += front.columns * job.source_column * size_of(job.lines[1].dtype);
  back.report = false;
  return halves;
}

}  // namespace

View whole_y(const ScatterJob& job) {
  View view = with(job.lines[0], {{job.piece_rows, job.y_row}, {job.columns, job.y_column}});
  view.offset += job.first_row * job.y_row * size_of(view.dtype);
  return view;
}

View whole_source(const ScatterJob& job) {
  return with(job.lines[1], {{job.entries, job.source_entry}, {job.columns, job.source_column}});
}

View whole_index(const ScatterJob& job) {
  return with(job.lines[2], {{job.entries, job.index_entry}});
}

Status emit(Plan& plan, const ScatterJob& job, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto both = [&](const std::pair<ScatterJob, ScatterJob>& halves) {
    return emit(plan, halves.first, caps).and_then([&] { return emit(plan, halves.second, caps); });
  };
  const std::array sizes{whole_y(job).bytes().size(), whole_source(job).bytes().size(),
                         whole_index(job).bytes().size()};
  const bool too_many = job.lines[0].count() * job.entries * job.columns >= (1ULL << 31);
  const std::array along{job.y_row, job.source_entry, job.index_entry};
  const std::array across{job.y_column, job.source_column, std::uint64_t{0}};
  for (std::size_t k = 0; k < 3; ++k) {
    if (sizes[k] <= budget && !(too_many && k == 1)) continue;
    const auto step = [&](std::uint64_t stride) {
      return too_many ? std::max<std::uint64_t>(stride, 1) : stride;
    };
    std::uint32_t dim = 0;
    std::uint64_t widest = 0;
    for (std::uint32_t i = 0; i < job.lines[k].rank; ++i) {
      const std::uint64_t mine = spread(job.lines[k].shape[i], step(job.lines[k].stride[i]));
      if (mine > widest) std::tie(dim, widest) = std::tuple{i, mine};
    }
    const std::uint64_t length =
        k == 0 ? spread(job.piece_rows, along[k]) : spread(job.entries, step(along[k]));
    const std::uint64_t columns = spread(job.columns, step(across[k]));
    if (widest > 0 && widest >= std::max(length, columns)) return both(split_lines(job, dim));
    if (length > 0 && length >= columns) return both(k == 0 ? split_rows(job) : split_entries(job));
    if (columns > 0) return both(split_columns(job));
    return fail(ErrorCode::unsupported,
                "One element of {} needs more than the {} bytes that this device binds.",
                describe(job.lines[k]), caps.max_binding);
  }
  const ScatterPiece piece = piece_of(job, caps);
  const auto kernel = choose_kernel(kernels, "scatter_add", {}, piece, caps);
  if (!kernel) return std::unexpected(kernel.error());
  return (*kernel)->launch(plan, piece, caps);
}

}  // namespace weft::ops::gather
