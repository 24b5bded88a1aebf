#include "ops/recurrent_steps/recurrent_steps.hpp"

#include "describe/attributes/recurrent_steps.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "graph/kinds/recurrent_composed.hpp"

namespace weft::graph::kinds {
namespace {

using ops::recurrent_steps::Cell;

Cell cell_of(const Attributes& attributes) {
  return static_cast<Cell>(as<RecurrentStepsAttributes>(attributes).cell);
}

bool saves(Cell cell) { return cell == Cell::lstm || cell == Cell::gru; }

// recurrent_steps: sums [directions, tokens, batch, gates · hidden], recurrent [directions, gates ·
// hidden, hidden], state, memory, bias, lengths (all optional) → states, gates, and for lstm and
// gru what they save

Result<std::vector<Type>> infer_recurrent_steps(const Signature& s) {
  const Cell cell = cell_of(s.attributes);
  const Type& sums = s.inputs[0];
  const Type& recurrent = s.inputs[1];
  if (sums.rank() != 4 || recurrent.rank() != 3 || sums.dtype != DType::f32 ||
      !is_float(recurrent.dtype) ||
      recurrent.shape[1] != ops::recurrent_steps::gates_of(cell) * recurrent.shape[2] ||
      sums.shape[3] != recurrent.shape[1] || sums.shape[0] != recurrent.shape[0]) {
    return fail(ErrorCode::invalid_argument,
                "The steps of a recurrent layer ({}) need sums [directions, tokens, batch, gates · "
                "hidden] of f32 and weights [directions, gates · hidden, hidden]; they are {} and "
                "{}.",
                name(cell), describe(sums), describe(recurrent));
  }
  const Shape states{sums.shape[0], sums.shape[1], sums.shape[2], recurrent.shape[2]};
  std::vector<Type> out{{recurrent.dtype, states}, {DType::f32, sums.shape}};
  if (saves(cell)) out.push_back({DType::f32, states});
  return out;
}

Result<ops::Plan> lower_recurrent_steps(const LowerArgs& l) {
  ops::recurrent_steps::Args args;
  args.cell = cell_of(l.attributes);
  args.reverse = as<RecurrentStepsAttributes>(l.attributes).reverse;
  args.sums = l.inputs[0];
  args.recurrent = l.inputs[1];
  args.state = l.inputs[2];
  args.memory = l.inputs[3];
  args.bias = l.inputs[4];
  args.lengths = l.inputs[5];
  args.states = l.outputs[0];
  args.gates = l.outputs[1];
  if (saves(args.cell)) args.saved = l.outputs[2];
  return ops::recurrent_steps::plan(args, l.caps);
}

Tensor part_of(const Tensor& x, int axis, std::uint64_t first, std::uint64_t count) {
  return x.slice(axis, static_cast<std::int64_t>(first), count);
}

/// [1, …, rows, n] of one direction as [all rows, n].
Tensor as_matrix(const Tensor& x) {
  const std::uint64_t columns = x.shape().back();
  return x.reshape({x.size() / columns, columns});
}

/// The derivative by the weights: one product over all steps and sequences, of what goes back into
/// a step with the states before it.
Tensor weight_gradient(const GradientArgs& g, const Tensor& products) {
  const Tensor& states = g.outputs[0];
  const Tensor& recurrent = g.inputs[1];
  const std::uint64_t directions = states.shape()[0];
  const std::uint64_t tokens = states.shape()[1];
  const Tensor d = products.to(recurrent.dtype());
  std::vector<Tensor> parts;
  for (std::uint64_t i = 0; i < directions; ++i) {
    const bool back = i == 1 || as<RecurrentStepsAttributes>(g.attributes).reverse;
    const auto add = [&](Tensor& sum, const Tensor& left, const Tensor& right) {
      const Tensor more =
          weft::matmul(as_matrix(left).transpose(), as_matrix(right), {.dtype = recurrent.dtype()});
      sum = sum ? sum + more : more;
    };
    const Tensor mine = part_of(d, 0, i, 1);
    Tensor sum;
    if (tokens > 1) {
      add(sum, part_of(mine, 1, back ? 0 : 1, tokens - 1),
          part_of(part_of(states, 0, i, 1), 1, back ? 1 : 0, tokens - 1));
    }
    if (g.inputs[2]) {
      add(sum, part_of(mine, 1, back ? tokens - 1 : 0, 1), part_of(g.inputs[2], 0, i, 1));
    }
    if (!sum)
      sum = full_like(recurrent, {recurrent.shape()[1], recurrent.shape()[2]}, recurrent.dtype());
    parts.push_back(sum.reshape({1, recurrent.shape()[1], recurrent.shape()[2]}));
  }
  return parts.size() == 1 ? parts[0] : weft::concat(parts, 0);
}

std::vector<Tensor> gradient_recurrent_steps(const GradientArgs& g) {
  const Cell cell = cell_of(g.attributes);
  if (g.dy[1] || (cell == Cell::gru && g.dy[2])) {
    // Derivatives of what went back, which read the gates.
    return derivatives_through(g, [&](const std::vector<Tensor>& inputs) {
      return composed_steps(as<RecurrentStepsAttributes>(g.attributes), inputs);
    });
  }
  const bool lstm = cell == Cell::lstm;
  const auto node =
      make_node(recurrent_steps_back, g.attributes,
                {g.inputs[1], g.outputs[1], saves(cell) ? g.outputs[2] : Tensor(), g.outputs[0],
                 g.inputs[2], g.inputs[3], g.inputs[5], g.dy[0], lstm ? g.dy[2] : Tensor()},
                Where::current());
  const Tensor d = Access::tensor({node, 0});
  const Tensor start = Access::tensor({node, 1});
  const Shape& shape = d.shape();
  const std::uint64_t hidden = g.inputs[1].shape()[2];
  const bool gru = cell == Cell::gru;
  std::vector<Tensor> out(6);
  if (g.wanted[0]) {
    // Of a gru they come as n, r, z.
    out[0] =
        gru ? weft::concat({part_of(d, 3, hidden, 2 * hidden), part_of(d, 3, 0, hidden)}, 3) : d;
  }
  if (g.wanted[1]) {
    out[1] = weight_gradient(g, gru ? part_of(d, 3, hidden, 3 * hidden) : d);
  }
  const auto first = [&](std::uint64_t which, const Tensor& like) {
    return part_of(start, 0, which, 1).reshape(like.shape()).to(like.dtype());
  };
  if (g.wanted[2]) out[2] = first(0, g.inputs[2]);
  if (g.wanted[3]) out[3] = first(1, g.inputs[3]);
  if (g.wanted[4]) {
    out[4] = weft::sum(part_of(d, 3, 3 * hidden, hidden), {1, 2}).reshape({shape[0], hidden});
  }
  return out;
}

// recurrent_steps_back: recurrent, gates, saved, states, state, memory, lengths, dstates, dsaved →
// dsums, dstart

Result<std::vector<Type>> infer_recurrent_steps_back(const Signature& s) {
  const Cell cell = cell_of(s.attributes);
  const Shape& states = s.inputs[3].shape;
  Shape sums = states;
  sums[3] *= cell == Cell::gru ? 4 : ops::recurrent_steps::gates_of(cell);
  return std::vector<Type>{
      {DType::f32, sums},
      {DType::f32, {cell == Cell::lstm ? 2ULL : 1ULL, states[0], states[2], states[3]}}};
}

Result<ops::Plan> lower_recurrent_steps_back(const LowerArgs& l) {
  ops::recurrent_steps::BackArgs args;
  args.cell = cell_of(l.attributes);
  args.reverse = as<RecurrentStepsAttributes>(l.attributes).reverse;
  args.recurrent = l.inputs[0];
  args.gates = l.inputs[1];
  args.saved = l.inputs[2];
  args.states = l.inputs[3];
  args.state = l.inputs[4];
  args.memory = l.inputs[5];
  args.lengths = l.inputs[6];
  args.dstates = l.inputs[7];
  args.dsaved = l.inputs[8];
  args.dsums = l.outputs[0];
  args.dstart = l.outputs[1];
  return ops::recurrent_steps::plan(args, l.caps);
}

std::vector<Tensor> gradient_recurrent_steps_back(const GradientArgs& g) {
  return derivatives_through(g, [&](const std::vector<Tensor>& inputs) {
    return composed_steps_back(as<RecurrentStepsAttributes>(g.attributes), inputs);
  });
}

constexpr InPlace gates_over_sums[] = {{1, 0}};

}  // namespace

const Rule recurrent_steps{.name = "recurrent_steps",
                           .infer = infer_recurrent_steps,
                           .lower = lower_recurrent_steps,
                           .gradient = gradient_recurrent_steps,
                           .in_place = gates_over_sums};
const Rule recurrent_steps_back{.name = "recurrent_steps_back",
                                .infer = infer_recurrent_steps_back,
                                .lower = lower_recurrent_steps_back,
                                .gradient = gradient_recurrent_steps_back};

}  // namespace weft::graph::kinds
