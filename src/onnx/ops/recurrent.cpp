#include <algorithm>
#include <array>
#include <optional>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/ops.hpp"
#include "weft/recurrent.hpp"
#include "weft/shape.hpp"

// Layers with a state. Those with the usual activations are lstm(), gru() and rnn() with their
// gates in another order; others go step by step: the products with the inputs are made at once,
// and each step adds the products with the state.

namespace weft::onnx {
namespace {

using I = std::int64_t;
using U = std::uint64_t;

/// A function between gates, with its parameters.
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
};

std::string lowered(std::string name) {
  std::ranges::transform(name, name.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  });
  return name;
}

/// Functions with their parameters: those that have some take the next ones of the lists, and their
/// defaults where these end.
std::vector<Activation> with_parameters(const std::vector<std::string>& names,
                                        const std::vector<double>& alphas,
                                        const std::vector<double>& betas) {
  struct Defaults {
    std::string_view name;
    double alpha;
    std::optional<double> beta;
  };
  static constexpr std::array<Defaults, 6> known{{{"affine", 1, 0},
                                                  {"leakyrelu", 0.01, {}},
                                                  {"thresholdedrelu", 1, {}},
                                                  {"scaledtanh", 1, 1},
                                                  {"hardsigmoid", 0.2, 0.5},
                                                  {"elu", 1, {}}}};
  std::vector<Activation> out;
  std::size_t alpha = 0;
  std::size_t beta = 0;
  for (const std::string& name : names) {
    Activation& made = out.emplace_back(name);
    const auto found = std::ranges::find(known, lowered(name), &Defaults::name);
    if (found == known.end()) continue;
    made.alpha = alpha < alphas.size() ? alphas[alpha] : found->alpha;
    ++alpha;
    if (!found->beta) continue;
    made.beta = beta < betas.size() ? betas[beta] : *found->beta;
    ++beta;
  }
  return out;
}

Tensor activated(const Call& c, const Activation& function, const Tensor& x) {
  const auto& [name, alpha, beta] = function;
  const std::string low = lowered(name);
  if (low == "sigmoid") return sigmoid(x);
  if (low == "tanh") return tanh(x);
  if (low == "relu") return relu(x);
  if (low == "affine") return x * alpha + beta;
  if (low == "leakyrelu") return leaky_relu(x, alpha);
  if (low == "thresholdedrelu") return where(greater(x, full_like(x, alpha)), x, zeros_like(x));
  if (low == "scaledtanh") return tanh(x * beta) * alpha;
  if (low == "hardsigmoid") return clamp(x * alpha + beta, 0, 1);
  if (low == "elu") return elu(x, alpha);
  if (low == "softsign") return x / (abs(x) + 1);
  if (low == "softplus") return softplus(x);
  c.refuse(formatted("The activation '{}' is not known.", name));
}

struct Layer {
  Call& c;
  U gates = 1;  ///< 4 for LSTM, 3 for GRU, 1 for RNN.
  U hidden = 0;
  U steps = 0;
  U batch = 0;
  double clip = 0;
  std::vector<Activation> functions;
  bool plain = true;  ///< No parameters of functions are named.
  Tensor lengths;     ///< i32 [batch, 1], where there are some.

  [[nodiscard]] Tensor act(std::size_t which, const Tensor& x) const {
    const Tensor inside = clip > 0 ? clamp(x, -clip, clip) : x;
    return activated(c, functions.at(which), inside);
  }
};

/// The part of a weight for a direction.
Tensor of_direction(const Tensor& t, U direction) {
  Shape shape(t.shape().begin() + 1, t.shape().end());
  return t.slice(0, static_cast<I>(direction), 1).reshape(shape);
}
Tensor part(const Tensor& t, U number, U size) {
  return t.slice(-1, static_cast<I>(number * size), size);
}

struct Run {
  std::vector<Tensor> y;  ///< One for each step, in the order of time.
  Tensor h;
  Tensor cell;
};

