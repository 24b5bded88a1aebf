#pragma once

#include <span>

#include "wgsl/template.hpp"

namespace weft::ops {

/// Every .wgsl file of src/ops, named relative to it ("map/map.wgsl"), compiled into the library.
std::span<const wgsl::File> embedded_files();

}  // namespace weft::ops
