#include "ops/sort/sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/gather/gather.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sort {
namespace {

constexpr std::uint64_t tile = 2048;  // as in key.wgsl

struct Variant {
  std::string_view kind;  // what elements are in registers: f32, i32, u32, or none
  std::string_view from;
  std::string_view to;
};

struct Params {
  std::uint32_t groups = 0;
  std::uint32_t rows = 0;
  std::uint32_t count = 0;    // elements of a row
  std::uint32_t tiles = 0;    // workgroups per row (or per set of rows that share one)
  std::uint32_t segment = 0;  // elements of a tile that one row has; a power of two
  std::uint32_t keep = 0;     // elements that are written per segment (merge: per row)
  std::uint32_t first = 0;    // index of the first element
  std::uint32_t flip = 0;     // all bits set: descending
  std::uint32_t run = 0;
  std::uint32_t rounds = 0;
  std::uint32_t x_row = 0;
  std::uint32_t x_step = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_step = 0;
  std::uint32_t pair_row = 0;
  std::uint32_t out_row = 0;
};

/// What a pass reads or writes: rows of the caller's tensor, or of keys and indices in scratch. All
/// views have rank 2.
struct End {
  View tensor{};
  View keys{};
  View index{};

  [[nodiscard]] bool is_tensor() const { return tensor.given(); }
  [[nodiscard]] const View& any() const { return is_tensor() ? tensor : keys; }
  [[nodiscard]] std::uint64_t rows() const { return any().shape[0]; }
  [[nodiscard]] std::uint64_t count() const { return any().shape[1]; }
  [[nodiscard]] End columns(std::uint64_t first, std::uint64_t size) const {
    if (is_tensor()) return {.tensor = tensor.slice(1, first, size)};
    return {.keys = keys.slice(1, first, size), .index = index.slice(1, first, size)};
  }
};

std::string_view kind_of(DType type) {
  if (is_float(type)) return "f32";
  return is_unsigned(type) ? "u32" : "i32";
}

/// One sort with its device, its scratch and how much of a row one launch can take.
struct Sorter {
  const Caps& caps;
  Stages& stages;
  bool descending = false;
  std::uint64_t chunk = 0;  // a multiple of the tile, unless it is a whole row
  std::array<Slot, 4> scratch{};

  /// Keys and indices of `rows` rows of `count` elements in one of the two pairs of scratch
  /// buffers.
  [[nodiscard]] End pairs(std::uint32_t which, std::uint64_t rows, std::uint64_t count) const {
    const std::size_t at = std::size_t{2} * (which % 2);
    return {.keys = View::dense(DType::u32, {rows, count}, scratch[at]),
            .index = View::dense(DType::u32, {rows, count}, scratch[at + 1])};
  }

  Status launch(std::string_view source, Params params, const End& from, const End& to) {
    Variant variant{.kind = from.is_tensor() ? kind_of(from.tensor.dtype) : "none",
                    .from = from.is_tensor() ? "x" : "pairs",
                    .to = to.is_tensor() ? "y" : "pairs"};
    Launch launch;
    params.rows = narrow(from.rows());
    params.count = narrow(from.count());
    params.flip = descending ? 0xffffffffU : 0U;
    if (from.is_tensor()) {
      params.x_row = narrow(from.tensor.stride[0]);
      params.x_step = narrow(from.tensor.stride[1]);
      launch.operands.push_back({"x", from.tensor});
    } else {
      params.pair_row = narrow(from.keys.stride[0]);
      launch.operands.push_back({"keys", from.keys});
      launch.operands.push_back({"index", from.index});
    }
    if (to.is_tensor()) {
      params.y_row = narrow(to.tensor.stride[0]);
      params.y_step = narrow(to.tensor.stride[1]);
      launch.operands.push_back({"y", to.tensor, Access::write});
    } else {
      params.out_row = narrow(to.keys.stride[0]);
      launch.operands.push_back({"keys_out", to.keys, Access::write});
      launch.operands.push_back({"index_out", to.index, Access::write});
    }
    launch.source = source;
    launch.label =
        formatted("{} {} to {}", source.substr(0, source.find('.')), variant.from, variant.to);
    launch.constants = constants_of(variant);
    launch.grid = grid_1d(params.groups, caps);
    launch.params = block_of(params);
    auto made = make_dispatch(std::move(launch), caps);
    if (!made) return std::unexpected(made.error());
    stages.add(std::move(made));
    return {};
  }

  /// Sorts tiles; `first` is the index of the first column, `keep` how many elements of each are
  /// written.
  Status sort_tiles(const End& from, const End& to, std::uint64_t first, std::uint64_t keep) {
    const std::uint64_t segment =
        std::clamp<std::uint64_t>(std::bit_ceil(from.count()), tile / workgroup_width(caps), tile);
    const std::uint64_t tiles = ceil_div(from.count(), segment);
    Params params;
    params.tiles = narrow(tiles);
    params.groups = narrow(ceil_div(from.rows(), tile / segment) * tiles);
    params.segment = narrow(segment);
    params.keep = narrow(keep);
    params.first = narrow(first);
    return launch("sort/block.wgsl", params, from, to);
  }

