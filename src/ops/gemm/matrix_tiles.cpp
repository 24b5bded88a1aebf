// Which tile of matrices a product takes, and in how many parts of k.
#include <algorithm>
#include <array>

#include "base/math.hpp"
#include "ops/gemm/tiles.hpp"
#include "ops/tile_families.hpp"

namespace weft::ops::gemm {
namespace {

/// How an H200 works on a tile: how many workgroups a processor runs at a time, and how long these
/// take for one step of 1 along k, when all processors work. Devices with slower matrix units take
/// longer for a step, and smaller ones take more rounds.
struct MatrixTime {
  MatrixTile tile;
  std::uint64_t each = 0;
  double step_ns = 0;
};

constexpr std::array matrix_times{
    MatrixTime{{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2}, 2, 30},
    // Eight subgroups instead of four: as fast where each multiprocessor has one workgroup only.
    MatrixTime{{.bm = 128, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 1, 15.1},
    MatrixTime{{.bm = 64, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 1, 12.5},
    MatrixTime{{.bm = 32, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 2, 14},
    // For devices with little memory per workgroup.
    MatrixTime{{.bm = 64, .bn = 128, .bk = 32, .sm = 1, .sn = 4}, 3, 29},
    MatrixTime{{.bm = 32, .bn = 64, .bk = 32, .sm = 1, .sn = 4}, 8, 26},
    // For devices with few registers: as quick as their sizes say, measured nowhere.
    MatrixTime{{.bm = 64, .bn = 64, .bk = 32, .sm = 2, .sn = 2}, 4, 20},
    MatrixTime{{.bm = 64, .bn = 128, .bk = 32, .sm = 2, .sn = 4}, 2, 17},
};
/// The last two are for others than the H200, whose choices do not change by them.
constexpr std::size_t measured_tiles = 6;
constexpr double measured_rate = 280;        // 10¹² operations per second, of 132 processors
constexpr double measured_processors = 132;  // of which grids use a power of two
constexpr double round_ns = 4000;            // To start a round of workgroups and to end it.
constexpr double reduce_ns = 3000;           // To launch the kernel that adds up parts of k.
constexpr std::uint64_t least_k = 256;       // Shorter parts do not pay for what they write.

/// Tiles of 8x8x8 matrices, largest first: a product takes the first that keeps the device busy, or
/// else the last. The last one is quick to compile, for software devices.
constexpr std::array small_tiles{
    MatrixTile{.bm = 64, .bn = 64, .bk = 32, .sm = 2, .sn = 2},
    MatrixTile{.bm = 64, .bn = 32, .bk = 32, .sm = 2, .sn = 2},
    MatrixTile{.bm = 32, .bn = 32, .bk = 32, .sm = 2, .sn = 2},
    MatrixTile{.bm = 16, .bn = 16, .bk = 16, .sm = 2, .sn = 2},
};

MatrixTile made_of(MatrixTile tile, const Matrices& matrices) {
  tile.mm = matrices.shape.m;
  tile.mn = matrices.shape.n;
  tile.mk = matrices.shape.k;
  tile.component = matrices.shape.component;
  tile.result = matrices.shape.result;
  return tile;
}

bool fits(const MatrixTile& tile, const Matrices& matrices, const Caps& caps) {
  // Sums in f16 have others in f32 beside them.
  const std::uint32_t share = tile.result == MatrixType::f16 ? 3 : 2;
  return tile.valid(caps) &&
         (tile.bm / tile.sm) * (tile.bn / tile.sn) / matrices.subgroup * share <=
             caps.traits.registers;
}

std::uint64_t groups_of(const MatrixTile& tile, std::uint64_t m, std::uint64_t n,
                        std::uint64_t batches) {
  return ceil_div<std::uint64_t>(m, tile.bm) * ceil_div<std::uint64_t>(n, tile.bn) * batches;
}

std::optional<Matrices> matrices_for(const Caps& caps, const MatrixUse& use) {
  const auto exact =
      use.halves ? float_matrices(caps) : find_matrices(caps, MatrixType::f32, MatrixType::f32);
  if (exact || !use.bounded || !use.halves) return exact;
  return find_matrices(caps, MatrixType::f16, MatrixType::f16);
}

/// A product as choices see it.
struct Size {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint64_t batches = 1;
};

/// In how many parts of k a product takes least time with a tile, and that time.
std::pair<std::uint32_t, double> parts_of(const MatrixTime& time, const Size& size,
                                          const Caps& caps) {
  const Traits& traits = caps.traits;
  const double pace = measured_rate / measured_processors * traits.processors / traits.matrix_rate;
  const std::uint64_t tiles = groups_of(time.tile, size.m, size.n, size.batches);
  const std::uint64_t at_once = time.each * traits.fill(1);
  const std::uint64_t most = std::clamp<std::uint64_t>(size.k / least_k, 1, 64);
  std::pair<std::uint32_t, double> best{1, 0};
  for (std::uint64_t parts = 1; parts <= most; ++parts) {
    const auto rounds = static_cast<double>(ceil_div(tiles * parts, at_once));
    double ns =
        rounds * (static_cast<double>(ceil_div(size.k, parts)) * time.step_ns * pace + round_ns);
    if (parts > 1) {  // Every part is written and read, the result is written.
      const double bytes =
          static_cast<double>((2 * parts + 1) * size.m * size.n * size.batches) * sizeof(float);
      ns += reduce_ns + bytes / traits.memory_rate;
    }
    if (parts == 1 || ns < best.second) best = {static_cast<std::uint32_t>(parts), ns};
  }
  return best;
}

std::optional<MatrixSplit> choose_small(const Size& size, const Matrices& matrices,
                                        const Caps& caps) {
  std::optional<MatrixTile> last;
  std::uint32_t number = static_cast<std::uint32_t>(matrix_times.size());
  for (const MatrixTile& given : small_tiles) {
    const MatrixTile tile = made_of(given, matrices);
    ++number;
    if (!fits(tile, matrices, caps)) continue;
    last = tile;
    if (caps.traits.matrix_tile == number) break;
    if (caps.traits.matrix_tile <= matrix_times.size() && !caps.traits.slow_compile &&
        groups_of(tile, size.m, size.n, size.batches) >= busy_workgroups(caps))
      break;
  }
  if (!last) return std::nullopt;
  return MatrixSplit{*last,
                     parts_for(groups_of(*last, size.m, size.n, size.batches), size.k, 512, caps)};
}

}  // namespace

std::optional<MatrixSplit> choose_matrix(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                         std::uint64_t batches, const Caps& caps,
                                         const MatrixUse& use) {
  const auto matrices = matrices_for(caps, use);
  if (!matrices) return std::nullopt;
  const Size size{m, n, k, batches};
  // Small matrices have tiles of their own.
  if (matrices->shape.m * matrices->shape.n < 128) return choose_small(size, *matrices, caps);
  std::optional<MatrixSplit> best;
  double least_ns = 0;
  const bool measured = caps.traits.registers >= 256;
  for (std::size_t i = 0; i < (measured ? measured_tiles : matrix_times.size()); ++i) {
    MatrixTime time = matrix_times[i];
    time.tile = made_of(time.tile, *matrices);
    if (!fits(time.tile, *matrices, caps)) continue;
    const auto [parts, ns] = parts_of(time, size, caps);
    if (caps.traits.matrix_tile == i + 1) return MatrixSplit{time.tile, parts};
    if (best && ns >= least_ns) continue;
    best = {time.tile, parts};
    least_ns = ns;
  }
  return best ? best : choose_small(size, *matrices, caps);
}

std::uint32_t matrix_tile_count() {
  return static_cast<std::uint32_t>(matrix_times.size() + small_tiles.size());
}

std::vector<std::string> matrix_tiles() {
  std::vector<MatrixTile> all;
  for (const MatrixTime& time : matrix_times) all.push_back(time.tile);
  all.insert(all.end(), small_tiles.begin(), small_tiles.end());
  return texts_of_tiles(all);
}

}  // namespace weft::ops::gemm
