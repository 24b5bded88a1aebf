#include "ops/rope/rope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/choose.hpp"
#include "ops/iterate.hpp"
#include "ops/rope/check.hpp"
#include "ops/slow_access.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::rope {
namespace {

struct Variant {
  std::uint32_t bits = power_bits;
  std::uint32_t streams = 1;
  bool rows0 = false;  // of each stream: it writes the rows that its indices name
  bool rows1 = false;
  bool rows2 = false;
  bool vec = false;
  bool pairs = false;
  bool sections = false;
  bool positions = false;
  bool factors = false;
};

/// What the text of rolled.wgsl depends on.
struct RolledVariant {
  std::uint32_t bits = power_bits;
  std::uint32_t streams = 1;
  bool rows0 = false;
  bool rows1 = false;
  bool rows2 = false;
  bool narrow0 = false;  // two elements in a word of y
  bool narrow1 = false;
  bool narrow2 = false;
  bool pairs = false;
  bool sections = false;
  bool positions = false;
  bool factors = false;
};

/// What an invocation makes of a row: so many pairs that turn, or elements that are copied, read
/// and written `width` at a time.
struct Items {
  std::uint32_t pairs = 1;
  std::uint32_t copies = 1;
  std::uint32_t width = 1;
};

using PerStream = std::array<std::uint32_t, max_streams>;

struct Params {
  PerStream jobs{};
  PerStream items{};    // of a row
  PerStream turning{};  // items that turn; the others are copied
  PerStream head_blocks{};
  PerStream heads_each{};
  PerStream heads{};
  PerStream rows_t{};
  PerStream table_rows{};
  std::uint32_t tokens = 0;
  std::uint32_t offset = 0;
  std::uint32_t dims = 0;
  std::uint32_t apart = 0;
  std::uint32_t kind =
      0;  // of sections: 0 one after the other, 1 interleaved, 2 with frequencies of their own
  std::array<std::uint32_t, 4> section{};
  std::array<std::uint32_t, 4> section_end{};
  std::int32_t first_position = 0;
  std::array<float, power_bits> power{};
  float scale = 1;
  float extrapolation = 0;
  float magnitude = 1;
  float direction = 1;
  float ramp_low = 0;
  float ramp_rate = 1;
  std::uint32_t positions_s = 0;
  std::uint32_t positions_t = 0;
  std::uint32_t factors_d = 0;
};

/// The pair at which a frequency has made `turns` turns within the context that the model was
/// trained for.
double pair_with_turns(const Args& args, double turns) {
  return args.dims * std::log(args.trained_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(args.base)));
}

Params params_of(const Args& args) {
  Params params;
  const bool vision = args.mode == Mode::vision;
  params.tokens = narrow(args.x.shape[1]);
  params.offset = args.offset;
  params.dims = vision ? narrow(args.x.shape[3]) : args.dims;
  params.apart = vision ? args.dims : args.dims / 2;
  params.kind = args.mode == Mode::sections_in_turn ? 1 : vision ? 2 : 0;
  params.section = args.sections;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < 4; ++i) params.section_end[i] = end += args.sections[i];
  params.first_position = args.first_position;
  for (std::size_t i = 0; i < params.power.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(1U << i) / std::max(1U, args.dims);
    params.power[i] = static_cast<float>(std::pow(static_cast<double>(args.base), exponent));
  }
  params.scale = args.scale;
  params.extrapolation = args.extrapolation;
  params.magnitude = args.magnitude;
  if (args.extrapolation != 0) {
    params.magnitude *= 1.0F + 0.1F * std::log(1.0F / args.scale);
    const double low = std::max(0.0, std::floor(pair_with_turns(args, args.beta_fast)));
    const double high = std::min(args.dims - 1.0, std::ceil(pair_with_turns(args, args.beta_slow)));
    params.ramp_low = static_cast<float>(low);
    params.ramp_rate = static_cast<float>(1 / std::max(0.001, high - low));
  }
  params.direction = args.backward ? -1.0F : 1.0F;
  if (args.positions.given()) {
    const View& view = args.positions;
    params.positions_s = view.rank == 2 ? narrow(view.stride[0]) : 0;
    params.positions_t = narrow(view.stride[view.rank - 1]);
  }
  if (args.factors.given()) params.factors_d = narrow(args.factors.stride[0]);
  return params;
}

void add_strides(ParamBlock& block, const std::string& name, const View& view) {
  block.add(name + "_b", narrow(view.stride[0]));
  block.add(name + "_t", narrow(view.stride[1]));
  block.add(name + "_h", narrow(view.stride[2]));
  block.add(name + "_d", narrow(view.stride[3]));
}

