#include "ops/recurrence/recurrence.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/recurrence/check.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::recurrence {
namespace {

/// Keys that one invocation holds, as far as the lanes of a row suffice.
constexpr std::uint64_t keys_per_lane = 8;
constexpr std::uint64_t most_lanes = 16;

/// Where workgroups read ahead: from how many tokens on, how many lanes a row has at most, and what
/// the tokens on their way may take, in vectors of an invocation and in bytes of a workgroup.
/// More lanes would take more shuffles, and fewer rows would read the same keys more often.
constexpr std::uint64_t least_staged = 16;
constexpr std::uint32_t staged_lanes = 8;
constexpr std::uint64_t most_fetched = 12;
constexpr std::uint64_t most_staged_bytes = 20 << 10;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

struct Variant {
  std::string_view kind;
  std::uint32_t keys = 0;
  std::uint32_t lanes = 1;
  bool shuffle = false;
  std::uint32_t vec = 1;
  bool state_vec = false;
  bool scalar_decay = false;
  bool has_step = false;
  bool has_ids = false;
  bool snapshots = false;
  std::uint32_t staged = 0;  // tokens that a workgroup reads at a time
  std::uint32_t workgroup = narrow_workgroup;
};

/// The dimensions of decay as [sequences, tokens, heads, keys]: what does not move has stride 0.
View full_decay(const Args& args) {
  View decay = args.decay;
  if (args.kind == Kind::selective_scan) decay = decay.unsqueeze(0).unsqueeze(0);
  if (args.kind == Kind::selective_scan) decay.stride[0] = decay.stride[1] = 0;
  return decay;
}

bool in_fours(const View& view, std::uint32_t inner) {
  if (view.stride[inner] != 1 || view.offset % 16 != 0) return false;
  for (std::uint32_t i = 0; i < inner; ++i) {
    if (view.shape[i] > 1 && view.stride[i] % 4 != 0) return false;
  }
  return true;
}

/// A launch over some sequences and tokens of a recurrence.
class Launcher {
 public:
  Launcher(const Args& args, const Caps& caps) : args_(args), caps_(caps) {}

  /// `tokens_after`: tokens that later launches take.
  Result<Dispatch> launch(std::uint64_t tokens_after) {
    const View& v = args_.v;
    const View decay = full_decay(args_);
    variant_.kind = name(args_.kind);
    variant_.keys = narrow(args_.state.shape[3]);
    variant_.scalar_decay = decay.shape[3] == 1;
    variant_.has_step = args_.step.given();
    variant_.has_ids = args_.ids.given();
    variant_.snapshots = args_.new_state.shape[0] > 1;
    choose_tile(decay);

    const std::uint64_t rows = v.shape[0] * v.shape[2] * v.shape[3];
    add("rows", rows);
    add("values", v.shape[3]);
    add("heads", v.shape[2]);
    add("tokens", v.shape[1]);
    add("tokens_after", tokens_after);
    add("snapshots", args_.new_state.shape[0]);
    launch_.params.add("scale", args_.scale);
    for (const auto& [operand, view] : {std::pair{"q", args_.q}, {"k", args_.k}}) {
      const std::uint64_t heads = view.shape[2];
      add(formatted("{}_share", operand), v.shape[0] / view.shape[0]);
      add(formatted("{}_div", operand), args_.interleaved ? v.shape[2] / heads : 1);
      add(formatted("{}_heads", operand), heads);
      keyed(operand, view);
    }
    if (!variant_.scalar_decay) keyed("decay", decay);
    if (variant_.scalar_decay) plain("decay", decay);
    if (args_.kind == Kind::rwkv7) {
      keyed("a", args_.a);
      keyed("b", args_.b);
    }
    if (args_.kind == Kind::rwkv6) {
      add("bonus_h", args_.bonus.stride[0]);
      operand("bonus", args_.bonus, variant_.vec);
    }
    if (args_.step.given()) plain("step", args_.step);
    plain("v", v);
    add("v_i", v.stride[3]);
    add("y_s", args_.y.stride[0]);
    add("y_t", args_.y.stride[1]);
    add("y_h", args_.y.stride[2]);
    add("y_i", args_.y.stride[3]);
    const View& state = args_.state;
    add("state_sequences", state.shape[0]);
    add("state_s", state.stride[0]);
    add("state_h", state.stride[1]);
    add("state_v", state.stride[2]);
    add("state_i", state.stride[3]);
    const View& next = args_.new_state;
    add("new_k", next.stride[0]);
    add("new_s", next.stride[1]);
    add("new_h", next.stride[2]);
    add("new_v", next.stride[3]);
    add("new_i", next.stride[4]);
    const std::uint32_t unit = variant_.state_vec ? 4 : 1;
    operand("state", state, unit);
    if (args_.ids.given()) operand("ids", args_.ids, 1);
    launch_.operands.push_back({.name = "y", .view = args_.y, .access = Access::write});
    launch_.operands.push_back(
        {.name = "new_state", .view = next, .access = Access::write, .unit = unit});
    if (launch_.operands.size() > caps_.max_bindings) share_a_binding();

    launch_.source = "recurrence/recurrence.wgsl";
    launch_.constants = constants_of(variant_);
    launch_.features.subgroups = variant_.shuffle;
    launch_.grid =
        grid_1d(ceil_div<std::uint64_t>(rows, variant_.workgroup / variant_.lanes), caps_);
    launch_.label = formatted("recurrence {}", variant_.kind);
    return make_dispatch(std::move(launch_), caps_);
  }

