#pragma once

#include <cstdint>

#include "weft/device.hpp"

namespace weft {

/// A number that all handles of a device share, and that no other device has while it is open.
[[nodiscard]] std::uint64_t id_of(const Device& device);

}  // namespace weft
