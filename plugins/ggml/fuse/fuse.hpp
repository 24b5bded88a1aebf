#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "node.hpp"
#include "packed_input.hpp"

struct ggml_cgraph;

namespace weft::plugin {

/// Whether nodes may be joined at all: WEFT_FUSE=off computes every node by itself.
bool fusing();

/// True for nodes that compute something.
bool is_computed(const ggml_tensor& tensor);

/// How often each tensor of a graph is read, directly or through views of it, by this graph and by
/// others: a graph may be a part of a larger one, the rest of which runs elsewhere.
class Uses {
 public:
  /// `counts` says how often a tensor is a source in the whole graph, views included; -1 where that
  /// is not known.
  Uses(std::span<ggml_tensor* const> nodes, const std::function<int(const ggml_tensor&)>& counts);
  /// Whether one node alone ever sees the result, so that it need not be written where that node is
  /// fused with this one.
  [[nodiscard]] bool only_once(const ggml_tensor& tensor) const;
  /// Whether only these nodes ever see the result.
  [[nodiscard]] bool only_among(const ggml_tensor& tensor,
                                std::span<const ggml_tensor* const> nodes) const;
  /// Whether the result is only ever seen as what `view` shows of it.
  [[nodiscard]] bool only_as(const ggml_tensor& tensor, const ggml_tensor& view) const;
  /// A number that is equal for tensors about which all of these questions have the same answers,
  /// where the nodes around them are alike.
  [[nodiscard]] std::uint64_t summary(const ggml_tensor& tensor) const;

 private:
  struct Count {
    /// The tensors through which it is read, once for every source of a node; also those that are
    /// outputs, and what changes it in place.
    std::vector<const ggml_tensor*> readers;
    int sources = 0;  ///< Sources of all nodes, views among them.
    int known = 0;    ///< The same in the whole graph.
  };
  /// What is known of a tensor whose memory is its own and whose readers are all in this graph,
  /// else null.
  [[nodiscard]] const Count* private_count(const ggml_tensor& tensor) const;
  std::unordered_map<const ggml_tensor*, Count> counts_;
};

/// Several nodes as one plan.
struct Fusion {
  std::size_t nodes = 0;  ///< How many of the first nodes it computes.
  ops::Plan plan;
  ops::View packed_x{};  ///< Where the plan also writes what it makes packed: what that is,
  ops::View packed{};    ///< and where, as PackedInput::room() said.
};

/// The longest known sequence at the start of `nodes` (those that compute something) that one op
/// can do. Empty when there is none, or when its tensors overlap so that only one node after the
/// other is right.
/// (It looks at nothing else of the nodes than step_key.cpp says.)
std::optional<Fusion> fuse(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                           const PlaceFn& place, const PackedInput& packed, const Caps& caps);

/// Moves nodes that fuse() can join next to each other where the results stay the same. For graphs
/// whose tensors have no memory yet.
void bring_together(std::span<ggml_tensor*> nodes);

/// Calls `keep` with tensors that must stay where they are until a later node is computed, so that
/// its result does not lie on what it reads when it is fused with the nodes in between.
void keep_inputs(std::span<ggml_tensor* const> nodes,
                 const std::function<void(ggml_tensor&, ggml_tensor&)>& keep);

}  // namespace weft::plugin
