#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/nn/layers.hpp"
#include "weft/recurrent.hpp"

namespace weft::nn {

/// Choices for the recurrent modules.
struct RecurrentChoices {
  std::uint64_t layers = 1;
  bool bidirectional = false;
  bool batch_first = false;  ///< x and y are [batch, tokens, …] instead of [tokens, batch, …];
                             ///< states are not changed by it.
  bool bias = true;
  float dropout = 0;                ///< Between layers, while training; needs set_key() then.
  std::uint64_t projection = 0;     ///< Of LSTM: the size of its output; 0: as many as `hidden`.
  std::string activation = "tanh";  ///< Of RNN: "tanh" or "relu".
};

/// States before the first token, and how many tokens each sequence has; what is left out is 0, or
/// all of them.
struct RecurrentStart {
  Tensor state;    ///< [layers · directions, batch, size], those of a layer one after the other.
  Tensor cell;     ///< Of LSTM: [layers · directions, batch, hidden].
  Tensor lengths;  ///< i32 [batch].
};

/// Recurrent layers on top of each other. Parameters are named as in PyTorch: weight_ih_l0,
/// weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0 (of a projection), and the same with _reverse
/// behind it.
class RecurrentLayers : public Layer {
 public:
  [[nodiscard]] Tensor forward(const Tensor& x) override { return forward(x, {}).y; }
  /// y, and the last states of all layers as in RecurrentStart.
  [[nodiscard]] Recurrent forward(const Tensor& x, const RecurrentStart& start);

 protected:
  enum class Kind : std::uint8_t { lstm, gru, rnn };
  RecurrentLayers(Init& init, Kind kind, std::uint64_t in, std::uint64_t hidden,
                  const RecurrentChoices& choices);

 private:
  /// Each with a leading dimension for the directions.
  struct Weights {
    std::vector<Tensor> input;
    std::vector<Tensor> recurrent;
    std::vector<Tensor> bias;
    std::vector<Tensor> recurrent_bias;
    std::vector<Tensor> projection;
  };
  [[nodiscard]] Recurrent layer(std::uint64_t number, const Tensor& x,
                                const RecurrentStart& start) const;

  Kind kind_;
  RecurrentChoices choices_;
  std::vector<Weights> weights_;
  std::vector<std::unique_ptr<Dropout>> drops_;
};

class LSTM : public RecurrentLayers {
 public:
  LSTM(Init& init, std::uint64_t in, std::uint64_t hidden, const RecurrentChoices& choices = {})
      : RecurrentLayers(init, Kind::lstm, in, hidden, choices) {}
};
class GRU : public RecurrentLayers {
 public:
  GRU(Init& init, std::uint64_t in, std::uint64_t hidden, const RecurrentChoices& choices = {})
      : RecurrentLayers(init, Kind::gru, in, hidden, choices) {}
};
class RNN : public RecurrentLayers {
 public:
  RNN(Init& init, std::uint64_t in, std::uint64_t hidden, const RecurrentChoices& choices = {})
      : RecurrentLayers(init, Kind::rnn, in, hidden, choices) {}
};

}  // namespace weft::nn
