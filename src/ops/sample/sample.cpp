#include "ops/sample/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/random/tables.hpp"
#include "ops/tables.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sample {
namespace {

struct Variant {
  bool greedy = false;
  bool penalty = false;
  bool top_k = false;
  bool top_p = false;
  bool min_p = false;
  std::uint32_t workgroup = 256;
  std::uint32_t batch = 1;  // elements in flight
  // Those of random/draw.wgsl.
  std::string_view function = "gumbel";
  std::uint32_t rows = random::quantile_rows;
  bool pairs = false;
  bool table = true;
  bool weights = false;
};

struct Params {
  std::uint32_t rows = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t previous = 0;
  std::uint32_t logits_row = 0;
  std::uint32_t logits_step = 0;
  std::uint32_t previous_row = 0;
  std::uint32_t previous_step = 0;
  std::uint32_t y_step = 0;
  std::uint32_t top_k = 0;
  std::uint32_t lowest = std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
  float penalty = 1;
  float temperature = 1;
  float top_p = 1;
  float min_p = 0;  // its logarithm
  std::uint32_t zero = 0;
  std::uint32_t first_low = 0;
  std::uint32_t first_high = 0;
  std::uint32_t domain = 0;
};

Status check(const Args& args) {
  if (const Status ok = validate(args.logits, "logits"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  const bool greedy = args.temperature == 0;
  bool fits = args.logits.rank == 2 && args.logits.shape[1] > 0 && is_float(args.logits.dtype) &&
              args.logits.shape[1] < (1ULL << 31) && args.y.rank == 1 &&
              args.y.shape[0] == args.logits.shape[0] && args.y.dtype == DType::i32;
  if (args.previous.given()) {
    if (const Status ok = validate(args.previous, "previous"); !ok) return ok;
    fits = fits && args.previous.rank == 2 && args.previous.shape[0] == args.logits.shape[0] &&
           args.previous.dtype == DType::i32;
  }
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "Sampling needs logits [batch, vocabulary] of floats, previous tokens i32 [batch, "
                "n] and a result i32 [batch]; it was given {}, {} and {}.",
                describe(args.logits), args.previous.given() ? describe(args.previous) : "none",
                describe(args.y));
  }
  if (!greedy && (!args.key.given() || args.key.dtype != DType::u32 || args.key.count() != 2 ||
                  !args.key.is_dense())) {
    return fail(ErrorCode::invalid_argument,
                "Sampling needs a key of two neighbouring u32; it was given {}.",
                args.key.given() ? describe(args.key) : "none");
  }
  if (!(args.temperature >= 0) || !(args.penalty > 0) || !(args.top_p > 0) || args.top_p > 1 ||
      !(args.min_p >= 0) || args.min_p > 1) {
    return fail(ErrorCode::invalid_argument,
                "Sampling takes a temperature from 0, a penalty above 0, top_p above 0 up to 1 and "
                "min_p from 0 to 1; they are {}, {}, {} and {}.",
                args.temperature, args.penalty, args.top_p, args.min_p);
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.logits, args.y) || overlap(args.previous, args.y) || overlap(args.key, args.y)) {
    return fail(ErrorCode::invalid_argument,
                "The tokens {} share memory with what they are drawn "
                "from, {}.",
                describe(args.y), describe(args.logits));
  }
  return {};
}

/// Passes over a row wait for memory, not for arithmetic: a long row gets as many invocations as a
/// workgroup can have.
void set_width(Variant& variant, std::uint64_t vocabulary, const Caps& caps) {
  variant.workgroup = workgroup_width(caps);
  if (caps.traits.slow_barriers || caps.traits.slow_compile || vocabulary < 4096) return;
  variant.workgroup = std::min(1024U, std::bit_floor(caps.workgroup_invocations));
  variant.batch = 8;
}

Status launch(Plan& plan, const Args& args, std::uint64_t first_row, std::uint64_t rows,
              const Caps& caps) {
  const std::uint64_t vocabulary = args.logits.shape[1];
  const View logits = args.logits.slice(0, first_row, rows);
  const View y = args.y.slice(0, first_row, rows);
  const std::uint64_t first = first_row * vocabulary;
  Variant variant;
  variant.greedy = args.temperature == 0;
  variant.penalty = args.previous.given() && !args.previous.empty() && args.penalty != 1;
  variant.top_k = !variant.greedy && args.top_k > 0 && args.top_k < vocabulary;
  variant.top_p = !variant.greedy && args.top_p < 1;
  variant.min_p = !variant.greedy && args.min_p > 0;
  set_width(variant, vocabulary, caps);
  Params params;
  params.rows = narrow(rows);
  params.vocabulary = narrow(vocabulary);
  params.logits_row = narrow(logits.stride[0]);
  params.logits_step = narrow(logits.stride[1]);
  params.y_step = narrow(y.stride[0]);
  params.top_k = narrow(std::min(args.top_k, vocabulary));
  params.penalty = args.penalty;
  params.temperature = args.temperature;
  params.top_p = args.top_p;
  params.min_p = args.min_p > 0 ? std::log(args.min_p) : 0;
  params.first_low = static_cast<std::uint32_t>(first);
  params.first_high = static_cast<std::uint32_t>(first >> 32U);
  Launch launch;
  launch.source = "sample/sample.wgsl";
  launch.label = formatted("sample {}", name(logits.dtype));
  launch.operands = {{.name = "logits", .view = logits},
                     {.name = "y", .view = y, .access = Access::write}};
  if (!variant.greedy) {
    launch.operands.push_back({.name = "key", .view = args.key});
    launch.operands.push_back(
        {.name = "table",
         .view =
             View::dense(DType::u32, {table_words(gumbel_table_slot).size()}, gumbel_table_slot)});
  }
  if (variant.penalty) {
    const View previous = args.previous.slice(0, first_row, rows);
    params.previous = narrow(previous.shape[1]);
    params.previous_row = narrow(previous.stride[0]);
    params.previous_step = narrow(previous.stride[1]);
    launch.operands.push_back({.name = "previous", .view = previous});
    View copy = View::dense(DType::f32, {rows, vocabulary});
    copy.slot = plan.add_scratch(round_up<std::uint64_t>(copy.bytes().size(), 16));
    launch.operands.push_back({.name = "w", .view = copy, .access = Access::write});
  }
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.grid = grid_1d(rows, caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  // As many rows as bindings hold, of the logits and of their copy in f32; their elements have
  // numbers of 32 bits.
  const std::uint64_t row =
      4 * std::max<std::uint64_t>({args.logits.stride[0], args.logits.shape[1],
                                   (args.logits.shape[1] - 1) * args.logits.stride[1] + 1});
  const std::uint64_t most = std::min<std::uint64_t>(binding_budget(caps), 1ULL << 32U) / row;
  if (most == 0) {
    return fail(ErrorCode::unsupported,
                "Sampling needs a row of {} within one binding of the device, {} bytes.",
                describe(args.logits), binding_budget(caps));
  }
  for (std::uint64_t first = 0; first < args.y.shape[0]; first += most) {
    const std::uint64_t rows = std::min(most, args.y.shape[0] - first);
    if (const Status ok = launch(plan, args, first, rows, caps); !ok) {
      return wrap(ok.error(), "planning a choice of tokens");
    }
  }
  return plan;
}

}  // namespace weft::ops::sample
