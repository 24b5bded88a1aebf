#include "base/format.hpp"
#include "base/small_format.hpp"

// In the place of format_standard.cpp, for pages.

namespace weft {

std::string format_values(std::string_view text, std::format_args values) {
  return small_format(text, values);
}

}  // namespace weft
