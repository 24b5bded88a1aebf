#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "gpu/gpu.hpp"

// What is true of a device over its life: it may be lost, and another one may take its place.

namespace weft::gpu {

/// Whether the device is lost: every call answers with device_lost from then on.
bool is_lost(const Device& device);

/// The longest that one launch may take, in seconds; 0: as long as it likes. Past that, calls that
/// wait answer that the device is lost, with the label of the kernel. Launches are then handed over
/// one by one. A device that was lost so is never closed.
void set_watchdog(const Device& device, double seconds);

/// Another device with the same options: on the same adapter, or on the best one where that is
/// gone. Nothing of the old one can be used with it but its restorers, which move over.
Result<Device> reopen(const Device& device);

/// A number that no other device of this process has or had.
std::uint64_t identity(const Device& device);

/// Whether a buffer was made by this device (and not by one that it took the place of).
bool belongs_to(const Buffer& buffer, const Device& device);

/// Whether a launch must not bind a buffer twice when it writes to it: in safe mode, and after the
/// device has refused anything.
bool checks_aliases(const Device& device);

/// Whether a call that only notes work down may read elements to check them: in safe mode, where
/// the host can wait in any call.
bool checks_elements(const Device& device);

/// Whether whoever finds the device lost shall reopen() it. The one that takes its place does so
/// too.
void recover_automatically(const Device& device);
bool recovers_automatically(const Device& device);

/// What brings a thing that was on a lost device to the one that took its place.
struct Restorer {
  std::function<void(const std::shared_ptr<void>& owner)> restore;
  bool lasts = false;          ///< It can be asked when its owner is gone.
  bool until_changed = false;  ///< To be forgotten once the thing has other contents.
  bool changed = false;        ///< It has other contents by now than the restorer gives.
};

/// By the owner of the thing.
using Restorers = std::map<std::weak_ptr<void>, Restorer, std::owner_less<std::weak_ptr<void>>>;

/// Adds a restorer, in place of one that its owner had before. It is forgotten when its owner is
/// gone.
void add_restorer(const Device& device, const std::weak_ptr<void>& owner, Restorer restorer);
/// The restorer of a thing, if it has one.
std::optional<Restorer> find_restorer(const Device& device, const std::weak_ptr<void>& owner);
/// Notes that the contents of a thing change, if it has a restorer.
void note_change(const Device& device, const std::weak_ptr<void>& owner);
/// Those whose owners are still there.
Restorers restorers(const Device& device);

}  // namespace weft::gpu
