#pragma once

#include "fuse/fuse.hpp"
#include "node.hpp"

namespace weft::plugin {

/// Appends the launches of a node. Nodes run one after the other, so they share their scratch buffers, all but the first,
/// which is that of PackedInput.
void append_shared(ops::Plan& graph, ops::Plan node);

/// The right side of the last product that was packed: the products that follow with the same one do not pack it again.
/// Its packed form lies in the first scratch buffer of a graph, which no node uses for anything else.
class PackedInput {
 public:
  /// Lets `node` use what is packed, and adds to `graph` what packs it where that is something new.
  Status prepare(Node& node, ops::Plan& graph, const Caps& caps);
  /// To be called for every tensor that is computed: x is forgotten where it lies on it.
  void written(const ggml_tensor& tensor, const PlaceFn& place);

 private:
  ops::View x_;
  ops::View packed_;  ///< Not given() where nothing is packed.
};

}  // namespace weft::plugin
