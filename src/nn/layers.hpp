#pragma once

#include <cstdint>
#include <optional>

#include "weft/ops.hpp"
#include "weft/tensor.hpp"

namespace weft::nn {

/// x · weightᵀ (+ bias) for rows x [N, in] and a weight [out, in]; the result has the type of x
/// unless another is named.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              std::optional<DType> dtype = {});

/// How heads of attention look at each other.
struct HeadOptions {
  std::uint64_t heads = 1;
  std::uint64_t kv_heads =
      1;               ///< Heads of keys and values; each serves heads / kv_heads heads of queries.
  bool causal = true;  ///< A position sees itself and what came before it.
  std::uint64_t window = 0;  ///< With a value > 0 only so many positions up to its own.
  float rope_base = 0;       ///< With a value > 0 queries and keys turn with their position.
};

/// Attention of sequences to themselves: q [batch × T, heads × size], k and v [batch × T, kv_heads
/// × size] → the shape of q. A mask [1 or batch, 1 or heads, T, T] is added to the products; it may
/// be left empty.
Tensor self_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::uint64_t batch,
                      const HeadOptions& options, const Tensor& mask = {});

/// silu(x · gateᵀ) * (x · upᵀ)
Tensor gated_unit(const Tensor& x, const Tensor& gate, const Tensor& up);

}  // namespace weft::nn
