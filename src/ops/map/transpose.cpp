#include "ops/map/transpose.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"

namespace weft::ops::map {
namespace {

constexpr std::uint32_t tile = 64;

struct Variant {
  DType domain = DType::f32;
  DType y_dtype = DType::f32;
  std::uint32_t batch_rank = 0;
  bool a_vec = false;
  bool y_vec = false;
};

struct Params {
  std::uint32_t columns = 0;  // extent along which the output is contiguous
  std::uint32_t rows = 0;     // extent along which the input is contiguous
  std::uint32_t column_tiles = 0;
  std::uint32_t row_tiles = 0;
  std::uint32_t groups = 0;
  std::uint32_t a_column_stride = 0;
  std::uint32_t y_row_stride = 0;
  std::array<std::uint32_t, max_rank> shape{};  // batch dimensions
  std::array<std::uint32_t, max_rank> a_stride{};
  std::array<std::uint32_t, max_rank> y_stride{};
};

/// True when groups of four elements along the contiguous dimension `fast` can be moved as one
/// vector.
bool in_fours(const View& view, std::uint32_t fast) {
  const std::uint64_t bytes = 4ULL * size_of(view.dtype);
  if (view.offset % bytes != 0 || view.shape[fast] % 4 != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i != fast && view.stride[i] % 4 != 0) return false;
  }
  return true;
}

/// The dimension along which the input is contiguous; max_rank where it is that of the output, or
/// none.
std::uint32_t row_of(const View& y, const View& a) {
  std::uint32_t row = max_rank;
  for (std::uint32_t i = 0; i + 1 < y.rank; ++i) {
    if (a.stride[i] == 1) row = i;
  }
  const std::uint32_t inner = y.rank - 1;
  return y.rank >= 2 && y.stride[inner] == 1 && a.stride[inner] != 1 ? row : max_rank;
}

bool is_movable(DType type) { return size_of(type) == 4 || size_of(type) == 2; }

}  // namespace

Status can_transpose(const Piece& piece, const Caps&) {
  const View& y = piece.y();
  const bool copies = piece.function == "copy";
  if (copies) {
    const View& a = piece.inputs().front();
    // Floats that become integers look for limits and NaN. Two-byte outputs are stored in whole
    // words only.
    if (row_of(y, a) != max_rank && is_movable(a.dtype) && is_movable(y.dtype) &&
        (!is_float(a.dtype) || is_float(y.dtype)) &&
        (size_of(y.dtype) == 4 || in_fours(y, y.rank - 1))) {
      return {};
    }
  }
  return fail(
      ErrorCode::unsupported,
      "Tiles are for copies between tensors that are contiguous along different dimensions; "
      "`{}` gives {}.",
      piece.function, describe(y));
}

bool worth_transpose(const Piece& piece, const Caps&) {
  if (piece.function != "copy") return false;
  const View& y = piece.y();
  const std::uint32_t row = row_of(y, piece.inputs().front());
  return row != max_rank && y.shape[y.rank - 1] >= 16 && y.shape[row] >= 16;
}

Result<Dispatch> launch_transpose(const Piece& piece, const Caps& caps) {
  const View& y = piece.y();
  const View& a = piece.inputs().front();
  const std::uint32_t inner = y.rank - 1;
  const std::uint32_t row_dim = row_of(y, a);
  Variant variant{.domain = piece.domain,
                  .y_dtype = y.dtype,
                  .a_vec = in_fours(a, row_dim),
                  .y_vec = in_fours(y, inner)};
  Params params;
  params.columns = static_cast<std::uint32_t>(y.shape[inner]);
  params.rows = static_cast<std::uint32_t>(y.shape[row_dim]);
  params.column_tiles = ceil_div(params.columns, tile);
  params.row_tiles = ceil_div(params.rows, tile);
  params.a_column_stride = static_cast<std::uint32_t>(a.stride[inner]);
  params.y_row_stride = static_cast<std::uint32_t>(y.stride[row_dim]);
  std::uint64_t groups = std::uint64_t{params.column_tiles} * params.row_tiles;
  for (std::uint32_t i = 0; i < inner; ++i) {
    if (i == row_dim) continue;
    const std::uint32_t b = variant.batch_rank++;
    params.shape[b] = static_cast<std::uint32_t>(y.shape[i]);
    params.a_stride[b] = static_cast<std::uint32_t>(a.stride[i]);
    params.y_stride[b] = static_cast<std::uint32_t>(y.stride[i]);
    groups *= y.shape[i];
  }
  params.groups = static_cast<std::uint32_t>(groups);

  const auto unit = [](const View& view, bool vec) { return vec ? size_of(view.dtype) : 1U; };
  return make_dispatch({.source = "map/transpose.wgsl",
                        .constants = constants_of(variant),
                        .params = block_of(params),
                        .operands = {{"a", a, Access::read, unit(a, variant.a_vec)},
                                     {"y", y, Access::write, unit(y, variant.y_vec)}},
                        .grid = grid_1d(groups, caps),
                        .label = std::string("transpose ") + std::string(name(y.dtype))},
                       caps);
}

}  // namespace weft::ops::map
