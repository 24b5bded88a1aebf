#include "ops/cross_entropy/launches.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::cross_entropy {
namespace {

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

struct StatesVariant {
  bool probabilities = false;
  std::uint32_t block = 1;
  std::uint32_t subgroup = 0;
  std::uint32_t workgroup = 256;
};

struct StatesParams {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;  // of this launch
  std::uint32_t first_column = 0;
  std::uint32_t all_columns = 0;
  std::uint32_t x_row = 0;
  std::uint32_t x_inner = 1;
  std::uint32_t t_row = 0;
  std::uint32_t t_inner = 1;
  std::uint32_t has_ignored = 0;
  std::int32_t ignored = 0;
};

struct FinishVariant {
  bool probabilities = false;
  bool mean = false;
  bool each = false;
  bool has_loss = false;
  bool has_lse = false;
  bool has_share = false;
};

struct RowsParams {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t has_ignored = 0;
  std::int32_t ignored = 0;
};

struct NoVariant {};

struct BackVariant {
  bool probabilities = false;
  bool has_share = false;
  std::uint32_t block = 1;
};

struct BackParams {
  std::uint32_t count = 0;
  std::uint32_t columns = 0;
  std::uint32_t first_row = 0;
  std::uint32_t first_column = 0;
  std::uint32_t dloss_row = 0;
  float share = 1;
  std::uint32_t has_ignored = 0;
  std::int32_t ignored = 0;
};

/// [rows, columns] where the rows of a tensor lie evenly apart.
std::optional<View> as_matrix(const View& view) {
  View out = view;
  out.rank = 2;
  out.shape = {1, view.shape[view.rank - 1]};
  out.stride = {0, view.stride[view.rank - 1]};
  for (std::uint32_t i = view.rank - 1; i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (out.shape[0] == 1) out.stride[0] = view.stride[i];
    if (view.stride[i] != out.stride[0] * out.shape[0]) return std::nullopt;
    out.shape[0] *= view.shape[i];
  }
  return out;
}

/// Invocations for a row. Where barriers are slow there are no more than find something to do: the
/// others would take part in each.
std::uint32_t states_width(std::uint64_t columns, std::uint32_t block, const Caps& caps) {
  const std::uint32_t most = workgroup_width(caps);
  if (!caps.traits.slow_barriers) return most;
  const std::uint64_t wanted = std::bit_ceil(ceil_div<std::uint64_t>(columns, 4ULL * block));
  const std::uint64_t least = std::max(8U, caps.subgroup_max);
  return narrow(std::min<std::uint64_t>(most, std::max(wanted, least)));
}

View flat(const View& dense) {
  View out = View::dense(dense.dtype, {dense.count()}, dense.slot);
  out.offset = dense.offset;
  return out;
}

}  // namespace

std::span<const std::uint64_t> row_shape(const Problem& problem) {
  return {problem.logits.shape.data(), problem.logits.rank - 1};
}

std::uint64_t rows_of(const Problem& problem) {
  std::uint64_t rows = 1;
  for (const std::uint64_t extent : row_shape(problem)) rows *= extent;
  return rows;
}

Launches::Launches(const Problem& problem, const Caps& caps, Stages& stages)
    : problem_(problem),
      caps_(caps),
      stages_(stages),
      rows_(rows_of(problem)),
      columns_(problem.logits.shape[problem.logits.rank - 1]) {
  if (!problem.classes.given()) return;
  classes_ =
      flat(problem.classes.is_dense() ? problem.classes : copied(problem.classes, DType::i32));
}

View Launches::copied(const View& from, DType dtype) {
  const View to = stages_.scratch(dtype, from.extents());
  copy(from, to);
  return to;
}

void Launches::copy(const View& from, const View& to) {
  stages_.add(map::plan({.function = "copy", .inputs = {from}, .y = to}, caps_));
}

