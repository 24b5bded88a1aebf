#include "graph/recover.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "gpu/lifetime.hpp"
#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "weft/recover.hpp"

namespace weft {
namespace graph {
namespace {

/// Whether a node's elements follow from what it still knows. Inputs are dropped when a node has
/// been computed, unless gradients may need them; but what those were computed from are variables,
/// which may have changed since.
bool can_be_computed(const Node& node) {
  if (node.rule->view != nullptr && !node.inputs.empty()) return true;
  if (node.rule->lower == nullptr || node.tracked) return false;
  if (!node.inputs.empty()) return true;
  const auto* map = node.attributes.get_if<MapAttributes>();
  return map != nullptr && (map->function == "fill" || map->function == "arange");  // never had any
}

/// New memory for the one output of a node, filled from the host.
void put(Node& node, std::span<const std::byte> bytes) {
  const Type& type = node.types.front();
  ops::View view = ops::View::dense(type.dtype, type.shape);
  if (bytes.size() != view.bytes().size()) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A tensor {} that was kept has {} bytes, but {} came back.",
                          describe(type), view.bytes().size(), bytes.size()));
  }
  gpu::Device& device = node.device->device;
  gpu::Buffer buffer = unwrap(device.allocate(view.bytes().size()));
  unwrap(device.write(gpu::whole(buffer), bytes));
  view.slot = {};
  node.storage.assign(1, {std::move(buffer), view});
}

}  // namespace

void renew(Node& node) {
  if (!node.computed() || gpu::belongs_to(node.storage.front().buffer, node.device->device)) return;
  if (can_be_computed(node)) {
    node.storage.clear();
    return;
  }
  throw Error(
      ErrorCode::device_lost,
      formatted("A tensor {}, made by {}, was on a device that was lost, and nothing says how "
                "it comes back: keep() it, or make it again.",
                describe(node.types.front()), describe_place(node.rule->name, node.where)));
}

void recover(DeviceData& data) {
  const std::lock_guard lock(data.mutex);
  if (gpu::is_lost(data.device)) {
    gpu::Device fresh = unwrap(gpu::reopen(data.device));
    data.device = std::move(fresh);
    // Its kernels and tables were on the lost one.
    std::destroy_at(&data.executor);
    std::construct_at(&data.executor, data.device);
  }
  // One tensor that cannot come back does not keep the others from it.
  std::exception_ptr first;
  for (const auto& [weak, restorer] : gpu::restorers(data.device)) {
    const std::shared_ptr<void> owner = weak.lock();
    if (!owner) continue;
    try {
      restorer.restore(owner);
    } catch (...) {
      if (!first) first = std::current_exception();
      if (gpu::is_lost(data.device)) break;
    }
  }
  if (first) std::rethrow_exception(first);
}

bool recovered_from(DeviceData& device, const Error& error) {
  if (error.code() != ErrorCode::device_lost) return false;
  const std::lock_guard lock(device.mutex);
  if (!gpu::recovers_automatically(device.device) || !gpu::is_lost(device.device)) return false;
  const auto changed = std::ranges::count_if(gpu::restorers(device.device),
                                             [](const auto& each) { return each.second.changed; });
  recover(device);
  if (changed > 0) {  // or whoever asked would go on with old values
    throw Error(ErrorCode::device_lost,
                formatted("The device was lost and was recovered. Variables and what kernels wrote "
                          "({} in all) have the values that they were kept with.",
                          changed));
  }
  return true;
}

void note_change(std::shared_ptr<Node> node) {
  const std::lock_guard lock(node->device->mutex);
  for (;;) {
    gpu::note_change(node->device->device, node);
    // A constant that has been written to is none any more, which would be computed again.
    if (node->computed() && node->inputs.empty()) node->attributes = {};
    if (node->rule->view == nullptr || node->inputs.empty()) return;
    node = node->inputs.front().node;
  }
}

namespace {

/// Whether a restorer has nothing to do, because the node is on the device as it is now.
bool is_there(const Node& node) {
  return node.computed() && gpu::belongs_to(node.storage.front().buffer, node.device->device);
}

/// The restorer of a variable that has the elements of another tensor, converted to its own type.
Restore converted(Restore restore, const Type& from) {
  return [restore = std::move(restore), from](const std::shared_ptr<void>& owner) {
    Node& kept = *std::static_pointer_cast<Node>(owner);
    if (is_there(kept)) return;
    const Tensor source =
        make_leaf(kinds::value, kept.device, {}, ops::View::dense(from.dtype, from.shape));
    restore(Access::value(source).node);
    const Tensor made = variable(source.to(kept.types.front().dtype, kept.where));
    kept.storage = Access::value(made).node->storage;
  };
}

}  // namespace

