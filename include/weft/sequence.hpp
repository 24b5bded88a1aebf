#pragma once

#include <cstdint>

#include "weft/ops.hpp"

namespace weft {

// Operations of models that carry a state along a sequence, and of some particular models.

/// The short causal convolution in front of a state space, each channel for itself: x [sequences, channels, taps - 1 + tokens]
/// (the tokens before the first come first), weights [channels, taps] and a bias [channels] that may be left empty give
/// [sequences, tokens, channels] of f32.
Tensor ssm_conv(In x, const Tensor& weights, const Tensor& bias = {}, bool silu = false);

/// How the state S[value, key] of a head follows from one token to the next, and what the token reads from it.
enum class RecurrenceKind : std::uint8_t {
  gla,    ///< S = S * decay + v k; y = scale * S q: gated linear attention.
  wkv6,   ///< y = (S + v k * bonus) q, then S = S * decay + v k: RWKV 6.
  wkv7,   ///< S = S * decay + v k + (S a) b; y = S q: RWKV 7.
  delta,  ///< S = S * exp(decay); S += step (v - S k) k; y = scale * S q: gated delta net.
  ssm,  ///< S = S * exp(d decay) + d v k with d = softplus(step); y = S q: selective state spaces.
};

/// What a recurrence works on, all f32. q and k may have fewer heads than v, which then share them.
struct RecurrenceInputs {
  Tensor q;        ///< [sequences, tokens, heads, keys].
  Tensor k;        ///< As q.
  Tensor v;        ///< [sequences, tokens, heads, values].
  Tensor decay;    ///< [sequences, tokens, heads, keys or 1]; ssm: [heads, keys or 1].
  Tensor state;    ///< [sequences, heads, values, keys] before the first token.
  Tensor a{};      ///< wkv7: as k.
  Tensor b{};      ///< wkv7: as k.
  Tensor bonus{};  ///< wkv6: [heads, keys].
  Tensor step{};   ///< delta and ssm: [sequences, tokens, heads].
};

/// Choices for recurrence().
struct RecurrenceOptions {
  float scale = 1;  ///< gla and delta.
  bool interleaved =
      false;  ///< Neighbouring heads share q and k; otherwise the heads of q and k repeat as a whole.
  /// With a value > 0 the state that is given back is [snapshots, sequences, heads, values, keys]: after the last token, after
  /// the one before it, and so on. There are at most as many as tokens.
  std::uint64_t snapshots = 0;
};

/// What a recurrence gives.
struct Recurrence {
  Tensor y;      ///< [sequences, tokens, heads, values].
  Tensor state;  ///< After the last token, as the one before the first; or snapshots.
};

/// A recurrence over the tokens of each sequence. The gradient is computed token by token with many small launches.
Recurrence recurrence(RecurrenceKind kind, const RecurrenceInputs& inputs,
                      const RecurrenceOptions& options = {}, Where where = Where::current());

/// How the logit of an expert becomes its score: a softmax over all experts, or a function of each by itself.
enum class ExpertScore : std::uint8_t { softmax, sigmoid, root_softplus, logit };

/// Choices for route().
struct RouteOptions {
  ExpertScore score = ExpertScore::softmax;
  Tensor bias{};  ///< f32 [experts]: added to scores for the choice, but not for the weights.
  bool softmax_chosen = false;  ///< Weights are the softmax of the chosen scores.
  bool normalize = false;       ///< Weights are divided by their sum, which is at least `least`.
  float least = 0;
  float scale = 1;  ///< Multiplies weights at the end.
};

/// Experts of each token, largest score first.
struct Routed {
  Tensor weights;  ///< [tokens, count] of f32.
  Tensor ids;      ///< [tokens, count] of i32, for matmul_chosen().
};

/// The `count` experts with the largest scores for logits [tokens, experts] of f32, and the weights of their results.
Routed route(In logits, std::uint64_t count, const RouteOptions& options = {});

/// The matrices [tokens, 4, 4] that mix the residual streams of each token (hyper-connections), made nearly doubly stochastic
/// from mixes [tokens, 24], scale [3] and base [24]: softmax over the last dimension of mixes[8…] * scale[2] + base[8…], plus
/// eps; columns are divided by their sums (plus eps), and then rows and columns in turn `iterations - 1` times.
Tensor hyper_combine(In mixes, const Tensor& scale, const Tensor& base,
                     std::uint32_t iterations = 1, float eps = 1e-6F);

/// What a layer reads from streams [tokens, streams, width]: scale · Σ x · weight, with weights [tokens, streams], or with
/// sigmoid(weights) for weights of the shape of x.
Tensor hyper_read(In x, const Tensor& weights, float scale = 1);

/// What a layer leaves in streams: x [tokens, width] · share [tokens, streams], plus the residual [tokens, streams, width],
/// whose streams `mix` [tokens, from, to] mixes first where it is given.
Tensor hyper_write(In x, const Tensor& residual, const Tensor& share, const Tensor& mix = {});

/// Scores [streams, tokens, keys] by which sparse attention chooses: Σ over heads of relu(q · k) · weight, plus the mask. q is
/// [streams, tokens, heads, size], k [streams, keys, size] (also quantized), weights [streams, tokens, heads], and a mask
/// [streams or a divisor, tokens, keys] may be left empty.
Tensor index_scores(In q, const Tensor& k, const Tensor& weights, const Tensor& mask = {});

}  // namespace weft
