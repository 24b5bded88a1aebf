#pragma once

// The element types are part of the public API; the layers know them by this name.
#include "weft/dtype.hpp"  // IWYU pragma: export
