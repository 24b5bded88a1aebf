#include "ops/norm/norm.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "ops/choose.hpp"
#include "ops/map/map.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/norm/groups.hpp"
#include "ops/norm/lone.hpp"
#include "ops/overlap.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"

namespace weft::ops::norm {
namespace {

struct Variant {
  std::string_view norm;    // layer, rms or l2; groups are layers of other rows
  std::uint32_t chain = 0;  // inputs of the chain that x is; 0: x is an operand
  std::string_view r_kind = "none";
  std::string_view w_kind = "none";
  std::string_view b_kind = "none";
  std::string_view s_kind = "none";
  bool packed = false;
};

struct Params {
  float eps = 0;
  float length = 0;  // elements of a whole row
};

Status check(const Args& args) {
  const auto shape = args.x.extents();
  if (const Status ok = check_float_tensor(args.x, "x", shape, false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.y, "y", shape, true); !ok) return ok;
  const std::uint32_t least = args.kind == Kind::group ? 2 : 1;
  if (args.x.rank < least) {
    return fail(ErrorCode::invalid_argument,
                "A {} norm needs a tensor with at least {} dimensions; x is {}.", name(args.kind),
                least, describe(args.x));
  }
  if (args.residual.given()) {
    if (const Status ok = check_float_tensor(args.residual, "residual", shape, false); !ok)
      return ok;
  }
  if (args.sum.given()) {
    if (const Status ok = check_float_tensor(args.sum, "sum", shape, true); !ok) return ok;
    const ByteRange a = args.sum.bytes();
    const ByteRange b = args.y.bytes();
    if (args.sum.slot == args.y.slot && a.begin < b.end && b.begin < a.end) {
      return fail(ErrorCode::invalid_argument, "The outputs `sum` ({}) and `y` ({}) overlap.",
                  describe(args.sum), describe(args.y));
    }
  }
  for (const auto& [view, label] : {std::pair{args.weight, "weight"}, {args.bias, "bias"}}) {
    if (!view.given()) continue;
    const std::uint64_t channels[] = {args.x.rank > 1 ? args.x.shape[1] : 1};
    const auto wanted =
        args.kind == Kind::group ? std::span<const std::uint64_t>(channels) : view.extents();
    if (const Status ok = check_float_tensor(view, label, wanted, false); !ok) return ok;
  }
  for (const auto& [output, output_name] : {std::pair{args.y, "y"}, {args.sum, "sum"}}) {
    for (const auto& [input, input_name] : {std::pair{args.x, "x"},
                                            {args.residual, "residual"},
                                            {args.weight, "weight"},
                                            {args.bias, "bias"}}) {
      if (const Status ok = check_in_place(input, input_name, output, output_name); !ok) return ok;
    }
  }
  if (args.kind == Kind::group && (args.groups == 0 || args.x.shape[1] % args.groups != 0)) {
    return fail(ErrorCode::invalid_argument,
                "{} groups do not divide the {} channels of x ({}) evenly.", args.groups,
                args.x.shape[1], describe(args.x));
  }
  return {};
}

Status check_packed(const Args& args) {
  if (!args.packed.given()) return {};
  if (const Status ok = validate(args.packed, "packed"); !ok) return ok;
  const View wanted = mul_mat::packed_view(args.y);
  if (args.kind == Kind::group || args.y.dtype != DType::f32 || !args.y.is_dense() ||
      args.y.offset % 16 != 0 || args.y.shape[args.y.rank - 1] % 32 != 0 ||
      args.packed.dtype != DType::u32 || !args.packed.is_dense() ||
      !std::ranges::equal(args.packed.extents(), wanted.extents())) {
    return fail(ErrorCode::unsupported,
                "A {} norm packs dense f32 rows of blocks of 32 to {}; y is {} and packed is {}.",
                name(args.kind), describe(wanted), describe(args.y), describe(args.packed));
  }
  for (const View& other : {args.x, args.y, args.weight, args.bias, args.residual, args.sum}) {
    if (overlap(args.packed, other)) {
      return fail(ErrorCode::invalid_argument, "The packed result {} of a norm overlaps {}.",
                  describe(args.packed), describe(other));
    }
  }
  return {};
}

/// Groups whose channels do not lie behind one another (channels innermost, say) go through dense
/// copies.
Result<Plan> plan_by_copies(const Args& args, const Caps& caps) {
  Stages stages({args.x, args.y, args.weight, args.bias, args.residual, args.sum});
  Args dense = args;
  const auto copy = [&](const View& from, const View& to) {
    stages.add(map::plan({.function = "copy", .inputs = {from}, .y = to}, caps));
  };
  for (View* view : {&dense.x, &dense.residual}) {
    if (!view->given()) continue;
    const View given = *view;
    *view = stages.scratch(given.dtype, given.extents());
    copy(given, *view);
  }
  for (View* view : {&dense.y, &dense.sum}) {
    if (view->given()) *view = stages.scratch(view->dtype, view->extents());
  }
  stages.add(ops::norm::plan(dense, caps));
  copy(dense.y, args.y);
  if (args.sum.given()) copy(dense.sum, args.sum);
  return std::move(stages).finish();
}

/// Rows of any kind.
Result<Plan> plan_any(const Args& args, const Caps& caps) {
  std::vector<View> chained;
  if (args.chain.given()) {
    auto inputs = fused::broadcast_inputs(args.chain, args.y.extents(), args.y);
    if (!inputs) return std::unexpected(inputs.error());
    chained = std::move(*inputs);
  }
  const bool grouped = args.kind == Kind::group;
  RowKernel kernel;
  kernel.source = "norm/norm.wgsl";
  kernel.label =
      formatted("{} norm {}", name(args.kind),
                chained.empty() ? std::string(name(args.x.dtype)) : fused::label_of(args.chain));
  kernel.constants = constants_of(Variant{.norm = grouped ? "layer" : name(args.kind),
                                          .chain = static_cast<std::uint32_t>(chained.size()),
                                          .packed = args.packed.given()});
  kernel.state_words = grouped || args.kind == Kind::layer ? 3 : 1;
  for (const auto& [operand_name, view, role] : {std::tuple{"x", args.x, RowRole::input},
                                                 {"r", args.residual, RowRole::input},
                                                 {"y", args.y, RowRole::output},
                                                 {"s", args.sum, RowRole::output}}) {
    if (!view.given() || (!chained.empty() && role == RowRole::input)) continue;
    std::optional<View> rows = view;
    if (grouped) rows = as_groups(view, args.groups);
    if (!rows) return plan_by_copies(args, caps);
    kernel.operands.push_back({.name = operand_name, .view = *rows, .role = role});
  }
  const View rows = kernel.operands.front().view;
  for (std::size_t i = 0; i < chained.size(); ++i) {
    kernel.operands.push_back({.name = fused::input_names[i], .view = chained[i]});
  }
  for (const auto& [operand_name, view] : {std::pair{"w", args.weight}, {"b", args.bias}}) {
    if (!view.given()) continue;
    auto operand = affine_operand(operand_name, view, args, rows);
    if (!operand) return std::unexpected(operand.error());
    kernel.operands.push_back(*operand);
  }
  kernel.params =
      block_of(Params{.eps = args.eps, .length = static_cast<float>(rows.shape[rows.rank - 1])});
  if (!chained.empty()) {
    kernel.text = fused::text_of(args.chain);
    fused::add_scalars(kernel.params, args.chain);
  }
  if (args.packed.given()) {
    kernel.label += " packed";
    const std::uint64_t blocks = args.y.shape[args.y.rank - 1] / 32;
    kernel.params.add("packed_blocks", static_cast<std::uint32_t>(blocks));
    kernel.params.add("packed_row",
                      static_cast<std::uint32_t>(args.packed.shape[args.packed.rank - 1]));
    kernel.extra = {.name = "packed", .view = args.packed, .access = Access::write};
  }
  auto planned = plan_rows(kernel, caps);
  if (planned && args.packed.given() && planned->dispatches.size() != 1) {
    return fail(ErrorCode::unsupported, "Rows of {} are too long to be packed by a norm.",
                describe(args.y));
  }
  return planned;
}

Status can_any(const Args&, const Caps&) { return {}; }
bool always(const Args&, const Caps&) { return true; }

/// One kernel of the op's list: `can` says why it cannot make a norm at all, `worth` whether it is
/// a good choice, `launch` makes the plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Caps&);
  bool (*worth)(const Args&, const Caps&);
  Result<Plan> (*launch)(const Args&, const Caps&);
};

constexpr Kernel lone_kernel{"lone", can_lone, worth_lone, plan_lone};
constexpr Kernel rows_kernel{"rows", can_any, always, plan_any};

// In order of preference.
constexpr std::array kernels{&lone_kernel, &rows_kernel};

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  const std::string doing = formatted("planning {} norm", name(given.kind));
  Args args = given;
  if (args.chain.given()) {
    args.x = args.y;  // has the shape
    if (args.kind == Kind::group || args.residual.given()) {
      return fail(ErrorCode::unsupported,
                  "A {} norm of a chain takes neither groups nor a residual.", name(args.kind));
    }
  }
  if (const Status ok = check(args); !ok) return wrap(ok.error(), doing);
  if (const Status ok = check_packed(args); !ok) return wrap(ok.error(), doing);
  if (args.x.empty()) return Plan{};
  const auto kernel = choose_kernel(kernels, "A norm", {}, args, caps);
  if (!kernel) return wrap(kernel.error(), doing);
  auto planned = (*kernel)->launch(args, caps);
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::norm
