#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// The smallest piece of a row that a workgroup of a split row takes; bounds the scratch of a plan
/// from above.
inline constexpr std::uint64_t smallest_row_block = 64;

/// Rows that one set of bindings covers, cut into `segment` elements per launch. The last dimension
/// of every view is the row.
struct RowJob {
  std::vector<View> views;
  std::uint64_t segment = 0;
};

/// Elements of a row.
std::uint64_t row_length(const View& view);

/// Rows of a view that is not empty.
std::uint64_t row_count(const View& view);

/// Merges outer dimensions as `collapse` does and leaves the row alone.
void collapse_outer(std::vector<View>& views);

/// Calls `emit` for sets of rows whose segments fit one binding each, and whose scratch
/// (`state_words` per split of a row) does too.
Status for_each_row_job(std::vector<View> views, std::uint32_t state_words, const Caps& caps,
                        const std::function<Status(const RowJob&)>& emit);

}  // namespace weft::ops
