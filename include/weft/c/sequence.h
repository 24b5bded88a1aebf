#ifndef WEFT_C_SEQUENCE_H
#define WEFT_C_SEQUENCE_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operations of models that carry a state along a sequence, and of some particular models. Options may be NULL, which is the
/// same as all zero; tensors that are called optional may be NULL.

/// The causal convolution of x [sequences, channels, taps - 1 + tokens] with weights [channels, taps] and an optional bias.
WEFT_API weft_status weft_tensor_ssm_conv(weft_tensor x, weft_tensor weights, weft_tensor bias,
                                          bool silu, weft_tensor* y);

/// How the state of a head follows from one token to the next (docs/api.md).
typedef enum weft_recurrence_kind {
  WEFT_GLA = 0,
  WEFT_WKV6 = 1,
  WEFT_WKV7 = 2,
  WEFT_DELTA = 3,
  WEFT_SSM = 4,
} weft_recurrence_kind;

/// What a recurrence works on, all f32; those that a kind does not need are NULL.
typedef struct weft_recurrence_inputs {
  weft_tensor q;      ///< [sequences, tokens, heads, keys].
  weft_tensor k;      ///< As q.
  weft_tensor v;      ///< [sequences, tokens, heads, values].
  weft_tensor decay;  ///< [sequences, tokens, heads, keys or 1]; ssm: [heads, keys or 1].
  weft_tensor state;  ///< [sequences, heads, values, keys].
  weft_tensor a;      ///< wkv7: as k.
  weft_tensor b;      ///< wkv7: as k.
  weft_tensor bonus;  ///< wkv6: [heads, keys].
  weft_tensor step;   ///< delta and ssm: [sequences, tokens, heads].
  float scale;        ///< gla and delta; 0: 1.
  int64_t
      snapshots;  ///< With a value > 0 the new state is [snapshots, …]: after the last token, the one before, ….
  bool
      interleaved;  ///< Neighbouring heads share q and k; otherwise the heads of q and k repeat as a whole.
} weft_recurrence_inputs;

/// A recurrence over the tokens of each sequence: what the tokens read, and the state after the last.
WEFT_API weft_status weft_tensor_recurrence(weft_recurrence_kind kind,
                                            const weft_recurrence_inputs* inputs, weft_tensor* y,
                                            weft_tensor* state);

/// How the logit of an expert becomes its score: a softmax over all experts, or a function of each by itself.
typedef enum weft_expert_score {
  WEFT_SCORE_SOFTMAX = 0,
  WEFT_SCORE_SIGMOID = 1,
  WEFT_SCORE_ROOT_SOFTPLUS = 2,
  WEFT_SCORE_LOGIT = 3,
} weft_expert_score;

/// How experts are chosen and weighted.
typedef struct weft_route_options {
  weft_expert_score score;
  weft_tensor
      bias;  ///< Optional f32 [experts]: added to scores for the choice, but not for the weights.
  bool softmax_chosen;  ///< Weights are the softmax of the chosen scores.
  bool normalize;       ///< Weights are divided by their sum, which is at least `least`.
  float least;
  float scale;  ///< Multiplies weights at the end; 0: 1.
} weft_route_options;

/// The `count` experts with the largest scores for logits [tokens, experts] of f32, and the weights of their results: weights
/// [tokens, count] of f32 and ids [tokens, count] of i32, for weft_tensor_matmul_chosen.
WEFT_API weft_status weft_tensor_route(weft_tensor logits, int64_t count,
                                       const weft_route_options* options, weft_tensor* weights,
                                       weft_tensor* ids);

/// Nearly doubly stochastic matrices [tokens, 4, 4] that mix residual streams (hyper-connections), from mixes [tokens, 24],
/// scale [3] and base [24], after `iterations` divisions of rows and columns by their sums (0: 1).
WEFT_API weft_status weft_tensor_hyper_combine(weft_tensor mixes, weft_tensor scale,
                                               weft_tensor base, uint32_t iterations, float eps,
                                               weft_tensor* y);

/// What a layer reads from streams x [tokens, streams, width]: scale · Σ x · weight, with weights [tokens, streams], or with
/// sigmoid(weights) for weights of the shape of x.
WEFT_API weft_status weft_tensor_hyper_read(weft_tensor x, weft_tensor weights, float scale,
                                            weft_tensor* y);

/// What a layer leaves in streams: x [tokens, width] · share [tokens, streams], plus the residual [tokens, streams, width], whose
/// streams the optional mix [tokens, from, to] mixes first.
WEFT_API weft_status weft_tensor_hyper_write(weft_tensor x, weft_tensor residual, weft_tensor share,
                                             weft_tensor mix, weft_tensor* y);

/// Scores [streams, tokens, keys] by which sparse attention chooses: Σ over heads of relu(q · k) · weight, plus an optional mask,
/// for q [streams, tokens, heads, size], k [streams, keys, size] (also quantized) and weights [streams, tokens, heads].
WEFT_API weft_status weft_tensor_index_scores(weft_tensor q, weft_tensor k, weft_tensor weights,
                                              weft_tensor mask, weft_tensor* y);

#ifdef __cplusplus
}
#endif

#endif
