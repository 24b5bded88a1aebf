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

/// Expands the template `name` of `files`. A line whose first character is `#` is a directive:
///   #include "lib/x.wgsl"              the text of that file, as if it stood here
///   #include "lib/x.wgsl" with A=4 B="f32"   the same in a scope of its own (see below)
///   #let NAME = expression             defines NAME, or gives it a new value
///   #if expression / #elif expression / #else / #endif
///   #for NAME in first..last / #endfor repeats its body in the text; last is not included
///   #error "text {{NAME}}"             stops with that message
/// and `{{expression}}` in any other line is replaced by its value, except behind `//`: comments
/// are copied as they are. A directive may end with a `//` comment.
///
/// Expressions: 64-bit integers, "strings", names, + - * / %, == != < <= > >=, && || !, c ? a : b,
/// (…), min(a, b), max(a, b), defined(NAME). && || ?: do not look at the side they do not need. `+`
/// joins strings (and a string with an integer); == and != compare two strings or two integers.
/// Strings may hold `{{expression}}` and the escapes \" \\ \n \{.
///
/// Scopes: a file included `with` values sees them and all names of its includer, and whatever it
/// defines ends with it. Without `with`, its #let definitions stay visible behind the #include. The
/// variable of a #for ends with the loop; #let inside a loop or a branch stays.
///
/// Every error has the code `shader` and reads "softmax.wgsl:12: message (included from a.wgsl:3)".
/// Loops without end and runaway text are errors too (limits.hpp).
Result<Expanded> expand(std::span<const File> files, std::string_view name,
                        const Constants& constants);

/// Rewrites the positions in a message of the WGSL compiler (":12:7 error: …", with or without a
/// file name in front) into template positions. The column stays that of the generated line, which
/// the compiler quotes below its message.
std::string annotate(const Expanded& expanded, std::string_view compiler_message);

}  // namespace weft::wgsl
