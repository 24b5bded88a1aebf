#include "ops/recurrent_steps/recurrent_steps.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/recurrent_steps/checks.hpp"
#include "ops/recurrent_steps/layer.hpp"

namespace weft::ops::recurrent_steps {
namespace {

constexpr std::string_view title = "The steps of a recurrent layer";

Status check(const Args& args, const Layer& layer) {
  const DType type = args.recurrent.dtype;
  const std::uint64_t wide = gates_of(args.cell) * layer.hidden;
  const bool saves = args.cell == Cell::lstm || args.cell == Cell::gru;
  const Wanted all[] = {
      {"sums", args.sums, DType::f32, {layer.directions, layer.tokens, layer.batch, wide}},
      {"recurrent", args.recurrent, type, {layer.directions, wide, layer.hidden}},
      {"state", args.state, type, {layer.directions, layer.batch, layer.hidden}, Need::optional},
      {"memory",
       args.memory,
       DType::f32,
       {layer.directions, layer.batch, layer.hidden},
       args.cell == Cell::lstm ? Need::optional : Need::none},
      {"bias",
       args.bias,
       DType::f32,
       {layer.directions, layer.hidden},
       args.cell == Cell::gru ? Need::optional : Need::none},
      {"lengths", args.lengths, DType::i32, {layer.batch}, Need::optional},
      {"states",
       args.states,
       type,
       {layer.directions, layer.tokens, layer.batch, layer.hidden},
       Need::output},
      {"gates",
       args.gates,
       DType::f32,
       {layer.directions, layer.tokens, layer.batch, wide},
       Need::output},
      {"saved",
       args.saved,
       DType::f32,
       {layer.directions, layer.tokens, layer.batch, layer.hidden},
       saves ? Need::output : Need::none},
  };
  return check_all(title, all);
}

/// The launches of one step.
class Steps {
 public:
  Steps(Stages& stages, const Args& args, const Layer& layer, const Caps& caps)
      : stages_(stages), args_(args), layer_(layer), caps_(caps) {
    own_ = computes_products(args.product, layer, args.recurrent, caps);
    if (!own_) {
      q_ = stages.scratch(DType::f32, {layer.directions, layer.batch, args.recurrent.shape[1]});
    }
  }

  void add(std::uint64_t step) {
    const View state = step > 0 ? layer_.at(args_.states, step - 1) : args_.state;
    Variant variant;
    variant.cell = name(args_.cell);
    variant.gates = narrow(gates_of(args_.cell));
    variant.units = variant.gates == 1 ? 4 : 2;
    variant.pairs = args_.recurrent.dtype != DType::f32;
    Builder launch(layer_, variant, caps_);
    if (state.given()) {
      launch.variant().has_state = true;
      launch.add("a_first", 0);
      launch.add("a_direction", state.stride[0]);
      launch.add("a_row", state.stride[1]);
      if (own_ && !launch.matrix_product(state, args_.recurrent))
        launch.product(state, args_.recurrent);
      launch.operand(operand_of("h", state, Access::read, launch.variant().vec));
      if (!own_) {
        stages_.add(gemm::plan({.a = state, .b = args_.recurrent.transpose(1, 2), .c = q_}, caps_));
        launch.variant().given = true;
        launch.operand({.name = "q", .view = q_});
      }
    }
    launch.tensor("sums", layer_.at(args_.sums, step));
    launch.tensor("gates", layer_.at(args_.gates, step), Access::write);
    launch.tensor("states", layer_.at(args_.states, step), Access::write);
    if (args_.saved.given()) launch.tensor("saved", layer_.at(args_.saved, step), Access::write);
    if (!args_.saved.given()) {
      launch.add("saved_direction", 0);
      launch.add("saved_row", 0);
    }
    const View memory =
        step > 0 && args_.cell == Cell::lstm ? layer_.at(args_.saved, step - 1) : args_.memory;
    launch.variant().has_memory = memory.given();
    if (memory.given()) launch.tensor("memory", memory);
    launch.variant().has_bias = args_.bias.given();
    if (args_.bias.given()) {
      launch.add("bias_direction", args_.bias.stride[0]);
      launch.add("bias_unit", args_.bias.stride[1]);
      launch.operand({.name = "bias", .view = args_.bias});
    }
    launch.lengths(args_.lengths, step);
    stages_.add(launch.finish("recurrent_steps/step.wgsl"));
  }

 private:
  Stages& stages_;
  const Args& args_;
  const Layer& layer_;
  const Caps& caps_;
  bool own_ = true;
  View q_{};
};

/// One direction of a layer.
Args part(const Args& args, std::uint64_t direction) {
  Args out = args;
  for (View* view : {&out.sums, &out.recurrent, &out.state, &out.memory, &out.bias, &out.states,
                     &out.gates, &out.saved}) {
    cut(*view, 0, direction, 1);
  }
  out.reverse = args.reverse || direction == 1;
  return out;
}

void emit(Stages& stages, const Args& args, const Caps& caps) {
  const Layer layer = layer_of(args.states, args.reverse);
  const View* large[] = {&args.sums, &args.gates, &args.states, &args.saved};
  if (one_by_one(layer, large, caps)) {
    emit(stages, part(args, 0), caps);
    emit(stages, part(args, 1), caps);
    return;
  }
  Steps steps(stages, args, layer, caps);
  for (std::uint64_t step = 0; step < layer.tokens; ++step) steps.add(step);
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  const Layer layer = layer_of(given.states, given.reverse);
  if (const Status ok = check(given, layer); !ok) return std::unexpected(ok.error());
  if (given.states.empty()) return Plan{};
  Stages stages({given.sums, given.recurrent, given.state, given.memory, given.bias, given.lengths,
                 given.states, given.gates, given.saved});
  Args args = given;
  for (View* view : {&args.sums, &args.recurrent, &args.state, &args.memory}) {
    if (view->given()) *view = settled(stages, *view, caps);
  }
  emit(stages, args, caps);
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), "planning the steps of a recurrent layer");
  return planned;
}

}  // namespace weft::ops::recurrent_steps
