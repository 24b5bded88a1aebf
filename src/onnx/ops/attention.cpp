#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_attention(Table&) {}

}  // namespace weft::onnx
