#include "ops/rows/rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/slow_access.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::rows {
namespace {

struct Variant {
  bool set = false;
  bool has_status = false;
  bool plus = false;
  std::uint32_t rank = 1;   // dimensions of the row space
  std::uint32_t chunk = 1;  // elements per load and store
  std::uint32_t items = 1;  // chunks per invocation
  bool along = false;       // which lie side by side
};

struct Params {
  std::uint32_t chunks = 0;      // in all
  std::uint32_t row_chunks = 0;  // per row
  std::uint32_t table_rows = 0;  // N of the whole table
  std::uint32_t first_row = 0;   // the part of the table in this launch
  std::uint32_t piece_rows = 0;
  std::uint32_t row_step = 0;
  std::uint32_t table_step = 0;  // from one column to the next
  std::uint32_t flat_step = 0;
  std::uint32_t first_position = 0;
  std::array<std::uint32_t, max_rank> shape{};
  std::array<std::uint32_t, max_rank> flat{};
  std::array<std::uint32_t, max_rank> index{};
  std::array<std::uint32_t, max_rank> batch{};
  std::array<std::uint32_t, max_rank> position{};
};

/// Rows to move between a table and a flat tensor (the destination of get, the source of set).
struct Job {
  bool set = false;
  // The row space […, R] as it lies in the flat tensor, the indices, the batches of the table, and
  // in the row-major numbering of the indices.
  std::array<View, 4> space;
  std::uint64_t columns = 0;
  std::uint64_t flat_step = 0;
  std::uint64_t table_step = 0;
  std::uint64_t rows = 0;  // of the table
  std::uint64_t row_step = 0;
  std::uint64_t first_row = 0;  // part of the table
  std::uint64_t piece_rows = 0;
  std::uint64_t first_position = 0;
  bool report = true;
  View status;
  View plus;  // rows as the flat tensor has them

