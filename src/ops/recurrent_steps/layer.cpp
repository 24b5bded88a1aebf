#include "ops/recurrent_steps/layer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/matrices.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::recurrent_steps {
namespace {

/// Sequences whose states an invocation holds.
constexpr std::uint64_t most_rows = 4;
/// Invocations that share a product, so that neighbours read whole lines of memory.
constexpr std::uint32_t fewest_lanes = 8;
constexpr std::uint32_t most_lanes = 64;
/// Columns that an invocation should have at least, in accesses.
constexpr std::uint64_t fewest_turns = 4;
/// Sequences that matrix units multiply in the launch of a step, at least and at most.
constexpr std::uint64_t least_matrix_rows = 8;
constexpr std::uint64_t most_matrix_rows = 63;
/// Bytes of workgroup memory for it.
constexpr std::uint32_t most_matrix_bytes = 40 << 10;
/// Sequences from which on a product by matrix units, as a launch of its own, takes less time.
constexpr std::uint64_t batch_of_matrices = 64;

}  // namespace

std::string_view name(Cell cell) {
  switch (cell) {
    case Cell::lstm: return "lstm";
    case Cell::gru: return "gru";
    case Cell::tanh: return "tanh";
    case Cell::relu: return "relu";
  }
  return "?";
}

std::uint64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

View Layer::at(const View& view, std::uint64_t step) const {
  View out = view.slice(1, token(0, step), 1);
  if (directions == 2) {
    const std::uint64_t other = view.stride[0] + token(1, step) * view.stride[1];
    out.stride[0] = other - token(0, step) * view.stride[1];
  }
  out.rank = 3;
  for (std::uint32_t i = 1; i < 3; ++i) {
    out.shape[i] = view.shape[i + 1];
    out.stride[i] = view.stride[i + 1];
  }
  return out;
}

void Builder::add(std::string name, std::uint64_t value) {
  launch_.params.add(std::move(name), narrow(value));
}

void Builder::tensor(std::string_view name, const View& view, Access access) {
  add(formatted("{}_direction", name), view.stride[0]);
  add(formatted("{}_row", name), view.stride[1]);
  operand({.name = name, .view = view, .access = access});
}

void Builder::lengths(const View& view, std::uint64_t step) {
  variant_.has_lengths = view.given();
  if (!view.given()) return;
  add("token_0", layer_.token(0, step));
  add("token_1", layer_.token(1, step));
  add("lengths_row", view.stride[0]);
  operand({.name = "lengths", .view = view});
}

void Builder::product(const View& a, const View& w) {
  variant_.own = true;
  depth_ = a.shape[2];
  variant_.vec = rows_aligned(a, 4) && rows_aligned(w, 4) ? 4 : 1;
  add("depth", depth_);
  add("w_direction", w.stride[0]);
  add("w_row", w.stride[1]);
  operand(operand_of("w", w, Access::read, variant_.vec));
}

std::optional<StepTile> step_tile(const Layer& layer, std::uint32_t gates, std::uint64_t depth,
                                  const Caps& caps) {
  const auto found = find_matrices(caps, MatrixType::f16, MatrixType::f32);
  if (!found || !caps.traits.matrix_units || layer.batch < least_matrix_rows ||
      layer.batch > most_matrix_rows) {
    return std::nullopt;
  }
  const auto& shape = found->shape;
  StepTile tile{.matrices = true,
                .tile_rows = round_up(std::min(narrow(layer.batch), 32U), shape.m),
                .tile_units = gates == 4 ? 8U : 16U,
                .subgroup = found->subgroup,
                .mm = shape.m,
                .mn = shape.n,
                .mk = shape.k};
  // As many workgroups as there are processors are worth more than large tiles.
  const std::uint64_t groups =
      layer.directions * ceil_div(layer.hidden, std::uint64_t{tile.tile_units});
  if (groups * 2 <= caps.traits.processors) tile.tile_rows = std::min(tile.tile_rows, shape.m);
  const std::uint32_t columns = tile.tile_units * gates;
  for (const std::uint32_t bk : {256U, 128U, 64U}) {
    for (const std::uint32_t count : {8U, 4U}) {
      const std::uint32_t threads = count * tile.subgroup;
      const std::uint32_t bytes = 16 * std::max((tile.tile_rows + columns) * (bk / 8 + 1),
                                                count * tile.tile_rows * (columns / 4 + 1));
      if (depth % bk != 0 || bk % (count * shape.k) != 0 || columns % shape.n != 0 ||
          threads % (bk / 8) != 0 || tile.tile_rows * bk / 8 % threads != 0 ||
          columns * bk / 8 % threads != 0 || bytes > most_matrix_bytes ||
          bytes > caps.workgroup_bytes || threads > caps.workgroup_invocations) {
        continue;
      }
      tile.bk = bk;
      tile.subgroup_count = count;
      return tile;
    }
  }
  return std::nullopt;
}

