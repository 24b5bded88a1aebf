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

/// Notes that the elements of a leaf change, which may have been kept before.
void note_change(const std::shared_ptr<Node>& node);

/// Has the elements of a leaf written from bytes of the host after a loss; `bytes` are asked for
/// then.
void keep_bytes(const std::shared_ptr<Node>& node,
                std::function<void(const std::function<void(std::span<const std::byte>)>&)> bytes);

}  // namespace weft::graph