Run run_direction(const Layer& layer, const Tensor& x, U direction, bool backwards) {
  Call& c = layer.c;
  const U size = layer.hidden;
  const bool lstm = layer.gates == 4;
  const bool gru = layer.gates == 3;
  const std::size_t first = direction * (lstm ? 3 : gru ? 2 : 1);
  const Tensor w = of_direction(c.t(1), direction);  // [gates * size, inputs]
  const Tensor r = of_direction(c.t(2), direction).transpose();
  const Tensor bias = c.has(3) ? of_direction(c.t(3), direction) : Tensor();
  const Tensor w_bias = bias ? bias.slice(0, 0, layer.gates * size) : Tensor();
  const Tensor r_bias =
      bias ? bias.slice(0, static_cast<I>(layer.gates * size), layer.gates * size) : Tensor();
  const bool reset_later = c.i("linear_before_reset", 0) != 0;
  Tensor given = matmul(x, w.transpose());  // [steps, batch, gates * size]
  if (bias) given = given + (gru ? w_bias : w_bias + r_bias);
  const auto state = [&](std::size_t input) {
    return c.has(input) ? of_direction(c.t(input), direction)
                        : zeros(c.device(), {layer.batch, size}, x.dtype());
  };
  Run run;
  run.h = state(5);
  if (lstm) run.cell = state(6);
  const Tensor peep = lstm && c.has(7) ? of_direction(c.t(7), direction) : Tensor();
  run.y.resize(layer.steps);
  for (U i = 0; i < layer.steps; ++i) {
    const U t = backwards ? layer.steps - 1 - i : i;
    const Tensor now =
        given.slice(0, static_cast<I>(t), 1).reshape({layer.batch, layer.gates * size});
    Tensor h;
    Tensor cell;
    if (gru) {
      const Tensor both = matmul(run.h, r.slice(1, 0, 2 * size));
      const Tensor zr =
          now.slice(-1, 0, 2 * size) + both +
          (r_bias ? r_bias.slice(0, 0, 2 * size) : zeros(c.device(), {2 * size}, x.dtype()));
      const Tensor z = layer.act(first, part(zr, 0, size));
      const Tensor reset = layer.act(first, part(zr, 1, size));
      const Tensor r_h = r.slice(1, static_cast<I>(2 * size), size);
      const Tensor b_h = r_bias ? r_bias.slice(0, static_cast<I>(2 * size), size)
                                : zeros(c.device(), {size}, x.dtype());
      const Tensor hidden =
          reset_later ? reset * (matmul(run.h, r_h) + b_h) : matmul(reset * run.h, r_h) + b_h;
      const Tensor fresh = layer.act(first + 1, part(now, 2, size) + hidden);
      h = (1.0 - z) * fresh + z * run.h;
    } else if (lstm) {
      const Tensor all = now + matmul(run.h, r);
      const auto peeked = [&](const Tensor& gate, U number, const Tensor& from) {
        return peep ? gate + peep.slice(0, static_cast<I>(number * size), size) * from : gate;
      };
      const Tensor in = layer.act(first, peeked(part(all, 0, size), 0, run.cell));
      const Tensor forget = c.i("input_forget", 0) != 0
                                ? 1.0 - in
                                : layer.act(first, peeked(part(all, 2, size), 2, run.cell));
      cell = forget * run.cell + in * layer.act(first + 1, part(all, 3, size));
      const Tensor out = layer.act(first, peeked(part(all, 1, size), 1, cell));
      h = out * activated(c, layer.functions.at(first + 2), cell);
    } else {
      h = layer.act(first, now + matmul(run.h, r));
    }
    if (layer.lengths) {  // past the end of a sequence its state stays, and its result is 0
      const Tensor inside =
          greater(layer.lengths, full_like(layer.lengths, static_cast<double>(t)));
      run.y[t] = where(inside, h, zeros_like(h));
      h = where(inside, h, run.h);
      if (lstm) cell = where(inside, cell, run.cell);
    } else {
      run.y[t] = h;
    }
    run.h = h;
    run.cell = cell;
  }
  return run;
}

