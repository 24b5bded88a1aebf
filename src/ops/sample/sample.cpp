#include "ops/sample/sample.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/sample/rows.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sample {
namespace {

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

Status launch_whole(Plan& plan, const Args& args, const Rows& rows, const Caps& caps) {
  Variant variant = variant_of(args);
  set_width(variant, args.logits.shape[1], caps);
  Launch launch;
  launch.source = "sample/sample.wgsl";
  launch.label = formatted("sample {}", name(rows.logits.dtype));
  launch.operands = {{.name = "logits", .view = rows.logits},
                     {.name = "y", .view = rows.y, .access = Access::write}};
  if (!variant.greedy) add_draw(launch, args);
  if (variant.penalty) {
    launch.operands.push_back({.name = "previous", .view = rows.previous});
    launch.operands.push_back(
        {.name = "w", .view = changed_rows(plan, rows), .access = Access::write});
  }
  launch.constants = constants_of(variant);
  launch.params = block_of(params_of(args, rows));
  launch.grid = grid_1d(rows.y.shape[0], caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

Status can(const Args&, const Rows&, const Caps&) { return {}; }
bool worth_split(const Args&, const Rows& rows, const Caps&) { return rows.parts > 1; }
bool always(const Args&, const Rows&, const Caps&) { return true; }

/// One kernel of the op's list: `can` says why it cannot make the choices of some rows at all,
/// `worth` whether it is a good choice, `launch` adds what it takes to a plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Rows&, const Caps&);
  bool (*worth)(const Args&, const Rows&, const Caps&);
  Status (*launch)(Plan&, const Args&, const Rows&, const Caps&);
};

constexpr Kernel split_kernel{"split", can, worth_split, launch_split};
constexpr Kernel whole_kernel{"whole", can, always, launch_whole};

// In order of preference.
constexpr std::array kernels{&split_kernel, &whole_kernel};

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
    const Rows some{
        .logits = args.logits.slice(0, first, rows),
        .previous = args.previous.given() ? args.previous.slice(0, first, rows) : View{},
        .y = args.y.slice(0, first, rows),
        .first = first,
        .parts = parts_of(args, rows, caps)};
    const auto kernel = choose_kernel(kernels, "A choice of tokens", {}, args, some, caps);
    if (!kernel) return std::unexpected(kernel.error());
    const Status ok = (*kernel)->launch(plan, args, some, caps);
    if (!ok) return wrap(ok.error(), "planning a choice of tokens");
  }
  return plan;
}

}  // namespace weft::ops::sample
