#include "node.hpp"

namespace weft::plugin {

std::span<const Row> matmul_rows() { return {}; }

}  // namespace weft::plugin
