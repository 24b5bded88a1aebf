#pragma once

#include <string_view>

namespace weft {

/// The version of the library that is linked in, for example "0.1.0".
std::string_view version() noexcept;

}  // namespace weft
