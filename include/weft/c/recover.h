#ifndef WEFT_C_RECOVER_H
#define WEFT_C_RECOVER_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Writes the elements of a tensor, in row-major order, to `bytes` (`size` bytes). Any status but
/// WEFT_OK ends the call that needed them.
typedef weft_status (*weft_elements_source)(void* context, void* bytes, uint64_t size);

/// Whether a device was lost: every call on it answers WEFT_DEVICE_LOST until
/// weft_device_recover().
WEFT_API weft_status weft_device_is_lost(weft_device device, bool* lost);

/// Opens the adapter of a lost device again, or the best one where that is gone, and puts it in its
/// place: handles of the device, of tensors and of compiled functions stay valid. What was kept, or
/// loaded from a file, gets its elements back; what was computed and not kept is an error when it
/// is used. Buffers and kernels have to be made again.
WEFT_API weft_status weft_device_recover(weft_device device);

/// From now on the device is recovered by the call that finds it lost.
WEFT_API weft_status weft_device_recover_automatically(weft_device device);

/// The longest that one launch may take, in seconds; 0: as long as it likes. Calls that wait for
/// longer ones answer WEFT_DEVICE_LOST, with the name of the kernel.
WEFT_API weft_status weft_device_set_watchdog(weft_device device, double seconds);

/// Keeps a copy of a tensor's elements in the host's memory (`source` NULL), or asks `source` for
/// them when they are needed: `context` is given to it as it is, and must live as long as the
/// tensor.
WEFT_API weft_status weft_tensor_keep(weft_tensor tensor, weft_elements_source source,
                                      void* context);

#ifdef __cplusplus
}
#endif

#endif
