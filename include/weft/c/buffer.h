#ifndef WEFT_C_BUFFER_H
#define WEFT_C_BUFFER_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Allocates bytes on a device; what they hold is not defined. Zero bytes are allowed.
WEFT_API weft_status weft_buffer_alloc(weft_device device, uint64_t bytes, weft_buffer* buffer);

/// Gives a buffer back. Work that was queued with it still finishes, and tensors that share its
/// bytes keep them.
WEFT_API weft_status weft_buffer_free(weft_buffer buffer);

/// The bytes of a buffer.
WEFT_API weft_status weft_buffer_get_size(weft_buffer buffer, uint64_t* bytes);

/// Copies host bytes into a buffer, from byte `offset` on. `data` may be reused when the call
/// returns.
WEFT_API weft_status weft_buffer_write(weft_buffer buffer, uint64_t offset, const void* data,
                                       uint64_t bytes);

/// Copies bytes of a buffer, from byte `offset` on, to the host. Waits for the work before it.
WEFT_API weft_status weft_buffer_read(weft_buffer buffer, uint64_t offset, void* data,
                                      uint64_t bytes);

/// Copies bytes between buffers, or inside one (the ranges may overlap). Between devices the bytes
/// go through the host.
WEFT_API weft_status weft_buffer_copy(weft_buffer from, uint64_t from_offset, weft_buffer to,
                                      uint64_t to_offset, uint64_t bytes);

/// Sets bytes of a buffer to one value.
WEFT_API weft_status weft_buffer_fill(weft_buffer buffer, uint64_t offset, uint64_t bytes,
                                      uint8_t value);

#ifdef __cplusplus
}
#endif

#endif