void Launches::states(const View& state) {
  View x = matrix(problem_.logits);
  View t = problem_.probabilities.given() ? matrix(problem_.probabilities) : View{};
  const auto most = [&](const View& view, std::uint64_t stride) {
    return stride == 0 ? columns_ : binding_budget(caps_) / size_of(view.dtype) / stride;
  };
  std::uint64_t segment = std::min(columns_, most(x, x.stride[1]));
  if (t.given()) segment = std::min(segment, most(t, t.stride[1]));
  if (segment < columns_) segment = round_down<std::uint64_t>(segment, 64);
  const auto rows_in = [&](const View& view) {
    const std::uint64_t span = (segment - 1) * view.stride[1] + 1;
    const std::uint64_t room = binding_budget(caps_) / size_of(view.dtype);
    return view.stride[0] == 0 ? rows_ : (room - span) / view.stride[0] + 1;
  };
  std::uint64_t rows = std::min(rows_, rows_in(x));
  if (t.given()) rows = std::min(rows, rows_in(t));
  for (std::uint64_t row = 0; row < rows_; row += rows) {
    const std::uint64_t n = std::min(rows, rows_ - row);
    for (std::uint64_t column = 0; column < columns_; column += segment) {
      const std::uint64_t wide = std::min(segment, columns_ - column);
      const auto piece = [&](const View& view) {
        return view.slice(0, row, n).slice(1, column, wide);
      };
      launch_states(piece(x), t.given() ? piece(t) : t, state.slice(0, row, n), row, column);
    }
  }
}

void Launches::finish(const View& state, const View& loss, const View& lse, const View& share) {
  Launch launch{.source = "cross_entropy/finish.wgsl"};
  launch.constants =
      constants_of(FinishVariant{.probabilities = problem_.probabilities.given(),
                                 .mean = mean(),
                                 .each = loss.given() && problem_.reduction == Reduction::none,
                                 .has_loss = loss.given(),
                                 .has_lse = lse.given(),
                                 .has_share = share.given()});
  launch.params = block_of(RowsParams{.rows = narrow(rows_)});
  launch.operands = {{.name = "state", .view = flat(state)}};
  for (const auto& [name, view] : {std::pair{"loss", loss}, {"lse", lse}, {"share", share}}) {
    if (view.given())
      launch.operands.push_back({.name = name, .view = flat(view), .access = Access::write});
  }
  launch.label = "cross_entropy finish";
  stages_.add(make_dispatch(std::move(launch), caps_));
}

void Launches::count_rows(const View& share) {
  Launch launch{.source = "cross_entropy/share.wgsl"};
  launch.constants = constants_of(NoVariant{});
  launch.params = block_of(RowsParams{.rows = narrow(rows_),
                                      .columns = narrow(columns_),
                                      .has_ignored = problem_.ignored ? 1U : 0U,
                                      .ignored = problem_.ignored.value_or(0)});
  launch.operands = {{.name = "classes", .view = classes_},
                     {.name = "share", .view = flat(share), .access = Access::write}};
  launch.label = "cross_entropy share";
  stages_.add(make_dispatch(std::move(launch), caps_));
}

void Launches::back(const View& x, const View& t, const View& lse, const View& dloss,
                    const View& share, const View& dx) {
  const std::uint64_t count = rows_ * columns_;
  std::uint64_t piece = 1ULL << 30;
  for (const View& view : {x, t, dx}) {
    if (view.given()) piece = std::min(piece, binding_budget(caps_) / size_of(view.dtype));
  }
  piece = round_down<std::uint64_t>(piece, 64);
  for (std::uint64_t first = 0; first < count; first += piece) {
    const std::uint64_t n = std::min(piece, count - first);
    const auto part = [&](const View& view) {
      return view.given() ? flat(view).slice(0, first, n) : view;
    };
    launch_back(part(x), part(t), part(dx), lse, dloss, share, first);
  }
}

View Launches::matrix(const View& view) {
  if (const auto found = as_matrix(view)) return *found;
  return as_matrix(copied(view, view.dtype)).value_or(view);  // dense rows lie evenly
}

