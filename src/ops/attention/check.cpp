#include "ops/attention/check.hpp"

#include <algorithm>
#include <vector>

#include "ops/mul_mat/mul_mat.hpp"
#include "ops/overlap.hpp"
#include "ops/row_kernel.hpp"

namespace weft::ops::attention {
namespace {

struct Named {
  std::string_view name;
  const View* view;
};

Status check_apart(std::span<const Named> inputs, std::span<const Named> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto clash = [&](const Named& other) -> Status {
      return fail(ErrorCode::invalid_argument,
                  "The output `{}` of attention ({}) overlaps `{}` ({}) in the same buffer.",
                  outputs[i].name, describe(*outputs[i].view), other.name, describe(*other.view));
    };
    for (const Named& input : inputs) {
      if (overlap(*input.view, *outputs[i].view)) return clash(input);
    }
    for (std::size_t k = 0; k < i; ++k) {
      // Outputs may lie interleaved in one buffer, as the parts of a packed tensor do, but not in
      // the same place.
      if (overlap(*outputs[k].view, *outputs[i].view) &&
          outputs[k].view->offset == outputs[i].view->offset)
        return clash(outputs[k]);
    }
  }
  return {};
}

Status check_limits(const View& view, std::string_view name) {
  for (const std::uint64_t extent : view.extents()) {
    if (extent >= (1ULL << 29)) {
      return fail(ErrorCode::unsupported,
                  "Attention takes at most 2^29 elements along a dimension; `{}` is {}.", name,
                  describe(view));
    }
  }
  return {};
}

Status check_inputs(const View& q, const View& k, const View& v, const View& mask,
                    const Rules& rules) {
  const auto float4 = [](const View& view, std::string_view name) -> Status {
    if (const Status ok = check_float_tensor(view, name, view.extents(), false); !ok) return ok;
    if (view.rank != 4) {
      return fail(ErrorCode::invalid_argument,
                  "Tensor `{}` of attention needs 4 dimensions; it is {}.", name, describe(view));
    }
    return check_limits(view, name);
  };
  if (const Status ok = float4(q, "q"); !ok) return ok;
  if (const Status ok = float4(k, "k"); !ok) return ok;
  if (const Status ok = float4(v, "v"); !ok) return ok;
  const auto divides = [](std::uint64_t part, std::uint64_t whole) {
    return part == 0 ? whole == 0 : whole % part == 0;
  };
  if (k.shape[3] != q.shape[3] || k.shape[2] != v.shape[2] || k.shape[1] != v.shape[1] ||
      k.shape[0] != v.shape[0] || !divides(k.shape[0], q.shape[0]) ||
      !divides(k.shape[1], q.shape[1])) {
    return fail(ErrorCode::invalid_argument,
                "Attention of q {} with k {} and v {} does not fit: q and k need the same size of "
                "heads, k and v the same keys, and batches and heads of k must divide those of q.",
                describe(q), describe(k), describe(v));
  }
  if (q.shape[3] > max_head_size || v.shape[3] > max_head_size) {
    return fail(ErrorCode::unsupported,
                "Attention takes heads of up to {} elements; q is {} and v is {}.", max_head_size,
                describe(q), describe(v));
  }
  if (rules.soft_cap < 0) {
    return fail(ErrorCode::invalid_argument, "The soft cap of attention is {}, below 0.",
                rules.soft_cap);
  }
  if (mask.given()) {
    if (const Status ok = float4(mask, "mask"); !ok) return ok;
    if (!divides(mask.shape[0], q.shape[0]) || !divides(mask.shape[1], q.shape[1]) ||
        mask.shape[2] < q.shape[2] || mask.shape[3] != k.shape[2]) {
      return fail(ErrorCode::invalid_argument,
                  "The mask {} does not fit attention of q {} with k {}: it needs a row of all "
                  "keys for each query, and its batches and heads must divide those of q.",
                  describe(mask), describe(q), describe(k));
    }
  } else if (rules.max_bias > 0) {
    return fail(ErrorCode::invalid_argument,
                "max_bias is {}, but there is no mask for the slopes to act on.", rules.max_bias);
  }
  return {};
}

Status check_packed(const Args& args) {
  if (!args.packed.given()) return {};
  if (const Status ok = validate(args.packed, "packed"); !ok) return ok;
  const std::uint64_t size = args.v.shape[3];
  const std::uint64_t columns = args.y.shape[1] * size;
  const View rows = View::dense(DType::f32, {args.y.shape[0], args.y.shape[2], columns});
  const View wanted = mul_mat::packed_view(rows);
  if (args.y.dtype != DType::f32 || !args.y.transpose(1, 2).is_dense() || size % 32 != 0 ||
      size > 256 || args.packed.dtype != DType::u32 || !args.packed.is_dense() ||
      !std::ranges::equal(args.packed.extents(), wanted.extents())) {
    return fail(
        ErrorCode::unsupported,
        "Attention packs dense f32 rows of all heads, of 32 to 256 columns each, to {}; y is "
        "{} and packed is {}.",
        describe(wanted), describe(args.y), describe(args.packed));
  }
  return {};
}

}  // namespace

