#include "weft/nn/recurrent.hpp"

#include "base/format.hpp"
#include "weft/shape.hpp"

namespace weft::nn {

RecurrentLayers::RecurrentLayers(Init& init, Kind kind, std::uint64_t in, std::uint64_t hidden,
                                 const RecurrentChoices& choices)
    : kind_(kind), choices_(choices) {
  if (choices.layers == 0 || (choices.projection != 0 && kind != Kind::lstm)) {
    throw Error(ErrorCode::invalid_argument,
                formatted("Recurrent modules have at least one layer, and only LSTM has a "
                          "projection; {} layers and a projection of {} were asked for.",
                          choices.layers, choices.projection));
  }
  const std::uint64_t gates = kind == Kind::lstm ? 4 : (kind == Kind::gru ? 3 : 1);
  const std::uint64_t size = choices.projection == 0 ? hidden : choices.projection;
  const std::uint64_t directions = choices.bidirectional ? 2 : 1;
  const std::uint64_t rows = gates * hidden;
  for (std::uint64_t i = 0; i < choices.layers; ++i) {
    Weights& layer = weights_.emplace_back();
    const std::uint64_t inputs = i == 0 ? in : directions * size;
    for (std::uint64_t d = 0; d < directions; ++d) {
      const std::string end = formatted("_l{}{}", i, d == 1 ? "_reverse" : "");
      const auto made = [&](const std::string& what, const Shape& shape) {
        return parameter(what + end, init.fan_in_uniform(shape, hidden));
      };
      layer.input.push_back(made("weight_ih", {rows, inputs}));
      layer.recurrent.push_back(made("weight_hh", {rows, size}));
      if (choices.bias) {
        layer.bias.push_back(made("bias_ih", {rows}));
        layer.recurrent_bias.push_back(made("bias_hh", {rows}));
      }
      if (choices.projection != 0) layer.projection.push_back(made("weight_hr", {size, hidden}));
    }
    if (i > 0) {
      drops_.push_back(std::make_unique<Dropout>(choices.dropout));
      add(formatted("dropout_l{}", i - 1), *drops_.back());
    }
  }
}

Recurrent RecurrentLayers::layer(std::uint64_t number, const Tensor& x,
                                 const RecurrentStart& start) const {
  const Weights& w = weights_[number];
  const auto joined = [this](std::vector<Tensor> parts) {
    for (Tensor& part : parts) part = now(part);
    return parts.empty() ? Tensor() : stack(parts);
  };
  const std::uint64_t directions = choices_.bidirectional ? 2 : 1;
  const auto mine = [&](const Tensor& all) {
    return all ? all.slice(0, static_cast<std::int64_t>(number * directions), directions) : all;
  };
  const Tensor input = joined(w.input);
  const Tensor recurrent = joined(w.recurrent);
  const Direction direction = choices_.bidirectional ? Direction::both : Direction::forward;
  switch (kind_) {
    case Kind::lstm:
      return lstm(x, input, recurrent,
                  {.bias = joined(w.bias),
                   .recurrent_bias = joined(w.recurrent_bias),
                   .state = mine(start.state),
                   .cell = mine(start.cell),
                   .lengths = start.lengths,
                   .projection = joined(w.projection),
                   .direction = direction});
    case Kind::gru:
      return gru(x, input, recurrent,
                 {.bias = joined(w.bias),
                  .recurrent_bias = joined(w.recurrent_bias),
                  .state = mine(start.state),
                  .lengths = start.lengths,
                  .direction = direction});
    case Kind::rnn: break;
  }
  return rnn(x, input, recurrent,
             {.bias = joined(w.bias),
              .recurrent_bias = joined(w.recurrent_bias),
              .state = mine(start.state),
              .lengths = start.lengths,
              .direction = direction,
              .activation = choices_.activation});
}

Recurrent RecurrentLayers::forward(const Tensor& x, const RecurrentStart& start) {
  const std::uint64_t directions = choices_.bidirectional ? 2 : 1;
  for (const Tensor& given : {start.state, start.cell}) {
    if (given && (given.shape().size() != 3 || given.shape()[0] != choices_.layers * directions)) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("A recurrent module with {} layers and {} directions needs states [{}, "
                            "batch, size]; this one has {} dimensions, the first of {}.",
                            choices_.layers, directions, choices_.layers * directions,
                            given.shape().size(), given.shape().empty() ? 0 : given.shape()[0]));
    }
  }
  const bool turn = choices_.batch_first && x.shape().size() == 3;
  Tensor y = turn ? x.permute({1, 0, 2}) : x;
  std::vector<Tensor> states;
  std::vector<Tensor> cells;
  for (std::uint64_t i = 0; i < weights_.size(); ++i) {
    if (i > 0) y = drops_[i - 1]->forward(y);
    const Recurrent made = layer(i, y, start);
    y = made.y;
    states.push_back(made.state);
    if (made.cell) cells.push_back(made.cell);
  }
  return {turn ? y.permute({1, 0, 2}) : y, concat(states, 0),
          cells.empty() ? Tensor() : concat(cells, 0)};
}

}  // namespace weft::nn
