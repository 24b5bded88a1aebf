#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "ops/map/functions.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/plan.hpp"
#include "ops/stages.hpp"
#include "ops/view.hpp"

namespace weft::ops::mul_mat {

/// A product with quantized weights in the form that kernels take: every view has rank 6, four
/// batch dimensions in front of weights [M, K], x [N, K] (f32, rows contiguous and aligned) and y
/// [N, M].
struct Problem {
  View weights;
  View x;
  View y;
  View x_scales{};                       ///< Not given, or [N, 1]: factors of the rows of x.
  View bias{};                           ///< Not given, or of the shape of y: added to it.
  std::string_view activation = "none";  ///< Comes last.
  map::Scalars scalars{};

  [[nodiscard]] std::uint64_t m() const { return y.shape[5]; }
  [[nodiscard]] std::uint64_t n() const { return y.shape[4]; }
  [[nodiscard]] std::uint64_t k() const { return x.shape[5]; }
  [[nodiscard]] std::uint64_t batches() const {
    return y.shape[0] * y.shape[1] * y.shape[2] * y.shape[3];
  }
};

/// The parts of x, weights and y for elements [first, first + count) of dimension `dim` of y.
Problem sliced(const Problem& problem, std::uint32_t dim, std::uint64_t first, std::uint64_t count);

/// Calls `emit` for parts of a problem for which `fits` holds, cut along batches, rows of weights
/// and columns.
Status for_each_part(const Problem& problem, const std::function<bool(const Problem&)>& fits,
                     const std::function<Status(const Problem&)>& emit);

/// True where every view fits one binding of the device and a launch covers all batches.
bool fits_device(const Problem& problem, const Caps& caps);

/// Products of one x in one launch. The problem's weights and y then span those of all parts.
struct Join {
  std::uint32_t parts = 0;                  ///< 0: a single product.
  bool aligned = false;                     ///< Whether blocks of all parts start at whole words.
  std::array<std::uint64_t, 3> rows{};      ///< Rows of each part's weights.
  std::array<std::uint64_t, 3> w_bytes{};   ///< Where each part starts in the weights
  std::array<std::uint64_t, 3> y_start{};   ///< and, in elements, in y.
  std::array<std::uint64_t, 3> y_column{};  ///< From one column of its y to the next.
  std::array<std::uint64_t, 3>
      bias_start{};    ///< Where each part starts in the problem's bias, in elements.
  bool gated = false;  ///< The problem's activation is a gated unit: two parts give one y.
  View packed{};  ///< For gated units that multiply packed x: where y goes in packed form as well.

  /// Rows that are multiplied, of all parts.
  [[nodiscard]] std::uint64_t all_rows() const { return rows[0] + rows[1] + rows[2]; }
};

/// Most columns that the vector kernel makes in one launch.
inline constexpr std::uint64_t vector_columns = 8;

/// Rows per team of exact products. Where rows are forced, teams are as long for one column as for
/// eight, and with that sums are added in the same order.
inline constexpr std::uint32_t exact_rows = 4;

/// The launch of the vector kernel for a problem of at most `vector_columns` columns; `rows` forces
/// the rows per team, 0 leaves it open.
Result<Dispatch> launch_vector(const Problem& problem, std::uint32_t rows, const Caps& caps,
                               const Join& join = {});

/// True for weights that can be multiplied with packed x, which fits the device's bindings.
bool can_pack(const View& weights, const View& x, const Caps& caps);

/// Whether rounding x to 8 bits makes a product with so many bytes of weights faster, the launch
/// that does it included.
bool pays_to_pack(std::uint64_t weight_bytes, std::uint64_t columns, const Caps& caps);

/// Checks that packed x, where it is given, has the form of packed_view(x).
Status check_packed(const View& packed, const View& x);

/// Adds what makes packed x, in scratch.
View add_pack(Stages& stages, const View& x, const Caps& caps);

/// Most columns that the kernels for packed x make in one launch, and those up to which they are
/// faster than decoding the weights.
struct PackedColumns {
  std::uint64_t at_once = 0;
  std::uint64_t most = 0;
};
PackedColumns packed_columns(DType weights, const Caps& caps);

/// The launch of the kernel for packed x and at most `packed_columns` columns; problem.x is packed.
Result<Dispatch> launch_packed(const Problem& problem, const Caps& caps, const Join& join = {});

/// Adds what rounds rows to dense `halves` of f16, for matrix units, and returns the factors that
/// they were divided by: halves · factors = rows, one for each; rows [.., K] have rank 6 and are
/// contiguous.
View add_halved(Stages& stages, const View& rows, const View& halves, const Caps& caps);

/// Whether the kernel for a few dozen columns, which decodes weights on their way to matrix units,
/// can make a product.
bool can_few(const Problem& problem, const Caps& caps);

/// Adds the launches of that kernel.
Status add_few(Stages& stages, Problem problem, const Caps& caps);

/// One row of x at a time with the matrix that the ids name; weights [E, M, K], x [T, U or 1, K], y
/// [T, U, M].
struct IdProblem {
  View weights;
  View x;
  View ids;
  View y;
  std::uint64_t first_expert = 0;  ///< The matrix at which `weights` starts.
  std::uint64_t all_experts = 0;
};
Result<Dispatch> launch_vector(const IdProblem& problem, const Caps& caps);
Result<Dispatch> launch_packed(const IdProblem& problem, const Caps& caps);

}  // namespace weft::ops::mul_mat