void Builder::peaks(const View& all, std::uint64_t next) {
  variant_.peaks = true;
  const std::uint64_t each = layer_.directions * layer_.batch;
  add("peak_last", next * each);
  add("peak_next", next > 0 ? (next - 1) * each : 0);
  operand({.name = "peak", .view = all, .access = Access::atomic});
}

bool Builder::matrix_product(const View& a, const View& w) {
  const bool fits = a.dtype == DType::f32
                        ? variant_.peaks && rows_aligned(a, 4) && a.offset % 16 == 0
                        : a.dtype == DType::f16 && rows_aligned(a, 8);
  if (!fits || w.dtype != DType::f16 || !rows_aligned(w, 8)) return false;
  const auto tile = step_tile(layer_, variant_.gates, a.shape[2], caps_);
  const auto matrices = find_matrices(caps_, MatrixType::f16, MatrixType::f32);
  if (!tile || !matrices) return false;
  tile_ = *tile;
  variant_.own = true;
  variant_.vec = a.dtype == DType::f32 ? 4 : 8;
  launch_.features = features_of(*matrices, caps_);
  add("depth", a.shape[2]);
  add("w_direction", w.stride[0]);
  add("w_row", w.stride[1]);
  operand(operand_of("w", w, Access::read, 8));
  return true;
}

Result<Dispatch> Builder::finish(std::string_view source) {
  const std::uint64_t width = workgroup_width(caps_);
  if (variant_.own && !tile_.matrices) {
    variant_.rows = narrow(std::bit_ceil(std::min(layer_.batch, most_rows)));
  }
  const std::uint32_t rows = tile_.matrices ? tile_.tile_rows : variant_.rows;
  const std::uint64_t row_groups = ceil_div<std::uint64_t>(layer_.batch, rows);
  const std::uint32_t units = tile_.matrices ? tile_.tile_units : variant_.units;
  const std::uint64_t unit_groups = ceil_div<std::uint64_t>(layer_.hidden, units);
  const std::uint64_t groups = layer_.directions * row_groups * unit_groups;
  const auto turns = [&](std::uint32_t lanes) {
    return depth_ / (std::uint64_t{lanes} * variant_.vec);
  };
  if (variant_.own && !tile_.matrices && !caps_.traits.slow_barriers && turns(fewest_lanes) > 0) {
    variant_.lanes = fewest_lanes;
    while (variant_.lanes < most_lanes && turns(variant_.lanes * 2) >= fewest_turns &&
           groups * variant_.lanes < caps_.traits.groups(1) * width) {
      variant_.lanes *= 2;
    }
  }
  add("directions", layer_.directions);
  add("batch", layer_.batch);
  add("hidden", layer_.hidden);
  add("row_groups", row_groups);
  add("unit_groups", unit_groups);
  launch_.source = source;
  launch_.label = formatted("recurrent_steps {}{}", variant_.cell, variant_.last ? " last" : "");
  launch_.constants = constants_of(variant_);
  launch_.constants.merge(constants_of(tile_));
  launch_.grid = tile_.matrices
                     ? grid_1d(groups, caps_)
                     : grid_1d(ceil_div<std::uint64_t>(groups, width / variant_.lanes), caps_);
  return make_dispatch(std::move(launch_), caps_);
}

bool computes_products(Product wanted, const Layer& layer, const View& recurrent,
                       const Caps& caps) {
  if (wanted != Product::by_device) return wanted == Product::own;
  if (recurrent.bytes().size() > binding_budget(caps)) return false;
  return !caps.subgroup_matrix || !caps.traits.matrix_units || layer.batch < batch_of_matrices;
}

View settled(Stages& stages, const View& view, const Caps& caps) {
  bool fine = view.stride[view.rank - 1] == 1 || view.shape[view.rank - 1] == 1;
  if (view.rank == 4 && view.shape[0] > 1) {
    fine = fine && view.stride[0] >= view.shape[1] * view.stride[1];
  }
  if (fine) {
    View out = view;
    out.stride[view.rank - 1] = 1;
    return out;
  }
  const View copy = stages.scratch(view.dtype, view.extents());
  stages.add(map::plan({.function = "copy", .inputs = {view}, .y = copy}, caps));
  return copy;
}

}  // namespace weft::ops::recurrent_steps
