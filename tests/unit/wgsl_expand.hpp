#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "wgsl/template.hpp"

namespace weft::wgsl {

using Files = std::vector<File>;

/// The text that `main.wgsl` expands to, or "ERROR message".
inline std::string expanded(const Files& files, const Constants& constants = {}) {
  const auto result = expand(files, "main.wgsl", constants);
  if (!result) {
    EXPECT_EQ(result.error().code, ErrorCode::shader);
    return "ERROR " + result.error().message;
  }
  EXPECT_EQ(std::ranges::count(result->text, '\n'), std::ssize(result->origins));
  return result->text;
}

inline std::string expanded(std::string_view text, const Constants& constants = {}) {
  return expanded(Files{{"main.wgsl", text}}, constants);
}

}  // namespace weft::wgsl
