#pragma once

#include <optional>
#include <string_view>

#include "ops/gemm/tiles.hpp"
#include "ops/map/functions.hpp"
#include "ops/plan.hpp"

namespace weft::ops::gemm {

/// C = act(alpha·a_scale·A·B·b_scale + beta·C + bias) with f32 accumulation. Transposes are
/// strides: op(A) is a view whose last dimensions are swapped.
struct Args {
  View a;          ///< [batch…, M, K], f32, f16 or bf16, any strides.
  View b;          ///< [batch…, K, N]; batches of a and b broadcast to those of c.
  View c;          ///< [batch…, M, N]; read only where beta is not 0.
  View bias{};     ///< Not given, or anything that broadcasts to c: [N], [M,1], [batch,1,1], …
  View a_scale{};  ///< Not given, or factors of the rows of a; anything that broadcasts to c:
                   ///< [M,1], …
  View b_scale{};  ///< The same for the columns of b: [N], …
  float alpha = 1;
  float beta = 0;
  std::string_view activation = "none";  ///< "none" or a unary function of ops/map, such as "gelu".
  map::Scalars scalars{};                ///< Parameters of the activation.
  bool allow_f16 = false;  ///< f32 and bf16 inputs may be rounded to f16 for matrix units.
  /// Operands are f16 with magnitudes up to 2⁵, and the result may have the error of f16: short
  /// sums may be made in f16.
  bool bounded = false;
  std::string_view kernel = {};  ///< Forces a kernel by its name; empty: the first that fits.
  std::optional<RegisterTile> register_tile{};  ///< Forces the tile of kernel `tile`.
  std::optional<MatrixTile> matrix_tile{};      ///< Forces the tile of kernel `matrix`.
  std::optional<VectorTile> vector_tile{};      ///< Forces the tile of `matvec` and `thin`.
  std::uint32_t parts = 0;  ///< Forces in how many parts K is summed; 0 leaves it open.
};

/// The launches for `args`, or why there are none.
Result<Plan> plan(const Args& args, const Caps& caps);

}  // namespace weft::ops::gemm
