#include "ops/gemm/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/format.hpp"
#include "base/math.hpp"

namespace weft::ops::gemm {
namespace {

// Largest first: a problem takes the first that gives the device enough workgroups, or else the last.
constexpr std::array register_tiles{
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4},
};

constexpr std::array matrix_tiles{
    MatrixTile{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2},
    MatrixTile{.bm = 64, .bn = 128, .bk = 32, .sm = 1, .sn = 4},
    MatrixTile{.bm = 64, .bn = 64, .bk = 32, .sm = 2, .sn = 2},
    MatrixTile{.bm = 32, .bn = 64, .bk = 32, .sm = 1, .sn = 4},
};

// Devices with 8x8x8 matrices. The last one is quick to compile, for software devices.
constexpr std::array small_matrix_tiles{
    MatrixTile{.bm = 64, .bn = 64, .bk = 32, .sm = 2, .sn = 2, .mm = 8, .mn = 8, .mk = 8},
    MatrixTile{.bm = 16, .bn = 16, .bk = 16, .sm = 2, .sn = 2, .mm = 8, .mn = 8, .mk = 8},
};

constexpr MatrixTile sweep_base{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2};

constexpr MatrixTile with(MatrixTile tile, std::uint32_t bm, std::uint32_t bn, std::uint32_t bk,
                          std::uint32_t sm, std::uint32_t sn) {
  tile.bm = bm;
  tile.bn = bn;
  tile.bk = bk;
  tile.sm = sm;
  tile.sn = sn;
  return tile;
}

constexpr MatrixTile narrow(MatrixTile tile) {
  tile.mn = 8;
  return tile;
}

constexpr MatrixTile banded(MatrixTile tile, std::uint32_t band) {
  tile.band = band;
  return tile;
}

constexpr std::array matrix_sweep_list{
    sweep_base,
    banded(sweep_base, 2),
    banded(sweep_base, 4),
    banded(sweep_base, 16),
    narrow(sweep_base),
    with(sweep_base, 64, 256, 32, 1, 4),
    with(sweep_base, 128, 256, 32, 2, 4),
    with(sweep_base, 256, 128, 32, 4, 2),
    with(sweep_base, 128, 128, 64, 2, 4),
};

constexpr std::array register_sweep_list{
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 2},
    RegisterTile{.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 8},
    RegisterTile{.bm = 128, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 1},
    RegisterTile{.bm = 128, .bn = 128, .bk = 32, .tm = 8, .tn = 8, .unroll = 1},
    RegisterTile{.bm = 128, .bn = 128, .bk = 32, .tm = 8, .tn = 8, .unroll = 2},
};

constexpr std::array vector_sweep_list{
    VectorTile{.threads = 256, .team = 256, .ky = 32, .unroll = 1},
    VectorTile{.threads = 256, .team = 256, .ky = 32, .unroll = 2},
    VectorTile{.threads = 512, .team = 512, .ky = 64, .unroll = 2},
    VectorTile{.threads = 512, .team = 512, .ky = 64, .unroll = 4},
    VectorTile{.threads = 1024, .team = 1024, .ky = 128, .unroll = 2},
};

template <class Tile>
std::uint64_t workgroups(const Tile& tile, std::uint64_t m, std::uint64_t n,
                         std::uint64_t batches) {
  return ceil_div<std::uint64_t>(m, tile.bm) * ceil_div<std::uint64_t>(n, tile.bn) * batches;
}

/// The first valid tile with enough workgroups and little waste, or else the last valid one.
template <class Tile>
std::optional<Tile> choose(std::span<const Tile> tiles, std::uint64_t m, std::uint64_t n,
                           std::uint64_t batches, const Caps& caps) {
  std::optional<Tile> last;
  for (const Tile& tile : tiles) {
    if (!tile.valid(caps)) continue;
    last = tile;
    // Software devices gain nothing from large tiles, and compile them slowly.
    if (!caps.software && workgroups(tile, m, n, batches) >= busy_workgroups(caps)) break;
  }
  return last;
}

}  // namespace

bool VectorTile::valid(const Caps& caps) const {
  return std::has_single_bit(threads) && std::has_single_bit(team) && std::has_single_bit(ky) &&
         team <= threads && ky >= 2 && ky <= threads && unroll >= 1 &&
         threads <= caps.workgroup_invocations && threads * 32 <= caps.workgroup_bytes;
}