 private:
  void choose_tile(const View& decay) {
    const std::uint64_t keys = variant_.keys;
    const std::uint64_t wanted = std::bit_floor(std::max<std::uint64_t>(keys / keys_per_lane, 1));
    variant_.lanes = narrow(std::min<std::uint64_t>(wanted, most_lanes));
    if (caps_.subgroups && std::has_single_bit(caps_.subgroup_min)) {
      variant_.lanes = std::min(variant_.lanes, caps_.subgroup_min);
      variant_.shuffle = variant_.lanes > 1;
    }
    const bool aligned =
        in_fours(args_.q, 3) && in_fours(args_.k, 3) &&
        (variant_.scalar_decay || in_fours(decay, 3)) &&
        (args_.kind != Kind::rwkv7 || (in_fours(args_.a, 3) && in_fours(args_.b, 3))) &&
        (args_.kind != Kind::rwkv6 || in_fours(args_.bonus, 1));
    if (!aligned || keys % (variant_.lanes * 4ULL) != 0) return;
    variant_.vec = 4;
    variant_.state_vec = in_fours(args_.state, 3) && in_fours(args_.new_state, 4);
    choose_staging();
  }

  /// Whether workgroups read some tokens ahead, and how many. 512 tokens of 32 heads with 128 keys
  /// and values on an H200: 169 us, 526 where each token waits for memory.
  void choose_staging() {
    if (caps_.traits.slow_barriers || !variant_.shuffle || args_.v.shape[1] < least_staged) return;
    const std::uint32_t lanes = std::min(variant_.lanes, staged_lanes);
    const std::uint64_t values = args_.v.shape[3];
    const std::uint64_t all = args_.v.shape[0] * args_.v.shape[2] * values;
    const bool decays = !variant_.scalar_decay && args_.kind != Kind::selective_scan;
    const std::uint64_t arrays = (args_.kind == Kind::rwkv7 ? 4 : 2) + (decays ? 1 : 0);
    for (const std::uint32_t size : {256U, 128U, 64U}) {
      const std::uint64_t rows = size / lanes;
      // A processor should have two workgroups, or some.
      const bool busy = size == 64 || all / rows >= caps_.traits.groups(3) / 2;
      const std::uint64_t tokens = std::max<std::uint64_t>(8, size * 4ULL / variant_.keys);
      const std::uint64_t vectors = tokens * variant_.keys / 4;  // of one array
      const std::uint64_t bytes = arrays * vectors * 16 + tokens * (rows + 2) * 4;
      if (!busy || values % rows != 0 || vectors % size != 0 || tokens % lanes != 0 ||
          tokens > size || vectors / size * arrays > most_fetched || bytes > most_staged_bytes ||
          bytes > caps_.workgroup_bytes || size > caps_.workgroup_invocations)
        continue;
      variant_.lanes = lanes;
      variant_.workgroup = size;
      variant_.staged = narrow(tokens);
      return;
    }
  }

  void add(std::string name, std::uint64_t value) {
    launch_.params.add(std::move(name), narrow(value));
  }

  void operand(std::string_view name, const View& view, std::uint32_t unit) {
    launch_.operands.push_back({.name = name, .view = view, .unit = unit});
  }

  void strides(std::string_view name, const View& view) {
    add(formatted("{}_s", name), view.stride[0]);
    add(formatted("{}_t", name), view.stride[1]);
    add(formatted("{}_h", name), view.stride[2]);
  }

  void keyed(std::string_view name, const View& view) {
    strides(name, view);
    operand(name, view, variant_.vec);
  }

  void plain(std::string_view name, const View& view) {
    strides(name, view);
    operand(name, view, 1);
  }

  /// Where a device has too few bindings, outputs that lie in one buffer share one: the view of the
  /// first is stretched to the start of the second, and overlapping operands are merged.
  void share_a_binding() {
    Operand& next = launch_.operands.back();
    Operand& y = launch_.operands[launch_.operands.size() - 2];
    if (y.view.slot != next.view.slot) return;
    Operand& front = y.view.offset < next.view.offset ? y : next;
    const Operand& back = &front == &y ? next : y;
    View stretched =
        View::dense(DType::f32, {(back.view.offset - front.view.offset) / 4 + 1}, front.view.slot);
    stretched.offset = front.view.offset;
    y.unit = next.unit = 1;
    variant_.state_vec = false;
    for (Operand& operand : launch_.operands) {
      if (operand.name == "state") operand.unit = 1;
    }
    front.view = stretched;
  }