void Launches::launch_states(const View& x, const View& t, const View& state, std::uint64_t row,
                             std::uint64_t column) {
  const bool blocks = !t.given() && x.stride[1] == 1;
  StatesVariant variant{.probabilities = t.given(), .block = !blocks ? 1U : 16U / size_of(x.dtype)};
  if (caps_.subgroups && std::has_single_bit(caps_.subgroup_min) && caps_.subgroup_min > 1 &&
      caps_.subgroup_min <= 128) {
    variant.subgroup = caps_.subgroup_min;
  }
  variant.workgroup = states_width(x.shape[1], variant.block, caps_);
  Launch launch{.source = "cross_entropy/states.wgsl"};
  launch.constants = constants_of(variant);
  launch.params = block_of(StatesParams{.rows = narrow(x.shape[0]),
                                        .columns = narrow(x.shape[1]),
                                        .first_column = narrow(column),
                                        .all_columns = narrow(columns_),
                                        .x_row = narrow(x.stride[0]),
                                        .x_inner = narrow(x.stride[1]),
                                        .t_row = narrow(t.stride[0]),
                                        .t_inner = narrow(t.stride[1]),
                                        .has_ignored = problem_.ignored ? 1U : 0U,
                                        .ignored = problem_.ignored.value_or(0)});
  launch.operands = {{.name = "x", .view = x, .unit = blocks ? 4U : 1U},
                     {.name = "state", .view = state, .access = Access::write}};
  if (t.given()) {
    launch.operands.push_back({.name = "t", .view = t});
  } else {
    launch.operands.push_back({.name = "classes", .view = classes_.slice(0, row, x.shape[0])});
  }
  launch.features.subgroups = variant.subgroup > 0;
  launch.grid = grid_1d(x.shape[0], caps_);
  launch.label = formatted("cross_entropy states {}", name(x.dtype));
  stages_.add(make_dispatch(std::move(launch), caps_));
}

void Launches::launch_back(const View& x, const View& t, const View& dx, const View& lse,
                           const View& dloss, const View& share, std::uint64_t first) {
  const BackParams params{.count = narrow(x.shape[0]),
                          .columns = narrow(columns_),
                          .first_row = narrow(first / columns_),
                          .first_column = narrow(first % columns_),
                          .dloss_row = problem_.reduction == Reduction::none ? 1U : 0U,
                          .share = mean() && !share.given() ? 1.0F / static_cast<float>(rows_) : 1,
                          .has_ignored = problem_.ignored ? 1U : 0U,
                          .ignored = problem_.ignored.value_or(0)};

  const std::array tensors{x, dx, t};
  const auto given = std::span(tensors).first(t.given() ? 3 : 2);
  BackVariant variant{.probabilities = t.given(), .has_share = share.given()};
  for (const std::uint32_t block : {8U, 4U}) {
    const auto fits = [&](const View& view) {
      const std::uint64_t bytes =
          std::min<std::uint64_t>(16, std::uint64_t{block} * size_of(view.dtype));
      return view.offset % bytes == 0 && (block == 4 || size_of(view.dtype) == 2);
    };
    if (variant.block == 1 && std::ranges::all_of(given, fits)) variant.block = block;
  }
  const auto unit = [&](const View& view) {
    return std::clamp(variant.block * size_of(view.dtype) / 4, 1U, 4U);
  };
  const bool shares_words = variant.block == 1 && size_of(dx.dtype) == 2;
  Launch launch{.source = "cross_entropy/back.wgsl"};
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.operands = {{.name = "x", .view = x, .unit = unit(x)},
                     {.name = "lse", .view = flat(lse)},
                     {.name = "dloss", .view = flat(dloss)},
                     {.name = "dx",
                      .view = dx,
                      .access = shares_words ? Access::atomic : Access::write,
                      .unit = unit(dx)}};
  if (t.given()) {
    launch.operands.push_back({.name = "t", .view = t, .unit = unit(t)});
  } else {
    launch.operands.push_back({.name = "classes", .view = classes_});
  }
  if (share.given()) launch.operands.push_back({.name = "share", .view = flat(share)});
  launch.grid = grid_1d(
      ceil_div<std::uint64_t>(params.count, std::uint64_t{workgroup_width(caps_)} * variant.block),
      caps_);
  launch.label = formatted("cross_entropy back {}", name(dx.dtype));
  stages_.add(make_dispatch(std::move(launch), caps_));
}

}  // namespace weft::ops::cross_entropy
