#include "ops/conv/direct.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/unfold/windows.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::conv {
namespace {

struct Variant {
  std::string_view mode;
  bool bias = false;
  bool last = false;
  std::uint32_t chunk = 1;
  std::uint32_t items = 1;  // chunks per invocation
  bool single = false;      // input channels of an output
};

using unfold::Steps;

struct Params {
  unfold::WindowParams window;
  std::uint32_t total = 0;
  std::uint32_t channels = 0;  // of the computed tensor
  std::uint32_t group_to = 0;  // its channels per group (weight: those of the output)
  std::uint32_t group_from =
      0;                      // channels per group that each element sums over (weight: those of x)
  std::uint32_t windows = 0;  // weight: windows of all images
  std::uint32_t bias_step = 0;
  Steps x{};
  Steps w{};
  Steps e{};
  Steps y{};
};

/// `view` with spatial dimensions of extent 1 in front of its own, three in all.
View three(View view) {
  while (view.rank < 5) view = view.unsqueeze(2);
  return view;
}

}  // namespace

Problem Problem::images(std::uint64_t first, std::uint64_t count) const {
  Problem out_problem = *this;
  out_problem.image = image.slice(0, first, count);
  out_problem.out = out.slice(0, first, count);
  return out_problem;
}

Problem Problem::part(std::uint64_t first, std::uint64_t count, bool bias_of_out) const {
  Problem out_problem = *this;
  const auto cut = [&](const View& view, std::uint32_t dim) {
    const std::uint64_t each = view.shape[dim] / groups;
    return view.slice(dim, first * each, count * each);
  };
  out_problem.image = cut(image, 1);
  out_problem.out = cut(out, 1);
  out_problem.w = cut(w, 0);
  if (bias.given()) {
    const std::uint64_t each = (bias_of_out ? out : image).shape[1] / groups;
    out_problem.bias = bias.slice(0, first * each, count * each);
  }
  out_problem.groups = count;
  return out_problem;
}

namespace {

/// Channels lie side by side, two to a word of their own.
bool channels_in_pairs(const View& y) {
  if (y.stride[1] != 1 || y.shape[1] % 2 != 0 || y.offset % 4 != 0) return false;
  for (const std::uint32_t i : {0U, 2U, 3U, 4U}) {
    if (y.shape[i] > 1 && y.stride[i] % 2 != 0) return false;
  }
  return true;
}

}  // namespace

Result<Plan> plan_direct(const Problem& problem, Mode mode, const Caps& caps) {
  const View image = three(problem.image);
  const View out = three(problem.out);
  const View w = three(problem.w);
  const View& y = mode == Mode::forward ? out : mode == Mode::transposed ? image : w;
  Params params;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t missing = 3 - problem.spatial();
    const Axis axis = i < missing ? Axis{} : problem.axes[i - missing];
    params.window.set(i, image.shape[2 + i], out.shape[2 + i], w.shape[2 + i], axis);
  }
  const std::uint32_t image_group = narrow(image.shape[1] / problem.groups);
  const std::uint32_t out_group = narrow(out.shape[1] / problem.groups);
  Variant variant{.mode = mode == Mode::forward ? "forward" : "transposed"};
  Launch launch;
  params.y = unfold::steps_of(y);
  Access access = Access::write;
  if (mode == Mode::weight) {
    variant.mode = "weight";
    params.group_from = image_group;
    params.group_to = out_group;
    params.windows = narrow(out.count() / out.shape[1]);
    params.x = unfold::steps_of(image);
    params.e = unfold::steps_of(out);
    params.total = narrow(y.count());
    if (size_of(y.dtype) < 4) access = Access::atomic;
    launch.source = "conv/weight.wgsl";
    launch.operands = {{"x", image}, {"e", out}, {"y", y, access}};
    launch.grid = grid_1d(params.total, caps);
  } else {
    const View& x = mode == Mode::forward ? image : out;
    params.group_from = mode == Mode::forward ? image_group : out_group;
    params.group_to = mode == Mode::forward ? out_group : image_group;
    params.channels = narrow(y.shape[1]);
    params.x = unfold::steps_of(x);
    params.w = unfold::steps_of(w);
    variant.last = y.stride[1] < y.stride[4] && y.shape[1] > 1;
    if (size_of(y.dtype) < 4) {
      if (variant.last ? channels_in_pairs(y) : unfold::in_pairs(y)) {
        variant.chunk = 2;
      } else {
        access = Access::atomic;
      }
    }
    variant.single = params.group_from == 1;
    // Where finding the place of an element is slow, it is found for several.
    if (caps.traits.items > 1 && variant.chunk == 1 && access == Access::write && !variant.last &&
        y.shape[4] % 4 == 0) {
      variant.items = 4;
    }
    params.total = narrow(y.count() / (std::uint64_t{variant.chunk} * variant.items));
    launch.source = "conv/direct.wgsl";
    launch.operands = {{"x", x}, {"w", w}, {"y", y, access}};
    if (problem.bias.given()) {
      variant.bias = true;
      params.bias_step = narrow(problem.bias.stride[0]);
      launch.operands.push_back({"bias", problem.bias});
    }
    launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  }
  launch.label = formatted("conv {} {} to {}", variant.mode, name(image.dtype), name(y.dtype));
  launch.constants = constants_of(variant);
  if (mode == Mode::weight) launch.constants.merge(constants_of(NarrowVariant{}));
  launch.params = block_of(params);
  Plan plan;
  if (const Status ok = plan.add(make_dispatch(std::move(launch), caps)); !ok)
    return std::unexpected(ok.error());
  return plan;
}

}  // namespace weft::ops::conv
