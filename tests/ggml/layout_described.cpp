// The plug-in's description of ggml's interface with backends.
#include "interface.hpp"
#include "layout.hpp"

#define WEFT_BUFFER_TYPE_FUNCTIONS weft::plugin::BufferTypeFunctions2
#define WEFT_BUFFER_TYPE weft::plugin::BufferTypeLayout<weft::plugin::BufferTypeFunctions2>
#define WEFT_FUNCTIONS functions
#define WEFT_GRAPH weft::plugin::GraphLayout
#define WEFT_GRAPH_NODES nodes_count
#define WEFT_GRAPH_USES uses
#define WEFT_GRAPH_MET met
#define WEFT_SET weft::plugin::TensorSet
#define WEFT_SET_TENSORS tensors

namespace weft::test {

Layout described_layout() {
  return {
#include "layout.inc"
  };
}

}  // namespace weft::test