Status check(const Args& args) {
  if (const Status ok = check_inputs(args.q, args.k, args.v, args.mask, args.rules); !ok) return ok;
  const std::uint64_t y_shape[] = {args.q.shape[0], args.q.shape[1], args.q.shape[2],
                                   args.v.shape[3]};
  if (const Status ok = check_float_tensor(args.y, "y", y_shape, true); !ok) return ok;
  if (args.sinks.given()) {
    const std::uint64_t heads[] = {args.q.shape[1]};
    if (const Status ok = check_float_tensor(args.sinks, "sinks", heads, false); !ok) return ok;
  }
  if (args.lse.given()) {
    const std::span lse_shape(y_shape, 3);
    if (const Status ok = check_float_tensor(args.lse, "lse", lse_shape, true); !ok) return ok;
    if (args.lse.dtype != DType::f32) {
      return fail(ErrorCode::unsupported, "Tensor `lse` is {}; it must be f32.",
                  describe(args.lse));
    }
  }
  const Named inputs[] = {
      {"q", &args.q}, {"k", &args.k}, {"v", &args.v}, {"mask", &args.mask}, {"sinks", &args.sinks}};
  const Named outputs[] = {{"y", &args.y}, {"lse", &args.lse}, {"packed", &args.packed}};
  if (const Status ok = check_packed(args); !ok) return ok;
  return check_apart(inputs, outputs);
}

Status check(const BackwardArgs& args) {
  const Args forward{.q = args.q,
                     .k = args.k,
                     .v = args.v,
                     .y = args.y,
                     .mask = args.mask,
                     .sinks = {},
                     .lse = args.lse,
                     .rules = args.rules,
                     .kernel = {}};
  if (!args.lse.given()) {
    return fail(ErrorCode::invalid_argument, "Tensor `lse` was not given.");
  }
  if (const Status ok = check(forward); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dy, "dy", args.y.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dq, "dq", args.q.extents(), true); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dk, "dk", args.k.extents(), true); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dv, "dv", args.v.extents(), true); !ok) return ok;
  const Named inputs[] = {{"q", &args.q},   {"k", &args.k},     {"v", &args.v},      {"y", &args.y},
                          {"dy", &args.dy}, {"lse", &args.lse}, {"mask", &args.mask}};
  const Named outputs[] = {{"dq", &args.dq}, {"dk", &args.dk}, {"dv", &args.dv}};
  return check_apart(inputs, outputs);
}

Problem whole_problem(const Args& args) {
  Problem problem{.q = args.q, .k = args.k, .v = args.v, .y = args.y};
  problem.mask = args.mask;
  if (problem.mask.given()) problem.mask.shape[2] = args.q.shape[2];
  problem.sinks = args.sinks;
  problem.lse = args.lse;
  problem.factors = args.factors;
  problem.rules = args.rules;
  problem.heads_total = args.q.shape[1];
  problem.head_group = args.q.shape[1] / std::max<std::uint64_t>(1, args.k.shape[1]);
  problem.batch_group = args.q.shape[0] / std::max<std::uint64_t>(1, args.k.shape[0]);
  constexpr std::int64_t far = 1LL << 40;
  const auto ahead =
      static_cast<std::int64_t>(problem.keys()) - static_cast<std::int64_t>(problem.queries()) + 1;
  problem.causal_end = args.rules.causal ? ahead : far;
  problem.window_start =
      args.rules.window > 0 ? ahead - static_cast<std::int64_t>(args.rules.window) : -far;
  return problem;
}

}  // namespace weft::ops::attention
