#ifndef WEFT_C_KERNEL_H
#define WEFT_C_KERNEL_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A kernel of the user's own. What it binds are @group(0) @binding(0), (1), …; 32-bit scalars
/// follow in a uniform at the next binding.
typedef struct weft_kernel_source {
  const char* wgsl;
  const char* entry;   ///< NULL: "main".
  const char* label;   ///< For messages and profiles; NULL: "user kernel".
  const bool* writes;  ///< One per storage binding: whether it is declared read_write.
  uint32_t bindings;   ///< Storage bindings.
  uint32_t scalars;    ///< 32-bit words in the uniform; 0: there is none.
  const char* const* constant_names;  ///< Names of `override` constants,
  const double* constant_values;      ///< their values,
  uint32_t constants;                 ///< and how many there are.
} weft_kernel_source;

/// Bytes of a buffer that a kernel binds. `offset` is a multiple of the device's binding_alignment.
typedef struct weft_binding {
  weft_buffer buffer;
  uint64_t offset;
  uint64_t bytes;  ///< 0: all from the offset on.
} weft_binding;

/// Compiles a kernel; equal ones share their compilation. Unless the device is opened with `safe`,
/// a kernel that leaves its bindings may do anything.
WEFT_API weft_status weft_kernel_create(weft_device device, const weft_kernel_source* source,
                                        weft_kernel* kernel);

/// Gives a kernel back.
WEFT_API weft_status weft_kernel_free(weft_kernel kernel);

/// Runs a kernel on `count` ranges of buffers, with `workgroups` (3 numbers) and as many scalars as
/// it was made with.
WEFT_API weft_status weft_kernel_run(weft_kernel kernel, const weft_binding* bindings,
                                     uint32_t count, const uint32_t* workgroups,
                                     const uint32_t* scalars, uint32_t scalar_count);

/// The same on tensors, which must be dense (a view that is not can be copied with weft_tensor_map,
/// "copy").
WEFT_API weft_status weft_kernel_run_tensors(weft_kernel kernel, const weft_tensor* tensors,
                                             uint32_t count, const uint32_t* workgroups,
                                             const uint32_t* scalars, uint32_t scalar_count);

#ifdef __cplusplus
}
#endif

#endif
