#include "base/nearby.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// How many letters must be put in, taken away or changed to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

std::string listed(const std::vector<std::string_view>& names, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : ", ";
    text += "`" + std::string(names[i]) + "`";
  }
  return text;
}

}  // namespace

std::string nearby(std::string_view wanted, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 64;  // of a name that could be meant
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view name : names) {
    if (wanted.empty() || wanted.size() > longest) break;
    const bool part = wanted.size() >= 3 && (name.contains(wanted) || wanted.contains(name));
    const std::size_t steps = distance(wanted, name);
    if (steps <= (wanted.size() + 2) / 3) {
      found.emplace_back(steps, name);
    } else if (part && name.size() >= 3) {
      found.emplace_back(longest, name);
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  std::vector<std::string_view> best;
  for (const auto& each : found) {
    if (best.size() < 3) best.push_back(each.second);
  }
  if (!best.empty()) return "did you mean " + listed(best, " or ") + "?";
  if (names.size() > 12) return "";
  return "there are " + listed({names.begin(), names.end()}, " and ") + ".";
}

}  // namespace weft
