// Several products with the same x in one launch.
#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/mul_mat/problem.hpp"
#include "ops/overlap.hpp"
#include "ops/quant/job.hpp"
#include "ops/stages.hpp"

namespace weft::ops::mul_mat {
namespace {

/// Whether there is one result, of a gated unit.
bool is_gated(const JoinArgs& args) { return args.gated != "none"; }

Status check_bias(const JoinArgs& args) {
  if (args.bias.empty()) return {};
  if (args.bias.size() != args.weights.size() || is_gated(args)) {
    return fail(ErrorCode::invalid_argument,
                "Joined products have a bias each or none, and gated units have none; there are {} "
                "for {} weights.",
                args.bias.size(), args.weights.size());
  }
  for (std::size_t i = 0; i < args.bias.size(); ++i) {
    const View& bias = args.bias[i];
    if (const Status ok = validate(bias, "bias"); !ok) return ok;
    if (bias.dtype != DType::f32 || bias.rank != 1 || bias.shape[0] != args.weights[i].shape[0] ||
        bias.stride[0] != 1 || bias.slot != args.bias.front().slot) {
      return fail(
          ErrorCode::unsupported,
          "The bias of joined weights {} is a dense f32[{}], and all lie in one buffer; one "
          "is {}.",
          describe(args.weights[i]), args.weights[i].shape[0], describe(bias));
    }
    if (std::ranges::any_of(args.y, [&](const View& y) { return overlap(y, bias); })) {
      return fail(ErrorCode::invalid_argument, "The bias {} of joined products overlaps a result.",
                  describe(bias));
    }
  }
  return {};
}

/// `packs`: x is multiplied packed.
Status check_packed_result(const JoinArgs& args, bool packs) {
  if (!args.packed_y.given()) return {};
  const View& y = args.y.front();
  if (!is_gated(args) || !packs || y.shape[1] % 32 != 0) {
    return fail(ErrorCode::unsupported,
                "Gated units of packed x are packed where their rows are whole blocks of 32; the "
                "unit is `{}` and y is {}.",
                args.gated, describe(y));
  }
  for (const View& other : {args.x, args.packed, y, args.weights[0], args.weights[1]}) {
    if (overlap(args.packed_y, other)) {
      return fail(ErrorCode::invalid_argument, "The packed result {} of a gated unit overlaps {}.",
                  describe(args.packed_y), describe(other));
    }
  }
  return check_packed(args.packed_y, y);
}

Status check(const JoinArgs& args) {
  const std::size_t parts = args.weights.size();
  const bool gated = is_gated(args);
  if (parts < 2 || parts > 3 || args.y.size() != (gated ? 1 : parts) || (gated && parts != 2)) {
    return fail(ErrorCode::invalid_argument,
                "Two or three products with a result each, or two of a gated unit, can be joined; "
                "there are {} weights and {} results.",
                parts, args.y.size());
  }
  const map::Function* function = gated ? map::find_function(args.gated) : nullptr;
  if (gated && (function == nullptr || function->family != map::Family::gated)) {
    return fail(ErrorCode::not_found, "There is no gated unit named `{}`.", args.gated);
  }
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  for (std::size_t i = 0; i < parts; ++i) {
    const View& weights = args.weights[i];
    const View& y = args.y[gated ? 0 : i];
    if (const Status ok = validate(weights, "weights", Types::quantized_too); !ok) return ok;
    if (const Status ok = validate(y, "y"); !ok) return ok;
    if (weights.rank != 2 || args.x.rank != 2 || y.rank != 2 ||
        weights.shape[1] != args.x.shape[1] || weights.shape[0] != y.shape[1] ||
        args.x.shape[0] != y.shape[0] || args.x.shape[0] > vector_columns || y.empty() ||
        weights.shape[1] == 0) {
      return fail(
          ErrorCode::invalid_argument,
          "Weights [M,K] times x [N,K] give y [N,M], with N from 1 to {}; weights are {}, x "
          "is {} and y is {}.",
          vector_columns, describe(weights), describe(args.x), describe(y));
    }
    const View& first = args.weights.front();
    if (!is_quantized(weights.dtype) || weights.dtype != first.dtype ||
        weights.slot != first.slot || weights.stride[0] != first.stride[0] ||
        y.slot != args.y.front().slot || y.stride[1] != args.y.front().stride[1] ||
        y.dtype != DType::f32 || args.x.dtype != DType::f32 || !quant::rows_in_chunks(args.x, 4)) {
      return fail(ErrorCode::unsupported,
                  "Joined weights have one quantized type and lie in one buffer, as their f32 "
                  "results do; there are {} and {} for x {} and results {} and {}.",
                  describe(first), describe(weights), describe(args.x), describe(args.y.front()),
                  describe(y));
    }
    if (overlap(y, args.x) || overlap(y, args.packed) || overlap(y, weights)) {
      return fail(ErrorCode::invalid_argument,
                  "The result {} of joined products overlaps what they are made of.", describe(y));
    }
  }
  if (const Status ok = check_bias(args); !ok) return ok;
  return check_packed(args.packed, args.x);
}

/// The view from the first to the last of `views`, which differ in where they start, with a
/// dimension of 2 in front of its own; of rank 6.
Result<View> span_of(std::span<const View> views) {
  const auto by_start = [](const View& view) { return view.offset; };
  View out = std::ranges::max(views, {}, by_start);
  const View& lowest = std::ranges::min(views, {}, by_start);
  const std::uint64_t apart = out.offset - lowest.offset;
  // Whole blocks in between: it may have to start a little in front of the first one.
  const std::uint64_t block = block_bytes(out.dtype);
  const std::uint64_t strides = ceil_div(apart, block);
  const std::uint64_t extra = strides * block - apart;
  if (extra > lowest.offset) {
    return fail(ErrorCode::unsupported,
                "Tensors of {} that are {} bytes apart cannot be joined: a block has {}.",
                name(out.dtype), apart, block);
  }
  out = out.unsqueeze(0);
  out.offset = lowest.offset - extra;
  out.shape[0] = 2;
  out.stride[0] = strides * block_elements(out.dtype);
  while (out.rank < 6) out = out.unsqueeze(out.rank == 2 ? 1 : 0);
  return out;
}

}  // namespace

bool wants_packed(const JoinArgs& args, const Caps& caps) {
  std::uint64_t bytes = 0;
  for (const View& weights : args.weights) {
    if (weights.rank != 2 || !can_pack(weights, args.x, caps)) return false;
    bytes += weights.bytes().size();
  }
  return args.allow_q8 && !args.exact && args.x.rank == 2 &&
         (args.packed.given() || pays_to_pack(bytes, args.x.shape[0], caps));
}

Result<Plan> plan(const JoinArgs& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  const bool packs = wants_packed(args, caps);
  if (const Status ok = check_packed_result(args, packs); !ok) return std::unexpected(ok.error());
  const auto weights = span_of(args.weights);
  const auto y = span_of(args.y);
  if (!weights) return std::unexpected(weights.error());
  if (!y) return std::unexpected(y.error());
  const std::uint64_t budget = binding_budget(caps);
  if (weights->bytes().size() > budget || y->bytes().size() > budget ||
      args.x.bytes().size() > budget) {
    return fail(ErrorCode::unsupported, "Joined weights span {} bytes, but this device binds {}.",
                weights->bytes().size(), caps.max_binding);
  }
  Join join{.parts = static_cast<std::uint32_t>(args.weights.size()),
            .aligned = std::ranges::all_of(args.weights, quant::blocks_aligned),
            .gated = is_gated(args),
            .packed = args.packed_y};
  for (std::size_t i = 0; i < args.weights.size(); ++i) {
    join.rows[i] = args.weights[i].shape[0];
    join.w_bytes[i] = args.weights[i].offset - weights->offset;
    if (i >= args.y.size()) continue;
    join.y_start[i] = (args.y[i].offset - y->offset) / 4;
    join.y_column[i] = args.y[i].stride[0];
  }
  // Sums of all invocations must fit the workgroup's memory, and gated units need two rows of each
  // team.
  if (join.gated && !caps.subgroups && args.x.shape[0] > 4) {
    return fail(ErrorCode::unsupported, "Gated units of {} columns need subgroups.",
                args.x.shape[0]);
  }
  Stages stages{args.weights[0], args.x, args.y[0], args.packed, args.packed_y};
  Problem problem{
      .weights = *weights, .x = args.x, .y = *y, .activation = args.gated, .scalars = args.scalars};
  if (!args.bias.empty()) {
    auto bias = span_of(args.bias);
    if (!bias) return std::unexpected(bias.error());
    problem.bias = *bias;
    problem.bias.stride[4] = 0;  // One for all columns.
    for (std::size_t i = 0; i < args.bias.size(); ++i) {
      join.bias_start[i] = (args.bias[i].offset - bias->offset) / 4;
    }
  }
  if (packs) problem.x = args.packed.given() ? args.packed : add_pack(stages, args.x, caps);
  while (problem.x.rank < 6) problem.x = problem.x.unsqueeze(0);
  stages.add(packs ? launch_packed(problem, caps, join)
                   : launch_vector(problem, args.exact ? exact_rows : 0, caps, join));
  return std::move(stages).finish();
}

}  // namespace weft::ops::mul_mat
