#include <algorithm>
#include <limits>
#include <string>

#include "device.hpp"

namespace weft::plugin {

/// Browsers do not say how much memory there is, so this is what addresses can count. Where it is
/// too much, making the buffer fails.
MemoryFigures memory_figures(const gpu::AdapterInfo& /*info*/, const std::string& /*address*/,
                             std::uint64_t in_use) {
  constexpr std::uint64_t total = std::numeric_limits<std::uint32_t>::max();
  return {total - std::min(in_use, total), total};
}

}  // namespace weft::plugin
