#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "weft/device.hpp"
#include "weft/tensor.hpp"

// A lost device (a driver that was reset, a cable that was pulled) takes everything with it that
// was on it. These functions say what is to come back, and bring it back.

namespace weft {

/// Whether the device was lost: every call on it throws device_lost until recover().
[[nodiscard]] bool is_lost(const Device& device);

/// Opens the adapter of a lost device again, or the best one where that is gone, and puts it in its
/// place: the handle and all its tensors and compiled functions stay valid. What was kept, or
/// loaded from a file, gets its elements back; expressions that were not computed yet, and
/// constants, are computed when they are asked for; compiled functions are recorded again at their
/// next call. A tensor that was computed and not kept throws an error that names it when it is
/// used. A device that is not lost stays as it is.
void recover(const Device& device);

/// From now on the call that finds the device lost recovers it, and computes what it was to
/// compute; tensors made from values of the host keep a copy of them. Where variables, or tensors
/// that one's own kernels wrote to, had changed since they were kept, it throws device_lost once:
/// they have the values they were kept with. So does reading what was computed before the loss.
void recover_automatically(const Device& device);

/// The longest that one launch may take, in seconds; 0, the default, means as long as it likes;
/// WEFT_WATCHDOG. A kernel that takes longer (an endless loop) is reported by the calls that wait
/// for it: the device counts as lost, and the error names the kernel. Launches are handed over one
/// by one from then on, which costs. What hangs cannot be closed: its memory stays taken.
void set_watchdog(const Device& device, double seconds);

/// Keeps a copy of the tensor's elements in the host's memory. Of a variable these are the values
/// of now, which come back after a loss; keeping it again replaces them, and so does giving it
/// other values that come back by themselves: those of a file, say. These come back for as long as
/// the variable has them; once it changes (a step of training) it has to be kept again.
void keep(const Tensor& tensor);

/// The same with a function in place of a copy: it gives the elements, in row-major order, whenever
/// they are needed.
void keep(const Tensor& tensor, std::function<std::vector<std::byte>()> elements);

}  // namespace weft
