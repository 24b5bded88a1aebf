#include "onnx/ops/families.hpp"

namespace weft::onnx {

void add_recurrent(Table&) {}

}  // namespace weft::onnx
