#ifndef WEFT_C_LAYERS_H
#define WEFT_C_LAYERS_H

#include "weft/c/buffer_ops.h"
#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operations on tensors that models are made of, beside those of tensor.h. Options may be NULL, which is the same as all
/// zero: the usual choice. Tensors that are called optional may be NULL.

/// How windows lie on an image [N, C, spatial…], for each of up to 3 spatial dimensions.
typedef struct weft_windows {
  int64_t stride[3];    ///< Steps between windows; 0: 1 (of a pool: the extents of the window).
  int64_t pad[3];       ///< Elements before the image.
  int64_t pad_high[3];  ///< Elements behind it, as many as before it where `uneven` is false.
  int64_t dilation[3];  ///< Steps between the elements of a window; 0: 1.
  bool uneven;          ///< Whether pad_high counts.
} weft_windows;

/// How a convolution is computed.
typedef struct weft_conv_options {
  weft_windows windows;
  int64_t groups;   ///< Output channels of a group see the input channels of that group; 0: 1.
  int64_t more[3];  ///< Of a transposed one: elements of the result behind the last window.
  bool allow_f16;   ///< f32 and bf16 inputs may be rounded to f16, for matrix units.
} weft_conv_options;

/// A convolution of x [N, C, spatial…] with weights [OC, C / groups, k…] and an optional bias [OC].
WEFT_API weft_status weft_tensor_conv(weft_tensor x, weft_tensor weights, weft_tensor bias,
                                      const weft_conv_options* options, weft_tensor* y);

/// The transpose of a convolution: x [N, C, o…], weights [C, OC / groups, k…] and an optional bias [OC].
WEFT_API weft_status weft_tensor_conv_transposed(weft_tensor x, weft_tensor weights,
                                                 weft_tensor bias, const weft_conv_options* options,
                                                 weft_tensor* y);

/// What a pool takes of each window.
typedef enum weft_pool_function {
  WEFT_POOL_MAX = 0,
  WEFT_POOL_MEAN = 1,      ///< Over the elements inside of the image.
  WEFT_POOL_MEAN_ALL = 2,  ///< Over all elements of the window.
} weft_pool_function;

/// The largest or the mean of each window with the extents `kernel`, one for each spatial dimension of x.
WEFT_API weft_status weft_tensor_pool(weft_pool_function function, weft_tensor x,
                                      const int64_t* kernel, const weft_windows* windows,
                                      weft_tensor* y);

/// The windows of an image written out, [N, o…, C, k…].
WEFT_API weft_status weft_tensor_unfold(weft_tensor x, const int64_t* kernel,
                                        const weft_windows* windows, weft_tensor* y);

/// The sums of what windows have for each place of an image with `count` spatial dimensions of the given extents.
WEFT_API weft_status weft_tensor_fold(weft_tensor columns, uint32_t count, const int64_t* spatial,
                                      const weft_windows* windows, weft_tensor* y);

/// How a resized image is computed.
typedef enum weft_interpolation {
  WEFT_NEAREST = 0,
  WEFT_LINEAR = 1,
  WEFT_CUBIC = 2,
  WEFT_LINEAR_ANTIALIAS = 3,  ///< The mean of all elements that one of the result covers.
} weft_interpolation;

/// Images [N, C, H, W] stretched or shrunk; with `align_corners` the first and last elements meet, instead of the edges.
WEFT_API weft_status weft_tensor_resize(weft_tensor x, int64_t height, int64_t width,
                                        weft_interpolation mode, bool align_corners,
                                        weft_tensor* y);

/// What lies beyond the extents of a tensor.
typedef enum weft_edge {
  WEFT_EDGE_REPEAT = 0,   ///< The nearest element.
  WEFT_EDGE_WRAP = 1,     ///< The tensor again.
  WEFT_EDGE_REFLECT = 2,  ///< The tensor mirrored at its first and last elements.
} weft_edge;

