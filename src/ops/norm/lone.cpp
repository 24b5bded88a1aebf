#include "ops/norm/lone.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/stages.hpp"

namespace weft::ops::norm {
namespace {

constexpr std::uint64_t block_elements = 32;

struct Variant {
  std::uint32_t lanes = 4;
  bool centered = false;
  bool residual = false;
  bool sum = false;
  bool weight = false;
  bool bias = false;
  bool packed = false;
};

struct Params {
  std::uint32_t rows = 0;
  std::uint32_t length = 0;
  std::uint32_t packed_row = 0;
  float eps = 0;
};

bool is_aligned(const View& view) {
  return !view.given() || (view.dtype == DType::f32 && view.is_dense() && view.offset % 16 == 0);
}

}  // namespace

Status can_lone(const Args& args, const Caps& caps) {
  const bool subgroups = caps.subgroups && caps.subgroup_min == caps.subgroup_max &&
                         (caps.subgroup_min == 4 || caps.subgroup_min == 8);
  const std::uint64_t length = args.y.shape[args.y.rank - 1];
  const auto is_row = [&](const View& view) {
    return !view.given() || (view.count() == length && view.shape[view.rank - 1] == length);
  };
  const std::array views{args.x, args.y, args.residual, args.sum, args.weight, args.bias};
  if (subgroups && (args.kind == Kind::rms || args.kind == Kind::layer) && !args.chain.given() &&
      length % block_elements == 0 && length > 0 && std::ranges::all_of(views, is_aligned) &&
      is_row(args.weight) && is_row(args.bias) && std::ranges::all_of(views, [&](const View& view) {
        return view.bytes().size() <= binding_budget(caps);
      })) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Subgroups of 4 or 8 work alone on layer and RMS norms of dense f32 rows of whole "
              "blocks; y of this {} norm is {}.",
              name(args.kind), describe(args.y));
}

bool worth_lone(const Args&, const Caps& caps) { return caps.traits.slow_barriers; }

Result<Plan> plan_lone(const Args& args, const Caps& caps) {
  const std::uint64_t length = args.y.shape[args.y.rank - 1];
  const std::uint64_t rows = args.y.count() / length;
  Params params{.rows = static_cast<std::uint32_t>(rows),
                .length = static_cast<std::uint32_t>(length),
                .eps = args.eps};
  Launch out;
  out.source = "norm/lone.wgsl";
  out.label = formatted("{} norm lone", name(args.kind));
  out.features.subgroups = true;
  out.constants = constants_of(Variant{.lanes = caps.subgroup_min,
                                       .centered = args.kind == Kind::layer,
                                       .residual = args.residual.given(),
                                       .sum = args.sum.given(),
                                       .weight = args.weight.given(),
                                       .bias = args.bias.given(),
                                       .packed = args.packed.given()});
  out.operands.push_back({.name = "x", .view = args.x, .unit = 4});
  if (args.residual.given()) {
    out.operands.push_back({.name = "r", .view = args.residual, .unit = 4});
  }
  if (args.weight.given()) out.operands.push_back({.name = "w", .view = args.weight, .unit = 4});
  if (args.bias.given()) out.operands.push_back({.name = "b", .view = args.bias, .unit = 4});
  out.operands.push_back({.name = "y", .view = args.y, .access = Access::write, .unit = 4});
  if (args.sum.given()) {
    out.operands.push_back({.name = "s", .view = args.sum, .access = Access::write, .unit = 4});
  }
  if (args.packed.given()) {
    out.label += " packed";
    params.packed_row = static_cast<std::uint32_t>(args.packed.shape[args.packed.rank - 1]);
    out.operands.push_back({.name = "packed", .view = args.packed, .access = Access::write});
  }
  out.params = block_of(params);
  out.grid = grid_1d(rows, caps);
  Stages stages{args.x, args.y, args.residual, args.sum, args.weight, args.bias, args.packed};
  stages.add(make_dispatch(std::move(out), caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::norm
