#include "graph/kinds/recurrent_composed.hpp"

#include <cstdint>

#include "describe/attributes/recurrent_steps.hpp"
#include "graph/autodiff.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"
#include "weft/shape.hpp"

namespace weft::graph::kinds {
namespace {

using ops::recurrent_steps::Cell;

Tensor wide(const Tensor& x) { return x.to(DType::f32); }

/// One direction of a layer: how its tokens follow each other, and parts of tensors [directions,
/// tokens, batch, …].
struct Walk {
  Cell cell;
  bool back;  // from the last token to the first
  std::uint64_t direction, tokens, batch, hidden;
  Tensor lengths;

  /// The token of a step.
  [[nodiscard]] std::uint64_t token(std::uint64_t step) const {
    return back ? tokens - 1 - step : step;
  }
  /// [batch, columns] of one token, in f32.
  [[nodiscard]] Tensor at(const Tensor& all, std::uint64_t token) const {
    return wide(of_direction(all.slice(1, static_cast<std::int64_t>(token), 1)));
  }
  /// [directions, batch, columns] or [directions, 1, batch, columns] of this direction as [batch,
  /// columns].
  [[nodiscard]] Tensor of_direction(const Tensor& all) const {
    return all.slice(0, static_cast<std::int64_t>(direction), 1)
        .reshape({batch, all.shape().back()});
  }
  /// What was before the first step, in f32; zeros where nothing is given.
  [[nodiscard]] Tensor start(const Tensor& given, const Tensor& like) const {
    return given ? wide(of_direction(given)) : full_like(like, {batch, hidden}, DType::f32);
  }
  /// Where sequences have a token: [batch, 1], or nothing where all have.
  [[nodiscard]] Tensor counts(std::uint64_t token) const {
    if (!lengths) return {};
    return greater(lengths.reshape({batch, 1}),
                   full_like(lengths, {1, 1}, DType::i32, static_cast<double>(token)));
  }
  /// A part of [batch, parts · hidden].
  [[nodiscard]] Tensor part(const Tensor& all, std::uint64_t first, std::uint64_t count = 1) const {
    return all.slice(1, static_cast<std::int64_t>(first * hidden), count * hidden);
  }
};

Tensor chosen(const Tensor& counts, const Tensor& yes, const Tensor& no) {
  return counts ? where(counts, yes, no) : yes;
}

Tensor zero(const Tensor& like) { return full_like(like, {}, DType::f32); }

std::vector<Walk> walks(const RecurrentStepsAttributes& attributes, const Shape& states,
                        const Tensor& lengths) {
  std::vector<Walk> out;
  for (std::uint64_t d = 0; d < states[0]; ++d) {
    out.push_back({static_cast<Cell>(attributes.cell), attributes.reverse || d == 1, d, states[1],
                   states[2], states[3], lengths});
  }
  return out;
}

/// The weights of a direction: [gates · hidden, hidden].
Tensor weights_of(const Walk& walk, const Tensor& recurrent) {
  const Shape& shape = recurrent.shape();
  return recurrent.slice(0, static_cast<std::int64_t>(walk.direction), 1)
      .reshape({shape[1], shape[2]});
}

/// Tensors [batch, columns] by token, for each direction, as [directions, tokens, batch, columns].
Tensor joined(const std::vector<std::vector<Tensor>>& parts) {
  std::vector<Tensor> directions;
  for (const std::vector<Tensor>& tokens : parts) directions.push_back(stack(tokens, 0));
  return stack(directions, 0);
}

/// What a step leaves.
struct Step {
  Tensor state, gates, saved;
};

Step step_of(const Walk& walk, const Tensor& sums, const Tensor& product, const Tensor& state,
             const Tensor& memory) {
  if (walk.cell == Cell::lstm) {
    const Tensor all = sums + product;
    const Tensor i = sigmoid(walk.part(all, 0));
    const Tensor f = sigmoid(walk.part(all, 1));
    const Tensor g = tanh(walk.part(all, 2));
    const Tensor o = sigmoid(walk.part(all, 3));
    const Tensor cell = f * memory + i * g;
    return {o * tanh(cell), weft::concat({i, f, g, o}, 1), cell};
  }
  if (walk.cell == Cell::gru) {
    const Tensor rz = sigmoid(walk.part(sums, 0, 2) + walk.part(product, 0, 2));
    const Tensor saved = walk.part(product, 2);
    const Tensor n = tanh(walk.part(sums, 2) + walk.part(rz, 0) * saved);
    return {n + walk.part(rz, 1) * (state - n), weft::concat({rz, n}, 1), saved};
  }
  const Tensor sum = sums + product;
  const Tensor made = walk.cell == Cell::relu ? relu(sum) : tanh(sum);
  return {made, made, {}};
}

/// What goes back from a step: to its sums and to what was before it.
struct BackStep {
  Tensor sums, state, memory;
};

BackStep back_step_of(const Walk& walk, const Tensor& gates, const Tensor& saved,
                      const Tensor& before, const Tensor& dh, const Tensor& dc) {
  const auto gate = [&](std::uint64_t k) { return walk.part(gates, k); };
  if (walk.cell == Cell::lstm) {
    const Tensor i = gate(0);
    const Tensor f = gate(1);
    const Tensor g = gate(2);
    const Tensor o = gate(3);
    const Tensor t = tanh(f * before + i * g);
    const Tensor d = dc + dh * o * (1.0 - t * t);
    return {weft::concat({d * g * i * (1.0 - i), d * before * f * (1.0 - f), d * i * (1.0 - g * g),
                          dh * t * o * (1.0 - o)},
                         1),
            {},
            d * f};
  }
  if (walk.cell == Cell::gru) {
    const Tensor r = gate(0);
    const Tensor z = gate(1);
    const Tensor n = gate(2);
    const Tensor dn = dh * (1.0 - z) * (1.0 - n * n);
    return {weft::concat(
                {dn, dn * saved * r * (1.0 - r), dh * (before - n) * z * (1.0 - z), dn * r}, 1),
            dh * z,
            {}};
  }
  if (walk.cell == Cell::tanh) return {dh * (1.0 - gates * gates), {}, {}};
  return {where(greater(gates, zero(gates)), dh, zero(gates)), {}, {}};
}

Tensor sum_of(const Tensor& a, const Tensor& b) { return a && b ? a + b : (a ? a : b); }

}  // namespace

std::vector<Tensor> composed_steps(const RecurrentStepsAttributes& attributes,
                                   const std::vector<Tensor>& inputs) {
  const Tensor& sums = inputs[0];
  const Tensor& recurrent = inputs[1];
  const Tensor& bias = inputs[4];
  const Shape& all = sums.shape();
  const bool lstm = static_cast<Cell>(attributes.cell) == Cell::lstm;
  const bool saves = lstm || static_cast<Cell>(attributes.cell) == Cell::gru;
  std::vector<std::vector<Tensor>> states, gates, saved;
  for (const Walk& walk :
       walks(attributes, {all[0], all[1], all[2], recurrent.shape()[2]}, inputs[5])) {
    const Tensor across = weights_of(walk, recurrent).transpose();
    for (auto* parts : {&states, &gates, &saved}) parts->emplace_back(walk.tokens);
    Tensor state = walk.start(inputs[2], sums);
    Tensor memory = lstm ? walk.start(inputs[3], sums) : Tensor();
    for (std::uint64_t i = 0; i < walk.tokens; ++i) {
      const std::uint64_t token = walk.token(i);
      Tensor product = weft::matmul(state.to(recurrent.dtype()), across, {.dtype = DType::f32});
      if (bias) {
        const Tensor of_n = bias.slice(0, static_cast<std::int64_t>(walk.direction), 1)
                                .broadcast_to({walk.batch, walk.hidden});
        product = weft::concat({walk.part(product, 0, 2), walk.part(product, 2) + of_n}, 1);
      }
      const Step made = step_of(walk, walk.at(sums, token), product, state, memory);
      const Tensor counts = walk.counts(token);
      state = wide(chosen(counts, made.state, state).to(recurrent.dtype()));
      if (lstm) memory = chosen(counts, made.saved, memory);
      states.back()[token] = state;
      gates.back()[token] = chosen(counts, made.gates, zero(sums));
      if (saves) {
        saved.back()[token] = lstm ? memory : chosen(counts, made.saved, zero(sums));
      }
    }
  }
  std::vector<Tensor> out{joined(states).to(recurrent.dtype()), joined(gates)};
  if (saves) out.push_back(joined(saved));
  return out;
}

std::vector<Tensor> composed_steps_back(const RecurrentStepsAttributes& attributes,
                                        const std::vector<Tensor>& inputs) {
  const Tensor& recurrent = inputs[0];
  const Tensor& gates = inputs[1];
  const Tensor& states = inputs[3];
  const auto cell = static_cast<Cell>(attributes.cell);
  const bool lstm = cell == Cell::lstm;
  const Tensor earlier = lstm ? inputs[2] : states;   // what a step multiplies gates with
  const Tensor first = lstm ? inputs[5] : inputs[4];  // and what is in front of the first
  std::vector<std::vector<Tensor>> sums;
  std::vector<Tensor> state_starts, memory_starts;
  for (const Walk& walk : walks(attributes, states.shape(), inputs[6])) {
    const Tensor weights = wide(weights_of(walk, recurrent));
    sums.emplace_back(walk.tokens);
    Tensor dh, dc;  // what later steps say
    for (std::uint64_t i = walk.tokens; i-- > 0;) {
      const std::uint64_t token = walk.token(i);
      const auto given = [&](const Tensor& all) { return all ? walk.at(all, token) : Tensor(); };
      const Tensor nothing = full_like(gates, {walk.batch, walk.hidden}, DType::f32);
      dh = sum_of(dh, given(inputs[7]));
      dc = sum_of(dc, lstm ? given(inputs[8]) : Tensor());
      if (!dh) dh = nothing;
      if (!dc) dc = nothing;
      const Tensor before = i == 0 ? walk.start(first, gates) : walk.at(earlier, walk.token(i - 1));
      const BackStep made =
          back_step_of(walk, walk.at(gates, token),
                       cell == Cell::gru ? walk.at(inputs[2], token) : Tensor(), before, dh, dc);
      const Tensor counts = walk.counts(token);
      const Tensor d = chosen(counts, made.sums, zero(gates));
      sums.back()[token] = d;
      const Tensor through = weft::matmul(cell == Cell::gru ? walk.part(d, 1, 3) : d, weights);
      const Tensor past = made.state ? made.state : zero(gates);
      dh = through + (made.state || counts ? chosen(counts, past, dh) : zero(gates));
      if (lstm) dc = chosen(counts, made.memory, dc);
    }
    state_starts.push_back(dh);
    memory_starts.push_back(dc);
  }
  std::vector<Tensor> starts{stack(state_starts, 0)};
  if (lstm) starts.push_back(stack(memory_starts, 0));
  return {joined(sums), stack(starts, 0)};
}

}  // namespace weft::graph::kinds
