#include <algorithm>
#include <vector>

#include "graph/evaluate.hpp"

namespace weft::graph {
namespace {

/// What is alive and was written with the values of variables, up to what has been computed.
struct Readers {
  std::vector<std::shared_ptr<Node>> pending;   ///< Not computed.
  std::vector<std::shared_ptr<Node>> computed;  ///< They read what is pending, for gradients.
};

bool is_view_of(const Node& node, const Node& base) {
  return node.rule->view != nullptr && !node.inputs.empty() &&
         node.inputs.front().node.get() == &base;
}

/// Walks from variables to their readers. Notes in `place` whether a node looks at the memory of
/// one, and in `reads` how often what was found reads a node.
Readers find_readers(std::span<const std::shared_ptr<Node>> variables, DeviceData& device) {
  Readers out;
  const std::uint64_t walk = ++device.walks;
  const auto visit = [walk](Node& node, bool looks) {
    if (node.walk == walk) return false;
    node.walk = walk;
    node.place = looks ? 1 : 0;
    node.reads = 0;
    return true;
  };
  std::vector<std::shared_ptr<Node>> views;
  std::vector<Node*> pending;
  for (const auto& variable : variables) {
    if (visit(*variable, true)) pending.push_back(variable.get());
  }
  while (!pending.empty()) {
    Node* const node = pending.back();
    pending.pop_back();
    bool expired = false;
    for (const std::weak_ptr<Node>& weak : node->readers) {
      std::shared_ptr<Node> reader = weak.lock();
      expired = expired || !reader;
      if (!reader) continue;
      const bool view = node->place != 0 && is_view_of(*reader, *node);
      if (!visit(*reader, view)) continue;
      if (view || !reader->computed()) pending.push_back(reader.get());
      (view ? views : reader->computed() ? out.computed : out.pending).push_back(std::move(reader));
    }
    if (expired) std::erase_if(node->readers, [](const auto& reader) { return reader.expired(); });
  }
  for (const auto* list : {&out.pending, &out.computed, &views}) {
    for (const auto& node : *list) {
      for (const Value& input : node->inputs) {
        if (input && input.node->walk == walk) ++input.node->reads;
      }
    }
  }
  return out;
}

}  // namespace

void finish_readers(std::span<const std::shared_ptr<Node>> variables) {
  if (variables.empty()) return;
  DeviceData& device = *variables.front()->device;
  Readers readers = find_readers(variables, device);
  if (readers.pending.empty()) return;
  // Tensors that only their history keeps from being forgotten have handles in nodes alone.
  std::vector<Value> wanted;
  for (const auto& node : readers.pending) {
    const bool has_handle = node.use_count() > 1 + static_cast<long>(node->reads);
    if (has_handle && !node->traced) wanted.push_back({node});
  }
  evaluate(wanted);
  const std::uint64_t mark = ++device.walks;
  for (const auto& node : readers.pending) node->walk = mark;
  const auto is_pending = [mark](const Value& value) { return value && value.node->walk == mark; };
  for (const Value& value : wanted) readers.computed.push_back(value.node);
  for (const auto& node : readers.computed) {
    if (!std::ranges::any_of(node->inputs, is_pending)) continue;
    node->inputs.clear();
    node->without_history = node->tracked;
  }
}

}  // namespace weft::graph
