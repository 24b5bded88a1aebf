#ifndef WEFT_C_BUFFER_OPS_H
#define WEFT_C_BUFFER_OPS_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operations on elements in buffers, without tensors in between. All buffers of one call belong to
/// one device. Elements outside of a buffer, negative extents and outputs that overlap themselves
/// or an input (other than as the same elements, where that is said to work) are errors. Sums are
/// kept in f32 whatever the types are.

/// A row-major matrix in a buffer, or a batch of them.
typedef struct weft_matrix {
  weft_buffer buffer;
  weft_dtype dtype;           ///< f32, f16 or bf16.
  int64_t offset;             ///< Elements in front of the first one.
  int64_t leading_dimension;  ///< Elements from one row to the next.
  int64_t batch_stride;       ///< Elements from one matrix to the next; an input may repeat with 0.
                              ///< weft_gemm ignores it.
} weft_matrix;

/// C = alpha·op(A)·op(B) + beta·C with op(A) m×k, op(B) k×n and C m×n; a transposed A is stored as
/// k×m, B as n×k. With beta 0, C is not read. Column-major callers swap A and B, and m and n.
WEFT_API weft_status weft_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                               float alpha, const weft_matrix* a, const weft_matrix* b, float beta,
                               const weft_matrix* c);

/// The same for `batches` matrices that lie at equal distances.
WEFT_API weft_status weft_gemm_batched(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                       int64_t k, float alpha, const weft_matrix* a,
                                       const weft_matrix* b, float beta, const weft_matrix* c,
                                       int64_t batches);

/// Elements of a buffer as an array with dimensions, outermost first.
typedef struct weft_array {
  weft_buffer buffer;
  weft_dtype dtype;
  uint32_t rank;
  int64_t offset;  ///< Elements in front of the first one.
  int64_t shape[WEFT_MAX_RANK];
  int64_t strides[WEFT_MAX_RANK];  ///< Elements from one to the next; in an input 0 repeats.
} weft_array;

/// Fills in an array without gaps: rows follow each other from element `offset` on.
WEFT_API weft_status weft_array_dense(weft_buffer buffer, weft_dtype dtype, int64_t offset,
                                      uint32_t rank, const int64_t* shape, weft_array* array);

/// y = function(x), element by element; functions are named in docs/ops.md. `x` broadcasts to the
/// shape of `y`, types may differ, and `y` may be the same elements as `x`. `parameters` are those
/// of the function, 4 numbers, or NULL for zeros.
WEFT_API weft_status weft_unary(const char* function, const weft_array* x, const weft_array* y,
                                const double* parameters);

/// y = function(a, b), as weft_unary.
WEFT_API weft_status weft_binary(const char* function, const weft_array* a, const weft_array* b,
                                 const weft_array* y, const double* parameters);

/// Reduces one dimension of `x` by "sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm",
/// … (docs/ops.md). `y` has the other dimensions, or has this one with extent 1. argmax and argmin
/// give positions along it.
WEFT_API weft_status weft_reduce(const char* function, const weft_array* x, uint32_t axis,
                                 const weft_array* y);

/// Which keys a query sees, and how. All zero: all keys, with the usual scale.
typedef struct weft_attention_options {
  float scale;     ///< Of q·k; 0: 1 / sqrt(size).
  float soft_cap;  ///< With a value > 0 scaled logits become soft_cap·tanh(logit / soft_cap).
  float max_bias;  ///< ALiBi: with a value > 0 the mask is multiplied by a slope that falls from
                   ///< head to head.
  bool causal;     ///< Queries stand at the end of the keys and see none behind their position.
  int64_t
      window;  ///< With a value > 0 only the last `window` positions up to the query's own count.
} weft_attention_options;

/// y = softmax(scale·q·kᵀ + mask)·v with q [batch, heads, queries, size], k [key batches, key
/// heads, keys, size], v [key batches, key heads, keys, value size] and y [batch, heads, queries,
/// value size] of f32, f16 or bf16. Other layouts are strides. Heads (and batches) of q share those
/// of k and v in equal groups. `mask` [1 or batch, 1 or heads, queries, keys] and `options` may be
/// NULL. A query that sees no key gives zeros.
WEFT_API weft_status weft_attention(const weft_array* q, const weft_array* k, const weft_array* v,
                                    const weft_array* mask, const weft_attention_options* options,
                                    const weft_array* y);

/// How the windows of a convolution lie, along height and width. All zero: every place, no padding,
/// one group.
typedef struct weft_conv2d_options {
  int64_t stride[2];    ///< Elements from one window to the next; 0: 1.
  int64_t padding[2];   ///< Zeros before and behind the image.
  int64_t dilation[2];  ///< Elements from one to the next inside a window; 0: 1.
  int64_t groups;       ///< Output channels of a group see the input channels of that group; 0: 1.
} weft_conv2d_options;

/// y[n, oc, h, w] = bias[oc] + sum over c, i, j of x[n, c, h·stride - padding + i·dilation,
/// …]·w[oc, c, i, j] with x [N, C, H, W], w [OC, C / groups, KH, KW] and y [N, OC, OH, OW] of f32,
/// f16 or bf16; channels in the last place are strides. `bias` [OC] and `options` may be NULL.
WEFT_API weft_status weft_conv2d(const weft_array* x, const weft_array* w, const weft_array* bias,
                                 const weft_conv2d_options* options, const weft_array* y);

#ifdef __cplusplus
}
#endif

#endif