  Status merge(const End& from, const End& to, std::uint64_t run) {
    Params params;
    params.keep = narrow(to.count());
    params.tiles = narrow(ceil_div(to.count(), tile));
    params.groups = narrow(from.rows() * params.tiles);
    params.run = narrow(run);
    const std::uint64_t ways = workgroup_width(caps) / 2;  // as in merge.wgsl
    for (std::uint64_t left = run; left > 0; left = ceil_div(left, ways) - 1) ++params.rounds;
    return launch("sort/merge.wgsl", params, from, to);
  }

  /// The first few elements: each pass keeps only as many of every tile.
  Status select(const End& x, const End& y) {
    const std::uint64_t keep = y.count();
    End from = x;
    for (std::uint32_t pass = 0; from.count() > tile; ++pass) {
      const std::uint64_t tiles = ceil_div(from.count(), tile);
      const std::uint64_t left =
          (tiles - 1) * keep + std::min(keep, from.count() - (tiles - 1) * tile);
      const End to = pairs(pass, x.rows(), left);
      for (std::uint64_t at = 0; at < from.count(); at += chunk) {
        const std::uint64_t out = at / tile * keep;
        const std::uint64_t size = std::min(chunk, from.count() - at);
        const Status ok = sort_tiles(
            from.columns(at, size),
            to.columns(out, std::min(ceil_div(size, tile) * keep, left - out)), at, keep);
        if (!ok) return ok;
      }
      from = to;
    }
    return sort_tiles(from, y, 0, keep);
  }

  /// Merges runs of `run` elements in windows of `width` elements, of which the first begins `width
  /// - lead` elements before the row.
  Status merge_windows(const End& from, const End& to, std::uint64_t run, std::uint64_t width,
                       std::uint64_t lead) {
    for (std::uint64_t at = 0, size = lead; at < to.count(); at += size, size = width) {
      const std::uint64_t here = std::min(size, from.count() - at);
      const Status ok =
          merge(from.columns(at, here), to.columns(at, std::min(here, to.count() - at)), run);
      if (!ok) return ok;
    }
    return {};
  }

  /// The whole order: tiles, then runs that double within a chunk, then neighbouring chunks in
  /// turns, as often as there are chunks (odd-even transposition), because no launch can reach more
  /// than two of them.
  Status sort(const End& x, const End& y) {
    const std::uint64_t count = x.count();
    const std::uint64_t chunks = ceil_div(count, chunk);
    std::uint64_t merges = 0;
    for (std::uint64_t run = tile; run < std::min(chunk, count); run *= 2) ++merges;
    const std::uint64_t passes = merges + (chunks > 1 ? chunks : 0);
    std::uint32_t pass = 0;
    End from = pairs(pass++, x.rows(), count);
    for (std::uint64_t at = 0; at < count; at += chunk) {
      const std::uint64_t size = std::min(chunk, count - at);
      const Status ok = sort_tiles(x.columns(at, size), from.columns(at, size), at, tile);
      if (!ok) return ok;
    }
    const auto next = [&] { return pass == passes ? y : pairs(pass, x.rows(), count); };
    for (std::uint64_t run = tile; pass <= merges; run *= 2) {
      const End to = next();
      if (const Status ok = merge_windows(from, to, run, chunk, chunk); !ok) return ok;
      from = to;
      ++pass;
    }
    for (std::uint64_t turn = 0; pass <= passes; ++turn) {
      const End to = next();
      const std::uint64_t lead = turn % 2 == 0 ? 2 * chunk : chunk;
      if (const Status ok = merge_windows(from, to, chunk, 2 * chunk, lead); !ok) return ok;
      from = to;
      ++pass;
    }
    return {};
  }

