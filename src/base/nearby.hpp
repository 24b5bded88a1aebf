#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

/// "did you mean `gelu` or `elu`?", with up to three of the names that are most like `wanted`, or
/// "there are `a`, `b`, …" with all of them where none is alike and they are few; empty where
/// neither helps. For messages about names that do not exist.
std::string nearby(std::string_view wanted, std::span<const std::string_view> names);

}  // namespace weft
