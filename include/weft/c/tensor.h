#ifndef WEFT_C_TENSOR_H
#define WEFT_C_TENSOR_H

#include "weft/c/ops.h"
#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Arrays on a device that operations take and make. Shapes have the outermost dimension first.
/// Every operation gives a new tensor, which is freed by itself. Operations run when a value is
/// asked for, so that some errors (no memory, say) are reported by what asks.

/// What a tensor looks like.
typedef struct weft_tensor_info {
  weft_dtype dtype;
  uint32_t rank;
  int64_t shape[WEFT_MAX_RANK];  ///< The first `rank` count.
  int64_t size;                  ///< The number of elements.
} weft_tensor_info;

/// A tensor with the given values in row-major order; `bytes` is what they take.
WEFT_API weft_status weft_tensor_from_data(weft_device device, weft_dtype dtype, uint32_t rank,
                                           const int64_t* shape, const void* data, uint64_t bytes,
                                           weft_tensor* tensor);

/// A tensor that shares the bytes of a buffer, from byte `offset` on. `strides` count elements;
/// NULL: rows follow each other. Whoever changes the buffer changes what operations that have not
/// run yet will read.
WEFT_API weft_status weft_tensor_from_buffer(weft_buffer buffer, weft_dtype dtype, uint64_t offset,
                                             uint32_t rank, const int64_t* shape,
                                             const int64_t* strides, weft_tensor* tensor);

/// Gives a tensor back.
WEFT_API weft_status weft_tensor_free(weft_tensor tensor);

/// Type and shape of a tensor.
WEFT_API weft_status weft_tensor_get_info(weft_tensor tensor, weft_tensor_info* info);

/// Copies the elements to the host in row-major order, converted to `dtype`; `bytes` is the room at
/// `data` and must be what they take. Waits.
WEFT_API weft_status weft_tensor_read(weft_tensor tensor, weft_dtype dtype, void* data,
                                      uint64_t bytes);

/// The text of a tensor, "f32[2,3] [[1, 2, 3], [4, 5, 6]]", shortened where it is long. Writes at
/// most `capacity` bytes, the 0 at the end included, and gives the bytes of the whole text, without
/// it, in `length` (which may be NULL). Waits.
WEFT_API weft_status weft_tensor_to_text(weft_tensor tensor, char* text, size_t capacity,
                                         size_t* length);

/// The buffer in which a computed tensor lies, as a new handle, with its place: the first element's
/// byte and the steps in elements between neighbours of each dimension. `offset` and `strides`
/// (rank numbers) may be NULL.
WEFT_API weft_status weft_tensor_get_buffer(weft_tensor tensor, weft_buffer* buffer,
                                            uint64_t* offset, int64_t* strides);

/// Writes `count` tensors with their names to a file that ends with ".safetensors" or ".gguf", and
/// `text_count` free texts with theirs (NULL, NULL and 0: none). The file appears when it is whole;
/// one that was there before stays until then.
WEFT_API weft_status weft_save(const char* path, const char* const* names,
                               const weft_tensor* tensors, uint32_t count,
                               const char* const* text_names, const char* const* texts,
                               uint32_t text_count);

/// Gets each tensor of a file; the handle is the receiver's to free, the name is valid during the
/// call.
typedef void (*weft_receiver)(void* context, const char* name, weft_tensor tensor);

/// Gets each text of a file, valid during the call.
typedef void (*weft_text_receiver)(void* context, const char* name, const char* text);

/// Reads all tensors of a file that ends with ".safetensors" or ".gguf", in the order of their
/// names, and before them all texts, up to their first 0 (`text_receiver` may be NULL). Files are
/// not trusted: what is wrong in one is an error, and then no tensor is given.
WEFT_API weft_status weft_load(weft_device device, const char* path, weft_receiver receiver,
                               weft_text_receiver text_receiver, void* context);

#ifdef __cplusplus
}
#endif

#endif
