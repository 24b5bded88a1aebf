#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_signal(Table&) {}

}  // namespace weft::onnx
