#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/traits.hpp"

namespace weft {

/// Every trait by its name, facts as 0 and 1.
std::vector<std::pair<std::string_view, double>> values_of(const Traits& traits);

/// "processors=132 overlaps=1 …", with every trait.
std::string text_of(const Traits& traits);

/// `traits` with what such a text says about some or all of them. Unknown names and impossible
/// values are errors.
Result<Traits> parse_traits(std::string_view text, Traits traits);

}  // namespace weft
