#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_random(Table&) {}

}  // namespace weft::onnx
