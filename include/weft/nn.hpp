#pragma once

#include "weft/nn/layers.hpp"       // IWYU pragma: export
#include "weft/nn/module.hpp"       // IWYU pragma: export
#include "weft/nn/recurrent.hpp"    // IWYU pragma: export
#include "weft/nn/transformer.hpp"  // IWYU pragma: export
