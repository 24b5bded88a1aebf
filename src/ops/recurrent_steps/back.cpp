#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/map/map.hpp"
#include "ops/recurrent_steps/checks.hpp"
#include "ops/recurrent_steps/layer.hpp"

namespace weft::ops::recurrent_steps {
namespace {

constexpr std::string_view title = "The derivatives of a recurrent layer";

/// Tensors of a step at most, where matrix units make its product.
constexpr std::uint32_t most_bindings = 9;

/// Derivatives that a step leaves for each unit.
std::uint64_t outputs_of(Cell cell) { return cell == Cell::gru ? 4 : gates_of(cell); }

Status check(const BackArgs& args, const Layer& layer) {
  const DType type = args.recurrent.dtype;
  const auto [d, t, b, h] = std::array{layer.directions, layer.tokens, layer.batch, layer.hidden};
  const bool lstm = args.cell == Cell::lstm;
  const bool saves = lstm || args.cell == Cell::gru;
  const Need of_lstm = lstm ? Need::optional : Need::none;
  const Wanted all[] = {
      {"recurrent", args.recurrent, type, {d, gates_of(args.cell) * h, h}},
      {"gates", args.gates, DType::f32, {d, t, b, gates_of(args.cell) * h}},
      {"saved", args.saved, DType::f32, {d, t, b, h}, saves ? Need::always : Need::none},
      {"states", args.states, type, {d, t, b, h}},
      {"state", args.state, type, {d, b, h}, Need::optional},
      {"memory", args.memory, DType::f32, {d, b, h}, of_lstm},
      {"lengths", args.lengths, DType::i32, {b}, Need::optional},
      {"dstates", args.dstates, args.dstates.dtype, {d, t, b, h}, Need::optional},
      {"dsaved", args.dsaved, DType::f32, {d, t, b, h}, of_lstm},
      {"dsums", args.dsums, DType::f32, {d, t, b, outputs_of(args.cell) * h}, Need::output},
      {"dstart", args.dstart, DType::f32, {lstm ? 2ULL : 1ULL, d, b, h}, Need::output},
  };
  return check_all(title, all);
}

/// The launches of one step, and of what is left at the start.
class Steps {
 public:
  Steps(Stages& stages, const BackArgs& args, const Layer& layer, const Caps& caps)
      : stages_(stages), args_(args), layer_(layer), caps_(caps) {
    if (computes_products(args.product, layer, args.recurrent, caps)) {
      // A product reads columns: their copy lies in rows.
      const View columns = args.recurrent.transpose(1, 2);
      w_ = stages.scratch(columns.dtype, columns.extents());
      stages.add(map::plan({.function = "copy", .inputs = {columns}, .y = w_}, caps));
      if (w_.dtype == DType::f16 && caps.max_bindings >= most_bindings &&
          step_tile(layer, 1, w_.shape[2], caps)) {
        peaks_ = stages.scratch(DType::u32, {layer.tokens, layer.directions, layer.batch});
        View zeros = peaks_;
        zeros.dtype = DType::f32;
        stages.add(map::plan({.function = "fill", .y = zeros, .scalars = {0.0}}, caps));
      }
    } else {
      q_ = stages.scratch(DType::f32, {layer.directions, layer.batch, layer.hidden});
    }
  }

  void add(std::uint64_t step) {
    Builder launch = begin(step + 1, layer_.at(args_.dsums, step));
    Variant& variant = launch.variant();
    launch.tensor("gates", layer_.at(args_.gates, step));
    const bool gru = args_.cell == Cell::gru;
    if (gru) launch.tensor("saved", layer_.at(args_.saved, step));
    const View& whole = gru ? args_.states : args_.saved;
    const View& start = gru ? args_.state : args_.memory;
    const View before = step > 0 && whole.given() ? layer_.at(whole, step - 1) : start;
    variant.has_before = before.given() && (gru || args_.cell == Cell::lstm);
    if (variant.has_before) launch.tensor("before", before);
    variant.has_dstates = args_.dstates.given();
    if (variant.has_dstates) launch.tensor("dstates", layer_.at(args_.dstates, step));
    variant.has_dsaved = args_.dsaved.given();
    if (variant.has_dsaved) launch.tensor("dsaved", layer_.at(args_.dsaved, step));
    launch.lengths(args_.lengths, step);
    stages_.add(launch.finish("recurrent_steps/back.wgsl"));
  }

  /// The derivative by the state before the first token.
  void finish() {
    Builder launch = begin(0, {});
    launch.variant().last = true;
    stages_.add(launch.finish("recurrent_steps/back.wgsl"));
  }