/// `x` with low[i] elements of its edge before and high[i] after it along dimension i; `rank` is that of `x`.
WEFT_API weft_status weft_tensor_pad_edge(weft_tensor x, uint32_t rank, const int64_t* low,
                                          const int64_t* high, weft_edge edge, weft_tensor* y);

/// `x` moved by places[i] along dimension i; what leaves at one end comes in at the other.
WEFT_API weft_status weft_tensor_roll(weft_tensor x, uint32_t rank, const int64_t* places,
                                      weft_tensor* y);

/// `x` as a whole repeated times[i] times along dimension i.
WEFT_API weft_status weft_tensor_tile(weft_tensor x, uint32_t rank, const int64_t* times,
                                      weft_tensor* y);

/// What of matrices lies where low <= column - row <= high, and `value` elsewhere: triangles, diagonals, bands.
WEFT_API weft_status weft_tensor_band(weft_tensor x, int64_t low, int64_t high, double value,
                                      weft_tensor* y);

/// The first `count` elements along the last dimension in ascending or descending order, and where they came from (i32). A
/// negative count means all of them; `values` may be NULL.
WEFT_API weft_status weft_tensor_sort(weft_tensor x, int64_t count, bool descending,
                                      weft_tensor* values, weft_tensor* indices);

/// What a function ("sum", "prod", "max", "min" or "logsumexp") makes of all elements up to each one along a dimension, or with
/// `reverse` of all from each one on.
WEFT_API weft_status weft_tensor_scan(const char* function, weft_tensor x, uint32_t dim,
                                      bool reverse, weft_tensor* y);

/// The discrete Fourier transform of complex numbers […, n, 2] of f32, or its inverse, which divides by n.
WEFT_API weft_status weft_tensor_fft(weft_tensor x, bool inverse, weft_tensor* y);

/// The first n / 2 + 1 elements of the transform of real numbers […, n], and back from these to n numbers.
WEFT_API weft_status weft_tensor_rfft(weft_tensor x, weft_tensor* y);
WEFT_API weft_status weft_tensor_irfft(weft_tensor x, int64_t n, weft_tensor* y);

/// A table [N, C] with table[indices[r]] = source[r] for rows [R, C].
WEFT_API weft_status weft_tensor_set_rows(weft_tensor table, weft_tensor indices,
                                          weft_tensor source, weft_tensor* y);

/// Softmax along the last dimension of x […, heads, rows, columns].
typedef struct weft_softmax_options {
  float scale;  ///< Of x; 0: 1.
  weft_tensor
      mask;  ///< Optional: added to scale·x; extents but the last may repeat within those of x.
  weft_tensor
      sinks;  ///< Optional f32 [heads]: a logit per head that takes its share and has no result.
  float max_bias;  ///< ALiBi: with a value > 0 the mask counts less from head to head.
  bool log;        ///< Give the logarithm.
} weft_softmax_options;
WEFT_API weft_status weft_tensor_softmax_with(weft_tensor x, const weft_softmax_options* options,
                                              weft_tensor* y);

/// x / max(its length, eps) along the last dimension.
WEFT_API weft_status weft_tensor_l2_norm(weft_tensor x, float eps, weft_tensor* y);

/// Layer norm over each of `groups` groups of channels of [batch, channels, …] and all that follows; `weight` and `bias`
/// [channels] are optional.
WEFT_API weft_status weft_tensor_group_norm(weft_tensor x, int64_t groups, weft_tensor weight,
                                            weft_tensor bias, float eps, weft_tensor* y);

/// How a matrix product is computed.
typedef struct weft_matmul_options {
  bool has_dtype;    ///< Whether `dtype` counts; otherwise the result has the type of `a`.
  weft_dtype dtype;  ///< Of the result.
  bool allow_f16;    ///< f32 and bf16 inputs may be rounded to f16, for matrix units.
} weft_matmul_options;
WEFT_API weft_status weft_tensor_matmul_with(weft_tensor a, weft_tensor b,
                                             const weft_matmul_options* options, weft_tensor* y);

