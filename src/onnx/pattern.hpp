#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace weft::onnx {

/// A regular expression in RE2's syntax, as far as it says what a text is (groups catch nothing):
/// characters, ".", classes,
/// \d \w \s \b and their opposites, groups, |, * + ? {n,m}, ^ and $. A text is walked once with the
/// set of all places that the expression may be at, so that no pattern takes more than its size
/// times the length of the text.
class Pattern {
 public:
  static Result<Pattern> parse(std::string_view text);

  /// Whether the expression describes all of a text in UTF-8.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  friend class PatternParser;

  enum class Code : std::uint8_t { accept, set, split, start, end, boundary, no_boundary };
  /// One place of the expression: what must be there, and the places behind it.
  struct Step {
    Code code = Code::accept;
    std::uint32_t next = 0;
    std::uint32_t other = 0;  ///< Of a split: the second place; of a set: its number.
  };
  /// Characters, by ranges.
  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool is_negated = false;
    [[nodiscard]] bool has(char32_t c) const;
  };

  void enter(std::uint32_t step, std::size_t at, const std::u32string& text,
             std::vector<std::uint32_t>& places, std::vector<std::uint64_t>& seen) const;

  std::vector<Step> steps_;
  std::vector<Set> sets_;
  std::uint32_t first_ = 0;
};

}  // namespace weft::onnx