/// What a stream adds to the launch that it is part of.
void add_stream(Launch& out, Params& params, const Items& of, std::uint32_t s, const Args& args,
                const Caps& caps) {
  const std::uint32_t turning = args.dims == 0 ? 0 : params.dims;  // elements
  params.turning[s] = turning / 2 / of.pairs;
  params.items[s] = params.turning[s] + (narrow(args.x.shape[3]) - turning) / of.copies;
  params.heads[s] = narrow(args.x.shape[2]);
  // Heads of a token turn by the same angles, so one invocation takes several where there are
  // plenty.
  const std::uint64_t rows = args.x.shape[0] * args.x.shape[1] * args.x.shape[2];
  const std::uint64_t plenty = caps.traits.fill(8) * 64;
  params.heads_each[s] = narrow(std::clamp<std::uint64_t>(rows * params.items[s] / plenty, 1, 8));
  params.head_blocks[s] = ceil_div(params.heads[s], params.heads_each[s]);
  params.jobs[s] =
      narrow(args.x.shape[0] * args.x.shape[1] * params.head_blocks[s] * params.items[s]);
  constexpr std::array<std::string_view, max_streams> x_names{"x0", "x1", "x2"};
  constexpr std::array<std::string_view, max_streams> y_names{"y0", "y1", "y2"};
  constexpr std::array<std::string_view, max_streams> row_names{"rows0", "rows1", "rows2"};
  out.operands.push_back(operand_of(x_names[s], args.x, Access::read, of.width));
  const bool atomic = of.copies == 1 && args.y.dtype != DType::f32;
  out.operands.push_back(
      operand_of(y_names[s], args.y, atomic ? Access::atomic : Access::write, of.width));
  if (!args.rows.given()) return;
  params.rows_t[s] = narrow(args.rows.stride[0]);
  params.table_rows[s] = narrow(args.y.shape[1]);
  out.operands.push_back({.name = row_names[s], .view = args.rows});
}

/// The tensors that one launch turns.
struct Job {
  std::span<const Args> streams;  // the first one has the angles
  Params params;
  Variant variant;
};

Job job_of(std::span<const Args> streams) {
  const Args& args = streams.front();
  const Params params = params_of(args);
  const bool vec = std::ranges::all_of(streams, [](const Args& stream) {
    return rows_aligned(stream.x, 4) && rows_aligned(stream.y, 4);
  });
  const auto to_rows = [&](std::size_t s) { return s < streams.size() && streams[s].rows.given(); };
  const Variant variant{.streams = narrow(streams.size()),
                        .rows0 = to_rows(0),
                        .rows1 = to_rows(1),
                        .rows2 = to_rows(2),
                        .vec = vec && params.offset % 4 == 0 && params.dims % 8 == 0,
                        .pairs = args.mode == Mode::interleaved,
                        .sections = has_sections(args.mode),
                        .positions = args.positions.given(),
                        .factors = args.factors.given()};
  return {streams, params, variant};
}

/// The launch of a kernel's text for what its invocations take at a time.
Result<Dispatch> launch(const Job& job, std::string_view source, wgsl::Constants constants,
                        const Items& items, const Caps& caps) {
  const std::span<const Args> streams = job.streams;
  const Args& args = streams.front();
  Params params = job.params;
  Launch out;
  out.source = source;
  out.label = formatted("rope {} {}", name(args.mode), name(args.x.dtype));
  if (streams.size() > 1) out.label += formatted(" of {}", streams.size());
  if (streams.back().rows.given()) out.label += " to rows";
  std::uint64_t jobs = 0;
  for (std::uint32_t s = 0; s < streams.size(); ++s) {
    add_stream(out, params, items, s, streams[s], caps);
    jobs += params.jobs[s];
  }
  out.constants = std::move(constants);
  out.params = block_of(params);
  for (std::uint32_t s = 0; s < streams.size(); ++s) {
    add_strides(out.params, formatted("x{}", s), streams[s].x);
    add_strides(out.params, formatted("y{}", s), streams[s].y);
  }
  if (args.positions.given()) out.operands.push_back({.name = "positions", .view = args.positions});
  if (args.factors.given()) out.operands.push_back({.name = "factors", .view = args.factors});
  out.grid = grid_1d(ceil_div<std::uint64_t>(jobs, workgroup_width(caps)), caps);
  return make_dispatch(std::move(out), caps);
}

Status can_roll(const Job& job, const Caps&) {
  if (job.variant.vec) return {};
  return fail(ErrorCode::unsupported,
              "The kernel of rolled loops takes aligned rows, whole fours of which turn; x is {}.",
              describe(job.streams.front().x));
}

bool worth_rolling(const Job& job, const Caps& caps) {
  return job.variant.vec && slow_access(caps);
}

Result<Dispatch> launch_rolled(const Job& job, const Caps& caps) {
  const Variant& variant = job.variant;
  const auto two_in_a_word = [&](std::size_t s) {
    return s < job.streams.size() && job.streams[s].y.dtype != DType::f32;
  };
  const RolledVariant rolled{.bits = variant.bits,
                             .streams = variant.streams,
                             .rows0 = variant.rows0,
                             .rows1 = variant.rows1,
                             .rows2 = variant.rows2,
                             .narrow0 = two_in_a_word(0),
                             .narrow1 = two_in_a_word(1),
                             .narrow2 = two_in_a_word(2),
                             .pairs = variant.pairs,
                             .sections = variant.sections,
                             .positions = variant.positions,
                             .factors = variant.factors};
  const Items items =
      variant.pairs ? Items{.pairs = 1, .copies = 2} : Items{.pairs = 2, .copies = 4};
  return launch(job, "rope/rolled.wgsl", constants_of(rolled), items, caps);
}

