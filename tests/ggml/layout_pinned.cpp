// The interface with backends in the headers of the pinned release.
#include <ggml-backend-impl.h>
#include <ggml-impl.h>

#include "layout.hpp"

#define WEFT_BUFFER_TYPE_FUNCTIONS ggml_backend_buffer_type_i
#define WEFT_BUFFER_TYPE ggml_backend_buffer_type
#define WEFT_FUNCTIONS iface
#define WEFT_GRAPH ggml_cgraph
#define WEFT_GRAPH_NODES n_nodes
#define WEFT_GRAPH_USES use_counts
#define WEFT_GRAPH_MET visited_hash_set
#define WEFT_SET ggml_hash_set
#define WEFT_SET_TENSORS keys

namespace weft::test {

Layout pinned_layout() {
  return {
#include "layout.inc"
  };
}

}  // namespace weft::test
