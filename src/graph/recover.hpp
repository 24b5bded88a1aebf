#pragma once

#include <functional>
#include <span>

#include "graph/node.hpp"

namespace weft::graph {

/// Lets a node whose elements were on a device that was lost meanwhile be computed again, or throws
/// an error that names it.
void renew(Node& node);

/// Puts another device in the place of one that was lost, and brings back what is kept.
void recover(DeviceData& device);

/// Whether an error means that the device was lost, which is to be recovered automatically. Then it
/// has been. Throws where tensors came back with other values than they had, as note_change() says.
bool recovered_from(DeviceData& device, const Error& error);

/// Does what a call is to do; once more where the device was lost on the way and has been recovered
/// automatically.
template <class Work>
auto insist(DeviceData& device, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (!recovered_from(device, error)) throw;
  }
  return work();
}

/// Notes that the elements of a leaf, or of what a view looks at, change, which may have been kept
/// before.
void note_change(std::shared_ptr<Node> node);

/// What gives a node its elements after a loss.
using Restore = std::function<void(const std::shared_ptr<void>& node)>;

/// What brings the elements of a value back, or those that it is converted from, if anything does.
/// To be asked before it is computed: that lets go of what it is made from.
Restore restorer_of(const Value& value);

/// Memory for a variable that was lost with its own, and is about to get other elements.
void make_room(Node& variable);

/// Has a variable come back with the elements that it was given last, until it gets others: they
/// may come from a file, which is not the truth any more after a step of training.
void keep_until_changed(const std::shared_ptr<Node>& variable, Restore restore) noexcept;

/// Has the elements of a leaf written from bytes of the host after a loss; `bytes` are asked for
/// then, and where they last, for variables too that have the same elements.
void keep_bytes(const std::shared_ptr<Node>& node,
                std::function<void(const std::function<void(std::span<const std::byte>)>&)> bytes,
                bool lasts = true);

}  // namespace weft::graph
