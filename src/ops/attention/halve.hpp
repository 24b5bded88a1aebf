#pragma once

#include <string_view>

#include "ops/attention/attention.hpp"

namespace weft::ops::attention {

/// The names under which cases force it: with the kernel that a device takes, or with that which
/// has heads of any size.
inline constexpr std::string_view halves_name = "halves";
inline constexpr std::string_view matrix_halves_name = "matrix halves";
constexpr bool forces_halves(std::string_view kernel) {
  return kernel == halves_name || kernel == matrix_halves_name;
}

/// Whether attention over keys and values of bf16 is made on matrix units, which multiply f16:
/// where that is worth two launches that write q, k and v as f16 first.
bool takes_halves(const Args& args, const Caps& caps);
bool takes_halves(const BackwardArgs& args, const Caps& caps);

/// Why there are none.
std::unexpected<Failure> no_halves(const View& k, const View& v);

/// The launches for that.
Result<Plan> in_halves(const Args& args, const Caps& caps);
Result<Plan> in_halves(const BackwardArgs& args, const Caps& caps);

}  // namespace weft::ops::attention