 private:
  /// What the step after this one says, and the places of what this one leaves.
  Builder begin(std::uint64_t next, const View& to) {
    Variant variant;
    variant.cell = name(args_.cell);
    variant.outputs = narrow(outputs_of(args_.cell));
    variant.units = 4;
    variant.carries_state = args_.cell == Cell::gru || args_.lengths.given();
    variant.has_carry = next < layer_.tokens;
    Builder launch(layer_, variant, caps_);
    if (peaks_.given()) launch.peaks(peaks_, next);
    View sums = to;
    if (next < layer_.tokens) {
      const View last = layer_.at(args_.dsums, next);
      const View all = to.given() ? joined(last, to) : last;
      // Of a gru the derivative by the product for the gate n comes last, the one by the gate
      // itself first.
      const std::uint64_t wide = gates_of(args_.cell) * layer_.hidden;
      const View a = last.slice(2, last.shape[2] - wide, wide);
      launch.add("a_first", (a.offset - all.offset) / 4);
      launch.add("a_direction", a.stride[0]);
      launch.add("a_row", a.stride[1]);
      if (w_.given()) {
        if (!launch.matrix_product(a, w_)) launch.product(a, w_);
      } else {
        stages_.add(gemm::plan({.a = a,
                                .b = args_.recurrent,
                                .c = q_,
                                .allow_f16 = args_.recurrent.dtype != DType::f32},
                               caps_));
        launch.variant().given = true;
        launch.operand({.name = "q", .view = q_});
      }
      sums = all;
    }
    const std::uint32_t unit = launch.variant().vec >= 4 && sums.offset % 16 == 0 ? 4 : 1;
    if (to.given()) {
      launch.add("d_first", (to.offset - sums.offset) / 4);
      launch.add("d_direction", to.stride[0]);
      launch.add("d_row", to.stride[1]);
    }
    if (to.given() || w_.given()) {
      launch.operand({.name = "d",
                      .view = sums,
                      .access = to.given() ? Access::write : Access::read,
                      .unit = unit});
    }
    launch.add("carry_cell", args_.dstart.stride[0]);
    launch.add("carry_direction", args_.dstart.stride[1]);
    launch.add("carry_row", args_.dstart.stride[2]);
    launch.operand({.name = "carry", .view = args_.dstart, .access = Access::write});
    return launch;
  }

  /// From the first element of two tensors to the last.
  static View joined(const View& a, const View& b) {
    const std::uint64_t begin = std::min(a.offset, b.offset);
    const std::uint64_t end = std::max(a.bytes().end, b.bytes().end);
    View all = View::dense(DType::f32, {(end - begin) / 4}, a.slot);
    all.offset = begin;
    return all;
  }

  Stages& stages_;
  const BackArgs& args_;
  const Layer& layer_;
  const Caps& caps_;
  View w_{};
  View q_{};
  View peaks_{};
};

/// One direction of a layer.
BackArgs part(const BackArgs& args, std::uint64_t direction) {
  BackArgs out = args;
  for (View* view : {&out.recurrent, &out.gates, &out.saved, &out.states, &out.state, &out.memory,
                     &out.dstates, &out.dsaved, &out.dsums}) {
    cut(*view, 0, direction, 1);
  }
  cut(out.dstart, 1, direction, 1);
  out.reverse = args.reverse || direction == 1;
  return out;
}

void emit(Stages& stages, const BackArgs& args, const Caps& caps) {
  const Layer layer = layer_of(args.states, args.reverse);
  const View* large[] = {&args.gates,   &args.states, &args.saved,
                         &args.dstates, &args.dsaved, &args.dsums};
  if (one_by_one(layer, large, caps)) {
    emit(stages, part(args, 0), caps);
    emit(stages, part(args, 1), caps);
    return;
  }
  Steps steps(stages, args, layer, caps);
  for (std::uint64_t step = layer.tokens; step-- > 0;) steps.add(step);
  steps.finish();
}

}  // namespace

Result<Plan> plan(const BackArgs& given, const Caps& caps) {
  const Layer layer = layer_of(given.states, given.reverse);
  if (const Status ok = check(given, layer); !ok) return std::unexpected(ok.error());
  if (given.states.empty()) {
    if (given.dstart.empty()) return Plan{};
    return map::plan({.function = "fill", .inputs = {}, .y = given.dstart}, caps);
  }
  Stages stages({given.recurrent, given.gates, given.saved, given.states, given.state, given.memory,
                 given.lengths, given.dstates, given.dsaved, given.dsums, given.dstart});
  BackArgs args = given;
  for (View* view : {&args.gates, &args.saved, &args.states, &args.state, &args.memory,
                     &args.dstates, &args.dsaved}) {
    if (view->given()) *view = settled(stages, *view, caps);
  }
  emit(stages, args, caps);
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), "planning the derivatives of a recurrent layer");
  return planned;
}

}  // namespace weft::ops::recurrent_steps
