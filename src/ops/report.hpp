#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "device/caps.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// Functions that report indices out of range, where Caps::check_indices is set.
enum class Checked : std::uint8_t {
  embedding,
  add_rows,
  index_copy,
  gather,
  scatter_add,
  cross_entropy,
  grouped_linear
};
inline constexpr std::array<std::string_view, 7> checked_names{
    "embedding",     "the gradient of embedding",
    "index_copy",    "gather",
    "scatter_add",   "cross_entropy",
    "grouped_linear"};

/// The words of a report: for each function the number of bad indices, and the complement of the
/// least position of one.
inline constexpr std::size_t report_words = 2 * checked_names.size();
using Report = std::array<std::uint32_t, report_words>;

/// Where a function reports, as `status` of an op; not given where nothing is checked.
inline View report_view(Checked function, const Caps& caps) {
  if (!caps.check_indices) return {};
  View view = View::dense(DType::u32, {2}, Slot::report());
  view.offset = 8 * static_cast<std::uint64_t>(function);
  return view;
}

/// A sentence about what a report says; empty where it says nothing.
std::string describe(const Report& report);

}  // namespace weft::ops
