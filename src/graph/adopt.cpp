#include "graph/adopt.hpp"

#include <utility>
#include <vector>

#include "graph/rule.hpp"

namespace weft::graph {
namespace {

/// Other memory for a node, and for the views of it that have been computed.
void move_to(Node& node, const gpu::Buffer& buffer) {
  const gpu::Buffer old = std::exchange(node.storage.front().buffer, buffer);
  std::vector<Node*> pending{&node};
  while (!pending.empty()) {
    Node* const base = pending.back();
    pending.pop_back();
    for (const std::weak_ptr<Node>& weak : base->readers) {
      const std::shared_ptr<Node> reader = weak.lock();
      if (!reader || reader->rule->view == nullptr) continue;
      if (reader->computed()) {
        if (reader->storage.front().buffer != old) continue;
        reader->storage.front().buffer = buffer;
      }
      pending.push_back(reader.get());
    }
  }
}

}  // namespace

bool adopt(Node& variable, const Value& value) {
  Node& from = *value.node;
  if (variable.fixed || from.fixed || from.aliases_variable || from.rule->lower == nullptr ||
      !from.computed()) {
    return false;
  }
  const Storage& storage = from.storage[value.output];
  if (!storage.view.is_dense() || storage.view.offset != 0) return false;
  move_to(variable, storage.buffer);
  variable.shares = from.shares = true;
  return true;
}

void make_private(Node& node) {
  unshare(node);
  node.fixed = true;
}

void unshare(Node& node) {
  if (!std::exchange(node.shares, false) || !node.computed()) return;
  gpu::Device& device = node.device->device;
  for (Storage& storage : node.storage) {
    const std::uint64_t bytes = storage.buffer.size();
    const gpu::Buffer copy = unwrap(device.allocate(bytes));
    if (bytes > 0) unwrap(device.copy(gpu::whole(storage.buffer), gpu::whole(copy)));
    if (&storage == node.storage.data()) {
      move_to(node, copy);
    } else {
      storage.buffer = copy;
    }
  }
}

}  // namespace weft::graph
