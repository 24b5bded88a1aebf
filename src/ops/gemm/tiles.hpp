#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "device/caps.hpp"
#include "ops/matrices.hpp"

namespace weft::ops::gemm {

/// How the register-tile kernel cuts its work: a workgroup computes bm x bn of C in steps of bk, an
/// invocation tm x tn of it. With halves the products of a step, which has at most 32, add up in
/// f16, and the steps in f32.
struct RegisterTile {
  std::uint32_t bm = 0;
  std::uint32_t bn = 0;
  std::uint32_t bk = 0;
  std::uint32_t tm = 0;
  std::uint32_t tn = 0;
  std::uint32_t stages = 1;  ///< Copies of the workgroup tile: 2 needs one barrier per step.
  std::uint32_t unroll = 1;  ///< Groups of four k values that are written out in the text.
  std::uint32_t band = 8;    ///< Row tiles that are walked together, for the cache.
  bool halves = false;       ///< Operands are f16, and so are short sums.

  [[nodiscard]] std::uint32_t invocations() const { return (bm / tm) * (bn / tn); }
  [[nodiscard]] std::uint32_t workgroup_bytes() const {
    return stages * bk * (bm + bn) * (halves ? 2 : 4);
  }
  /// Whether the kernel can be written for this tile on this device.
  [[nodiscard]] bool valid(const Caps& caps) const;
};

/// How the subgroup-matrix kernel cuts its work: sm x sn subgroups share a bm x bn tile of C and
/// multiply mm x mk by mk x mn matrices. Sums in f16 are added to others in f32 after each step of
/// bk, which is 32 at most then.
struct MatrixTile {
  std::uint32_t bm = 0;
  std::uint32_t bn = 0;
  std::uint32_t bk = 0;
  std::uint32_t sm = 0;
  std::uint32_t sn = 0;
  std::uint32_t mm = 16;
  std::uint32_t mn = 16;
  std::uint32_t mk = 16;
  std::uint32_t band = 8;  ///< Row tiles that are walked together, for the cache; 0: plain order.
  MatrixType component = MatrixType::f16;
  MatrixType result = MatrixType::f32;

  /// Groups of 16 bytes in the workgroup tile; the layout is along k ("k") or across it ("x").
  [[nodiscard]] std::uint32_t words4(bool a_along_k, bool b_along_k) const;
  /// The same for what hands results from matrices to invocations.
  [[nodiscard]] std::uint32_t strip_words4() const;
  [[nodiscard]] std::uint32_t workgroup_bytes() const;
  /// The device's matrices for this tile, if it has any.
  [[nodiscard]] std::optional<Matrices> matrices(const Caps& caps) const;
  [[nodiscard]] bool valid(const Caps& caps) const;
  /// "128x128x32_2x2_n16_g8": for benchmark names.
  [[nodiscard]] std::string label() const;
};

/// How the kernels for few rows cut their work. Along k (weights stored [N,K]) a team of
/// invocations makes four columns; along n (weights stored [K,N]) ky rows of invocations share 8
/// columns each.
struct VectorTile {
  std::uint32_t threads = 256;
  std::uint32_t team = 256;
  std::uint32_t ky = 32;
  std::uint32_t unroll = 2;  ///< Groups of loads in flight per invocation.

  [[nodiscard]] bool valid(const Caps& caps) const;
};

/// The tile for a problem of that size, if the device can run one at all; with `halves` one that
/// adds up in f16.
std::optional<RegisterTile> choose_register_tile(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                                 std::uint64_t batches, const Caps& caps,
                                                 bool halves = false);

/// A matrix tile, and in how many parts of k its sums are made.
struct MatrixSplit {
  MatrixTile tile;
  std::uint32_t parts = 1;
};

/// What the operands of a product allow.
struct MatrixUse {
  bool halves = true;  ///< They are f16, or may be rounded to it.
  bool bounded =
      false;  ///< 32 of their products add up in f16, which is good enough for the result.
};

/// Whether plain instructions multiply and add f16 in half the time of f32.
bool fast_halves(const Caps& caps);
/// Whether a device adds up in f16 what need not be more exact: no matrix units add in f32, and
/// others that add in f16, or plain instructions, take less time for it.
bool adds_halves(const Caps& caps);

/// Magnitudes up to which 32 products stay below 2¹⁵, so that they add up in f16.
inline constexpr int bounded_exponent = 5;
inline constexpr std::uint32_t bounded_terms = 32;

/// The tile and the parts of k with which a product is expected to take least time, if the device
/// can run any tile.
std::optional<MatrixSplit> choose_matrix(std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                         std::uint64_t batches, const Caps& caps,
                                         const MatrixUse& use = {});

/// How many tiles Traits::gemm_tile, matrix_tile and vector_tile choose among.
std::uint32_t gemm_tile_count();
std::uint32_t matrix_tile_count();
std::uint32_t vector_tile_count();
/// The tile that Traits::vector_tile names, if it names one that fits.
std::optional<VectorTile> named_vector_tile(const Caps& caps);

/// Tiles worth measuring on a large device, for the sweep benchmarks.
std::span<const MatrixTile> matrix_sweep();
std::span<const RegisterTile> register_sweep();
std::span<const VectorTile> vector_sweep();

/// Workgroups that keep a device busy.
constexpr std::uint64_t busy_workgroups(const Caps& caps) { return caps.traits.fill(2); }

/// Parts of K so that `workgroups` grow to what keeps the device busy, each at least `least` long.
std::uint32_t parts_for(std::uint64_t workgroups, std::uint64_t k, std::uint64_t least,
                        const Caps& caps);

}  // namespace weft::ops::gemm
