#pragma once

/// The public C++ API of Weft.

#include "weft/version.hpp"
