#include "ops/softmax/lone.hpp"

#include <cstdint>
#include <utility>

#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/stages.hpp"

namespace weft::ops::softmax {
namespace {

struct Variant {
  std::uint32_t lanes = 4;
  bool log = false;
};

struct Params {
  std::uint32_t rows = 0;
  std::uint32_t length = 0;
  float scale = 1;
};

bool is_plain(const View& view, const Caps& caps) {
  return view.dtype == DType::f32 && view.is_dense() && view.offset % 16 == 0 &&
         view.bytes().size() <= binding_budget(caps);
}

}  // namespace

Status can_lone(const Args& args, const Caps& caps) {
  const bool subgroups = caps.subgroups && caps.subgroup_min == caps.subgroup_max &&
                         (caps.subgroup_min == 4 || caps.subgroup_min == 8);
  const std::uint64_t block = std::uint64_t{4} * caps.subgroup_min;
  if (subgroups && !args.chain.given() && !args.mask.given() && !args.sinks.given() &&
      is_plain(args.x, caps) && is_plain(args.y, caps) &&
      args.y.shape[args.y.rank - 1] % block == 0) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Subgroups of 4 or 8 work alone on dense f32 rows of whole blocks, without a mask; "
              "y is {}.",
              describe(args.y));
}

bool worth_lone(const Args&, const Caps& caps) { return caps.traits.slow_barriers; }

Result<Plan> plan_lone(const Args& args, const Caps& caps) {
  const std::uint64_t length = args.y.shape[args.y.rank - 1];
  const std::uint64_t rows = args.y.count() / length;
  Launch out;
  out.source = "softmax/lone.wgsl";
  out.label = args.log ? "log_softmax lone" : "softmax lone";
  out.features.subgroups = true;
  out.constants = constants_of(Variant{.lanes = caps.subgroup_min, .log = args.log});
  out.operands.push_back({.name = "x", .view = args.x, .unit = 4});
  out.operands.push_back({.name = "y", .view = args.y, .access = Access::write, .unit = 4});
  out.params = block_of(Params{.rows = static_cast<std::uint32_t>(rows),
                               .length = static_cast<std::uint32_t>(length),
                               .scale = args.scale});
  out.grid = grid_1d(rows, caps);
  Stages stages{args.x, args.y};
  stages.add(make_dispatch(std::move(out), caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::softmax
