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

// What an H200 (132 multiprocessors) does with a tile: how many workgroups run at a time, and how long these take for
// one step of 1 along k, when all of them work. WebGPU does not tell how large a device is; on smaller ones every tile
// takes more rounds, and the comparison stays much the same.
struct MatrixTime {
  MatrixTile tile;
  std::uint64_t at_once = 0;
  double step_ns = 0;
};

constexpr std::array matrix_times{
    MatrixTime{{.bm = 128, .bn = 128, .bk = 32, .sm = 2, .sn = 2}, 256, 30},
    // Eight subgroups instead of four: as fast where each multiprocessor has one workgroup only.
    MatrixTime{{.bm = 128, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 128, 15.1},
    MatrixTime{{.bm = 64, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 128, 12.5},
    MatrixTime{{.bm = 32, .bn = 128, .bk = 64, .sm = 2, .sn = 4}, 256, 14},
    // For devices with little memory per workgroup.
    MatrixTime{{.bm = 64, .bn = 128, .bk = 32, .sm = 1, .sn = 4}, 384, 29},
    MatrixTime{{.bm = 32, .bn = 64, .bk = 32, .sm = 1, .sn = 4}, 1024, 26},
};
constexpr double round_ns = 4000;       // To start a round of workgroups and to end it.
constexpr double reduce_ns = 3000;      // To launch the kernel that adds up parts of k.
constexpr double bytes_per_ns = 4000;   // Of memory, for those parts.
constexpr std::uint64_t least_k = 256;  // Shorter parts do not pay for what they write.

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
    // Large tiles take long to compile.
    if (!caps.traits.slow_compile && workgroups(tile, m, n, batches) >= busy_workgroups(caps))
      break;
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

std::optional<MatrixSplit> choose_matrix(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                         std::uint64_t batches, const Caps& caps) {
  std::optional<MatrixSplit> best;
  double least_ns = 0;
  for (const MatrixTime& time : matrix_times) {
    if (!time.tile.valid(caps)) continue;
    const std::uint64_t tiles = workgroups(time.tile, m, n, batches);
    const std::uint64_t most = std::clamp<std::uint64_t>(k / least_k, 1, 64);
    for (std::uint64_t parts = 1; parts <= most; ++parts) {
      const auto rounds = static_cast<double>(ceil_div(tiles * parts, time.at_once));
      double ns = rounds * (static_cast<double>(ceil_div(k, parts)) * time.step_ns + round_ns);
      if (parts > 1) {  // Every part is written and read, the result is written.
        const double bytes = static_cast<double>((2 * parts + 1) * m * n * batches) * sizeof(float);
        ns += reduce_ns + bytes / bytes_per_ns;
      }
      if (best && ns >= least_ns) continue;
      best = {time.tile, static_cast<std::uint32_t>(parts)};
      least_ns = ns;
    }
  }
  if (best) return best;
  const auto tile = choose(std::span<const MatrixTile>(small_matrix_tiles), m, n, batches, caps);
  if (!tile) return std::nullopt;
  return MatrixSplit{*tile, parts_for(workgroups(*tile, m, n, batches), k, 512, caps)};
}

std::uint32_t parts_for(std::uint64_t workgroups, std::uint64_t k, std::uint64_t least,
                        const Caps& caps) {
  if (workgroups == 0 || workgroups * 2 > busy_workgroups(caps)) return 1;
  const std::uint64_t wanted = busy_workgroups(caps) * 2 / workgroups;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(k / least, 1, std::min<std::uint64_t>(wanted, 64)));
}

std::span<const MatrixTile> matrix_sweep() { return matrix_sweep_list; }

std::span<const RegisterTile> register_sweep() { return register_sweep_list; }

std::span<const VectorTile> vector_sweep() { return vector_sweep_list; }

}  // namespace weft::ops::gemm
