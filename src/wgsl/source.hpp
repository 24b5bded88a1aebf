#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "wgsl/template.hpp"

namespace weft::wgsl {

/// What a template line is.
enum class LineKind : std::uint8_t {
  text,
  include,
  let,
  if_,
  elif,
  else_,
  endif,
  for_,
  endfor,
  error,
};

/// One line of a template. `text` is the whole line, or what follows the word of a directive.
struct Line {
  LineKind kind = LineKind::text;
  bool has_values = false;   ///< A text line with `{{` in it.
  std::uint32_t number = 0;  ///< Counted from 1.
  std::uint32_t next = 0;    ///< Index of the line where this branch or loop body ends.
  std::string_view text;
};

/// A template cut into lines, with its blocks matched. Refers to the text of the file.
struct Source {
  std::string_view name;
  std::vector<Line> lines;
};

/// A mistake in the structure of a file.
struct Problem {
  std::uint32_t line = 0;
  std::string message;
};

/// Cuts a file into lines, recognises directives and matches #if and #for with their ends.
std::expected<Source, Problem> scan(const File& file);

}  // namespace weft::wgsl
