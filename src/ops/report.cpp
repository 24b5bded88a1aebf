#include "ops/report.hpp"

#include "base/format.hpp"

namespace weft::ops {

std::string describe(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < checked_names.size(); ++i) {
    const std::uint32_t count = report[2 * i];
    if (count == 0) continue;
    text +=
        formatted("{}{} met {} {} out of range, the first at position {}", text.empty() ? "" : "; ",
                  checked_names[i], count, count == 1 ? "index" : "indices", ~report[2 * i + 1]);
  }
  return text.empty() ? text : text + " of its indices (check_indices).";
}

}  // namespace weft::ops
