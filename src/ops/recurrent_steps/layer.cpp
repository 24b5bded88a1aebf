#include "ops/recurrent_steps/layer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
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

Result<Dispatch> Builder::finish(std::string_view source) {
  const std::uint64_t width = workgroup_width(caps_);
  if (variant_.own) {
    variant_.rows = narrow(std::bit_ceil(std::min(layer_.batch, most_rows)));
  }
  const std::uint64_t row_groups = ceil_div<std::uint64_t>(layer_.batch, variant_.rows);
  const std::uint64_t unit_groups = ceil_div<std::uint64_t>(layer_.hidden, variant_.units);
  const std::uint64_t groups = layer_.directions * row_groups * unit_groups;
  const auto turns = [&](std::uint32_t lanes) {
    return depth_ / (std::uint64_t{lanes} * variant_.vec);
  };
  if (variant_.own && !caps_.traits.slow_barriers && turns(fewest_lanes) > 0) {
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
  launch_.grid = grid_1d(ceil_div<std::uint64_t>(groups, width / variant_.lanes), caps_);
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
