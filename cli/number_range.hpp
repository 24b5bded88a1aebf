#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/format.hpp"

namespace weft::cli {

/// Accepts the numbers from `least` to `most` (both included, unless `open` leaves them out), and
/// no NaN: CLI::Range takes that.
inline CLI::Validator number_range(double least, double most, bool open = false) {
  const std::string name =
      open ? formatted("between {} and {}", least, most) : formatted("{} to {}", least, most);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = std::numeric_limits<double>::quiet_NaN();
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool inside = open ? value > least && value < most : value >= least && value <= most;
        if (error == std::errc() && end == text.data() + text.size() && inside) return {};
        return formatted("{} is not a number {}", text, open ? name : "from " + name);
      },
      name);
}

}  // namespace weft::cli
