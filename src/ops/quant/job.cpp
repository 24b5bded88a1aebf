#include "ops/quant/job.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "ops/iterate.hpp"

namespace weft::ops::quant {
namespace {

/// Bytes between neighbours along a dimension of a quantized view.
std::uint64_t byte_stride(const View& view, std::uint32_t dim) {
  return view.stride[dim] / block_elements(view.dtype) * block_bytes(view.dtype);
}

/// The outer dimension that spreads a view most; its rank where there is none.
std::uint32_t widest(const View& view, std::uint32_t dims) {
  std::uint32_t found = view.rank;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < dims; ++i) {
    const std::uint64_t spread = (view.shape[i] - 1) * std::max<std::uint64_t>(view.stride[i], 1);
    if (view.shape[i] > 1 && spread > most) {
      most = spread;
      found = i;
    }
  }
  return found;
}

Job part_of(const Job& job, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  Job part = job;
  part.flat = job.flat.slice(dim, first, count);
  if (job.indexed()) part.index = job.index.slice(dim, first, count);
  const bool own_rows = job.indexed() && dim + 2 == job.flat.rank;
  if (!own_rows) part.table = job.table.slice(dim, first, count);
  return part;
}

}  // namespace

Result<Job> make_job(const View& flat, const View& table, const View& indices,
                     std::string_view flat_name) {
  if (const Status ok = validate(flat, flat_name); !ok) return std::unexpected(ok.error());
  if (const Status ok = validate(table, "table", Types::quantized_too); !ok)
    return std::unexpected(ok.error());
  if (!is_quantized(table.dtype) || !is_float(flat.dtype)) {
    return fail(ErrorCode::invalid_argument,
                "Blocks are decoded to and encoded from f32, f16 and bf16; `table` is {} and `{}` "
                "is {}.",
                describe(table), flat_name, describe(flat));
  }
  Job job{.flat = flat, .table = table, .index = indices};
  if (flat.rank < 2) {  // rows need a dimension of their own
    if (flat.rank == 1 && !indices.given() && table.rank == 1) {
      return make_job(flat.unsqueeze(0), table.unsqueeze(0), {}, flat_name);
    }
    return fail(ErrorCode::invalid_argument, "Rows need at least two dimensions; `{}` is {}.",
                flat_name, describe(flat));
  }
  const std::uint32_t rows = flat.rank - 2;
  std::vector<std::uint64_t> wanted(flat.extents().begin(), flat.extents().end());
  if (indices.given()) {
    if (const Status ok = validate(indices, "indices"); !ok) return std::unexpected(ok.error());
    if (indices.dtype != DType::i32 && indices.dtype != DType::i64) {
      return fail(ErrorCode::invalid_argument, "Row indices are i32 or i64; `indices` is {}.",
                  describe(indices));
    }
    wanted.back() = 1;
    auto index = indices.unsqueeze(indices.rank).broadcast_to(wanted);
    if (!index) return std::unexpected(index.error());
    job.index = *index;
    if (table.rank < 2) {
      return fail(ErrorCode::invalid_argument, "A table of rows is needed; `table` is {}.",
                  describe(table));
    }
    wanted.back() = flat.shape[rows + 1];
    wanted[rows] = table.shape[table.rank - 2];
    job.table_rows = wanted[rows];
  }
  auto whole = table.broadcast_to(wanted);
  if (!whole || whole->shape[rows + 1] != table.shape[table.rank - 1]) {
    return fail(ErrorCode::invalid_argument, "`table` ({}) does not have the rows of `{}` ({}).",
                describe(table), flat_name, describe(flat));
  }
  job.table = *whole;
  return job;
}

