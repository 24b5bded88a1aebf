#pragma once

#include <cstdint>
#include <optional>

#include "ops/plan.hpp"

namespace weft::ops::rows {

/// Counts the indices that are not below `count`, for functions whose own kernels do not.
struct OutsideArgs {
  View indices;                           ///< Any shape of i32 or i64.
  std::uint64_t count = 0;                ///< At most 2³¹.
  bool negative = false;                  ///< Negative ones mean something, and are fine.
  std::optional<std::int32_t> ignored{};  ///< One that is fine, too.
  /// Two u32 that the caller has set to 0. The first grows by the number of bad indices, the second
  /// becomes the complement (~) of the lowest row-major position of one.
  View status;
};

/// The launches for `args`, or why there are none. Without a status there are none to make.
Result<Plan> plan(const OutsideArgs& args, const Caps& caps);

}  // namespace weft::ops::rows
