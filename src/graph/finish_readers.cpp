#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/evaluate.hpp"

namespace weft::graph {
namespace {

/// What is alive and was written with the values of a variable, up to what has been computed.
struct Readers {
  std::vector<std::shared_ptr<Node>> pending;   ///< Not computed.
  std::vector<std::shared_ptr<Node>> computed;  ///< They read what is pending, for gradients.
  std::unordered_map<const Node*, long> reads;  ///< How often these read each other.
};

bool is_view_of(const Node& node, const Node& base) {
  return node.rule->view != nullptr && !node.inputs.empty() &&
         node.inputs.front().node.get() == &base;
}

Readers find_readers(Node& variable) {
  Readers out;
  std::unordered_map<const Node*, bool>
      looks;  // visited; whether it looks at the variable's memory
  std::vector<std::shared_ptr<Node>> views;
  std::vector<Node*> pending{&variable};
  looks.emplace(&variable, true);
  while (!pending.empty()) {
    Node* const node = pending.back();
    pending.pop_back();
    const bool is_memory = looks.at(node);
    std::erase_if(node->readers, [](const auto& reader) { return reader.expired(); });
    for (const std::weak_ptr<Node>& weak : node->readers) {
      std::shared_ptr<Node> reader = weak.lock();
      if (!reader) continue;
      const bool view = is_memory && is_view_of(*reader, *node);
      if (!looks.try_emplace(reader.get(), view).second) continue;
      if (view || !reader->computed()) pending.push_back(reader.get());
      (view ? views : reader->computed() ? out.computed : out.pending).push_back(std::move(reader));
    }
  }
  for (const auto* list : {&out.pending, &out.computed, &views}) {
    for (const auto& node : *list) {
      for (const Value& input : node->inputs) {
        if (input) ++out.reads[input.node.get()];
      }
    }
  }
  return out;
}

/// Tensors that only their history keeps from being forgotten have handles in nodes alone.
bool has_handle(const Readers& readers, const std::shared_ptr<Node>& node) {
  const auto found = readers.reads.find(node.get());
  return node.use_count() > 1 + (found == readers.reads.end() ? 0 : found->second);
}

}  // namespace

void finish_readers(Node& variable) {
  Readers readers = find_readers(variable);
  std::vector<Value> wanted;
  for (const auto& node : readers.pending) {
    if (has_handle(readers, node) && !node->traced) wanted.push_back({node});
  }
  evaluate(wanted);
  std::unordered_set<const Node*> pending;
  for (const auto& node : readers.pending) pending.insert(node.get());
  const auto is_pending = [&](const Value& value) {
    return value && pending.contains(value.node.get());
  };
  for (const Value& value : wanted) readers.computed.push_back(value.node);
  for (const auto& node : readers.computed) {
    if (!std::ranges::any_of(node->inputs, is_pending)) continue;
    node->inputs.clear();
    node->without_history = node->tracked;
  }
}

}  // namespace weft::graph
