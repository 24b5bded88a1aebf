#ifndef WEFT_C_TENSOR_H
#define WEFT_C_TENSOR_H

#include "weft/c/buffer_ops.h"
#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Arrays on a device that operations take and make. Shapes have the outermost dimension first. Every operation gives a
/// new tensor, which is freed by itself. Operations run when a value is asked for, so that some errors (no memory, say)
/// are reported by what asks.

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

/// A tensor that shares the bytes of a buffer, from byte `offset` on. `strides` count elements; NULL: rows follow each
/// other. Whoever changes the buffer changes what operations that have not run yet will read.
WEFT_API weft_status weft_tensor_from_buffer(weft_buffer buffer, weft_dtype dtype, uint64_t offset,
                                             uint32_t rank, const int64_t* shape,
                                             const int64_t* strides, weft_tensor* tensor);

/// A tensor of equal elements.
WEFT_API weft_status weft_tensor_full(weft_device device, weft_dtype dtype, uint32_t rank,
                                      const int64_t* shape, double value, weft_tensor* tensor);

/// start, start + step, … (count of them).
WEFT_API weft_status weft_tensor_arange(weft_device device, weft_dtype dtype, int64_t count,
                                        double start, double step, weft_tensor* tensor);

/// Gives a tensor back.
WEFT_API weft_status weft_tensor_free(weft_tensor tensor);

/// Type and shape of a tensor.
WEFT_API weft_status weft_tensor_get_info(weft_tensor tensor, weft_tensor_info* info);

/// Copies the elements to the host in row-major order, converted to `dtype`; `bytes` is the room at `data` and must be
/// what they take. Waits.
WEFT_API weft_status weft_tensor_read(weft_tensor tensor, weft_dtype dtype, void* data,
                                      uint64_t bytes);

/// The text of a tensor, "f32[2,3] [[1, 2, 3], [4, 5, 6]]", shortened where it is long. Writes at most `capacity` bytes,
/// the 0 at the end included, and gives the bytes of the whole text, without it, in `length` (which may be NULL). Waits.
WEFT_API weft_status weft_tensor_to_text(weft_tensor tensor, char* text, size_t capacity,
                                         size_t* length);

/// The buffer in which a computed tensor lies, as a new handle, with its place: the first element's byte and the steps in
/// elements between neighbours of each dimension. `offset` and `strides` (rank numbers) may be NULL.
WEFT_API weft_status weft_tensor_get_buffer(weft_tensor tensor, weft_buffer* buffer,
                                            uint64_t* offset, int64_t* strides);

/// The same elements in another shape of as many.
WEFT_API weft_status weft_tensor_reshape(weft_tensor x, uint32_t rank, const int64_t* shape,
                                         weft_tensor* y);

/// Dimensions in another order: dimension i of `y` is dimension order[i] of `x`; `order` has as many as `x`.
WEFT_API weft_status weft_tensor_permute(weft_tensor x, uint32_t rank, const uint32_t* order,
                                         weft_tensor* y);

/// The last two dimensions swapped.
WEFT_API weft_status weft_tensor_transpose(weft_tensor x, weft_tensor* y);

/// Elements first, first + step, … (count of them) of one dimension.
WEFT_API weft_status weft_tensor_slice(weft_tensor x, uint32_t dim, int64_t first, int64_t count,
                                       int64_t step, weft_tensor* y);

/// Extents of 1 and missing leading dimensions repeated to a larger shape.
WEFT_API weft_status weft_tensor_broadcast(weft_tensor x, uint32_t rank, const int64_t* shape,
                                           weft_tensor* y);

/// The values as another type.
WEFT_API weft_status weft_tensor_cast(weft_tensor x, weft_dtype dtype, weft_tensor* y);

/// An elementwise function by its name in docs/ops.md ("gelu", "add", "where", …) of `count` tensors that broadcast
/// against each other; the result has the type of the first (of the second for "where"). `parameters` are those of the
/// function, 4 numbers, or NULL for zeros.
WEFT_API weft_status weft_tensor_map(const char* function, const weft_tensor* inputs,
                                     uint32_t count, const double* parameters, weft_tensor* y);

/// A reduction by name ("sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm", …) over `count` dimensions, or
/// over all when `count` is 0. argmax and argmin give i32, mean and norm of integers f32.
WEFT_API weft_status weft_tensor_reduce(const char* function, weft_tensor x, const uint32_t* dims,
                                        uint32_t count, bool keep_dims, weft_tensor* y);

/// Running sums along a dimension; `exclusive` leaves out the element itself, `reverse` starts from the end.
WEFT_API weft_status weft_tensor_cumsum(weft_tensor x, uint32_t dim, bool exclusive, bool reverse,
                                        weft_tensor* y);

