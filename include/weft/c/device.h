#ifndef WEFT_C_DEVICE_H
#define WEFT_C_DEVICE_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An adapter of this machine, or the one behind a device. Texts end with 0 and are cut where they
/// are too long.
typedef struct weft_device_info {
  uint32_t index;
  char name[128];
  char vendor[64];
  char architecture[64];
  char driver[128];
  char backend[32];
  char kind[32];  ///< "discrete", "integrated", "software" or "unknown".
  bool software;
  bool f16;              ///< 16-bit floats in shaders.
  bool subgroups;        ///< Subgroup operations in shaders.
  bool subgroup_matrix;  ///< Matrix units can be used.
  bool timestamps;       ///< Kernel times can be measured.
  uint64_t max_buffer_bytes;
  uint64_t max_binding_bytes;
  uint32_t binding_alignment;  ///< Bytes; offsets of a kernel's bindings are multiples of it.
} weft_device_info;

/// How a device is opened. All zero is the default: the environment variables
/// (docs/environment-variables.md), then the best adapter.
typedef struct weft_device_options {
  const char* adapter;    ///< An index, part of a name, "high-performance" or "low-power"; NULL:
                          ///< WEFT_ADAPTER.
  const char* caps_mask;  ///< Capabilities to take away, for example "-f16"; NULL: WEFT_CAPS.
  const char* cache_dir;  ///< Where compiled pipelines are kept; NULL: WEFT_CACHE_DIR.
  bool safe;  ///< Every check of WebGPU on, for kernels that are not trusted; false: WEFT_MODE.
  bool no_disk_cache;  ///< Nothing is read from or written to the disk.
  /// Indices out of range are an error of the next call that reads or waits; false:
  /// WEFT_CHECK_INDICES.
  bool check_indices;
  bool profile;  ///< Everything is timed, kernels one by one: weft_device_take_profile().
} weft_device_options;

/// What a device's buffers amount to, in bytes.
typedef struct weft_memory_info {
  uint64_t in_use;  ///< Of buffers and tensors that something holds.
  uint64_t pooled;  ///< Kept for reuse.
  uint64_t peak;    ///< Most in use so far.
} weft_memory_info;

/// Writes up to `capacity` adapters of this machine to `infos`, and how many there are to `count`.
/// `infos` may be NULL when `capacity` is 0.
WEFT_API weft_status weft_list_adapters(weft_device_info* infos, uint32_t capacity,
                                        uint32_t* count);

/// Opens a device; `options` may be NULL.
WEFT_API weft_status weft_device_open(const weft_device_options* options, weft_device* device);

/// Gives a device back. It lives on as long as there are buffers, tensors or kernels of it.
WEFT_API weft_status weft_device_close(weft_device device);

/// The adapter and the capabilities of a device, after the mask.
WEFT_API weft_status weft_device_get_info(weft_device device, weft_device_info* info);

/// Waits until everything queued is done.
WEFT_API weft_status weft_device_synchronize(weft_device device);

/// The memory of a device that is in use.
WEFT_API weft_status weft_device_get_memory(weft_device device, weft_memory_info* memory);

/// Gives all memory that is only kept for reuse back to the driver.
WEFT_API weft_status weft_device_trim(weft_device device);

/// Gets what a device has done: `table` has one line per kernel and per kind of thing that the host
/// did, the longest in all first; `trace` is in Chrome's trace event format, which Perfetto opens.
/// Both end with the call.
typedef void (*weft_profile_receiver)(void* context, const char* table, const char* trace);

/// Hands what a device that was opened with `profile` has done since the last call to `receive`;
/// waits for what is queued.
WEFT_API weft_status weft_device_take_profile(weft_device device, weft_profile_receiver receive,
                                              void* context);

#ifdef __cplusplus
}
#endif

#endif
