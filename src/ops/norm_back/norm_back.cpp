#include "ops/norm_back/norm_back.hpp"

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "ops/map/map.hpp"
#include "ops/norm/groups.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"

namespace weft::ops::norm_back {
namespace {

using norm::Kind;

struct Variant {
  std::string_view norm;
  std::string_view w_kind = "none";
  std::string_view t_kind = "none";
};

struct Params {
  float eps = 0;
  float length = 1;
};

/// The dimension of x that weight and bias run along.
std::uint32_t channel_dim(const Args& args) {
  return args.kind == Kind::group ? 1 : args.x.rank - 1;
}

Status check(const Args& args) {
  const auto shape = args.x.extents();
  if (const Status ok = check_float_tensor(args.x, "x", shape, false); !ok) return ok;
  const std::uint32_t least = args.kind == Kind::group ? 2 : 1;
  if (args.x.rank < least) {
    return fail(ErrorCode::invalid_argument,
                "The backward of a {} norm needs at least {} dimensions; x is {}.", name(args.kind),
                least, describe(args.x));
  }
  if (args.kind == Kind::group && (args.groups == 0 || args.x.shape[1] % args.groups != 0)) {
    return fail(ErrorCode::invalid_argument,
                "{} groups do not divide the {} channels of x ({}) evenly.", args.groups,
                args.x.shape[1], describe(args.x));
  }
  if (const Status ok = check_float_tensor(args.dy, "dy", shape, false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.dx, "dx", shape, true); !ok) return ok;
  const std::uint64_t channels[] = {args.x.shape[channel_dim(args)]};
  if (args.weight.given()) {
    const auto wanted =
        args.kind == Kind::group ? std::span<const std::uint64_t>(channels) : args.weight.extents();
    if (const Status ok = check_float_tensor(args.weight, "weight", wanted, false); !ok) return ok;
  }
  for (const auto& [view, label] : {std::pair{args.dweight, "dweight"}, {args.dbias, "dbias"}}) {
    if (!view.given()) continue;
    if (const Status ok = check_float_tensor(view, label, channels, true); !ok) return ok;
  }
  for (const auto& [input, label] :
       {std::pair{args.x, "x"}, {args.dy, "dy"}, {args.weight, "weight"}}) {
    if (const Status ok = check_in_place(input, label, args.dx, "dx"); !ok) return ok;
  }
  return {};
}

/// The launches that write dx, and with `terms` also the terms dy * normalised(x) of dweight.
Result<Plan> plan_dx(const Args& args, const View& terms, const Caps& caps) {
  const bool grouped = args.kind == Kind::group;
  RowKernel kernel;
  kernel.source = "norm_back/norm_back.wgsl";
  kernel.label = formatted("{} norm_back {}", name(args.kind), name(args.x.dtype));
  kernel.constants = constants_of(Variant{.norm = grouped ? "layer" : name(args.kind)});
  kernel.state_words = grouped || args.kind == Kind::layer ? 5 : 2;
  for (const auto& [operand_name, view, role] : {std::tuple{"x", args.x, RowRole::input},
                                                 {"dy", args.dy, RowRole::input},
                                                 {"dx", args.dx, RowRole::output},
                                                 {"t", terms, RowRole::output}}) {
    if (!view.given()) continue;
    const std::optional<View> rows = grouped ? norm::as_groups(view, args.groups) : view;
    if (!rows) {
      return fail(ErrorCode::internal, "The groups of {} do not lie in rows.", describe(view));
    }
    kernel.operands.push_back({.name = operand_name, .view = *rows, .role = role});
  }
  const View rows = kernel.operands.front().view;
  if (args.weight.given()) {
    auto weight = norm::affine_operand(
        "w", args.weight, {.kind = args.kind, .x = args.x, .groups = args.groups}, rows);
    if (!weight) return std::unexpected(weight.error());
    weight->role = RowRole::input;
    kernel.operands.push_back(*weight);
  }
  kernel.params =
      block_of(Params{.eps = args.eps, .length = static_cast<float>(rows.shape[rows.rank - 1])});
  return plan_rows(kernel, caps);
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  const std::string doing = formatted("planning the backward of {} norm", name(given.kind));
  if (const Status ok = check(given); !ok) return wrap(ok.error(), doing);
  Stages stages({given.x, given.dy, given.weight, given.dx, given.dweight, given.dbias});
  Args args = given;
  const std::uint32_t axes = reduce::all_axes(args.x) & ~(1U << channel_dim(args));
  const auto copy = [&](const View& from, const View& to) {
    stages.add(map::plan({.function = "copy", .inputs = {from}, .y = to}, caps));
  };
  if (!args.x.empty()) {
    // dx may take the place of dy, so the bias comes first.
    if (args.dbias.given()) {
      stages.add(reduce::plan({.x = args.dy, .axes = axes, .y = args.dbias}, caps));
    }
    // Groups whose channels do not lie behind one another (channels innermost, say) go through
    // dense copies.
    if (args.kind == Kind::group) {
      for (View* view : {&args.x, &args.dy}) {
        if (norm::as_groups(*view, args.groups)) continue;
        const View strided = *view;
        *view = stages.scratch(strided.dtype, strided.extents());
        copy(strided, *view);
      }
      if (!norm::as_groups(args.dx, args.groups)) {
        args.dx = stages.scratch(args.dx.dtype, args.dx.extents());
      }
    }
    View terms;
    if (args.dweight.given()) terms = stages.scratch(DType::f32, args.x.extents());
    stages.add(plan_dx(args, terms, caps));
    if (args.dx.slot != given.dx.slot) copy(args.dx, given.dx);
    if (args.dweight.given()) {
      stages.add(reduce::plan({.x = terms, .axes = axes, .y = args.dweight}, caps));
    }
  } else {
    for (const View& sum : {args.dweight, args.dbias}) {
      if (sum.given()) stages.add(map::plan({.function = "fill", .y = sum}, caps));
    }
  }
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::norm_back