/// softmax(scale·x) along the last dimension.
WEFT_API weft_status weft_tensor_softmax(weft_tensor x, float scale, weft_tensor* y);

/// The logarithm of the softmax along the last dimension.
WEFT_API weft_status weft_tensor_log_softmax(weft_tensor x, weft_tensor* y);

/// Layer norm along the last dimension; `weight` and `bias` may be NULL.
WEFT_API weft_status weft_tensor_layer_norm(weft_tensor x, weft_tensor weight, weft_tensor bias,
                                            float eps, weft_tensor* y);

/// RMS norm along the last dimension; `weight` may be NULL.
WEFT_API weft_status weft_tensor_rms_norm(weft_tensor x, weft_tensor weight, float eps,
                                          weft_tensor* y);

/// The matrix product of the last two dimensions; the others are batches that broadcast.
WEFT_API weft_status weft_tensor_matmul(weft_tensor a, weft_tensor b, weft_tensor* y);

/// Tensors one after the other along a dimension.
WEFT_API weft_status weft_tensor_concat(const weft_tensor* tensors, uint32_t count, uint32_t dim,
                                        weft_tensor* y);

/// `x` with low[i] elements of `value` before and high[i] after it along dimension i; `rank` is that of `x`.
WEFT_API weft_status weft_tensor_pad(weft_tensor x, uint32_t rank, const int64_t* low,
                                     const int64_t* high, double value, weft_tensor* y);

/// Rows of a table [N, C] by i32 indices […, R]: the result is […, R, C]. An index outside the table gives zeros.
WEFT_API weft_status weft_tensor_embedding(weft_tensor table, weft_tensor indices, weft_tensor* y);

/// y[i, j, k] = x[i, index[i, j, k], k] for dim 1, and so on; an index outside of `x` gives 0.
WEFT_API weft_status weft_tensor_gather(weft_tensor x, weft_tensor index, uint32_t dim,
                                        weft_tensor* y);

/// `x` with x[i, index[i, j, k], k] += source[i, j, k] for dim 1, and so on.
WEFT_API weft_status weft_tensor_scatter_add(weft_tensor x, weft_tensor index, weft_tensor source,
                                             uint32_t dim, weft_tensor* y);

/// The mean over all positions of -log(softmax(logits)[label]): logits are […, classes], labels […] of i32. Positions
/// with a negative label count for nothing.
WEFT_API weft_status weft_tensor_cross_entropy(weft_tensor logits, weft_tensor labels,
                                               weft_tensor* y);

/// Attention as weft_attention computes it, with a gradient: `options` and `mask` may be NULL.
WEFT_API weft_status weft_tensor_attention(weft_tensor q, weft_tensor k, weft_tensor v,
                                           weft_tensor mask, const weft_attention_options* options,
                                           weft_tensor* y);

/// Rotary position embedding of x [batch, tokens, heads, size]. `positions` are i32 [tokens], or NULL for 0, 1, …. With
/// `halves` elements i and i + size/2 turn together, else neighbours.
WEFT_API weft_status weft_tensor_rope(weft_tensor x, weft_tensor positions, bool halves, float base,
                                      weft_tensor* y);

/// x / (1 - rate) where an element is kept, 0 where it is dropped, as `seed` (two u32), `stream` and the place say.
WEFT_API weft_status weft_tensor_dropout(weft_tensor x, float rate, weft_tensor seed,
                                         uint32_t stream, weft_tensor* y);

/// Writes `count` tensors with their names to a file that ends with ".safetensors" or ".gguf". The file appears when it is
/// whole; one that was there before stays until then.
WEFT_API weft_status weft_save(const char* path, const char* const* names,
                               const weft_tensor* tensors, uint32_t count);

/// The same with `text_count` free texts and their names beside the tensors.
WEFT_API weft_status weft_save_with_texts(const char* path, const char* const* names,
                                          const weft_tensor* tensors, uint32_t count,
                                          const char* const* text_names, const char* const* texts,
                                          uint32_t text_count);

/// Gets each tensor of a file; the handle is the receiver's to free, the name is valid during the call.
typedef void (*weft_receiver)(void* context, const char* name, weft_tensor tensor);

/// Gets each text of a file, valid during the call.
typedef void (*weft_text_receiver)(void* context, const char* name, const char* text);

/// Reads all tensors of a file that ends with ".safetensors" or ".gguf", in the order of their names. Files are not
/// trusted: what is wrong in one is an error, and then no tensor is given.
WEFT_API weft_status weft_load(weft_device device, const char* path, weft_receiver receiver,
                               void* context);

/// The same, and before the tensors all texts, up to their first 0.
WEFT_API weft_status weft_load_with_texts(weft_device device, const char* path,
                                          weft_receiver receiver, weft_text_receiver text_receiver,
                                          void* context);

#ifdef __cplusplus
}
#endif

#endif