bool RegisterTile::valid(const Caps& caps) const {
  if (bm == 0 || bn == 0 || bk == 0 || tm == 0 || tn == 0 || stages == 0 || unroll == 0 ||
      band == 0) {
    return false;
  }
  return tm % 4 == 0 && tn % 4 == 0 && bm % 32 == 0 && bn % 32 == 0 && bk % 4 == 0 &&
         bm % tm == 0 && bn % tn == 0 && (bn / tn) % 8 == 0 && (bm / tm) % 4 == 0 &&
         (bk / 4) % unroll == 0 && stages <= 2 && invocations() <= caps.workgroup_invocations &&
         workgroup_bytes() <= caps.workgroup_bytes;
}

std::uint32_t MatrixTile::words4(bool a_along_k, bool b_along_k) const {
  const std::uint32_t a = a_along_k ? bm * (bk / 8 + 1) : bk * (bm / 8 + 1);
  const std::uint32_t b = b_along_k ? bn * (bk / 8 + 1) : bk * (bn / 8 + 1);
  return a + b;
}

std::uint32_t MatrixTile::epilogue_words4() const { return sm * sn * mm * (bn / sn / 4 + 1); }

std::uint32_t MatrixTile::workgroup_bytes() const {
  const std::uint32_t words = std::max(
      {words4(true, true), words4(true, false), words4(false, true), words4(false, false)});
  return 16 * std::max(words, epilogue_words4());
}

bool MatrixTile::valid(const Caps& caps) const {
  if (bm == 0 || bn == 0 || bk == 0 || sm == 0 || sn == 0) return false;
  if (!caps.subgroup_matrix || !caps.f16 || !caps.subgroups) return false;
  if (caps.subgroup_min != caps.subgroup_max || caps.subgroup_max == 0) return false;
  const MatrixConfig config{MatrixType::f16, MatrixType::f32, mm, mn, mk};
  if (!std::ranges::contains(caps.matrix_configs, config)) return false;
  const std::uint32_t threads = sm * sn * caps.subgroup_max;
  return mm % 8 == 0 && mn % 8 == 0 && mk % 8 == 0 && bm % (sm * mm) == 0 && bn % (sn * mn) == 0 &&
         bk % mk == 0 && (bm * bk / 8) % threads == 0 && (bn * bk / 8) % threads == 0 &&
         threads <= caps.workgroup_invocations && workgroup_bytes() <= caps.workgroup_bytes;
}

std::string MatrixTile::label() const {
  return formatted("{}x{}x{}_{}x{}_n{}_g{}", bm, bn, bk, sm, sn, mn, band);
}

std::optional<RegisterTile> choose_register_tile(std::uint64_t m, std::uint64_t n,
                                                 std::uint64_t batches, const Caps& caps) {
  return choose(std::span<const RegisterTile>(register_tiles), m, n, batches, caps);
}

std::optional<MatrixTile> choose_matrix_tile(std::uint64_t m, std::uint64_t n,
                                             std::uint64_t batches, const Caps& caps) {
  const auto large = choose(std::span<const MatrixTile>(matrix_tiles), m, n, batches, caps);
  if (large) return large;
  return choose(std::span<const MatrixTile>(small_matrix_tiles), m, n, batches, caps);
}

std::optional<MatrixSplit> choose_matrix_split(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                               std::uint64_t batches, const Caps& caps) {
  constexpr std::uint64_t least_part = 512;
  const MatrixTile& largest = matrix_tiles.front();
  const auto plain = choose_matrix_tile(m, n, batches, caps);
  const bool small = plain && plain->bm * plain->bn <= 64 * 64;
  if (!small || caps.software || !largest.valid(caps) || k < 4 * least_part || m < largest.bm ||
      n < largest.bn) {
    return std::nullopt;
  }
  // In steps of k of one tile: rounds of workgroups, and writing and reading the sums of all parts. The device does about
  // 150 operations in the time in which it moves 2 bytes.
  const std::uint64_t tiles = workgroups(largest, m, n, batches);
  const std::uint64_t slots = busy_workgroups(caps);
  std::uint64_t best_cost = ~std::uint64_t{0};
  std::uint64_t best = 1;
  for (std::uint64_t parts = 1; parts <= k / least_part; ++parts) {
    const std::uint64_t rounds = ceil_div(tiles * parts, slots);
    const std::uint64_t cost = rounds * ceil_div(k, parts) + 300 * parts * tiles / slots;
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = parts;
  }
  return MatrixSplit{largest, static_cast<std::uint32_t>(best)};
}

std::span<const MatrixTile> matrix_sweep() { return matrix_sweep_list; }

std::span<const RegisterTile> register_sweep() { return register_sweep_list; }

std::span<const VectorTile> vector_sweep() { return vector_sweep_list; }

}  // namespace weft::ops::gemm
