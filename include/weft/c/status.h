#ifndef WEFT_C_STATUS_H
#define WEFT_C_STATUS_H

/* Headers of C, so that C and C++ can read this. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/// The types that elements of tensors and arrays have. f16 is the IEEE half, bf16 the upper half of an f32.
typedef enum weft_dtype {
  WEFT_F32 = 0,
  WEFT_F16 = 1,
  WEFT_BF16 = 2,
  WEFT_I32 = 3,
  WEFT_U32 = 4,
  WEFT_I64 = 5,
  WEFT_I16 = 6,
  WEFT_I8 = 7,
  WEFT_U8 = 8,
  // Quantized: elements lie in blocks along the last dimension. Only weft_tensor_from_data, weft_tensor_cast and operations
  // that say so take them.
  WEFT_Q1_0 = 9,
  WEFT_Q2_0 = 10,
  WEFT_Q4_0 = 11,
  WEFT_Q4_1 = 12,
  WEFT_Q5_0 = 13,
  WEFT_Q5_1 = 14,
  WEFT_Q8_0 = 15,
  WEFT_Q8_1 = 16,
  WEFT_Q2_K = 17,
  WEFT_Q3_K = 18,
  WEFT_Q4_K = 19,
  WEFT_Q5_K = 20,
  WEFT_Q6_K = 21,
  WEFT_Q8_K = 22,
  WEFT_IQ1_S = 23,
  WEFT_IQ1_M = 24,
  WEFT_IQ2_XXS = 25,
  WEFT_IQ2_XS = 26,
  WEFT_IQ2_S = 27,
  WEFT_IQ3_XXS = 28,
  WEFT_IQ3_S = 29,
  WEFT_IQ4_NL = 30,
  WEFT_IQ4_XS = 31,
  WEFT_TQ1_0 = 32,
  WEFT_TQ2_0 = 33,
  WEFT_MXFP4 = 34,
  WEFT_NVFP4 = 35,
} weft_dtype;

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

/// What went wrong in the last call of this thread that failed: a sentence with the values in it, in UTF-8. Valid until
/// the next failing call of this thread; empty before the first.
WEFT_API const char* weft_last_error(void);

/// The name of a type, for example "bf16"; "unknown" for a number that is none.
WEFT_API const char* weft_dtype_name(weft_dtype dtype);

/// Bytes of one element; 0 for a quantized type or a number that is no type.
WEFT_API size_t weft_dtype_size(weft_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
