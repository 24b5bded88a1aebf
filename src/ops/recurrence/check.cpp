#include "ops/recurrence/check.hpp"

#include <array>
#include <span>
#include <string_view>

#include "ops/row_kernel.hpp"

namespace weft::ops::recurrence {
namespace {

constexpr std::uint64_t most_keys = 1024;

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

}  // namespace

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

}  // namespace weft::ops::recurrence
