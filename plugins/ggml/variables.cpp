#include "variables.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace weft::plugin {
namespace {

struct Variable {
  const char* name;
  std::array<std::string_view, 3> words;  ///< Empty ones are none.
};

constexpr std::array variables{
    Variable{"WEFT_FUSE", {"off", "0", "1"}},
    Variable{"WEFT_KEEP_WEIGHTS", {"0", "1"}},
    Variable{"WEFT_EXPLAIN", {"0", "1", "only"}},
    Variable{"WEFT_PRECISION", {"standard", "highest"}},
};

}  // namespace

Status check_variables() {
  for (const Variable& variable : variables) {
    const char* value = std::getenv(variable.name);
    const std::string_view text = value != nullptr ? value : "";
    if (std::ranges::contains(variable.words, text) || text.empty()) continue;
    std::string known;
    for (const std::string_view word : variable.words) {
      if (!word.empty()) known += formatted("{}\"{}\"", known.empty() ? "" : " or ", word);
    }
    return fail(ErrorCode::invalid_argument, "{} is \"{}\", but it can be {}.", variable.name, text,
                known);
  }
  return {};
}

}  // namespace weft::plugin
