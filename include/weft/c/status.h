#ifndef WEFT_C_STATUS_H
#define WEFT_C_STATUS_H

/* Headers of C, so that C and C++ can read this. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/c/dtype.h"

#if defined(_WIN32)
#define WEFT_API
#else
#define WEFT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// What a call came to. docs/errors.md says what can be done about each.
typedef enum weft_status {
  WEFT_OK = 0,
  WEFT_INVALID_ARGUMENT = 1,  ///< The values given cannot work on any device.
  WEFT_UNSUPPORTED = 2,       ///< This device cannot do it.
  WEFT_OUT_OF_MEMORY = 3,     ///< An allocation failed or would pass a limit.
  WEFT_NOT_FOUND = 4,         ///< A named thing (adapter, function, file) does not exist.
  WEFT_SHADER = 5,            ///< A WGSL text is invalid.
  WEFT_DEVICE_LOST = 6,       ///< The device went away; nothing queued on it will finish.
  WEFT_IO = 7,                ///< Reading or writing a file failed.
  WEFT_INTERNAL = 8,          ///< A bug in Weft.
  WEFT_INVALID_HANDLE = 9     ///< A handle is NULL, was freed, or is of another kind.
} weft_status;

enum {
  WEFT_MAX_RANK = 8  ///< The most dimensions that a tensor has.
};

/// Handles. What they point to is never read: they are numbers with a type.
typedef struct weft_device_handle* weft_device;  ///< An opened GPU, or a software stand-in for one.
typedef struct weft_buffer_handle* weft_buffer;  ///< Bytes on a device.
typedef struct weft_tensor_handle* weft_tensor;  ///< An array on a device.
typedef struct weft_kernel_handle* weft_kernel;  ///< A compiled WGSL kernel.
typedef struct weft_compiled_handle* weft_compiled;  ///< A compiled function on tensors.

/// The version of the library, for example "0.1.0".
WEFT_API const char* weft_version(void);

/// The name of a status, for example "out_of_memory"; "unknown" for a number that is none.
WEFT_API const char* weft_status_name(weft_status status);

/// What went wrong in the last call of this thread that failed: a sentence with the values in it,
/// in UTF-8. Valid until the next failing call of this thread; empty before the first.
WEFT_API const char* weft_last_error(void);

/// The name of a type, for example "bf16"; "unknown" for a number that is none.
WEFT_API const char* weft_dtype_name(weft_dtype dtype);

/// Bytes of one element; 0 for a quantized type or a number that is no type.
WEFT_API size_t weft_dtype_size(weft_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
