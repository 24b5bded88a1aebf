#include "graph/recover.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include "base/format.hpp"
#include "gpu/lifetime.hpp"
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
  const auto* map = std::get_if<MapAttributes>(&node.attributes);
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

void note_change(const std::shared_ptr<Node>& node) {
  if (gpu::recovers_automatically(node->device->device)) {
    gpu::note_change(node->device->device, node);
  }
}

void keep_bytes(const std::shared_ptr<Node>& node,
                std::function<void(const std::function<void(std::span<const std::byte>)>&)> bytes) {
  auto restore = [bytes = std::move(bytes)](const std::shared_ptr<void>& owner) {
    Node& kept = *std::static_pointer_cast<Node>(owner);
    if (kept.computed() && gpu::belongs_to(kept.storage.front().buffer, kept.device->device))
      return;
    bytes([&kept](std::span<const std::byte> elements) { put(kept, elements); });
  };
  const std::lock_guard lock(node->device->mutex);
  gpu::add_restorer(node->device->device, node, std::move(restore));
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

void keep(const Tensor& tensor) {
  const graph::Value value = Access::value(tensor);
  auto bytes = std::make_shared<std::vector<std::byte>>(
      ops::View::dense(tensor.dtype(), tensor.shape()).bytes().size());
  graph::read_elements(tensor, *bytes);
  keep(tensor, [bytes] { return *bytes; });
}

void keep(const Tensor& tensor, std::function<std::vector<std::byte>()> elements) {
  const graph::Value value = Access::value(tensor);
  if (value.node->types.size() > 1) {
    throw Error(
        ErrorCode::unsupported,
        formatted("keep() takes tensors that are the only result of their operation; {} has "
                  "{} results.",
                  graph::describe_place(value.node->rule->name, value.node->where),
                  value.node->types.size()));
  }
  graph::keep_bytes(value.node,
                    [elements = std::move(elements)](const auto& put) { put(elements()); });
}

}  // namespace weft