void make_room(Node& variable) {
  if (is_there(variable)) return;
  ops::View view = variable.storage.front().view;
  gpu::Buffer buffer = unwrap(variable.device->device.allocate(view.bytes().size()));
  variable.storage.assign(1, {std::move(buffer), view});
  variable.shares = false;
}

Restore restorer_of(const Value& value) {
  const std::lock_guard lock(value.node->device->mutex);
  const gpu::Device& device = value.node->device->device;
  const auto find = [&device](const std::shared_ptr<Node>& node) -> Restore {
    auto found = gpu::find_restorer(device, node);
    return found && found->lasts && !found->changed ? std::move(found->restore) : nullptr;
  };
  if (Restore own = find(value.node)) return own;
  if (value.node->rule != &kinds::cast || value.node->inputs.empty()) return {};
  const Value& from = value.node->inputs.front();
  Restore source = find(from.node);
  return source ? converted(std::move(source), from.type()) : nullptr;
}

void keep_until_changed(const std::shared_ptr<Node>& variable, Restore restore) noexcept {
  if (!restore) return;
  try {
    const std::lock_guard lock(variable->device->mutex);
    gpu::add_restorer(variable->device->device, variable,
                      {.restore = std::move(restore), .lasts = true, .until_changed = true});
  } catch (const std::bad_alloc&) {
    // The variable has its new elements already; that they do not come back is said when they are
    // asked for.
  }
}

void keep_bytes(const std::shared_ptr<Node>& node,
                std::function<void(const std::function<void(std::span<const std::byte>)>&)> bytes,
                bool lasts) {
  auto restore = [bytes = std::move(bytes)](const std::shared_ptr<void>& owner) {
    Node& kept = *std::static_pointer_cast<Node>(owner);
    if (is_there(kept)) return;
    bytes([&kept](std::span<const std::byte> elements) { put(kept, elements); });
  };
  const std::lock_guard lock(node->device->mutex);
  gpu::add_restorer(node->device->device, node, {.restore = std::move(restore), .lasts = lasts});
}

}  // namespace graph

bool is_lost(const Device& device) {
  DeviceData& data = *Access::data(device);
  const std::lock_guard lock(data.mutex);
  return gpu::is_lost(data.device);
}

void recover(const Device& device) { graph::recover(*Access::data(device)); }

void recover_automatically(const Device& device) {
  DeviceData& data = *Access::data(device);
  const std::lock_guard lock(data.mutex);
  gpu::recover_automatically(data.device);
}

void set_watchdog(const Device& device, double seconds) {
  if (!(seconds >= 0) || !std::isfinite(seconds)) {
    throw Error(
        ErrorCode::invalid_argument,
        formatted("set_watchdog() takes a number of seconds from 0 on; {} was given.", seconds));
  }
  DeviceData& data = *Access::data(device);
  const std::lock_guard lock(data.mutex);
  gpu::set_watchdog(data.device, seconds);
}

namespace {

/// Has a tensor come back with what `elements` gives.
void keep_as(const Tensor& tensor, std::function<std::vector<std::byte>()> elements, bool lasts) {
  const graph::Value value = Access::value(tensor);
  if (value.node->types.size() > 1) {
    throw Error(
        ErrorCode::unsupported,
        formatted("keep() takes tensors that are the only result of their operation; {} has "
                  "{} results.",
                  graph::describe_place(value.node->rule->name, value.node->where),
                  value.node->types.size()));
  }
  graph::keep_bytes(
      value.node, [elements = std::move(elements)](const auto& put) { put(elements()); }, lasts);
}

}  // namespace

void keep(const Tensor& tensor) {
  auto bytes = std::make_shared<std::vector<std::byte>>(
      ops::View::dense(tensor.dtype(), tensor.shape()).bytes().size());
  graph::read_elements(tensor, *bytes);
  keep_as(tensor, [bytes] { return *bytes; }, true);
}

void keep(const Tensor& tensor, std::function<std::vector<std::byte>()> elements) {
  keep_as(tensor, std::move(elements), false);
}

}  // namespace weft
