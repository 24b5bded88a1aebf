#include "ops/recurrence/recurrence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::recurrence {
namespace {

/// Keys that one invocation holds, as far as the lanes of a row suffice.
constexpr std::uint64_t keys_per_lane = 8;
constexpr std::uint64_t most_lanes = 16;
constexpr std::uint64_t most_keys = 1024;

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
  std::uint32_t workgroup = narrow_workgroup;
};

Status check_shape(const View& view, std::string_view name, std::span<const std::uint64_t> shape,
                   bool output = false) {
  if (const Status ok = check_float_tensor(view, name, shape, output); !ok) return ok;
  if (view.dtype == DType::f32) return {};
  return fail(ErrorCode::unsupported, "Tensor `{}` of a recurrence is {}; it must be f32.", name,
              describe(view));
}

/// q and k: [sequences, tokens, heads, keys], where sequences and heads divide those of v.
Status check_shared(const View& view, std::string_view name, const View& v, std::uint64_t keys) {
  if (const Status ok = check_shape(view, name, view.extents()); !ok) return ok;
  if (view.rank == 4 && view.shape[3] == keys && view.shape[1] == v.shape[1] && view.shape[0] > 0 &&
      view.shape[2] > 0 && v.shape[0] % view.shape[0] == 0 && v.shape[2] % view.shape[2] == 0)
    return {};
  return fail(ErrorCode::invalid_argument,
              "Tensor `{}` is {}; with v {} it needs {} tokens, {} keys, and numbers of sequences "
              "and heads that divide those of v.",
              name, describe(view), describe(v), v.shape[1], keys);
}

Status check(const Args& args) {
  const View& v = args.v;
  if (const Status ok = check_shape(v, "v", v.extents()); !ok) return ok;
  if (const Status ok = check_shape(args.state, "state", args.state.extents()); !ok) return ok;
  if (v.rank != 4 || args.state.rank != 4) {
    return fail(ErrorCode::invalid_argument,
                "A recurrence needs v and state with four dimensions; they are {} and {}.",
                describe(v), describe(args.state));
  }
  const std::uint64_t keys = args.state.shape[3];
  if (keys == 0 || keys > most_keys) {
    return fail(ErrorCode::unsupported, "A recurrence takes 1 to {} keys; the state is {}.",
                most_keys, describe(args.state));
  }
  const auto [sequences, tokens, heads, values] =
      std::array{v.shape[0], v.shape[1], v.shape[2], v.shape[3]};
  if (sequences * heads * values == 0) return {};
  if (const Status ok = check_shared(args.q, "q", v, keys); !ok) return ok;
  if (const Status ok = check_shared(args.k, "k", v, keys); !ok) return ok;
  if (const Status ok = check_shape(args.y, "y", v.extents(), true); !ok) return ok;
  const std::uint64_t states[] = {args.ids.given() ? args.state.shape[0] : sequences, heads, values,
                                  keys};
  if (const Status ok = check_shape(args.state, "state", states); !ok) return ok;
  const std::uint64_t new_states[] = {args.new_state.rank > 0 ? args.new_state.shape[0] : 0,
                                      sequences, heads, values, keys};
  if (const Status ok = check_shape(args.new_state, "new_state", new_states, true); !ok) return ok;
  const std::uint64_t per_key[] = {sequences, tokens, heads, keys};
  const std::uint64_t per_head[] = {sequences, tokens, heads, 1};
  const std::uint64_t constant[] = {
      heads, args.decay.rank > 0 ? args.decay.shape[args.decay.rank - 1] : 0};
  const bool scalar = args.decay.rank > 0 && args.decay.shape[args.decay.rank - 1] == 1;
  if (args.kind == Kind::selective_scan) {
    if (const Status ok = check_shape(args.decay, "decay", constant); !ok) return ok;
  } else if (const Status ok = check_shape(args.decay, "decay",
                                           scalar ? std::span(per_head) : std::span(per_key));
             !ok) {
    return ok;
  }
  if (args.kind == Kind::rwkv7) {
    if (const Status ok = check_shape(args.a, "a", per_key); !ok) return ok;
    if (const Status ok = check_shape(args.b, "b", per_key); !ok) return ok;
  }
  if (args.kind == Kind::rwkv6) {
    const std::uint64_t head_keys[] = {heads, keys};
    if (const Status ok = check_shape(args.bonus, "bonus", head_keys); !ok) return ok;
  }
  if (args.kind == Kind::gated_delta_rule || args.kind == Kind::selective_scan) {
    if (const Status ok = check_shape(args.step, "step", std::span(per_head).first(3)); !ok)
      return ok;
  }
  if (args.ids.given() && (args.ids.dtype != DType::i32 || args.ids.rank != 1 ||
                           args.ids.shape[0] != sequences || !args.ids.is_dense())) {
    return fail(ErrorCode::invalid_argument,
                "The ids of a recurrence must be {} dense i32; they are {}.", sequences,
                describe(args.ids));
  }
  if (args.new_state.shape[0] == 0) {
    return fail(ErrorCode::invalid_argument, "The new state of a recurrence is {}; it needs room.",
                describe(args.new_state));
  }
  return {};
}

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
