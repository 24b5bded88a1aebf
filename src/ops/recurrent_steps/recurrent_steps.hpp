#pragma once

#include <cstdint>
#include <string_view>

#include "ops/plan.hpp"

namespace weft::ops::recurrent_steps {

/// What a step makes of its sums and the state before it.
enum class Cell : std::uint8_t {
  lstm,  ///< Gates i, f, g, o: c = f·c + i·g, h = o·tanh(c).
  gru,   ///< Gates r, z, n, with n = tanh(sums + r·(h·recurrentᵀ + bias)): h = n + z·(h - n).
  tanh,  ///< h = tanh(sums + h·recurrentᵀ).
  relu,
};
std::string_view name(Cell cell);
/// How many gates a cell has.
std::uint64_t gates_of(Cell cell);

/// How a step gets the product of states with weights.
enum class Product : std::uint8_t {
  by_device,  ///< What suits the device.
  own,        ///< The launch of a step computes it.
  gemm,       ///< A launch of its own in front of each step.
};

/// All steps of a recurrent layer. Direction 0 reads the tokens from the first to the last (with
/// `reverse` from the last to the first), direction 1, if there is one, from the last to the first.
/// A sequence that ended keeps its state.
struct Args {
  Cell cell = Cell::lstm;
  View sums;       ///< [directions, tokens, batch, gates · hidden] of f32: what does not depend on
                   ///< states.
  View recurrent;  ///< [directions, gates · hidden, hidden], f32, f16 or bf16.
  View state{};    ///< Before the first token: [directions, batch, hidden] of the same type; not
                   ///< given: 0.
  View memory{};   ///< The cell of an lstm before the first token: [directions, batch, hidden] of
                   ///< f32, or not given.
  View bias{};     ///< Of a gru, of the product for the gate n: [directions, hidden] of f32, or not
                   ///< given.
  View lengths{};  ///< Tokens of each sequence, i32 [batch], or not given.
  View states;     ///< [directions, tokens, batch, hidden] of the type of `recurrent`, dense.
  View gates;    ///< [directions, tokens, batch, gates · hidden] of f32, dense; may be the view of
                 ///< `sums`.
  View saved{};  ///< [directions, tokens, batch, hidden] of f32, dense. lstm: the cells; gru: the
                 ///< product for the gate n.
  bool reverse = false;
  Product product = Product::by_device;
};

/// What goes back through all steps, from the last to the first. Where matrix units multiply by
/// weights of f16, derivatives are rounded to f16 for that, scaled by a power of two for each
/// sequence.
struct BackArgs {
  Cell cell = Cell::lstm;
  View recurrent;  ///< As above, and so on.
  View gates;
  View saved{};
  View states;
  View state{};
  View memory{};
  View lengths{};
  View dstates{};  ///< Like `states`, of f32 or the type of it; not given: 0.
  View dsaved{};   ///< Of an lstm: the derivative by the cells, like `saved`; not given: 0.
  View dsums;   ///< The derivative by the sums, dense f32 like `gates`. gru: [..., 4 · hidden], by
                ///< n, r, z and the product for n.
  View dstart;  ///< By `state` and for an lstm by `memory`: [1 or 2, directions, batch, hidden] of
                ///< f32.
  bool reverse = false;
  Product product = Product::by_device;
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);
Result<Plan> plan(const BackArgs& args, const Caps& caps);

}  // namespace weft::ops::recurrent_steps
