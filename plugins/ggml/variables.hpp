#pragma once

#include "base/error.hpp"

namespace weft::plugin {

/// Whether the environment variables that only this plug-in reads have values that it knows; an
/// error names the first that has not, with what it can be.
Status check_variables();

}  // namespace weft::plugin
