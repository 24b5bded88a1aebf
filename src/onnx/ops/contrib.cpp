#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_contrib(Table&) {}

}  // namespace weft::onnx