Status can(const Job&, const Caps&) { return {}; }
bool always(const Job&, const Caps&) { return true; }

Result<Dispatch> launch_plain(const Job& job, const Caps& caps) {
  const Items items = job.variant.vec ? Items{.pairs = 4, .copies = 4, .width = 4} : Items{};
  return launch(job, "rope/rope.wgsl", constants_of(job.variant), items, caps);
}

/// One kernel of the op's list: `can` says why it cannot make a job at all, `worth` whether it is a
/// good choice, `launch` makes its dispatch.
struct Kernel {
  std::string_view name;
  Status (*can)(const Job&, const Caps&);
  bool (*worth)(const Job&, const Caps&);
  Result<Dispatch> (*launch)(const Job&, const Caps&);
};

constexpr Kernel rolled_kernel{"rolled", can_roll, worth_rolling, launch_rolled};
constexpr Kernel plain_kernel{"plain", can, always, launch_plain};

// In order of preference.
constexpr std::array kernels{&rolled_kernel, &plain_kernel};

/// One launch for all streams.
Result<Dispatch> launch(std::span<const Args> streams, const Caps& caps) {
  const Job job = job_of(streams);
  const auto kernel = choose_kernel(kernels, "rope", {}, job, caps);
  if (!kernel) return std::unexpected(kernel.error());
  return (*kernel)->launch(job, caps);
}

bool fits(const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  return args.x.bytes().size() <= budget && args.y.bytes().size() <= budget &&
         args.x.count() < (1ULL << 31);
}

/// Halves batches, tokens or heads until the tensors fit bindings and jobs fit 31 bits.
Status add(Plan& plan, const Args& args, const Caps& caps) {
  if (fits(args, caps)) {
    return plan.add(launch(std::span(&args, 1), caps));
  }
  if (args.rows.given()) {
    return fail(ErrorCode::unsupported,
                "rope of {} to rows of {} needs more than the {} bytes that this device binds.",
                describe(args.x), describe(args.y), caps.max_binding);
  }
  const std::uint32_t dim = args.x.shape[0] > 1 ? 0 : args.x.shape[1] > 1 ? 1 : 2;
  const std::uint64_t extent = args.x.shape[dim];
  if (extent < 2) {
    return fail(ErrorCode::unsupported,
                "One head of {} needs more than the {} bytes that this device binds.",
                describe(args.x), caps.max_binding);
  }
  const auto part = [&](std::uint64_t first, std::uint64_t count) {
    Args piece = args;
    piece.x = args.x.slice(dim, first, count);
    piece.y = args.y.slice(dim, first, count);
    if (dim == 1 && args.positions.given()) {
      piece.positions = args.positions.slice(args.positions.rank - 1, first, count);
    }
    if (dim == 1) piece.first_position += static_cast<std::int32_t>(first);
    return piece;
  };
  const std::uint64_t half = half_of(extent);
  return add(plan, part(0, half), caps).and_then([&] {
    return add(plan, part(half, extent - half), caps);
  });
}

}  // namespace

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::interleaved: return "interleaved";
    case Mode::halves: return "halves";
    case Mode::sections: return "sections";
    case Mode::sections_in_turn: return "sections_in_turn";
    case Mode::vision: return "vision";
  }
  return "?";
}

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return wrap(ok.error(), "planning rope");
  Plan plan;
  if (args.x.empty()) return plan;
  if (const Status ok = add(plan, args, caps); !ok) return wrap(ok.error(), "planning rope");
  return plan;
}

Result<Plan> plan_together(std::span<const Args> streams, const Caps& caps) {
  if (streams.empty() || streams.size() > max_streams) {
    return fail(ErrorCode::invalid_argument, "One launch of rope has 1 to {} tensors, not {}.",
                max_streams, streams.size());
  }
  const Args& first = streams.front();
  for (const Args& args : streams) {
    if (const Status ok = check(args); !ok) return wrap(ok.error(), "planning rope");
    const bool same = args.dims == 0 || same_turns(args, first);
    if (!same || args.x.shape[0] != first.x.shape[0] || args.x.shape[1] != first.x.shape[1] ||
        args.x.empty() || !fits(args, caps)) {
      return fail(ErrorCode::unsupported,
                  "rope of {} does not go together with rope of {} in one launch.",
                  describe(args.x), describe(first.x));
    }
  }
  auto dispatch = launch(streams, caps);
  if (!dispatch) return wrap(dispatch.error(), "planning rope");
  Plan plan;
  plan.dispatches.push_back(std::move(*dispatch));
  return plan;
}

}  // namespace weft::ops::rope
