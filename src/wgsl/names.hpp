#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wgsl/template.hpp"

namespace weft::wgsl {

/// The names visible at one point of an expansion: scopes inside scopes, the innermost wins.
class Names {
 public:
  /// Starts with the caller's constants (referenced, not copied) and one empty scope over them.
  explicit Names(const Constants& constants) : constants_(&constants), scopes_(1) {}

  /// The value of a name, or null.
  const Value* find(std::string_view name) const;

  /// Sets a name in the innermost scope.
  void set(std::string_view name, Value value);

  /// What the innermost scope itself holds under a name, or null.
  const Value* find_local(std::string_view name) const;

  /// Removes a name from the innermost scope.
  void erase_local(std::string_view name);

  /// Opens a scope that starts with `values`.
  void push(Constants values) { scopes_.push_back(std::move(values)); }

  /// Closes the innermost scope.
  void pop() { scopes_.pop_back(); }

  /// Every visible name once.
  std::vector<std::string_view> all() const;

 private:
  const Constants* constants_;
  std::vector<Constants> scopes_;
};

/// The candidates most like `name`, best first, as a list for a message: "A, B, C and 7 more".
std::string nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace weft::wgsl