/// x […, N, K] times the rows of weights […, M, K], which may be of a quantized type. With `allow_q8` x may then be rounded to 8
/// bits, in blocks of 32 with a scale, where that is faster.
WEFT_API weft_status weft_tensor_matmul_rows(weft_tensor x, weft_tensor weights, bool allow_q8,
                                             weft_tensor* y);

/// Each row of x [T, U or 1, K] times the rows of the matrix of [E, M, K] that ids (i32 [T, U]) chooses.
WEFT_API weft_status weft_tensor_matmul_chosen(weft_tensor x, weft_tensor weights, weft_tensor ids,
                                               bool allow_q8, weft_tensor* y);

/// X with a · X = b for a triangular matrix a […, n, n] of f32.
WEFT_API weft_status weft_tensor_solve_triangular(weft_tensor a, weft_tensor b, bool upper,
                                                  weft_tensor* y);

/// How the losses of rows become a result.
typedef enum weft_reduction {
  WEFT_REDUCTION_MEAN = 0,
  WEFT_REDUCTION_SUM = 1,
  WEFT_REDUCTION_NONE = 2,
} weft_reduction;

/// Cross entropy of logits […, classes] with i32 labels […], of which negative ones and `ignored` count for nothing, or with
/// probabilities, floats of the shape of the logits.
WEFT_API weft_status weft_tensor_cross_entropy_with(weft_tensor logits, weft_tensor labels,
                                                    weft_reduction reduction, int32_t ignored,
                                                    weft_tensor* y);

/// Attention with an optional mask and optional sinks, f32 [heads]: a logit per head that takes its share of the sum.
WEFT_API weft_status weft_tensor_attention_with(weft_tensor q, weft_tensor k, weft_tensor v,
                                                weft_tensor mask, weft_tensor sinks,
                                                const weft_attention_options* options,
                                                weft_tensor* y);

/// Positions [N] as waves [N, size]: cosines and sines of x · period^(-j / (size / 2)). A period of 0 means 10000.
WEFT_API weft_status weft_tensor_sinusoid(weft_tensor x, int64_t size, double period,
                                          weft_tensor* y);

/// Which elements of a head turn together, and by which position.
typedef enum weft_rope_mode {
  WEFT_ROPE_HALVES = 0,    ///< i and i + dims/2, as in GPT-NeoX.
  WEFT_ROPE_PAIRS = 1,     ///< Neighbours, as in Llama's own code.
  WEFT_ROPE_SECTIONS = 2,  ///< Halves; pairs are divided into sections with positions of their own.
  WEFT_ROPE_INTERLEAVED = 3,  ///< Halves; pairs take the first three positions in turn.
  WEFT_ROPE_VISION = 4,       ///< i and i + size/2; sections have positions and frequencies.
} weft_rope_mode;

/// How positions turn the elements of a head.
typedef struct weft_rope_options {
  weft_rope_mode mode;
  uint32_t dims;             ///< Elements of a head that turn; 0: all (vision: half of them).
  uint32_t offset;           ///< The first element that turns.
  int32_t first;             ///< Position of the first token, where none are given.
  float base;                ///< 0: 10000.
  uint32_t sections[4];      ///< Pairs of each section, in the modes that have some.
  weft_tensor factors;       ///< Optional f32 [dims/2]: frequencies are divided by these.
  float scale;               ///< Of all frequencies; 0: 1.
  float extrapolation;       ///< YaRN: how much of it; 0: none.
  float magnitude;           ///< Multiplies the result; 0: 1.
  float beta_fast;           ///< YaRN; 0: 32.
  float beta_slow;           ///< YaRN; 0: 1.
  uint32_t trained_context;  ///< YaRN: positions that the model was trained for.
} weft_rope_options;

/// Rotary position embedding of x [batch, tokens, heads, size] by optional positions, i32 [tokens] (with sections [4, tokens]).
WEFT_API weft_status weft_tensor_rope_with(weft_tensor x, weft_tensor positions,
                                           const weft_rope_options* options, weft_tensor* y);

#ifdef __cplusplus
}
#endif

#endif