  Status rows(const View& x, const View& y) {
    if (x.shape[1] <= tile) return sort_tiles({.tensor = x}, {.tensor = y}, 0, y.shape[1]);
    if (y.shape[1] <= tile / 2) return select({.tensor = x}, {.tensor = y});
    return sort({.tensor = x}, {.tensor = y});
  }
};

/// `view` as [rows, last dimension], if its rows lie evenly apart.
std::optional<View> as_rows(const View& view) {
  View outer = view;
  --outer.rank;
  View rows = view;
  rows.rank = 2;
  rows.shape = {outer.count(), view.shape[view.rank - 1]};
  rows.stride = {0, view.stride[view.rank - 1]};
  // Rows must keep their order, so dimensions are merged as they stand.
  std::uint64_t extent = 1;
  for (std::uint32_t i = outer.rank; i-- > 0;) {
    if (view.shape[i] == 1) continue;
    if (extent > 1 && view.stride[i] != rows.stride[0] * extent) return std::nullopt;
    if (extent == 1) rows.stride[0] = view.stride[i];
    extent *= view.shape[i];
  }
  return rows;
}

/// Rows of a [rows, columns] view that fit one binding.
std::uint64_t rows_that_fit(const View& view, std::uint64_t budget) {
  const std::uint64_t row = view.slice(0, 0, 1).bytes().size();
  if (row > budget) return 0;
  const std::uint64_t step = view.stride[0] * size_of(view.dtype);
  return step == 0 ? view.shape[0] : 1 + (budget - row) / step;
}

Status check(const Args& args) {
  const View& x = args.x;
  const View& y = args.indices;
  if (const Status ok = validate(x, "x"); !ok) return ok;
  if (const Status ok = validate(y, "indices"); !ok) return ok;
  bool fits = x.rank > 0 && x.rank == y.rank && y.shape[y.rank - 1] <= x.shape[x.rank - 1];
  for (std::uint32_t i = 0; fits && i + 1 < x.rank; ++i) fits = x.shape[i] == y.shape[i];
  if (!fits || y.dtype != DType::i32) {
    return fail(ErrorCode::invalid_argument,
                "Sorting {} gives indices of i32 in its shape, or fewer per row; they are {}.",
                describe(x), describe(y));
  }
  if (x.dtype == DType::i64) {
    return fail(ErrorCode::unsupported, "There is no sort of i64; x is {}.", describe(x));
  }
  if (x.shape[x.rank - 1] >= (1ULL << 30)) {
    return fail(ErrorCode::unsupported, "Rows of {} elements are too long to sort; x is {}.",
                x.shape[x.rank - 1], describe(x));
  }
  if (const Status ok = check_distinct(y, "indices"); !ok) return ok;
  if (!y.empty() && overlap(x, y)) {
    return fail(ErrorCode::invalid_argument,
                "The indices {} of a sort share memory with its input {}.", describe(y),
                describe(x));
  }
  return {};
}

Status copy(Stages& stages, const View& from, const View& to, const Caps& caps) {
  auto part = map::plan({.function = "copy", .inputs = {from}, .y = to}, caps);
  if (!part) return std::unexpected(part.error());
  stages.add(std::move(part));
  return {};
}

Status add_sort(Stages& stages, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const std::uint64_t count = args.x.shape[args.x.rank - 1];
  const std::uint64_t keep = args.indices.shape[args.x.rank - 1];
  // Rows that are no multiple of some step apart, or that need several launches each, are sorted in
  // a dense copy.
  const auto usable = [&](const View& view) {
    const auto rows = as_rows(view);
    return rows && rows_that_fit(*rows, view.stride[view.rank - 1] == 1 ? ~0ULL : budget) > 0;
  };
  View source = args.x;
  if (!usable(source)) {
    source = stages.scratch(args.x.dtype, args.x.extents());
    if (const Status ok = copy(stages, args.x, source, caps); !ok) return ok;
  }
  const View result = usable(args.indices)
                          ? args.indices
                          : stages.scratch(args.indices.dtype, args.indices.extents());
  const View x = as_rows(source).value_or(View{});
  const View y = as_rows(result).value_or(View{});

  Sorter sorter{.caps = caps, .stages = stages, .descending = args.descending, .chunk = count};
  std::uint64_t together =
      std::min({rows_that_fit(x, budget), rows_that_fit(y, budget), x.shape[0]});
  if (count > tile) together = std::min(together, budget / (count * 4));
  if (together == 0) {
    // Launches take whole tiles of a row, and merges of a whole order two chunks at once.
    const bool selects = keep <= tile / 2;
    const std::uint64_t least = count <= tile ? count : selects ? tile : 2 * tile;
    if (least * 4 > budget) {
      return fail(ErrorCode::unsupported,
                  "Rows of {} elements cannot be sorted in bindings of {} bytes.", count,
                  caps.max_binding);
    }
    together = 1;
    sorter.chunk = std::max(tile, std::bit_floor(budget / 8));
  }
  if (count > tile) {
    const std::uint64_t left = keep <= tile / 2 ? ceil_div(count, tile) * keep : count;
    for (Slot& slot : sorter.scratch) slot = stages.scratch(DType::u32, {together * left}).slot;
  }
  for (std::uint64_t row = 0; row < x.shape[0]; row += together) {
    const std::uint64_t size = std::min(together, x.shape[0] - row);
    const Status ok = sorter.rows(x.slice(0, row, size), y.slice(0, row, size));
    if (!ok) return ok;
  }
  if (result.slot != args.indices.slot) return copy(stages, result, args.indices, caps);
  return {};
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (args.indices.empty()) return Plan{};
  Stages stages({args.x, args.indices, args.values});
  if (const Status ok = add_sort(stages, args, caps); !ok)
    return wrap(ok.error(), "planning a sort");
  if (!args.values.given()) return std::move(stages).finish();
  gather::GatherArgs values{
      .x = args.x, .index = args.indices, .y = args.values, .axis = args.x.rank - 1};
  for (View* view : {&values.x, &values.y}) {
    if (view->dtype == DType::u32) view->dtype = DType::i32;
  }
  auto gathered = gather::plan(values, caps);
  if (!gathered) return wrap(gathered.error(), "planning the values of a sort");
  stages.add(std::move(gathered));
  return std::move(stages).finish();
}

}  // namespace weft::ops::sort