  View& flat() { return space[0]; }
  View& index() { return space[1]; }
  View& table() { return space[2]; }
};

void add_dim(View& view, std::uint64_t extent, std::uint64_t stride) {
  view.shape[view.rank] = extent;
  view.stride[view.rank++] = stride;
}

/// A view without the dimensions that do not move it, so that there is room for further ones.
View moving_dims(const View& from) {
  View out = from;
  out.rank = 0;
  for (std::uint32_t i = 0; i < from.rank; ++i) {
    if (from.shape[i] > 1 && from.stride[i] > 0) add_dim(out, from.shape[i], from.stride[i]);
  }
  return out;
}

View flat_whole(const Job& job) {
  View view = moving_dims(job.space[0]);
  add_dim(view, job.columns, job.flat_step);
  return view;
}

View table_whole(const Job& job) {
  View view = moving_dims(job.space[2]);
  view.offset += job.first_row * job.row_step * size_of(view.dtype);
  add_dim(view, job.piece_rows, job.row_step);
  add_dim(view, job.columns, job.table_step);
  return view;
}

Job slice_space(Job job, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  job.first_position += first * job.space[3].stride[dim];
  for (View& view : job.space) view = view.slice(dim, first, count);
  job.plus.offset += first * job.space[0].stride[dim] * size_of(job.plus.dtype);
  return job;
}

/// Chunks of `chunk` columns are contiguous and aligned in `view`, whose columns come last.
bool fits_chunk(const View& view, std::uint32_t chunk) {
  const std::uint32_t inner = view.rank - 1;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(16, std::uint64_t{chunk} * size_of(view.dtype));
  if (view.shape[inner] % chunk != 0 || view.stride[inner] != 1 || view.offset % bytes != 0)
    return false;
  for (std::uint32_t i = 0; i < inner; ++i) {
    if (view.shape[i] > 1 && view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

Status launch_job(Plan& plan, Job job, const Caps& caps) {
  collapse(job.space);
  const View flat = flat_whole(job);
  const View table = table_whole(job);
  View plus = flat;
  plus.slot = job.plus.slot;
  plus.offset = job.plus.offset;
  const View& target = job.set ? table : flat;
  Variant variant{.set = job.set,
                  .has_status = job.status.given() && job.report && job.first_row == 0,
                  .plus = job.plus.given(),
                  .rank = job.flat().rank};
  // Neighbouring invocations then access neighbouring words.
  const bool words_apart =
      slow_access(caps) && size_of(flat.dtype) == 4 && size_of(table.dtype) == 4;
  for (const std::uint32_t chunk : {8U, 4U, 2U}) {
    if (words_apart) break;
    const std::uint32_t narrowest = std::min(size_of(flat.dtype), size_of(table.dtype));
    if (chunk == 2 && size_of(target.dtype) == 4) continue;  // pairs only pay for whole words
    if (chunk * narrowest > 16 || !fits_chunk(flat, chunk) || !fits_chunk(table, chunk)) continue;
    if (variant.plus && !fits_chunk(plus, chunk)) continue;
    variant.chunk = chunk;
    break;
  }
  const std::uint64_t row_chunks = job.columns / variant.chunk;
  const std::uint64_t chunks = job.flat().count() * row_chunks;
  // Where finding a row is slow, it is found once for several chunks of it.
  variant.along = caps.traits.items > 1 && row_chunks % 4 == 0 && !words_apart;
  variant.items = variant.along ? 4 : words_apart ? 1 : chunks >= (1U << 17) ? 2 : 1;
  const auto u32 = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  Params params{.chunks = u32(chunks),
                .row_chunks = u32(row_chunks),
                .table_rows = u32(job.rows),
                .first_row = u32(job.first_row),
                .piece_rows = u32(job.piece_rows),
                .row_step = u32(job.row_step),
                .table_step = u32(job.table_step),
                .flat_step = u32(job.flat_step),
                .first_position = u32(job.first_position)};
  for (std::uint32_t i = 0; i < variant.rank; ++i) {
    params.shape[i] = u32(job.space[0].shape[i]);
    params.flat[i] = u32(job.space[0].stride[i]);
    params.index[i] = u32(job.space[1].stride[i]);
    params.batch[i] = u32(job.space[2].stride[i]);
    params.position[i] = u32(job.space[3].stride[i]);
  }
  const auto words = [&](const View& view) {
    return std::clamp(variant.chunk * size_of(view.dtype) / 4, 1U, 4U);
  };
  const Access write =
      size_of(target.dtype) < 4 && variant.chunk == 1 ? Access::atomic : Access::write;
  Launch launch;
  launch.source = "rows/rows.wgsl";
  launch.label = formatted("{} {}", job.set ? "set_rows" : "get_rows", name(table.dtype));
  launch.operands = {
      {.name = "index", .view = job.index()},
      {.name = "flat", .view = flat, .access = job.set ? Access::read : write, .unit = words(flat)},
      {.name = "table",
       .view = table,
       .access = job.set ? write : Access::read,
       .unit = words(table)}};
  if (variant.has_status)
    launch.operands.push_back({.name = "status", .view = job.status, .access = Access::atomic});
  if (variant.plus) launch.operands.push_back({.name = "plus", .view = plus, .unit = words(plus)});
  launch.grid =
      grid_1d(ceil_div(chunks, std::uint64_t{workgroup_width(caps)} * variant.items), caps);
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Splits a job until every binding fits: along rows, along columns, and along the rows of the
/// table.
Status emit(Plan& plan, const Job& job, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto halves = [&](std::uint32_t dim) {
    const std::uint64_t extent = job.space[0].shape[dim];
    return emit(plan, slice_space(job, dim, 0, extent / 2), caps).and_then([&] {
      return emit(plan, slice_space(job, dim, extent / 2, extent - extent / 2), caps);
    });
  };
  const auto widest = [](const View& view) {
    std::pair<std::uint32_t, std::uint64_t> best{0, 0};
    for (std::uint32_t i = 0; i < view.rank; ++i) {
      const std::uint64_t spread = (view.shape[i] - 1) * view.stride[i];
      if (spread > best.second) best = {i, spread};
    }
    return best;
  };
  const std::uint64_t count = job.space[0].count() * job.columns;
  const View table = table_whole(job);
  const auto [flat_dim, flat_spread] = widest(job.space[0]);
  const auto [table_dim, table_spread] = widest(job.space[2]);
  const std::uint64_t columns_spread = (job.columns - 1) * std::max(job.flat_step, job.table_step);
  const bool flat_large = flat_whole(job).bytes().size() > budget || count >= (1ULL << 31);
  const bool table_large = table.bytes().size() > budget;
  if (job.space[1].bytes().size() > budget) return halves(widest(job.space[1]).first);
  if (flat_large && flat_spread > 0 && flat_spread >= columns_spread) return halves(flat_dim);
  const std::uint64_t rows_spread = (job.piece_rows - 1) * job.row_step;
  if (table_large && table_spread > 0 && table_spread >= std::max(rows_spread, columns_spread))
    return halves(table_dim);
  if (table_large && rows_spread > 0 && rows_spread >= columns_spread) {
    Job front = job;
    Job back = job;
    front.piece_rows = job.piece_rows / 2;
    back.first_row += front.piece_rows;
    back.piece_rows -= front.piece_rows;
    return emit(plan, front, caps).and_then([&] { return emit(plan, back, caps); });
  }
  if (flat_large || table_large) {
    if (job.columns == 1) {
      return fail(ErrorCode::unsupported,
                  "One column of {} needs more than the {} bytes that this device binds.",
                  describe(table), caps.max_binding);
    }
    Job front = job;
    Job back = job;
    front.columns =
        job.columns >= 16 ? round_down<std::uint64_t>(job.columns / 2, 8) : job.columns / 2;
    back.columns -= front.columns;
    back.flat().offset += front.columns * job.flat_step * size_of(job.space[0].dtype);
    back.table().offset += front.columns * job.table_step * size_of(job.space[2].dtype);
    back.plus.offset += front.columns * job.flat_step * size_of(job.plus.dtype);
    back.report = false;
    return emit(plan, front, caps).and_then([&] { return emit(plan, back, caps); });
  }
  return launch_job(plan, job, caps);
}

Status check(std::string_view op, const View& from, const View& to, const View& table,
             const View& flat, const View& indices, const View& status) {
  for (const auto& [view, what] :
       {std::pair{&table, "table"}, {&flat, "rows"}, {&indices, "indices"}, {&status, "status"}}) {
    if (const Status ok = validate(*view, what); !ok) return ok;
  }
  const bool types = from.dtype == DType::i32 ? to.dtype == DType::i32 || (is_float(to.dtype))
                                              : is_float(from.dtype) && is_float(to.dtype);
  if (!types) {
    return fail(ErrorCode::unsupported, "{} does not turn {} into {}.", op, name(from.dtype),
                name(to.dtype));
  }
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64) {
    return fail(ErrorCode::unsupported, "{} takes indices of i32 or i64; they are {}.", op,
                describe(indices));
  }
  if (table.rank < 2 || flat.rank < 2) {
    return fail(ErrorCode::invalid_argument,
                "{} needs at least two dimensions; the table is {} and the rows are {}.", op,
                describe(table), describe(flat));
  }
  if (table.shape[table.rank - 1] != flat.shape[flat.rank - 1]) {
    return fail(ErrorCode::invalid_argument,
                "{} needs as many columns in the table {} as in the rows {}.", op, describe(table),
                describe(flat));
  }
  if (const Status ok = check_distinct(to, &to == &table ? "table" : "y"); !ok) return ok;
  if (overlap(from, to) || overlap(indices, to)) {
    return fail(ErrorCode::invalid_argument,
                "The output {} of {} overlaps an input ({} with indices {}) in the same buffer.",
                describe(to), op, describe(from), describe(indices));
  }
  if (status.given() && (status.dtype != DType::u32 || status.rank != 1 || status.shape[0] < 2 ||
                         status.stride[0] != 1)) {
    return fail(ErrorCode::invalid_argument,
                "The status of {} must be two neighbouring u32; it is {}.", op, describe(status));
  }
  if (table.shape[table.rank - 2] > (1ULL << 31)) {
    return fail(ErrorCode::unsupported, "{} takes tables of at most 2^31 rows; the table is {}.",
                op, describe(table));
  }
  return {};
}

Status check_plus(const View& plus, const View& y) {
  if (const Status ok = validate(plus, "plus"); !ok) return ok;
  const bool alike = plus.dtype == y.dtype && is_float(y.dtype) &&
                     std::ranges::equal(plus.extents(), y.extents()) &&
                     std::equal(y.stride.begin(), y.stride.begin() + y.rank, plus.stride.begin());
  if (!alike || (overlap(plus, y) && plus.offset != y.offset)) {
    return fail(ErrorCode::invalid_argument,
                "What get_rows adds lies as its output does, beside it or in its place; they are "
                "{} and {}.",
                describe(plus), describe(y));
  }
  return {};
}

/// `lead` is the view whose leading dimensions the others broadcast to: the output.
Result<Plan> plan_rows(bool set, const View& table, const View& flat, const View& indices,
                       const View& status, const View& plus, const Caps& caps) {
  const std::string_view op = set ? "set_rows" : "get_rows";
  if (const Status ok =
          check(op, set ? flat : table, set ? table : flat, table, flat, indices, status);
      !ok)
    return std::unexpected(ok.error());
  const View& lead = set ? table : flat;
  const std::uint32_t batches = lead.rank - 2;
  const std::uint64_t count = flat.shape[flat.rank - 2];
  Extents shape{};  // […, R]
  std::copy_n(lead.shape.begin(), batches, shape.begin());
  shape[batches] = count;
  const std::span<const std::uint64_t> space(shape.data(), batches + 1);

  const auto doing = [&] { return formatted("planning {}", op); };
  const auto index_space = indices.broadcast_to(space);
  if (!index_space) return wrap(index_space.error(), doing());
  if (indices.rank > 0 && indices.shape[indices.rank - 1] != count) {
    return fail(ErrorCode::invalid_argument, "{} has {} rows but {} indices in {}.", op, count,
                indices.shape[indices.rank - 1], describe(indices));
  }
  View flat_rows = flat;
  --flat_rows.rank;
  const auto flat_space = flat_rows.broadcast_to(space);
  if (!flat_space) return wrap(flat_space.error(), doing());
  View table_batches = table;  // stays in place along R
  --table_batches.rank;
  table_batches.shape[table_batches.rank - 1] = 1;
  const auto table_space = table_batches.broadcast_to(space);
  if (!table_space) return wrap(table_space.error(), doing());

  Job job{.set = set,
          .space = {*flat_space, *index_space, *table_space, View::dense(DType::u32, space)},
          .columns = flat.shape[flat.rank - 1],
          .flat_step = flat.stride[flat.rank - 1],
          .table_step = table.stride[table.rank - 1],
          .rows = table.shape[table.rank - 2],
          .row_step = table.stride[table.rank - 2],
          .status = status,
          .plus = plus};
  job.piece_rows = job.rows;
  if (job.status.given()) job.status.shape[0] = 2;
  // R is one index per row: with extent 1 its stride in the table must not count.
  job.table().stride[batches] = 0;
  // Equal types are moved as bits, which keeps denormals and NaNs as they are.
  if (flat.dtype == table.dtype && flat.dtype != DType::i32 && !plus.given()) {
    job.flat().dtype = job.table().dtype = flat.dtype == DType::f32 ? DType::u32 : DType::bf16;
  }
  Plan plan;
  if (job.flat().empty() || job.columns == 0) return plan;
  if (job.rows == 0) {
    return fail(ErrorCode::invalid_argument, "{} of {} indices needs a table with rows; it is {}.",
                op, describe(indices), describe(table));
  }
  if (const Status ok = emit(plan, job, caps); !ok) return wrap(ok.error(), doing());
  return plan;
}

}  // namespace

Result<Plan> plan(const GetArgs& args, const Caps& caps) {
  if (args.plus.given()) {
    if (const Status ok = check_plus(args.plus, args.y); !ok) return std::unexpected(ok.error());
  }
  return plan_rows(false, args.table, args.y, args.indices, args.status, args.plus, caps);
}

Result<Plan> plan(const SetArgs& args, const Caps& caps) {
  return plan_rows(true, args.table, args.source, args.indices, args.status, {}, caps);
}

}  // namespace weft::ops::rows
