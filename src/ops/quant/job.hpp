#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "ops/fields.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops::quant {

/// Rows that move between a plain tensor `flat` and a quantized one, `table`. All views have the
/// rank of `flat`: `flat` is […, R, C], `table` […, R or N, C], `index` (where given) […, R, 1].
struct Job {
  View flat;
  View table;
  View index;
  std::uint64_t first_row = 0;   ///< The row of the whole table at which `table` starts.
  std::uint64_t table_rows = 0;  ///< Rows of the whole table.

  [[nodiscard]] bool indexed() const { return index.given(); }
};

/// Checks the views and brings them into the form of Job.
Result<Job> make_job(const View& flat, const View& table, const View& indices,
                     std::string_view flat_name);

/// Calls `emit` for parts of a job that fit the device's bindings and have few enough dimensions
/// for a launch.
Status for_each_job(const Job& job, const Caps& caps,
                    const std::function<Status(const Job&)>& emit);

/// Dimensions in front of the columns that one launch walks.
inline constexpr std::uint32_t job_rank = 4;

/// What the kernels need to know about a job; strides of the table are in bytes.
struct JobParams {
  std::array<std::uint32_t, job_rank> shape{};
  std::array<std::uint32_t, job_rank> flat{};
  std::array<std::uint32_t, job_rank> table{};
  std::array<std::uint32_t, job_rank> index{};
  std::uint32_t flat_step = 0;  // between the columns of a row
  std::uint32_t row_step = 0;   // with indices: bytes from row to row of the table
  std::uint32_t first_row = 0;
  std::uint32_t table_rows = 0;
  std::uint32_t piece_rows = 0;  // rows of this part of the table
  std::uint32_t per_row = 0;     // pieces or blocks in a row
  std::uint32_t count = 0;       // of all rows

  /// Dimensions that count, from the last one on; at least 1.
  [[nodiscard]] std::uint32_t rank() const {
    std::uint32_t first = 0;
    while (first + 1 < job_rank && shape[first] == 1) ++first;
    return job_rank - first;
  }
};

/// The parameters of a job whose rows fall into parts of `elements` elements.
JobParams params_of(const Job& job, std::uint32_t elements);

/// True where every row of a plain view starts at a multiple of `elements` elements and 16 bytes
/// and is contiguous.
bool rows_in_chunks(const View& view, std::uint32_t elements);

/// True where every block of a quantized view starts at a multiple of 4 bytes.
bool blocks_aligned(const View& view);

}  // namespace weft::ops::quant
