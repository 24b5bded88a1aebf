#include "ops/softmax/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/row_jobs.hpp"

namespace weft::ops::softmax {
namespace {

/// All of the columns, the states of their parts, or what follows from these.
enum class Phase : std::uint8_t { whole, partial, apply };
constexpr std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::whole: return "whole";
    case Phase::partial: return "partial";
    case Phase::apply: return "apply";
  }
  return "?";
}

struct Variant {
  Phase phase = Phase::whole;
  bool log = false;
  std::uint32_t across = 16;  // invocations side by side, four columns each
  std::uint32_t down = 16;    // invocations above one another
  std::uint32_t depth = 8;    // rows of an invocation
  bool exact = false;         // none of them lies behind the end
};

struct Params {
  std::uint32_t groups = 0;
  std::uint32_t strips = 0;
  std::uint32_t splits = 1;
  std::uint32_t rounds = 1;
  std::uint32_t batches = 1;
  std::uint32_t quads = 0;  // of columns
  std::uint32_t length = 0;
  std::uint32_t x_batch = 0;
  std::uint32_t x_step = 0;
  std::uint32_t y_batch = 0;
  std::uint32_t y_step = 0;
  float scale = 1;
};

/// Whether rows of columns [batch, column, row] lie in aligned fours.
bool in_fours(const View& view) {
  return view.stride[1] == 1 && view.shape[1] % 4 == 0 && view.stride[2] % 4 == 0 &&
         (view.shape[0] == 1 || view.stride[0] % 4 == 0) &&
         view.offset % (4ULL * size_of(view.dtype)) == 0;
}

/// How columns are cut: short ones stay in the registers of a workgroup whose rows have 128 bytes;
/// longer ones are split, and wider rows in smaller workgroups were the fastest then (4096 x 4096
/// f16 on an H200: 38 us against 44 with 128 bytes).
Variant choose_tile(const Params& params, const View& y, const Caps& caps) {
  constexpr std::uint32_t depth = 8;
  const std::uint32_t limit =
      std::min(std::bit_floor(caps.workgroup_invocations), caps.workgroup_bytes / 16);
  const std::uint32_t quads = std::bit_ceil(params.quads);
  const bool narrow_rows = size_of(y.dtype) == 2;
  std::uint32_t line = std::min(narrow_rows ? 16U : 8U, quads);
  std::uint32_t most = std::min(512U, limit);
  if (params.length > depth * (most / line)) {
    line = std::min(narrow_rows ? 32U : 8U, quads);
    most = std::min(256U, limit);
  }
  Variant tile;
  // Where invocations are joined slowly, each takes all of its columns where there are enough of
  // them.
  if (caps.traits.slow_barriers && quads >= 128)
    return {.across = 32, .down = 1, .depth = std::min(depth, params.length)};
  tile.down = std::min(std::bit_ceil(ceil_div(params.length, depth)), most / line);
  tile.across = std::clamp(std::min(256U, limit) / tile.down, line, std::max(line, quads));
  tile.depth = std::min(depth, ceil_div(params.length, tile.down));
  return tile;
}

/// The output and the input as [batch, column, row], where they lie in aligned fours of columns.
std::optional<std::array<View, 2>> in_columns(const Args& args) {
  if (args.y.rank < 2) return std::nullopt;
  std::vector<View> views{args.y, args.x};
  collapse_outer(views);
  if (views[0].rank == 2) {
    for (View& view : views) view = view.unsqueeze(0);
  }
  const View& y = views[0];
  if (y.rank != 3 || y.shape[2] == 1 || !in_fours(views[1]) || !in_fours(y)) return std::nullopt;
  return std::array{views[0], views[1]};
}

}  // namespace

Status can_columns(const Args& args, const Caps& caps) {
  const bool plain = !args.chain.given() && !args.mask.given() && !args.sinks.given();
  const std::uint64_t budget = binding_budget(caps);
  if (plain && in_columns(args) && args.x.bytes().size() <= budget &&
      args.y.bytes().size() <= budget && args.y.count() < (1ULL << 31)) {
    return {};
  }
  return fail(
      ErrorCode::unsupported,
      "Columns are taken where there is nothing but x and y, which lie in aligned fours and "
      "fit one binding; they are {} and {}.",
      describe(args.x), describe(args.y));
}

bool worth_columns(const Args& args, const Caps& caps) {
  if (args.chain.given()) return false;  // x is not there
  const auto views = in_columns(args);
  // Single elements of 32 bits do well where invocations are lanes of vectors already.
  return views && !(caps.traits.slow_barriers && (*views)[0].shape[1] >= 512 &&
                    size_of(args.x.dtype) == 4 && size_of(args.y.dtype) == 4);
}

Result<Plan> plan_columns(const Args& args, const Caps& caps) {
  const auto views = in_columns(args);
  if (!views) return std::unexpected(can_columns(args, caps).error());
  const auto& [y, x] = *views;
  Params params;
  params.batches = narrow(y.shape[0]);
  params.quads = narrow(y.shape[1] / 4);
  params.length = narrow(y.shape[2]);
  params.x_batch = narrow(x.stride[0]);
  params.x_step = narrow(x.stride[2]);
  params.y_batch = narrow(y.stride[0]);
  params.y_step = narrow(y.stride[2]);
  params.scale = args.scale;
  Variant variant = choose_tile(params, y, caps);
  variant.log = args.log;
  params.strips = ceil_div(params.quads, variant.across);
  const std::uint32_t blocks = ceil_div(params.length, variant.down * variant.depth);
  // Merging the states of many splits takes long (4096 x 4096 f16 on an H200: 35 us with 16, 38
  // with 32, 46 with 64).
  const std::uint32_t most_splits = variant.down == 1 ? 4 : 16;
  params.rounds = ceil_div(blocks, most_splits);
  params.splits = ceil_div(blocks, params.rounds);
  variant.exact = params.length == params.splits * params.rounds * variant.down * variant.depth;
  params.groups = params.batches * params.strips * params.splits;

  Plan plan;
  View state;
  const auto launch = [&](Phase phase) -> Status {
    variant.phase = phase;
    const auto unit = [](const View& view) { return size_of(view.dtype); };
    Launch out;
    out.source = "softmax/columns.wgsl";
    out.label = formatted("{} columns {} {}", args.log ? "log_softmax" : "softmax", name(phase),
                          name(x.dtype));
    out.constants = constants_of(variant);
    out.params = block_of(params);
    out.operands = {{.name = "x", .view = x, .unit = unit(x)}};
    if (phase != Phase::partial) {
      out.operands.push_back({.name = "y", .view = y, .access = Access::write, .unit = unit(y)});
    }
    if (phase != Phase::whole) {
      out.operands.push_back({.name = "state",
                              .view = state,
                              .access = phase == Phase::partial ? Access::write : Access::read,
                              .unit = 4});
    }
    out.grid = grid_1d(params.groups, caps);
    return plan.add(make_dispatch(std::move(out), caps));
  };
  Status ok;
  if (params.splits == 1 && params.rounds == 1) {
    ok = launch(Phase::whole);
  } else {
    // Less than y has: a part has eight rows or more.
    const std::uint64_t words = y.shape[0] * y.shape[1] * params.splits * 2;
    state = View::dense(DType::f32, {words}, plan.add_scratch(words * 4));
    ok = launch(Phase::partial).and_then([&] { return launch(Phase::apply); });
  }
  if (!ok) return std::unexpected(ok.error());
  return plan;
}

}  // namespace weft::ops::softmax
