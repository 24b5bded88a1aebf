#include "ops/conv/window.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/tile_families.hpp"
#include "ops/unfold/windows.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::conv {
namespace {

struct Variant {
  std::uint32_t kernel_h = 1;
  std::uint32_t kernel_w = 1;
  std::uint32_t stride = 1;
  std::uint32_t items = 4;  // rows of an invocation
  std::uint32_t chunk = 1;  // neighbours along the last dimension, or channels
  bool last = false;        // channels are the last dimension
  bool flip = false;
  bool bias = false;
  bool single = false;            // input channels of an output
  std::string_view words = "no";  // "even", "odd", "last": pairs of x are read at once
  std::uint32_t size = 256;       // invocations of a workgroup, for gradients of weights
};

using Four = std::array<std::uint32_t, 4>;

/// Rows of an invocation, for Traits::conv_tile to choose among.
constexpr std::array<std::uint32_t, 4> rows{2, 4, 8, 1};

struct Params {
  std::uint32_t total = 0;
  std::uint32_t channels = 0;    // of y
  std::uint32_t group_to = 0;    // channels of y per group
  std::uint32_t group_from = 0;  // channels of x per group
  std::uint32_t in_h = 0;
  std::uint32_t in_w = 0;
  std::uint32_t out_h = 0;
  std::uint32_t out_w = 0;
  std::int32_t pad_h = 0;
  std::int32_t pad_w = 0;
  std::uint32_t bias_step = 0;
  std::uint32_t w_channel = 0;  // steps of the weights along channels of y, and of x
  std::uint32_t w_from = 0;
  std::uint32_t w_2 = 0;
  std::uint32_t w_3 = 0;
  Four x{};
  Four y{};
};

Four steps_of(const View& view) {
  Four out{};
  for (std::uint32_t i = 0; i < 4; ++i) out[i] = view.shape[i] == 1 ? 0 : narrow(view.stride[i]);
  return out;
}

/// The tensor whose elements invocations go through: the computed one, or that with the gradient of
/// the output.
const View& gone_through(const Problem& problem, Mode mode) {
  return mode == Mode::transposed ? problem.image : problem.out;
}

/// Pairs of 16-bit elements lie along the dimension whose elements are neighbours, columns or
/// channels.
bool in_pairs(const View& y, bool last) {
  return unfold::in_pairs(y.transpose(last ? 1 : 3, 3).unsqueeze(2));
}

/// Whether pairs of neighbouring columns of x, from column 0 on, lie in words of their own; the
/// last one may be half a pair.
bool in_words(const View& x) {
  View even = x.unsqueeze(2);
  even.shape[4] = round_up<std::uint64_t>(x.shape[3], 2);
  return size_of(x.dtype) == 2 && unfold::in_pairs(even);
}

}  // namespace

std::uint32_t conv_tile_count() { return rows.size(); }
std::vector<std::string> conv_tiles() { return texts_of_tiles(rows); }

bool takes_window(const Problem& problem, Mode mode) {
  if (problem.spatial() != 2) return false;
  const View& w = problem.w;
  const Axis& down = problem.axes[0];
  const Axis& across = problem.axes[1];
  return down.stride == across.stride && down.dilation == 1 && across.dilation == 1 &&
         down.stride <= (mode == Mode::transposed ? 1 : 2) && w.shape[2] <= 7 && w.shape[3] <= 7 &&
         (mode != Mode::weight || w.shape[1] == 1) && gone_through(problem, mode).shape[2] >= 4;
}

