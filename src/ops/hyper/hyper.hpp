#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::hyper {

/// The streams that hyper-connections of DeepSeek's fourth version mix; CombineArgs has exactly as
/// many.
inline constexpr std::uint64_t combine_streams = 4;

/// The matrix that mixes the residual streams of each token, made nearly doubly stochastic:
/// softmax over `to` of mixes[8 + from * 4 + to] * scale[2] + base[8 + …], plus eps; then columns
/// are divided by their sums (+ eps), and rows and columns in turn `iterations - 1` times more.
struct CombineArgs {
  View mixes;  ///< [tokens, 24], f32.
  View scale;  ///< [at least 3], f32.
  View base;   ///< [24], f32.
  View y;      ///< [tokens, from, to] = [tokens, 4, 4], f32.
  float eps = 1e-6F;
  std::uint32_t iterations = 1;
};

/// What a layer reads: y[token, i] = scale * sum over streams of x[token, stream, i] * weight.
struct ReadArgs {
  View x;          ///< [tokens, streams, width], f32.
  View weights{};  ///< [tokens, streams], f32; or
  View gates{};    ///< the shape of x, f32: the weight is sigmoid(gate).
  View y;          ///< [tokens, width], f32.
  float scale = 1;
};

/// What a layer leaves: y[token, to, i] = x[token, i] * share[token, to] + the residual streams,
/// mixed by `mix` where given: sum over `from` of residual[token, from, i] * mix[token, from, to].
struct WriteArgs {
  View x;         ///< [tokens, width], f32: what the layer gave.
  View residual;  ///< [tokens, streams, width], f32.
  View share;     ///< [tokens, streams], f32.
  View mix{};     ///< Optional, [tokens, from, to], f32.
  View y;         ///< [tokens, streams, width], f32.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const CombineArgs& args, const Caps& caps);
Result<Plan> plan(const ReadArgs& args, const Caps& caps);
Result<Plan> plan(const WriteArgs& args, const Caps& caps);

}  // namespace weft::ops::hyper
