#pragma once

#include "weft/ops.hpp"

namespace weft {

// Recurrent layers over x [tokens, batch, inputs]. The products of all tokens with the weights are
// one matrix product; both directions go through the tokens together. A token is one launch, and
// one more on the way back; layers with a projection, peepholes, coupled gates, a clip or (gru) the
// reset in front of the product take several, as do 16-bit layers of relu with an odd number of
// units. Gradients flow to everything but the lengths; second derivatives take several launches per
// token. nn::LSTM, nn::GRU and nn::RNN are modules of several layers.

/// What a recurrent layer gives.
struct Recurrent {
  Tensor y;      ///< [tokens, batch, directions · size].
  Tensor state;  ///< After the last token: [directions, batch, size].
  Tensor cell;   ///< Of lstm(): [directions, batch, hidden].
};

/// With (i, f, g, o) = x·weightᵀ + h·recurrentᵀ + biases: c = sigmoid(f)·c + sigmoid(i)·tanh(g), h
/// = sigmoid(o)·tanh(c). weight is [directions, 4 · hidden, inputs], recurrent [directions, 4 ·
/// hidden, size], their rows in the order i, f, g, o.
Recurrent lstm(In x, const Tensor& weight, const Tensor& recurrent,
               const LstmOptions& options = {});

/// With r, z = sigmoid(x·weightᵀ + h·recurrentᵀ + biases) and n = tanh(x·weightᵀ + bias +
/// r·(h·recurrentᵀ + recurrent bias)): h = (1 - z)·n + z·h. Rows of weight [directions, 3 · hidden,
/// inputs] and recurrent [directions, 3 · hidden, hidden] are in the order r, z, n.
Recurrent gru(In x, const Tensor& weight, const Tensor& recurrent, const GruOptions& options = {});

/// h = tanh(x·weightᵀ + h·recurrentᵀ + biases), or relu; weight is [directions, hidden, inputs],
/// recurrent [directions, hidden, hidden].
Recurrent rnn(In x, const Tensor& weight, const Tensor& recurrent, const RnnOptions& options = {});

}  // namespace weft
