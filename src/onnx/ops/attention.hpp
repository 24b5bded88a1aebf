#pragma once

#include <cstdint>

#include "onnx/call.hpp"

namespace weft::onnx {

/// [batch, heads, positions, size].
struct Heads {
  Tensor t;
};
/// [batch, positions, heads * size] by heads.
Heads heads_of(const Call& call, const Tensor& x, std::int64_t heads);

/// [queries, keys] of f32: 0 where key <= query + offset, minus infinity elsewhere.
Tensor causal_mask(const Device& device, std::uint64_t queries, std::uint64_t keys,
                   std::int64_t offset);

struct Attended {
  Tensor y;
  Tensor products;  ///< Where they were asked for.
};
/// softmax(scale · q·kᵀ + bias)·v by heads, which share those of k and v in groups. `products` says
/// what else is wanted: the scaled products (0), those with the bias (1), with the soft cap on top
/// (2), or the shares (3); -1: nothing.
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, double scale,
                double soft_cap, int products);

/// The first `turned` elements of the last axis of x, turned in pairs by angles whose cosines and
/// sines broadcast to half of them: neighbours, or i and i + turned / 2.
Tensor turned_pairs(const Tensor& x, const Tensor& cosine, const Tensor& sine, std::uint64_t turned,
                    bool interleaved);

}  // namespace weft::onnx
