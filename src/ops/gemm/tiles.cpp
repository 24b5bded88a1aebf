#include "ops/gemm/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/tile_families.hpp"

namespace weft::ops::gemm {
namespace {

// Largest first: a problem takes the first that gives the device enough workgroups, or else the
// last.
constexpr std::array register_tiles{
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4},
};

// The same for short sums in f16, whose pairs take registers besides the sums in f32.
constexpr std::array half_tiles{
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 32, .bn = 64, .bk = 16, .tm = 4, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4},
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

// What Traits::gemm_tile chooses among; the first ones are swept by benchmarks.
constexpr std::size_t large_register_tiles = 7;
constexpr std::array register_sweep_list{
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 2},
    RegisterTile{.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 4},
    RegisterTile{.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 8},
    RegisterTile{.bm = 128, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 1},
    RegisterTile{.bm = 128, .bn = 128, .bk = 32, .tm = 8, .tn = 8, .unroll = 1},
    RegisterTile{.bm = 128, .bn = 128, .bk = 32, .tm = 8, .tn = 8, .unroll = 2},
    // For devices whose invocations have few registers, or whose compilers are slow.
    RegisterTile{.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4},
    RegisterTile{.bm = 32, .bn = 64, .bk = 16, .tm = 4, .tn = 8},
    RegisterTile{.bm = 64, .bn = 64, .bk = 16, .tm = 8, .tn = 8, .unroll = 1},
    RegisterTile{.bm = 32, .bn = 64, .bk = 32, .tm = 8, .tn = 8, .unroll = 1},
};

// The same for Traits::vector_tile.
constexpr std::size_t large_vector_tiles = 5;
constexpr std::array vector_sweep_list{
    VectorTile{.threads = 256, .team = 256, .ky = 32, .unroll = 1},
    VectorTile{.threads = 256, .team = 256, .ky = 32, .unroll = 2},
    VectorTile{.threads = 512, .team = 512, .ky = 64, .unroll = 2},
    VectorTile{.threads = 512, .team = 512, .ky = 64, .unroll = 4},
    VectorTile{.threads = 1024, .team = 1024, .ky = 128, .unroll = 2},
    // For devices where invocations should not share work.
    VectorTile{.threads = 64, .team = 8, .ky = 8, .unroll = 1},
    VectorTile{.threads = 64, .team = 8, .ky = 8, .unroll = 2},
    VectorTile{.threads = 32, .team = 8, .ky = 4, .unroll = 1},
    VectorTile{.threads = 64, .team = 16, .ky = 16, .unroll = 1},
    VectorTile{.threads = 128, .team = 32, .ky = 16, .unroll = 2},
};

/// Whether a large tile gains more than it takes to compile it on a device that is slow at that.
/// Measured with 1024 x 1024 x 1024 on llvmpipe: 160 ms with tiles of 64 x 64, 310 ms with those of
/// 32 x 32. Where its sums do not fit in half of the registers, or more than a fifth of what it
/// computes lies outside, it gains nothing.
bool pays_to_compile(const RegisterTile& tile, std::uint64_t groups, std::uint64_t results,
                     std::uint64_t k, const Caps& caps) {
  constexpr std::uint64_t least_work = 1ULL << 27;
  return 2 * tile.tm * tile.tn <= caps.traits.registers &&
         4 * groups * tile.bm * tile.bn <= 5 * results && results * k >= least_work;
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
  if (halves && (!caps.f16 || bk > bounded_terms)) return false;
  return tm % 4 == 0 && tn % 4 == 0 && bm % 32 == 0 && bn % 32 == 0 && bk % 4 == 0 &&
         bm % tm == 0 && bn % tn == 0 && (bn / tn) % 8 == 0 && (bm / tm) % 4 == 0 &&
         (bk / 4) % unroll == 0 && stages <= 2 && invocations() <= caps.workgroup_invocations &&
         workgroup_bytes() <= caps.workgroup_bytes;
}

std::optional<Matrices> MatrixTile::matrices(const Caps& caps) const {
  return find_matrices(caps, component, result, [&](const Matrices& found) {
    return found.shape.m == mm && found.shape.n == mn && found.shape.k == mk;
  });
}

std::uint32_t MatrixTile::words4(bool a_along_k, bool b_along_k) const {
  const std::uint32_t per = component == MatrixType::f32 ? 4 : 8;
  const std::uint32_t a = a_along_k ? bm * (bk / per + 1) : bk * (bm / per + 1);
  const std::uint32_t b = b_along_k ? bn * (bk / per + 1) : bk * (bn / per + 1);
  return a + b;
}

