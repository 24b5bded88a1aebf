#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_training(Table&) {}

}  // namespace weft::onnx
