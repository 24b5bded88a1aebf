#pragma once

#include <optional>

#include "node.hpp"

namespace weft::plugin {

/// Whether the right side of a product may be rounded to 8 bits, as ggml's CPU backend does. A
/// graph may ask for more: of sums in word 0 of the parameters, of the right side in word 3.
bool allows_q8(const Node& node);

/// Whether products with quantized weights keep to f32: WEFT_PRECISION=highest.
bool exact_products();

/// The right side of a product that its row multiplies in packed form, if it does; with `given`, if
/// it does where the packed form is there anyway.
std::optional<ops::View> packed_source(const Node& node, const Caps& caps, bool given = false);

}  // namespace weft::plugin
