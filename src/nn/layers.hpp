#pragma once

#include <cstdint>

#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// x · weightᵀ (+ bias) for rows x [N, in] and a weight [out, in].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// What rotary position embeddings multiply with: cos and sin [positions, width / 2] of position × base^(-2i / width).
struct RopeTables {
  Tensor cos;
  Tensor sin;
};
RopeTables rope_tables(const Device& device, std::uint64_t positions, std::uint64_t width,
                       double base, DType dtype);

/// Rotates element i of the first half of each row together with element i of the second half; x is […, T, width].
Tensor rope(const Tensor& x, const RopeTables& tables);

/// What a position may not see: 0 where key ≤ query (and query - key < window, unless window is 0), else -infinity;
/// [positions, positions].
Tensor causal_mask(const Device& device, std::uint64_t positions, std::uint64_t window,
                   DType dtype);

/// softmax(q · kᵀ / √width + mask) · v for q [B, KV, G, T, width] and k, v [B, KV, 1, T, width]: G heads of queries
/// share one head of keys and values. The mask may be left empty.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);

/// silu(x · gateᵀ) * (x · upᵀ) · downᵀ
Tensor gated_mlp(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& down);

}  // namespace weft::nn
