#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_resize(Table&) {}

}  // namespace weft::onnx