Result<Plan> plan_window(const Problem& problem, Mode mode, const Caps& caps) {
  const bool flip = mode == Mode::transposed;
  const View& x = flip ? problem.out : problem.image;
  const View& y = gone_through(problem, mode);
  const View& w = problem.w;
  Variant variant{.kernel_h = narrow(w.shape[2]),
                  .kernel_w = narrow(w.shape[3]),
                  .stride = narrow(problem.axes[0].stride),
                  .flip = flip,
                  .bias = problem.bias.given()};
  Params params;
  params.channels = narrow(y.shape[1]);
  params.group_to = narrow(y.shape[1] / problem.groups);
  params.group_from = narrow(x.shape[1] / problem.groups);
  params.in_h = narrow(x.shape[2]);
  params.in_w = narrow(x.shape[3]);
  params.out_h = narrow(y.shape[2]);
  params.out_w = narrow(y.shape[3]);
  const auto pad = [&](std::uint32_t i) {
    const auto given = static_cast<std::int32_t>(problem.axes[i].pad);
    return flip ? static_cast<std::int32_t>(w.shape[2 + i]) - 1 - given : given;
  };
  params.pad_h = pad(0);
  params.pad_w = pad(1);
  params.w_channel = narrow(w.stride[flip ? 1 : 0]);
  params.w_from = narrow(w.stride[flip ? 0 : 1]);
  params.w_2 = narrow(w.stride[2]);
  params.w_3 = narrow(w.stride[3]);
  params.x = steps_of(x);
  params.y = steps_of(y);
  // More rows share more, if the last of them do not lie behind the end (3 x 3 in 56 x 56 f32 on an
  // H200: 21 us, 24 with four rows, 24 with 16). Long texts take long to compile.
  if (!caps.traits.slow_compile && (y.shape[2] + 3) / 4 % 2 == 0) variant.items = 8;
  if (const std::uint32_t number = caps.traits.conv_tile; number > 0 && number <= rows.size())
    variant.items = rows[number - 1];
  Launch launch;
  if (mode == Mode::weight) {
    // A workgroup per channel fills a device only if it is wide (8 x 256 x 56 x 56 f16 on an H200:
    // 37 us, 76 with 256).
    variant.size = workgroup_width(caps);
    if (!caps.traits.slow_barriers) {
      if (caps.traits.conv_tile == 0) variant.items = 4;
      variant.size =
          std::min({1024U, std::bit_floor(caps.workgroup_invocations), caps.workgroup_bytes / 16});
    }
    params.total =
        narrow(y.shape[0] * ceil_div<std::uint64_t>(y.shape[2], variant.items) * y.shape[3]);
    launch.source = "conv/window_weight.wgsl";
    launch.label = formatted("conv window weight {} to {}", name(x.dtype), name(w.dtype));
    launch.operands = {
        {"x", x}, {"e", y}, {"y", w, size_of(w.dtype) < 4 ? Access::atomic : Access::write}};
    launch.grid = grid_1d(params.channels, caps);
  } else {
    variant.single = params.group_from == 1;
    variant.last = y.stride[1] < y.stride[3] && y.shape[1] > 1;
    Access access = Access::write;
    if (size_of(y.dtype) < 4) {
      const bool depthwise = variant.single && params.group_to == 1;
      if (in_pairs(y, variant.last) && (!variant.last || depthwise)) {
        variant.chunk = 2;
        if (!variant.last && in_words(x)) variant.words = params.pad_w % 2 == 0 ? "even" : "odd";
        if (variant.last && flip) params.w_channel = params.w_from;
        // 8 x 56 x 56 x 256 f16 with 3 x 3 on an H200: 19 us, 30 with single reads, and 21 with
        // weights in workgroup memory besides.
        if (variant.last && size_of(x.dtype) == 2 && in_pairs(x, true)) variant.words = "last";
      } else {
        access = Access::atomic;
      }
    }
    const std::uint64_t bands = ceil_div<std::uint64_t>(y.shape[2], variant.items);
    params.total = narrow(y.shape[0] * y.shape[1] * bands * y.shape[3] / variant.chunk);
    launch.source = "conv/window.wgsl";
    launch.label = formatted("conv window {} to {}", name(x.dtype), name(y.dtype));
    launch.operands = {{"x", x}, {"w", w}, {"y", y, access}};
    if (variant.bias) {
      params.bias_step = narrow(problem.bias.stride[0]);
      launch.operands.push_back({"bias", problem.bias});
    }
    launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  }
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  Plan plan;
  if (const Status ok = plan.add(make_dispatch(std::move(launch), caps)); !ok)
    return std::unexpected(ok.error());
  return plan;
}

}  // namespace weft::ops::conv
