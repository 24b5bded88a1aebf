#pragma once

#include <array>
#include <cstdint>

#include "device/caps.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops::gather {

/// A scatter_add in normal form: independent lines, entries along each (one index per entry), rows of y that indices
/// name, and columns that share the index of their entry.
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

/// Plans a job, split so that every binding fits.
Status emit(Plan& plan, const ScatterJob& job, const Caps& caps);

}  // namespace weft::ops::gather
