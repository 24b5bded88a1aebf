#include "ops/conv/implicit.hpp"

#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/conv/sides.hpp"
#include "ops/fields.hpp"
#include "ops/gemm/tiles.hpp"
#include "ops/iterate.hpp"
#include "ops/matrices.hpp"
#include "ops/stages.hpp"

namespace weft::ops::conv {
namespace {

struct Variant {
  std::uint32_t bm = 0;
  std::uint32_t bn = 0;
  std::uint32_t bk = 0;
  std::uint32_t sm = 0;
  std::uint32_t sn = 0;
  std::uint32_t mm = 0;
  std::uint32_t mn = 0;
  std::uint32_t mk = 0;
  std::uint32_t subgroup = 0;
  std::uint32_t kernel_h = 0;
  std::uint32_t kernel_w = 0;
  bool flip = false;
  bool bias = false;
};

struct Params {
  std::uint32_t m = 0;  // channels of y
  std::uint32_t n = 0;  // pixels of all images
  std::uint32_t k = 0;  // taps times channels of x
  std::uint32_t channels = 0;
  std::uint32_t pixels = 0;
  std::uint32_t out_w = 0;
  std::uint32_t padded_h = 0;
  std::uint32_t padded_w = 0;
  std::uint32_t stride_h = 1;
  std::uint32_t stride_w = 1;
  std::uint32_t step_h = 0;  // from tap to tap
  std::uint32_t step_w = 0;
  std::uint32_t y_image = 0;
  std::uint32_t y_channel = 0;
  std::uint32_t bias_step = 0;
};

/// The tile for a product of these sides, with steps that do not pass a tap.
std::optional<gemm::MatrixTile> tile_of(const Sides& sides, const Caps& caps) {
  const auto split = gemm::choose_matrix(sides.w.shape[0], sides.x.shape[0] * sides.pixels(),
                                         sides.taps() * sides.channels(), 1, caps);
  if (!split) return std::nullopt;
  gemm::MatrixTile tile = split->tile;
  // One workgroup for each processor: smaller ones where all are at work then.
  gemm::MatrixTile narrower = tile;
  narrower.bn = 96;
  narrower.sm = 4;
  narrower.sn = 2;
  const auto rounds = [&](const gemm::MatrixTile& each) {
    return ceil_div<std::uint64_t>(
        ceil_div<std::uint64_t>(sides.w.shape[0], each.bm) *
            ceil_div<std::uint64_t>(sides.x.shape[0] * sides.pixels(), each.bn),
        caps.traits.processors);
  };
  if (tile.bn == 128 && tile.bk == 64 && narrower.valid(caps) && rounds(narrower) == rounds(tile))
    tile = narrower;
  while (sides.channels() % tile.bk != 0 && tile.bk > tile.mk) tile.bk /= 2;
  const bool halves = tile.component == MatrixType::f16 && tile.result == MatrixType::f32;
  const bool in_grid =
      ceil_div<std::uint64_t>(sides.x.shape[0] * sides.pixels(), tile.bn) <= caps.max_workgroups &&
      ceil_div<std::uint64_t>(sides.w.shape[0], tile.bm) <= caps.max_workgroups;
  if (!halves || !in_grid || sides.channels() % tile.bk != 0 || !tile.valid(caps))
    return std::nullopt;
  return tile;
}

/// Whether images and channels of y are runs of pixels in aligned fours.
bool in_fours(const View& y) {
  return y.stride[3] == 1 && (y.shape[2] == 1 || y.stride[2] == y.shape[3]) &&
         y.shape[2] * y.shape[3] % 4 == 0 && (y.shape[0] == 1 || y.stride[0] % 4 == 0) &&
         (y.shape[1] == 1 || y.stride[1] % 4 == 0) && y.offset % (4ULL * size_of(y.dtype)) == 0;
}

}  // namespace

Status can_implicit(const Problem& problem, Mode mode, const Caps& caps) {
  const bool ours = has_sides(problem, mode);
  const Sides sides = ours ? sides_of(problem, mode) : Sides{};
  const bool halves =
      problem.allow_f16 || (sides.x.dtype == DType::f16 && sides.w.dtype == DType::f16);
  const std::uint64_t budget = binding_budget(caps);
  if (ours && halves && in_fours(sides.y) && sides.channels() % 8 == 0 &&
      sides.padded_count() * 2 <= budget && sides.w.count() * 2 <= budget &&
      sides.w.bytes().size() <= budget && sides.padded_count() < (1ULL << 31) &&
      sides.x.bytes().size() <= budget && sides.y.bytes().size() <= budget &&
      sides.y.count() < (1ULL << 31) && sides.pad[0] < (1 << 28) && sides.pad[1] < (1 << 28) &&
      tile_of(sides, caps)) {
    return {};
  }
  return fail(ErrorCode::unsupported,
              "Windows are multiplied where they lie in two dimensions, without groups, in f16, "
              "with channels that are whole steps of a tile of matrices and results in aligned "
              "fours of one binding; the tensors are {}, {} and {}.",
              describe(problem.image), describe(problem.w), describe(problem.out));
}

bool worth_implicit(const Problem& problem, Mode mode, const Caps& caps) {
  if (!caps.traits.matrix_units || !has_sides(problem, mode)) return false;
  const Sides sides = sides_of(problem, mode);
  const auto tile = can_implicit(problem, mode, caps) ? tile_of(sides, caps) : std::nullopt;
  // 8 x 256 x 28 x 28 with 3 x 3 and as many channels on an H200: 42 us, 70 with windows in memory,
  // and 126 with windows added up from there. Few tiles would leave processors idle; other products
  // are made in parts of k.
  return tile && sides.taps() > 1 && sides.channels() >= 32 && sides.w.shape[0] >= 32 &&
         2 * ceil_div<std::uint64_t>(sides.w.shape[0], tile->bm) *
                 ceil_div<std::uint64_t>(sides.x.shape[0] * sides.pixels(), tile->bn) >=
             caps.traits.processors;
}

Result<Plan> plan_implicit(const Problem& problem, Mode mode, const Caps& caps) {
  const Sides sides = sides_of(problem, mode);
  const auto tile = tile_of(sides, caps);
  const auto matrices = tile ? tile->matrices(caps) : std::nullopt;
  if (!matrices) return fail(ErrorCode::internal, "There are no matrix units for a convolution.");
  Stages stages({problem.image, problem.w, problem.out, problem.bias});
  const View padded = stages.scratch(DType::f16, {sides.padded_count()});
  View w = sides.w;
  stages.add(pad_launch(stages, sides, padded, w, caps));
  const Variant variant{.bm = tile->bm,
                        .bn = tile->bn,
                        .bk = tile->bk,
                        .sm = tile->sm,
                        .sn = tile->sn,
                        .mm = tile->mm,
                        .mn = tile->mn,
                        .mk = tile->mk,
                        .subgroup = matrices->subgroup,
                        .kernel_h = narrow(w.shape[1]),
                        .kernel_w = narrow(w.shape[2]),
                        .flip = sides.flip,
                        .bias = problem.bias.given()};
  Params params;
  params.m = narrow(w.shape[0]);
  params.n = narrow(sides.x.shape[0] * sides.pixels());
  params.k = narrow(sides.taps() * sides.channels());
  params.channels = narrow(sides.channels());
  params.pixels = narrow(sides.pixels());
  params.out_w = narrow(sides.y.shape[3]);
  params.padded_h = narrow(sides.padded[0]);
  params.padded_w = narrow(sides.padded[1]);
  params.stride_h = narrow(sides.stride[0]);
  params.stride_w = narrow(sides.stride[1]);
  params.step_h = narrow(problem.axes[0].dilation * sides.padded[1] * sides.channels());
  params.step_w = narrow(problem.axes[1].dilation * sides.channels());
  params.y_image = narrow(sides.y.stride[0]);
  params.y_channel = narrow(sides.y.stride[1]);
  Launch launch;
  launch.source = "conv/implicit.wgsl";
  launch.label = formatted("conv implicit {}x{}x{}", tile->bm, tile->bn, tile->bk);
  launch.features = features_of(*matrices, caps);
  launch.operands = {{"w", w, Access::read, 4},
                     {"x", padded, Access::read, 4},
                     {"y", sides.y, Access::write, narrow(size_of(sides.y.dtype))}};
  if (variant.bias) {
    params.bias_step = narrow(problem.bias.stride[0]);
    launch.operands.push_back({"bias", problem.bias});
  }
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.grid = {ceil_div(params.n, tile->bn), ceil_div(params.m, tile->bm), 1};
  stages.add(make_dispatch(std::move(launch), caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::conv