Status for_each_job(const Job& job, const Caps& caps,
                    const std::function<Status(const Job&)>& emit) {
  if (job.flat.empty() || job.table.empty()) return {};
  const std::uint64_t budget = binding_budget(caps);
  const std::uint32_t outer = job.flat.rank - 1;
  const auto halve = [&](std::uint32_t dim) -> Status {
    const std::uint64_t half = half_of(job.flat.shape[dim]);
    if (const Status ok = for_each_job(part_of(job, dim, 0, half), caps, emit); !ok) return ok;
    return for_each_job(part_of(job, dim, half, job.flat.shape[dim] - half), caps, emit);
  };
  if (outer > job_rank) {  // one launch for each entry of the first dimension
    for (std::uint64_t i = 0; i < job.flat.shape[0]; ++i) {
      Job part = part_of(job, 0, i, 1);
      for (View* view : {&part.flat, &part.table, &part.index}) {
        if (!view->given()) continue;
        for (std::uint32_t d = 0; d + 1 < view->rank; ++d) {
          view->shape[d] = view->shape[d + 1];
          view->stride[d] = view->stride[d + 1];
        }
        --view->rank;
      }
      if (const Status ok = for_each_job(part, caps, emit); !ok) return ok;
    }
    return {};
  }
  if (job.flat.bytes().size() > budget || job.flat.count() >= (1ULL << 31) ||
      (job.indexed() && job.index.bytes().size() > budget)) {
    const std::uint32_t dim = widest(job.flat, outer);
    if (dim < outer) return halve(dim);
  } else if (job.table.bytes().size() > budget) {
    const std::uint32_t dim = widest(job.table, outer);
    const bool own_rows = job.indexed() && dim + 1 == outer;
    if (dim < outer && !own_rows) return halve(dim);
    if (dim < outer) {
      const std::uint64_t half = half_of(job.table.shape[dim]);
      Job front = job;
      Job back = job;
      front.table = job.table.slice(dim, 0, half);
      back.table = job.table.slice(dim, half, job.table.shape[dim] - half);
      back.first_row += half;
      if (const Status ok = for_each_job(front, caps, emit); !ok) return ok;
      return for_each_job(back, caps, emit);
    }
  }
  return emit(job);
}

JobParams params_of(const Job& job, std::uint32_t elements) {
  JobParams params;
  const std::uint32_t outer = job.flat.rank - 1;
  const std::uint32_t missing = job_rank - outer;
  const auto u32 = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  std::uint64_t rows = 1;
  for (std::uint32_t i = 0; i < job_rank; ++i) params.shape[i] = 1;
  for (std::uint32_t i = 0; i < outer; ++i) {
    params.shape[missing + i] = u32(job.flat.shape[i]);
    params.flat[missing + i] = u32(job.flat.stride[i]);
    params.table[missing + i] = u32(byte_stride(job.table, i));
    if (job.indexed()) params.index[missing + i] = u32(job.index.stride[i]);
    rows *= job.flat.shape[i];
  }
  if (job.indexed()) {
    params.table[job_rank - 1] = 0;
    params.row_step = u32(byte_stride(job.table, outer - 1));
    params.first_row = u32(job.first_row);
    params.table_rows = u32(job.table_rows);
    params.piece_rows = u32(job.table.shape[outer - 1]);
  }
  params.flat_step = u32(job.flat.stride[outer]);
  params.per_row = u32(job.flat.shape[outer] / elements);
  params.count = u32(rows * params.per_row);
  return params;
}

bool rows_in_chunks(const View& view, std::uint32_t elements) {
  if (view.stride[view.rank - 1] != 1) return false;
  const std::uint64_t bytes =
      std::min<std::uint64_t>(16, std::uint64_t{elements} * size_of(view.dtype));
  if (view.offset % bytes != 0) return false;
  for (std::uint32_t i = 0; i + 1 < view.rank; ++i) {
    if (view.shape[i] > 1 && view.stride[i] * size_of(view.dtype) % bytes != 0) return false;
  }
  return true;
}

bool blocks_aligned(const View& view) {
  return block_bytes(view.dtype) % 4 == 0 && view.offset % 4 == 0;
}

}  // namespace weft::ops::quant
