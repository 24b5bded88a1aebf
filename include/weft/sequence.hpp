#pragma once

#include <cstdint>

#include "weft/ops.hpp"

namespace weft {

// Operations of models that carry a state along a sequence, and of some particular models.

// Scans over the tokens of each sequence, all in f32. A head has a state S[value, key], which each
// token changes and reads. Where nothing else is said, q, r, k, a and b are [sequences, tokens,
// heads, keys], v is [sequences, tokens, heads, values], decay is [sequences, tokens, heads, keys
// or 1], and the state before the first token [sequences, heads, values, keys]. q (or r) and k may
// have fewer heads than v, which then share them. Gradients are computed token by token with many
// small launches.

/// What a scan gives.
struct Scanned {
  Tensor y;      ///< [sequences, tokens, heads, values].
  Tensor state;  ///< After the last token, as the one before the first; or snapshots.
};

/// S = S * decay + v k; y = scale * S q.
Scanned gated_linear_attention(In q, const Tensor& k, const Tensor& v, const Tensor& decay,
                               const Tensor& state, const ScanOptions& options = {});

/// y = (S + v k * bonus) r, then S = S * decay + v k; bonus is [heads, keys].
Scanned rwkv6(In r, const Tensor& k, const Tensor& v, const Tensor& decay, const Tensor& bonus,
              const Tensor& state, const ScanOptions& options = {});

/// S = S * decay + v k + (S a) b; y = S r.
Scanned rwkv7(In r, const Tensor& k, const Tensor& v, const Tensor& decay, const Tensor& a,
              const Tensor& b, const Tensor& state, const ScanOptions& options = {});

/// S = S * exp(decay); S += beta (v - S k) k; y = scale * S q, with beta [sequences, tokens,
/// heads].
Scanned gated_delta_rule(In q, const Tensor& k, const Tensor& v, const Tensor& decay,
                         const Tensor& beta, const Tensor& state, const ScanOptions& options = {});

/// S = S * exp(d a) + d x b with d = softplus(dt); y = S c: selective state spaces. x is
/// [sequences, tokens, heads, values], dt [sequences, tokens, heads], a [heads, keys or 1], b and c
/// [sequences, tokens, heads, keys].
Scanned selective_scan(In x, const Tensor& dt, const Tensor& a, const Tensor& b, const Tensor& c,
                       const Tensor& state, const ScanOptions& options = {});

/// Experts of each token, largest score first.
struct Routed {
  Tensor weights;  ///< [tokens, count] of f32.
  Tensor ids;      ///< [tokens, count] of i32, for grouped_linear().
};

/// The `count` experts with the largest scores for logits [tokens, experts] of f32, and the weights
/// of their results.
Routed route(In logits, std::uint64_t count, const RouteOptions& options = {});

/// What a layer reads from streams [tokens, streams, width]: scale · Σ x · weight, with weights
/// [tokens, streams], or with sigmoid(weights) for weights of the shape of x.
Tensor hyper_read(In x, const Tensor& weights, float scale = 1);

}  // namespace weft