  Args args_;
  const Caps& caps_;
  Variant variant_;
  Launch launch_;
};

/// Tensors that a launch binds.
std::size_t operands_of(const Args& args) {
  std::size_t count = 7;  // q, k, decay, v, the state, y and the states after
  for (const View* view : {&args.a, &args.b, &args.bonus, &args.step, &args.ids}) {
    count += view->given() ? 1 : 0;
  }
  return count;
}

/// The part of a recurrence that `count` sequences (dimension 0) or tokens (dimension 1) from
/// `first` on are.
Args part(const Args& args, std::uint32_t dim, std::uint64_t first, std::uint64_t count) {
  Args out = args;
  const auto cut = [&](View& view, std::uint64_t whole) {
    if (!view.given()) return;
    const std::uint64_t share = whole / view.shape[dim];
    view = view.slice(dim, first / share, ceil_div(count, share));
  };
  for (View* view : {&out.q, &out.k, &out.v, &out.a, &out.b, &out.step, &out.y}) {
    cut(*view, args.v.shape[dim]);
  }
  if (args.kind != Kind::selective_scan) cut(out.decay, args.v.shape[dim]);
  if (dim != 0) return out;
  out.new_state = out.new_state.slice(1, first, count);
  if (args.ids.given()) {
    out.ids = out.ids.slice(0, first, count);
  } else {
    out.state = out.state.slice(0, first, count);
  }
  return out;
}

/// Plans pieces that fit their bindings.
void emit(Stages& stages, const Args& args, std::uint64_t tokens_after, const Caps& caps) {
  std::uint64_t most = 0;
  for (const View& view : {args.q, args.k, args.v, args.decay, args.a, args.b, args.step, args.y,
                           args.state, args.new_state}) {
    if (view.given()) most = std::max(most, view.bytes().size());
  }
  const std::uint64_t sequences = args.v.shape[0];
  const std::uint64_t tokens = args.v.shape[1];
  const bool shared = args.q.shape[0] != sequences || args.k.shape[0] != sequences;
  if (most > binding_budget(caps) && sequences > 1 && !shared) {
    const std::uint64_t half = sequences / 2;
    emit(stages, part(args, 0, 0, half), tokens_after, caps);
    emit(stages, part(args, 0, half, sequences - half), tokens_after, caps);
  } else if (most > binding_budget(caps) && tokens > 1) {
    const std::uint64_t half = tokens / 2;
    emit(stages, part(args, 1, 0, half), tokens_after + tokens - half, caps);
    // Later tokens go on from the state that those before left as the newest.
    Args rest = part(args, 1, half, tokens - half);
    View newest = args.new_state;
    newest.rank = 4;
    for (std::uint32_t i = 0; i < 4; ++i) {
      newest.shape[i] = args.new_state.shape[i + 1];
      newest.stride[i] = args.new_state.stride[i + 1];
    }
    rest.state = newest;
    rest.ids = {};
    emit(stages, rest, tokens_after, caps);
  } else {
    stages.add(Launcher(args, caps).launch(tokens_after));
  }
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  const std::string doing = formatted("planning the recurrence {}", name(given.kind));
  if (const Status ok = check(given); !ok) return wrap(ok.error(), doing);
  if (given.v.shape[0] * given.v.shape[2] * given.v.shape[3] == 0) return Plan{};
  Stages stages({given.q, given.k, given.v, given.decay, given.a, given.b, given.bonus, given.step,
                 given.state, given.ids, given.y, given.new_state});
  if (given.v.shape[1] == 0) {  // No tokens: the newest state is the one given.
    if (given.ids.given())
      return fail(ErrorCode::unsupported, "A recurrence over no tokens takes no ids.");
    View newest = given.new_state.slice(0, 0, 1);
    stages.add(
        map::plan({.function = "copy", .inputs = {given.state.unsqueeze(0)}, .y = newest}, caps));
    return std::move(stages).finish();
  }
  Args args = given;
  // The kernel reads keys that lie side by side.
  for (View* view : {&args.q, &args.k, &args.decay, &args.a, &args.b, &args.bonus}) {
    if (!view->given() || view->stride[view->rank - 1] == 1 || view->shape[view->rank - 1] == 1)
      continue;
    const View strided = *view;
    *view = stages.scratch(strided.dtype, strided.extents());
    stages.add(map::plan({.function = "copy", .inputs = {strided}, .y = *view}, caps));
  }
  // Where a device has too few bindings, outputs in two buffers are made in one, to share a
  // binding.
  const bool crowded = operands_of(args) > caps.max_bindings && args.y.slot != args.new_state.slot;
  if (crowded) {
    const std::uint64_t first = round_up<std::uint64_t>(args.y.count(), 64);
    const View both = stages.scratch(DType::f32, {first + args.new_state.count()});
    args.y = View::dense(DType::f32, given.y.extents(), both.slot);
    args.new_state = View::dense(DType::f32, given.new_state.extents(), both.slot);
    args.y.offset = both.offset;
    args.new_state.offset = both.offset + 4 * first;
  }
  emit(stages, args, 0, caps);
  if (crowded) {
    for (const auto& [from, to] : {std::pair{args.y, given.y}, {args.new_state, given.new_state}}) {
      stages.add(map::plan({.function = "copy", .inputs = {from}, .y = to}, caps));
    }
  }
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::recurrence
