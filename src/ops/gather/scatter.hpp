#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "device/caps.hpp"
#include "ops/fields.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops::gather {

/// A scatter_add in normal form: independent lines, entries along each (one index per entry), rows
/// of y that indices name, and columns that share the index of their entry.
struct ScatterJob {
  std::array<View, 4> lines;  // in y, the source, the index, and in the numbering of positions
  std::uint64_t entries = 0;
  std::uint64_t source_entry = 0;  // steps from one entry to the next
  std::uint64_t index_entry = 0;
  std::uint64_t first_position = 0;  // a step along the entries is a step of 1 here
  std::uint64_t rows = 0;            // of y
  std::uint64_t y_row = 0;
  std::uint64_t first_row = 0;  // the part of y in this launch
  std::uint64_t piece_rows = 0;
  std::uint64_t columns = 1;
  std::uint64_t y_column = 0;
  std::uint64_t source_column = 0;
  bool report = true;
  View status;
};

/// The passes of scatter_sorted.wgsl.
enum class Pass : std::uint8_t { none, count, place, rank, sum };
constexpr std::string_view name(Pass pass) {
  switch (pass) {
    case Pass::none: return "";
    case Pass::count: return "count";
    case Pass::place: return "place";
    case Pass::rank: return "rank";
    case Pass::sum: return "sum";
  }
  return "?";
}

/// What distinguishes the kernels of a scatter_add.
struct ScatterVariant {
  DType domain = DType::f32;
  bool has_status = false;
  std::uint32_t rank = 1;   // dimensions of the lines
  std::uint32_t chunk = 1;  // columns per invocation (groups only)
  bool entries_inner =
      false;  // neighbouring invocations take neighbouring entries, not lines (singles only)

  Pass pass = Pass::none;  // of the sorted kernels
  bool groups = false;     // a workgroup per row (the last of these passes only)
};

/// The numbers of a launch.
struct ScatterParams {
  std::uint32_t total = 0;  // groups: workgroups; singles: invocations
  std::uint32_t line_count = 0;
  std::uint32_t entries = 0;
  std::uint32_t columns = 0;  // in chunks
  std::uint32_t blocks = 0;   // groups: workgroups along the columns
  std::uint32_t rows = 0;     // of all of y
  std::uint32_t first_row = 0;
  std::uint32_t piece_rows = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_column = 0;
  std::uint32_t source_entry = 0;
  std::uint32_t source_column = 0;
  std::uint32_t index_entry = 0;
  std::uint32_t first_position = 0;
  std::array<std::uint32_t, max_rank> shape{};
  std::array<std::uint32_t, max_rank> y_line{};
  std::array<std::uint32_t, max_rank> source_line{};
  std::array<std::uint32_t, max_rank> index_line{};
  std::array<std::uint32_t, max_rank> position_line{};
};

/// The bytes that a job touches.
View whole_y(const ScatterJob& job);
View whole_source(const ScatterJob& job);
View whole_index(const ScatterJob& job);

/// Entries of a line from which on sorting them pays; with fewer, every entry is compared with all
/// others.
inline constexpr std::uint64_t entries_to_sort = 128;

/// A job that fits its bindings, and the numbers that follow from it.
struct ScatterPiece {
  const ScatterJob& job;
  ScatterVariant variant;
  ScatterParams params;
  bool groups = false;  ///< Columns enough for a workgroup per entry.
};

/// The kernel for many entries: they are brought into the order of the rows that they name by
/// counting, and one owner per row adds them up.
Status can_sorted(const ScatterPiece& piece, const Caps& caps);
bool worth_sorted(const ScatterPiece& piece, const Caps& caps);
Status launch_sorted(Plan& plan, const ScatterPiece& piece, const Caps& caps);

/// Plans a job, split so that every binding fits.
Status emit(Plan& plan, const ScatterJob& job, const Caps& caps);

}  // namespace weft::ops::gather
