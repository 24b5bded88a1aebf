#include "ops/softmax/dense.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::softmax {
namespace {

constexpr std::uint64_t together = 8;  // rows of a workgroup, which are whole vectors of 16 bytes
constexpr std::uint64_t most_length = 1024;

struct Variant {
  std::uint32_t size = 256;
  std::uint32_t lanes = 32;
  std::uint32_t subgroup = 0;
  std::uint32_t chunk = 8;
  std::uint32_t chunks = 1;
  std::uint32_t capacity = 0;
  bool across = false;
  bool log = false;
};

struct Params {
  std::uint32_t blocks = 0;
  std::uint32_t total = 0;
  std::uint32_t length = 0;
  float scale = 1;
};

std::uint64_t length_of(const Args& args) { return args.y.shape[args.y.rank - 1]; }

Variant variant_of(const Args& args, const Caps& caps) {
  // Few sizes, so that few kernels are compiled.
  Variant out{.capacity = static_cast<std::uint32_t>(round_up<std::uint64_t>(length_of(args), 32)),
              .log = args.log};
  // Smaller workgroups leave processors idle for less time at the end; the elements of a lane stay
  // in registers.
  out.size = std::min(out.capacity > 512 ? 256U : 128U, workgroup_width(caps));
  out.lanes = out.size / static_cast<std::uint32_t>(together);
  if (caps.subgroups && std::has_single_bit(caps.subgroup_min))
    out.subgroup = std::min(out.lanes, caps.subgroup_min);
  out.chunks = ceil_div(out.capacity, out.size);
  return out;
}

bool is_plain(const View& view, const Caps& caps) {
  return is_float(view.dtype) && size_of(view.dtype) == 2 && view.is_dense() &&
         view.offset % 16 == 0 && view.bytes().size() <= binding_budget(caps);
}

}  // namespace

Status can_dense(const Args& args, const Caps& caps) {
  const Variant variant = variant_of(args, caps);
  const std::uint64_t bytes = variant.capacity * 16ULL + 64 + variant.size * 8ULL;
  if (!args.chain.given() && !args.mask.given() && !args.sinks.given() && is_plain(args.x, caps) &&
      is_plain(args.y, caps) && args.y.count() < (1ULL << 31) && length_of(args) >= together &&
      length_of(args) <= most_length && bytes <= caps.workgroup_bytes) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Eight rows at a time are taken of dense 16-bit tensors of one binding, with {} to "
              "{} elements each and without a mask; y is {}.",
              together, most_length, describe(args.y));
}

bool worth_dense(const Args& args, const Caps& caps) {
  // Rows of other lengths are read in vectors where lanes have them alone, too. 96 x 197 x 197 on
  // an H200: 11 us, 22 with pairs of lanes that share words.
  return !caps.traits.slow_barriers && length_of(args) % 4 != 0 && length_of(args) >= 64;
}

Result<Plan> plan_dense(const Args& args, const Caps& caps) {
  const Variant variant = variant_of(args, caps);
  const std::uint64_t blocks = ceil_div(args.y.count() / length_of(args), together);
  Launch out;
  out.source = "softmax/dense.wgsl";
  out.label = args.log ? "log_softmax dense" : "softmax dense";
  out.features.subgroups = variant.subgroup > 0;
  out.constants = constants_of(variant);
  out.operands.push_back({.name = "x", .view = args.x, .unit = 4});
  out.operands.push_back({.name = "y", .view = args.y, .access = Access::write, .unit = 4});
  out.params = block_of(Params{.blocks = static_cast<std::uint32_t>(blocks),
                               .total = static_cast<std::uint32_t>(args.y.count()),
                               .length = static_cast<std::uint32_t>(length_of(args)),
                               .scale = args.scale});
  out.grid = grid_1d(blocks, caps);
  Stages stages{args.x, args.y};
  stages.add(make_dispatch(std::move(out), caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::softmax
