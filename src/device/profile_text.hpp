#pragma once

#include <string>

#include "device/profiles.hpp"

namespace weft {

/// A row of the table in profiles.cpp, as text of C++.
std::string row_text(const Profile& profile);

}  // namespace weft
