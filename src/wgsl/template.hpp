#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace weft::wgsl {

/// A named template text.
struct File {
  std::string_view name;
  std::string_view text;
};

/// A value that template expressions can use: an integer (booleans are 0 and 1) or a string.
using Value = std::variant<std::int64_t, std::string>;

/// The names that a template sees.
using Constants = std::map<std::string, Value, std::less<>>;

/// Where a line of generated text came from.
struct Origin {
  std::string file;
  std::uint32_t line = 0;
};

/// Generated WGSL and, for each of its lines, the template line it came from.
struct Expanded {
  std::string text;
  std::vector<Origin> origins;
};

/// Expands the template `name` of `files`. Directives stand on lines of their own:
///   #include "other.wgsl"        #include "lib/x.wgsl" with NAME="a" WIDTH=4
///   #let NAME = expression
///   #if expression / #elif expression / #else / #endif
///   #for NAME in first..last     … #endfor        (last is not included; the body is repeated in the text)
///   #error "text {{NAME}}"
/// and `{{expression}}` anywhere is replaced by its value. Expressions: integers, "strings", names, + - * / %,
/// == != < <= > >=, && || !, c ? a : b, (…), min(a,b), max(a,b), defined(NAME).
/// Errors read "softmax.wgsl:12: …" with the include chain behind.
Result<Expanded> expand(std::span<const File> files, std::string_view name,
                        const Constants& constants);

}  // namespace weft::wgsl
