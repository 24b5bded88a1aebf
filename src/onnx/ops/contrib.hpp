#pragma once

#include "onnx/call.hpp"

namespace weft::onnx {

/// More families of com.microsoft.
void add_contrib_decoder(Table& table);
void add_contrib_experts(Table& table);
/// After all others, some of which it names anew.
void add_contrib_more(Table& table);

}  // namespace weft::onnx
