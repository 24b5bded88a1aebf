#ifndef WEFT_C_MEMORY_H
#define WEFT_C_MEMORY_H

#include "weft/c/graph.h"
#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Buffers of one size.
typedef struct weft_memory_class {
  uint64_t bytes;  ///< Of each.
  uint64_t used;   ///< How many something holds.
  uint64_t kept;   ///< How many are kept for reuse.
} weft_memory_class;

/// Where the bytes of a device's buffers are.
typedef struct weft_memory_report {
  uint64_t in_use;  ///< Of buffers that tensors and compiled functions hold.
  uint64_t asked;  ///< Of these, what was asked for; the rest is rounding to sizes that meet again.
  uint64_t pooled;       ///< Kept for reuse.
  uint64_t peak;         ///< Most in use so far.
  uint64_t staging;      ///< Of buffers that the host reads results from.
  uint64_t limit;        ///< What weft_device_set_memory_limit() was given; 0: none.
  uint64_t class_count;  ///< How many sizes there are.
  double fragmentation;  ///< The share of all bytes on the device that hold nothing.
} weft_memory_report;

/// Fills in a report, and the first `capacity` sizes, smallest first; `classes` may be NULL when
/// `capacity` is 0.
WEFT_API weft_status weft_device_get_memory_report(weft_device device, weft_memory_report* report,
                                                   weft_memory_class* classes, uint64_t capacity);

/// Gives all buffers that nothing holds back to the driver, once what is queued is done; `bytes`
/// (may be NULL) becomes what that was.
WEFT_API weft_status weft_device_defragment(weft_device device, uint64_t* bytes);

/// What the listener of a limit is told.
typedef struct weft_memory_event {
  bool full;  ///< A buffer does not fit and is tried once more after the call; else much of the
              ///< limit is in use now.
  uint64_t in_use;
  uint64_t pooled;
  uint64_t limit;
  uint64_t asked;  ///< Bytes of the buffer that this is about.
} weft_memory_event;

/// Called by the thread that allocates. It may free tensors and buffers, and must not compute
/// anything.
typedef void (*weft_memory_listener)(void* context, const weft_memory_event* event);

/// Buffers of the device may have so many bytes in all: unused ones make way, and then calls answer
/// WEFT_OUT_OF_MEMORY; 0: as many as the device has. `listener` (may be NULL) is called when the
/// share `near` (0 to 1) of the limit is in use, once until it is less again, and when a buffer
/// does not fit.
WEFT_API weft_status weft_device_set_memory_limit(weft_device device, uint64_t bytes, double near,
                                                  weft_memory_listener listener, void* context);

/// From here on the calling thread notes which tensors and buffers it makes. Scopes may lie in each
/// other.
WEFT_API weft_status weft_scope_begin(void);
/// Takes a tensor out of the scope of this thread that it was made in, and into the one around
/// that.
WEFT_API weft_status weft_scope_keep(weft_tensor tensor);
/// Ends the innermost scope of this thread: frees the tensors and buffers that were made in it,
/// apart from those that were kept or freed.
WEFT_API weft_status weft_scope_end(void);

/// An upload under way.
typedef struct weft_upload_handle* weft_upload;
/// Begins to bring elements to the device by a thread of its own, beside what the caller and the
/// device do. `data` stays as it is until weft_upload_get() has returned.
WEFT_API weft_status weft_upload_start(weft_device device, weft_dtype dtype, uint32_t rank,
                                       const int64_t* shape, const void* data, uint64_t bytes,
                                       weft_upload* upload);
/// Whether weft_upload_get() would return without waiting.
WEFT_API weft_status weft_upload_is_ready(weft_upload upload, bool* ready);
/// Waits, gives the tensor and gives the upload back.
WEFT_API weft_status weft_upload_get(weft_upload upload, weft_tensor* tensor);

/// What a device is and what it is good at, as numbers: for sizes of one's own kernels and batches.
typedef struct weft_device_hints {
  uint32_t workgroup;         ///< Invocations of a workgroup that suit most kernels.
  uint32_t most_invocations;  ///< The most that a workgroup can have.
  uint32_t workgroup_bytes;   ///< Of workgroup memory.
  uint32_t most_workgroups;   ///< In each dimension of a grid.
  uint32_t subgroup_min;      ///< 0 where there are no subgroups, as the next.
  uint32_t subgroup_max;
  uint32_t binding_alignment;  ///< Offsets of bindings are multiples of so many bytes.
  uint32_t most_bindings;      ///< Storage buffers of a kernel.
  uint64_t max_binding_bytes;
  uint64_t max_buffer_bytes;
  uint32_t processors;  ///< That run workgroups by themselves; an estimate for devices that are not
                        ///< known.
  bool matrix_units;    ///< Products of matrices have units of their own.
  double memory_rate;   ///< Bytes per nanosecond; an estimate, as the next three.
  uint64_t cache_bytes;   ///< Of the last cache.
  uint64_t launch_bytes;  ///< Bytes read in the time that a launch costs.
  double f16_rate;        ///< Operations of f16 in the time of one of f32.
} weft_device_hints;
WEFT_API weft_status weft_device_get_hints(weft_device device, weft_device_hints* hints);

/// The type and shape of a tensor.
typedef struct weft_tensor_type {
  weft_dtype dtype;
  uint32_t rank;
  int64_t shape[WEFT_MAX_RANK];
} weft_tensor_type;

/// Whether a function of tensors that gives one tensor can be computed on the device with inputs of
/// these types: it is written down and planned for the device, and nothing is compiled or run.
/// `dispatches` (may be NULL) becomes the kernel launches of one call. The reason why not is
/// written to `reason` (`capacity` bytes with the 0 at the end; may be NULL when that is 0).
WEFT_API weft_status weft_supports(weft_device device, const weft_tensor_type* inputs,
                                   uint32_t input_count, weft_function function, void* context,
                                   bool* supported, uint64_t* dispatches, char* reason,
                                   size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
