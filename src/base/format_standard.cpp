#include "base/format.hpp"

namespace weft {

std::string format_values(std::string_view text, std::format_args values) {
  return std::vformat(text, values);
}

}  // namespace weft
