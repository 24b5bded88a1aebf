#include "wgsl/names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "base/format.hpp"

namespace weft::wgsl {

const Value* Names::find(std::string_view name) const {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const auto found = scopes_[i].find(name);
    if (found != scopes_[i].end()) return &found->second;
  }
  const auto found = constants_->find(name);
  return found == constants_->end() ? nullptr : &found->second;
}

void Names::set(std::string_view name, Value value) {
  Constants& scope = scopes_.back();
  const auto found = scope.find(name);
  if (found != scope.end()) {
    found->second = std::move(value);
  } else {
    scope.emplace(name, std::move(value));
  }
}

const Value* Names::find_local(std::string_view name) const {
  const auto found = scopes_.back().find(name);
  return found == scopes_.back().end() ? nullptr : &found->second;
}

void Names::erase_local(std::string_view name) {
  const auto found = scopes_.back().find(name);
  if (found != scopes_.back().end()) scopes_.back().erase(found);
}

std::vector<std::string_view> Names::all() const {
  std::vector<std::string_view> result;
  for (const auto& [name, value] : *constants_) result.push_back(name);
  for (const Constants& scope : scopes_) {
    for (const auto& [name, value] : scope) result.push_back(name);
  }
  std::ranges::sort(result);
  const auto [first, last] = std::ranges::unique(result);
  result.erase(first, last);
  return result;
}

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Edit distance without regard to case. Only the first characters count, which bounds the time.
std::size_t distance(std::string_view a, std::string_view b) {
  constexpr std::size_t enough = 48;
  a = a.substr(0, enough);
  b = b.substr(0, enough);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return "none";
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  ranked.reserve(candidates.size());
  for (const std::string_view candidate : candidates) {
    ranked.emplace_back(distance(name, candidate), candidate);
  }
  std::ranges::sort(ranked);
  constexpr std::size_t shown = 8;
  std::string result;
  for (std::size_t i = 0; i < std::min(shown, ranked.size()); ++i) {
    if (i != 0) result += ", ";
    result += ranked[i].second;
  }
  if (ranked.size() > shown) result += formatted(" and {} more", ranked.size() - shown);
  return result;
}

}  // namespace weft::wgsl
