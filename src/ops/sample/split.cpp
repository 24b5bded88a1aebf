#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/sample/rows.hpp"
#include "ops/tables.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sample {
namespace {

constexpr std::uint64_t step_words = 3 + 3 * 256;  // as in split.wgsl
constexpr std::uint64_t digits = 4;                // of a key, 8 bits each

/// The launches of split.wgsl for some rows, one after the other.
class Split {
 public:
  Split(Plan& plan, const Args& args, const Rows& rows, const Caps& caps)
      : plan_(plan), args_(args), rows_(rows), caps_(caps), variant_(variant_of(args)) {
    const std::uint64_t vocabulary = args.logits.shape[1];
    const std::uint64_t width = workgroup_width(caps);
    variant_.workgroup = narrow(width);
    params_ = params_of(args, rows);
    params_.each = narrow(round_up(ceil_div(vocabulary, rows.parts), width));
    params_.parts = narrow(ceil_div<std::uint64_t>(vocabulary, params_.each));
    const std::uint64_t steps = (variant_.top_k ? digits : 0) + (variant_.top_p ? digits + 1 : 0);
    params_.state = narrow(3ULL * params_.parts + steps * step_words);
    state_ = View::dense(DType::u32, {rows.y.shape[0] * params_.state});
    state_.slot = plan.add_scratch(round_up<std::uint64_t>(state_.bytes().size(), 16));
    elements_ = {.name = "logits", .view = rows.logits};
  }

  Status add() {
    const std::uint64_t all = rows_.y.shape[0] * params_.parts;
    if (variant_.penalty) change_rows();
    if (variant_.top_k || variant_.top_p) {
      put(Phase::clear, {}, ceil_div<std::uint64_t>(state_.count(), variant_.workgroup));
    }
    if (variant_.top_p || variant_.min_p) put(Phase::max, {elements_}, all);
    if (variant_.top_k) count(Phase::count, all);
    if (variant_.top_p) {
      step(Phase::mass, 0, all);
      count(Phase::share, all);
    }
    put(Phase::draw, {elements_}, all);
    put(Phase::finish, {{.name = "y", .view = rows_.y, .access = Access::write}}, rows_.y.shape[0]);
    return ok_;
  }

 private:
  void change_rows() {
    const View changed = changed_rows(plan_, rows_);
    const Operand w{.name = "w", .view = changed, .access = Access::write};
    put(Phase::copy, {elements_, w}, rows_.y.shape[0] * params_.parts, false);
    put(Phase::penalty, {elements_, w, {.name = "previous", .view = rows_.previous}},
        rows_.y.shape[0], false);
    elements_ = {.name = "w", .view = changed};
  }

  /// The digits of a key, from the highest down.
  void count(Phase phase, std::uint64_t groups) {
    for (std::uint32_t digit = digits; digit > 0; --digit) step(phase, 8 * (digit - 1), groups);
  }

  void step(Phase phase, std::uint32_t shift, std::uint64_t groups) {
    params_.shift = shift;
    put(phase, {elements_}, groups);
    params_.prior_shift = shift;
    variant_.prior = phase;
    ++params_.step;
  }

  void put(Phase phase, std::vector<Operand> operands, std::uint64_t groups, bool state = true) {
    if (!ok_) return;
    variant_.phase = phase;
    Variant variant = variant_;
    const bool first = phase == Phase::clear || phase == Phase::max || phase == Phase::finish;
    if (first || !state) variant.prior = Phase::none;
    Launch launch;
    launch.source = "sample/split.wgsl";
    launch.label = formatted("sample {} {}", name(phase), name(rows_.logits.dtype));
    launch.operands = std::move(operands);
    if (state) {
      launch.operands.push_back({.name = "s", .view = state_, .access = Access::atomic});
    }
    if (phase == Phase::draw && !variant.greedy) add_draw(launch, args_);
    launch.constants = constants_of(variant);
    launch.params = block_of(params_);
    launch.grid = grid_1d(groups, caps_);
    ok_ = plan_.add(make_dispatch(std::move(launch), caps_));
  }

  Plan& plan_;
  const Args& args_;
  const Rows& rows_;
  const Caps& caps_;
  Variant variant_;
  Params params_;
  View state_;
  Operand elements_;
  Status ok_;
};

}  // namespace

Variant variant_of(const Args& args) {
  Variant variant;
  variant.greedy = args.temperature == 0;
  variant.penalty = args.previous.given() && !args.previous.empty() && args.penalty != 1;
  variant.top_k = !variant.greedy && args.top_k > 0 && args.top_k < args.logits.shape[1];
  variant.top_p = !variant.greedy && args.top_p < 1;
  variant.min_p = !variant.greedy && args.min_p > 0;
  return variant;
}

Params params_of(const Args& args, const Rows& rows) {
  const std::uint64_t vocabulary = args.logits.shape[1];
  const std::uint64_t first = rows.first * vocabulary;
  Params params;
  params.rows = narrow(rows.y.shape[0]);
  params.vocabulary = narrow(vocabulary);
  params.logits_row = narrow(rows.logits.stride[0]);
  params.logits_step = narrow(rows.logits.stride[1]);
  params.y_step = narrow(rows.y.stride[0]);
  params.top_k = narrow(std::min(args.top_k, vocabulary));
  params.penalty = args.penalty;
  params.temperature = args.temperature;
  params.top_p = args.top_p;
  params.min_p = args.min_p > 0 ? std::log(args.min_p) : 0;
  params.first_low = static_cast<std::uint32_t>(first);
  params.first_high = static_cast<std::uint32_t>(first >> 32U);
  if (rows.previous.given()) {
    params.previous = narrow(rows.previous.shape[1]);
    params.previous_row = narrow(rows.previous.stride[0]);
    params.previous_step = narrow(rows.previous.stride[1]);
  }
  return params;
}

View changed_rows(Plan& plan, const Rows& rows) {
  View copy = View::dense(DType::f32, {rows.logits.shape[0], rows.logits.shape[1]});
  copy.slot = plan.add_scratch(round_up<std::uint64_t>(copy.bytes().size(), 16));
  return copy;
}

void add_draw(Launch& launch, const Args& args) {
  launch.operands.push_back({.name = "key", .view = args.key});
  launch.operands.push_back(
      {.name = "table",
       .view =
           View::dense(DType::u32, {table_words(gumbel_table_slot).size()}, gumbel_table_slot)});
}

std::uint64_t parts_of(const Args& args, std::uint64_t rows, const Caps& caps) {
  const std::uint64_t width = workgroup_width(caps);
  const std::uint64_t vocabulary = args.logits.shape[1];
  // "finish" has an invocation for each part; sums of 16 bits are of less than 65536 parts.
  const std::uint64_t most = std::min<std::uint64_t>(width, ceil_div(vocabulary, width));
  if (args.parts > 0) return std::min(args.parts, most);
  // Launches for each step pay where a row is long and most processors would wait otherwise.
  const bool waits = rows * 4 <= caps.traits.processors;
  if (!waits || vocabulary < 32768 || caps.traits.slow_barriers || caps.traits.slow_compile) {
    return 1;
  }
  const std::uint64_t each = ceil_div<std::uint64_t>(caps.traits.groups(1), rows);
  return std::min({each, most, ceil_div<std::uint64_t>(vocabulary, 2 * width)});
}

Status launch_split(Plan& plan, const Args& args, const Rows& rows, const Caps& caps) {
  return Split(plan, args, rows, caps).add();
}

}  // namespace weft::ops::sample
