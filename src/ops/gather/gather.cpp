#include "ops/gather/gather.hpp"

#include <algorithm>
#include <format>

#include "ops/gather/scatter.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/rows/rows.hpp"

namespace weft::ops::gather {
namespace {

/// `view` with dimension `axis` moved to the end.
View axis_last(View view, std::uint32_t axis) {
  for (std::uint32_t i = axis; i + 1 < view.rank; ++i) view = view.transpose(i, i + 1);
  return view;
}

/// Checks that `index` can address `x` along `axis` from positions of its own shape, which `same`
/// has too.
Status check_shapes(std::string_view op, const View& x, const View& index, const View& same,
                    std::uint32_t axis) {
  if (const Status ok = validate(x, "x"); !ok) return ok;
  if (const Status ok = validate(index, "index"); !ok) return ok;
  if (const Status ok = validate(same, "y"); !ok) return ok;
  bool fits = x.rank == index.rank && std::ranges::equal(index.extents(), same.extents());
  for (std::uint32_t i = 0; fits && i < x.rank; ++i)
    fits = i == axis || index.shape[i] <= x.shape[i];
  if (!fits || axis >= x.rank) {
    return fail(ErrorCode::invalid_argument,
                "{} along dimension {} of {} does not fit indices {} and values {}.", op, axis,
                describe(x), describe(index), describe(same));
  }
  return {};
}

/// The part of `x` that positions of `index` reach: everything along `axis`, the index's extents
/// elsewhere.
View reached(View x, const View& index, std::uint32_t axis) {
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    if (i != axis) x.shape[i] = index.shape[i];
  }
  return x;
}

/// The numbering of the indices, in which dimensions that repeat them have no part.
View positions_of(const View& index) {
  View distinct = index;
  for (std::uint32_t i = 0; i < index.rank; ++i) {
    if (index.stride[i] == 0) distinct.shape[i] = 1;
  }
  View view = View::dense(DType::u32, distinct.extents());
  for (std::uint32_t i = 0; i < index.rank; ++i) {
    if (distinct.shape[i] != index.shape[i]) view.stride[i] = 0;
  }
  view.shape = index.shape;
  return view;
}

Status check_scatter(const ScatterAddArgs& args) {
  if (const Status ok = check_shapes("scatter_add", args.y, args.index, args.source, args.axis);
      !ok)
    return ok;
  const bool floats = is_float(args.y.dtype) && is_float(args.source.dtype);
  const bool integers = args.y.dtype == DType::i32 && args.source.dtype == DType::i32;
  if (!floats && !integers) {
    return fail(ErrorCode::unsupported, "scatter_add does not add {} to {}.",
                name(args.source.dtype), name(args.y.dtype));
  }
  if (args.index.dtype != DType::i32 && args.index.dtype != DType::i64) {
    return fail(ErrorCode::unsupported, "scatter_add takes indices of i32 or i64; they are {}.",
                describe(args.index));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.source, args.y) || overlap(args.index, args.y)) {
    return fail(ErrorCode::invalid_argument,
                "The output {} of scatter_add overlaps the source {} or the indices {} in the same "
                "buffer.",
                describe(args.y), describe(args.source), describe(args.index));
  }
  const View& status = args.status;
  if (status.given() && (status.dtype != DType::u32 || status.rank != 1 || status.shape[0] < 2 ||
                         status.stride[0] != 1)) {
    return fail(ErrorCode::invalid_argument,
                "The status of scatter_add must be two neighbouring u32; it is {}.",
                describe(status));
  }
  if (args.y.shape[args.axis] > (1ULL << 31)) {
    return fail(ErrorCode::unsupported,
                "scatter_add takes at most 2^31 elements along its dimension; the output is {}.",
                describe(args.y));
  }
  return {};
}

}  // namespace

Result<Plan> plan(const GatherArgs& args, const Caps& caps) {
  if (const Status ok = check_shapes("gather", args.x, args.index, args.y, args.axis); !ok)
    return std::unexpected(ok.error());
  if (args.x.rank >= max_rank) {
    return fail(ErrorCode::unsupported, "gather takes at most {} dimensions; x is {}.",
                max_rank - 1, describe(args.x));
  }
  // Every element is a row of one column.
  const auto as_rows = [&](const View& view) {
    return axis_last(view, args.axis).unsqueeze(view.rank);
  };
  return rows::plan(rows::GetArgs{.table = as_rows(reached(args.x, args.index, args.axis)),
                                  .indices = axis_last(args.index, args.axis),
                                  .y = as_rows(args.y),
                                  .status = args.status},
                    caps);
}

Result<Plan> plan(const ScatterAddArgs& args, const Caps& caps) {
  if (const Status ok = check_scatter(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.source.empty() || args.y.empty()) return plan;

  const View y = axis_last(reached(args.y, args.index, args.axis), args.axis);
  const View source = axis_last(args.source, args.axis);
  const View index = axis_last(args.index, args.axis);
  const std::uint32_t last = y.rank - 1;
  ScatterJob job{.lines = {y, source, index, positions_of(index)},
                 .entries = source.shape[last],
                 .source_entry = source.stride[last],
                 .index_entry = index.stride[last],
                 .rows = y.shape[last],
                 .y_row = y.stride[last],
                 .piece_rows = y.shape[last],
                 .status = args.status};
  if (job.status.given()) job.status.shape[0] = 2;
  for (View& view : job.lines) view.rank = last;
  collapse(job.lines);
  // Neighbours that share their indices are the columns of a row.
  const std::uint32_t inner = job.lines[0].rank - 1;
  if (job.lines[2].stride[inner] == 0 && job.lines[0].shape[inner] > 1) {
    job.columns = job.lines[0].shape[inner];
    job.y_column = job.lines[0].stride[inner];
    job.source_column = job.lines[1].stride[inner];
    for (View& view : job.lines) view.shape[inner] = 1;
  }
  if (const Status ok = emit(plan, job, caps); !ok) return wrap(ok.error(), "planning scatter_add");
  return plan;
}

Result<Plan> plan(const AddRowsArgs& args, const Caps& caps) {
  const View& source = args.source;
  if (source.rank < 2 || args.table.rank != source.rank) {
    return fail(ErrorCode::invalid_argument,
                "Adding rows needs a source and a table of the same two or more dimensions; they "
                "are {} and {}.",
                describe(source), describe(args.table));
  }
  for (std::uint32_t i = 0; i < source.rank; ++i) {
    if (i + 2 != source.rank && source.shape[i] != args.table.shape[i]) {
      return fail(ErrorCode::invalid_argument,
                  "Adding rows of {} to {}: dimension {} has {} and {} elements.", describe(source),
                  describe(args.table), i, source.shape[i], args.table.shape[i]);
    }
  }
  if (args.indices.rank == 0 || args.indices.rank >= source.rank) {
    return fail(ErrorCode::invalid_argument,
                "Adding rows of {} needs one index per row; the indices are {}.", describe(source),
                describe(args.indices));
  }
  const auto index = args.indices.unsqueeze(args.indices.rank).broadcast_to(source.extents());
  if (!index) return wrap(index.error(), "planning the addition of rows");
  return plan(ScatterAddArgs{.source = source,
                             .index = *index,
                             .y = args.table,
                             .axis = source.rank - 2,
                             .status = args.status},
              caps);
}

}  // namespace weft::ops::gather
