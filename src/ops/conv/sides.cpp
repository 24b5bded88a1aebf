#include "ops/conv/sides.hpp"

#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::conv {
namespace {

using Four = std::array<std::uint32_t, 4>;

struct PadVariant {
  bool weights = false;
  bool turned = false;
};

struct PadParams {
  std::uint32_t total = 0;
  std::uint32_t total_w = 0;
  std::uint32_t padded_h = 0;
  std::uint32_t padded_w = 0;
  std::uint32_t eights = 0;  // of channels
  std::int32_t pad_h = 0;
  std::int32_t pad_w = 0;
  std::uint32_t in_h = 0;
  std::uint32_t in_w = 0;
  std::uint32_t m = 0;
  std::uint32_t taps = 1;
  std::uint32_t taps_w = 1;
  Four x{};
  Four w{};
};

Four steps_of(const View& view) {
  Four out{};
  for (std::uint32_t i = 0; i < 4; ++i) out[i] = narrow(view.stride[i]);
  return out;
}

}  // namespace

bool has_sides(const Problem& problem, Mode mode) {
  if (problem.spatial() != 2 || problem.groups != 1 || mode == Mode::weight) return false;
  return mode == Mode::forward || (problem.axes[0].stride == 1 && problem.axes[1].stride == 1);
}

Sides sides_of(const Problem& problem, Mode mode) {
  Sides out{.flip = mode == Mode::transposed};
  out.x = out.flip ? problem.out : problem.image;
  out.y = out.flip ? problem.image : problem.out;
  constexpr std::array<std::uint32_t, 4> forward{0, 2, 3, 1};
  constexpr std::array<std::uint32_t, 4> turned{1, 2, 3, 0};
  out.w = problem.w.permute(out.flip ? turned : forward);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Axis& axis = problem.axes[i];
    const std::uint64_t reach = (problem.w.shape[2 + i] - 1) * axis.dilation;
    out.stride[i] = axis.stride;
    out.pad[i] = out.flip ? static_cast<std::int64_t>(reach) - axis.pad : axis.pad;
    out.padded[i] = (out.y.shape[2 + i] - 1) * axis.stride + reach + 1;
  }
  return out;
}

Result<Dispatch> pad_launch(Stages& stages, const Sides& sides, const View& padded, View& w,
                            const Caps& caps) {
  PadParams params;
  params.padded_h = narrow(sides.padded[0]);
  params.padded_w = narrow(sides.padded[1]);
  params.eights = narrow(sides.channels() / 8);
  params.total = narrow(sides.padded_count() / 8);
  params.pad_h = static_cast<std::int32_t>(sides.pad[0]);
  params.pad_w = static_cast<std::int32_t>(sides.pad[1]);
  params.in_h = narrow(sides.x.shape[2]);
  params.in_w = narrow(sides.x.shape[3]);
  params.x = steps_of(sides.x);
  Launch launch;
  launch.source = "conv/pad.wgsl";
  launch.label = formatted("conv pad {}", name(sides.x.dtype));
  launch.operands = {{"x", sides.x}, {"y", padded, Access::write, 4}};
  PadVariant variant;
  if (w.dtype != DType::f16 || !w.is_dense() || w.offset % 16 != 0) {
    const View given = std::exchange(w, stages.scratch(DType::f16, sides.w.extents()));
    variant = {.weights = true, .turned = sides.flip};
    params.m = narrow(given.shape[0]);
    params.taps = narrow(sides.taps());
    params.taps_w = narrow(given.shape[2]);
    params.total_w = narrow(given.count() / 8);
    params.w = steps_of(given);
    launch.operands.push_back({"w", given});
    launch.operands.push_back({"z", w, Access::write, 4});
  }
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.grid = grid_1d(
      ceil_div<std::uint64_t>(std::uint64_t{params.total} + params.total_w, workgroup_width(caps)),
      caps);
  return make_dispatch(std::move(launch), caps);
}

}  // namespace weft::ops::conv