/// The gates along an axis in the order in which the library has them.
Tensor in_order(const Tensor& t, int axis, const std::vector<U>& order, U size) {
  std::vector<Tensor> parts;
  for (const U gate : order) parts.push_back(t.slice(axis, static_cast<I>(gate * size), size));
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

/// Whether the library has the layer: the usual activations (for RNN also relu) in every direction.
bool is_usual(const Layer& layer, const Tensor& x, const std::vector<std::string>& usual) {
  if (!layer.plain || layer.steps == 0) return false;
  for (std::size_t i = 0; i < layer.functions.size(); ++i) {
    const std::string& name = layer.functions[i].name;
    const bool relu = layer.gates == 1 && layer.functions.front().name == "Relu";
    if (name != (relu ? "Relu" : usual[i % usual.size()])) return false;
  }
  for (std::size_t input = 1; input < layer.c.inputs.size(); ++input) {
    if (input != 4 && layer.c.has(input) && layer.c.t(input).dtype() != x.dtype()) return false;
  }
  return is_float(x.dtype());
}

/// The layer as the library computes it.
Recurrent usual_layer(const Layer& layer, const Tensor& x, Direction direction) {
  Call& c = layer.c;
  const U size = layer.hidden;
  // ONNX has i, o, f, c and z, r, h; the peepholes are those of i, o, f.
  const std::vector<U> order = layer.gates == 4   ? std::vector<U>{0, 2, 3, 1}
                               : layer.gates == 3 ? std::vector<U>{1, 0, 2}
                                                  : std::vector<U>{0};
  const auto optional = [&](std::size_t input) { return c.has(input) ? c.t(input) : Tensor(); };
  const auto bias = [&](U half) {
    if (!c.has(3)) return Tensor();
    const U all = layer.gates * size;
    return in_order(c.t(3).slice(1, static_cast<I>(half * all), all), 1, order, size);
  };
  const Tensor w = in_order(c.t(1), 1, order, size);
  const Tensor r = in_order(c.t(2), 1, order, size);
  const Tensor lengths = layer.lengths ? layer.lengths.reshape({layer.batch}) : Tensor();
  if (layer.gates == 4) {
    return lstm(x, w, r,
                {.bias = bias(0),
                 .recurrent_bias = bias(1),
                 .state = optional(5),
                 .cell = optional(6),
                 .lengths = lengths,
                 .peepholes = c.has(7) ? in_order(c.t(7), 1, {0, 2, 1}, size) : Tensor(),
                 .direction = direction,
                 .clip = layer.clip,
                 .coupled = c.i("input_forget", 0) != 0});
  }
  if (layer.gates == 3) {
    return gru(x, w, r,
               {.bias = bias(0),
                .recurrent_bias = bias(1),
                .state = optional(5),
                .lengths = lengths,
                .direction = direction,
                .clip = layer.clip,
                .linear_before_reset = c.i("linear_before_reset", 0) != 0});
  }
  return rnn(x, w, r,
             {.bias = bias(0),
              .recurrent_bias = bias(1),
              .state = optional(5),
              .lengths = lengths,
              .direction = direction,
              .clip = layer.clip,
              .activation = layer.functions.front().name == "Relu" ? "relu" : "tanh"});
}

/// What the operator gives, from y [steps, directions, batch, hidden].
Values results_of(Tensor y, Tensor h, Tensor cell, bool batch_first) {
  if (batch_first) {
    y = y.permute({2, 0, 1, 3});
    h = h.permute({1, 0, 2});
    if (cell) cell = cell.permute({1, 0, 2});
  }
  Values out{y, h};
  if (cell) out.emplace_back(cell);
  return out;
}

Values recurrent(Call& c, U gates) {
  const bool batch_first = c.i("layout", 0) != 0;
  if (c.shape(0).size() != 3 || c.shape(1).size() != 3 || c.shape(2).size() != 3)
    c.wrong(formatted("{}, {} and {} are not those of a recurrent layer.", describe(c.in(0)),
                      describe(c.in(1)), describe(c.in(2))));
  const Tensor x = batch_first ? c.t(0).permute({1, 0, 2}) : c.t(0);
  if (batch_first) {
    for (const std::size_t state : {std::size_t{5}, std::size_t{6}}) {
      if (c.has(state)) c.inputs[state] = c.t(state).permute({1, 0, 2});
    }
  }
  for (std::size_t i = 3; i < c.inputs.size(); ++i) {
    if (c.has(i) && c.shape(i).empty()) c.wrong(formatted("Input {} is one number.", i));
  }
  if (x.size() == 0) c.refuse("A sequence without elements is not done.");
  const std::string direction = c.s("direction", "forward");
  const U directions = direction == "bidirectional" ? 2 : 1;
  if (c.shape(1).at(0) != directions)
    c.wrong(formatted("Weights {} are not those of a {} layer.", describe(c.in(1)), direction));
  Layer layer{.c = c,
              .gates = gates,
              .hidden = c.shape(2).at(2),
              .steps = x.shape().at(0),
              .batch = x.shape().at(1),
              .clip = c.f("clip", 0),
              .functions = {},
              .plain = c.fs("activation_alpha").empty() && c.fs("activation_beta").empty(),
              .lengths = {}};
  if (c.shape(1).at(1) != gates * layer.hidden)
    c.wrong(formatted("Weights {} do not have {} gates of {}.", describe(c.in(1)), gates,
                      layer.hidden));
  const std::vector<std::string> usual = gates == 4
                                             ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : gates == 3 ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                      : std::vector<std::string>{"Tanh"};
  std::vector<std::string> names;
  if (const Attribute* named = c.attribute("activations"); named != nullptr) names = named->strings;
  while (names.size() < usual.size() * directions)
    names.push_back(usual[names.size() % usual.size()]);
  layer.functions = with_parameters(names, c.fs("activation_alpha"), c.fs("activation_beta"));
  if (c.has(4)) layer.lengths = as(c.t(4), DType::i32).reshape({layer.batch, 1});
  if (is_usual(layer, x, usual)) {
    const Recurrent made = usual_layer(layer, x,
                                       directions == 2          ? Direction::both
                                       : direction == "reverse" ? Direction::reverse
                                                                : Direction::forward);
    return results_of(
        made.y.reshape({layer.steps, layer.batch, directions, layer.hidden}).permute({0, 2, 1, 3}),
        made.state, made.cell, batch_first);
  }
  std::vector<Run> runs;
  for (U d = 0; d < directions; ++d)
    runs.push_back(run_direction(layer, x, d, d == 1 || direction == "reverse"));
  std::vector<Tensor> steps;
  for (U t = 0; t < layer.steps; ++t) {
    std::vector<Tensor> parts;
    for (const Run& run : runs) parts.push_back(run.y[t]);
    steps.push_back(stack(parts, 0));
  }
  if (steps.empty()) c.refuse("A sequence without steps is not done.");
  std::vector<Tensor> last;
  std::vector<Tensor> cells;
  for (const Run& run : runs) {
    last.push_back(run.h);
    if (gates == 4) cells.push_back(run.cell);
  }
  return results_of(stack(steps, 0), stack(last, 0), gates == 4 ? stack(cells, 0) : Tensor(),
                    batch_first);
}

}  // namespace

void add_recurrent(Table& table) {
  table["RNN"] = +[](Call& c) { return recurrent(c, 1); };
  table["GRU"] = +[](Call& c) { return recurrent(c, 3); };
  table["LSTM"] = +[](Call& c) { return recurrent(c, 4); };
}

}  // namespace weft::onnx