std::uint32_t MatrixTile::strip_words4() const {
  return result == MatrixType::f16 ? sn * bm * (bn / sn / 8 + 1) : sm * sn * mm * (bn / sn / 4 + 1);
}

std::uint32_t MatrixTile::workgroup_bytes() const {
  const std::uint32_t words = std::max(
      {words4(true, true), words4(true, false), words4(false, true), words4(false, false)});
  // Sums in f16 leave their matrices while the operands are still in use.
  return 16 *
         (result == MatrixType::f16 ? words + strip_words4() : std::max(words, strip_words4()));
}

bool MatrixTile::valid(const Caps& caps) const {
  if (bm == 0 || bn == 0 || bk == 0 || sm == 0 || sn == 0) return false;
  const auto found = matrices(caps);
  if (!found) return false;
  const std::uint32_t threads = sm * sn * found->subgroup;
  const bool sums = result != MatrixType::f16 ||
                    (bk <= bounded_terms && (bm / sm) * (bn / sn) / 8 % found->subgroup == 0);
  return mm % 8 == 0 && mn % 8 == 0 && mk % 8 == 0 && bm % (sm * mm) == 0 && bn % (sn * mn) == 0 &&
         bk % mk == 0 && (bm * bk / 8) % threads == 0 && (bn * bk / 8) % threads == 0 && sums &&
         threads <= caps.workgroup_invocations && workgroup_bytes() <= caps.workgroup_bytes;
}

std::string MatrixTile::label() const {
  return formatted("{}x{}x{}_{}x{}_n{}_g{}", bm, bn, bk, sm, sn, mn, band);
}

std::optional<RegisterTile> choose_register_tile(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                                 std::uint64_t batches, const Caps& caps,
                                                 bool halves) {
  if (const std::uint32_t number = caps.traits.gemm_tile;
      number > 0 && number <= register_sweep_list.size()) {
    RegisterTile tile = register_sweep_list[number - 1];
    tile.halves = halves;
    if (tile.valid(caps)) return tile;
  }
  std::optional<RegisterTile> last;
  for (RegisterTile tile : halves ? std::span<const RegisterTile>(half_tiles) : register_tiles) {
    tile.halves = halves;
    // Sums in f32 and pairs of them in f16 have half of the registers.
    const bool roomy = !halves || 3 * tile.tm * tile.tn <= caps.traits.registers;
    if (!roomy || !tile.valid(caps)) continue;
    last = tile;
    const std::uint64_t groups =
        ceil_div<std::uint64_t>(m, tile.bm) * ceil_div<std::uint64_t>(n, tile.bn) * batches;
    const bool busy = groups >= busy_workgroups(caps);
    const bool quick = !caps.traits.slow_compile;
    if (busy && (quick || pays_to_compile(tile, groups, m * n * batches, k, caps))) break;
  }
  return last;
}

bool fast_halves(const Caps& caps) { return caps.f16 && caps.traits.f16_rate >= 2; }

bool adds_halves(const Caps& caps) {
  return !float_matrices(caps) &&
         (find_matrices(caps, MatrixType::f16, MatrixType::f16) || fast_halves(caps));
}

std::optional<VectorTile> named_vector_tile(const Caps& caps) {
  const std::uint32_t number = caps.traits.vector_tile;
  if (number == 0 || number > vector_sweep_list.size()) return std::nullopt;
  const VectorTile& tile = vector_sweep_list[number - 1];
  return tile.valid(caps) ? std::optional(tile) : std::nullopt;
}

std::uint32_t gemm_tile_count() { return register_sweep_list.size(); }
std::uint32_t vector_tile_count() { return vector_sweep_list.size(); }
std::vector<std::string> gemm_tiles() { return texts_of_tiles(register_sweep_list); }
std::vector<std::string> vector_tiles() { return texts_of_tiles(vector_sweep_list); }

std::uint32_t parts_for(std::uint64_t workgroups, std::uint64_t k, std::uint64_t least,
                        const Caps& caps) {
  if (workgroups == 0 || workgroups * 2 > busy_workgroups(caps)) return 1;
  const std::uint64_t wanted = busy_workgroups(caps) * 2 / workgroups;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(k / least, 1, std::min<std::uint64_t>(wanted, 64)));
}

std::span<const MatrixTile> matrix_sweep() { return matrix_sweep_list; }

std::span<const RegisterTile> register_sweep() {
  return std::span(register_sweep_list).first(large_register_tiles);
}

std::span<const VectorTile> vector_sweep() {
  return std::span(vector_sweep_list).first(large_vector_tiles);
}

}  // namespace weft::ops::gemm
