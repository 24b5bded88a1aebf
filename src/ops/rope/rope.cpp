#include "ops/rope/rope.hpp"

#include <algorithm>
#include <cmath>
#include <format>
#include <numbers>
#include <utility>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/iterate.hpp"
#include "ops/row_kernel.hpp"

namespace weft::ops::rope {
namespace {

struct Variant {
  bool vec = false;
  bool pairs = false;
  bool sections = false;
  bool positions = false;
  bool factors = false;

  static constexpr auto fields =
      std::tuple{field("VEC", &Variant::vec), field("PAIRS", &Variant::pairs),
                 field("SECTIONS", &Variant::sections), field("POSITIONS", &Variant::positions),
                 field("FACTORS", &Variant::factors)};
};

struct Params {
  std::uint32_t jobs = 0;
  std::uint32_t items = 0;    // of a row
  std::uint32_t turning = 0;  // items that turn; the others are copied
  std::uint32_t head_blocks = 1;
  std::uint32_t heads_each = 1;
  std::uint32_t heads = 0;
  std::uint32_t tokens = 0;
  std::uint32_t offset = 0;
  std::uint32_t dims = 0;
  std::uint32_t apart = 0;
  std::uint32_t kind =
      0;  // of sections: 0 one after the other, 1 interleaved, 2 with frequencies of their own
  std::array<std::uint32_t, 4> section{};
  std::array<std::uint32_t, 4> section_end{};
  std::int32_t first_position = 0;
  std::array<float, 10> power{};
  float scale = 1;
  float extrapolation = 0;
  float magnitude = 1;
  float direction = 1;
  float ramp_low = 0;
  float ramp_rate = 1;
  std::uint32_t positions_s = 0;
  std::uint32_t positions_t = 0;
  std::uint32_t factors_d = 0;

  static constexpr auto fields = std::tuple{field("jobs", &Params::jobs),
                                            field("items", &Params::items),
                                            field("turning", &Params::turning),
                                            field("head_blocks", &Params::head_blocks),
                                            field("heads_each", &Params::heads_each),
                                            field("heads", &Params::heads),
                                            field("tokens", &Params::tokens),
                                            field("offset", &Params::offset),
                                            field("dims", &Params::dims),
                                            field("apart", &Params::apart),
                                            field("kind", &Params::kind),
                                            field("section", &Params::section),
                                            field("section_end", &Params::section_end),
                                            field("first_position", &Params::first_position),
                                            field("power", &Params::power),
                                            field("scale", &Params::scale),
                                            field("extrapolation", &Params::extrapolation),
                                            field("magnitude", &Params::magnitude),
                                            field("direction", &Params::direction),
                                            field("ramp_low", &Params::ramp_low),
                                            field("ramp_rate", &Params::ramp_rate),
                                            field("positions_s", &Params::positions_s),
                                            field("positions_t", &Params::positions_t),
                                            field("factors_d", &Params::factors_d)};
};

bool has_sections(Mode mode) {
  return mode == Mode::sections || mode == Mode::interleaved || mode == Mode::vision;
}

Status check_tables(const Args& args) {
  const std::uint64_t tokens = args.x.shape[1];
  if (args.positions.given()) {
    const View& view = args.positions;
    if (const Status ok = validate(view, "positions"); !ok) return ok;
    const bool fits = has_sections(args.mode)
                          ? view.rank == 2 && view.shape[0] == 4 && view.shape[1] == tokens
                          : view.rank == 1 && view.shape[0] == tokens;
    if (!fits || view.dtype != DType::i32) {
      return fail(
          ErrorCode::invalid_argument,
          "The positions of rope in mode {} must be i32{} for x {}; they are {}.", name(args.mode),
          has_sections(args.mode) ? std::format("[4,{}]", tokens) : std::format("[{}]", tokens),
          describe(args.x), describe(view));
    }
  }
  if (args.factors.given()) {
    const View& view = args.factors;
    if (const Status ok = validate(view, "factors"); !ok) return ok;
    const std::uint64_t pairs = args.mode == Mode::vision ? args.x.shape[3] / 2 : args.dims / 2;
    if (view.dtype != DType::f32 || view.rank != 1 || view.shape[0] < pairs) {
      return fail(ErrorCode::invalid_argument,
                  "The frequency factors of rope must be f32[{}] or longer; they are {}.", pairs,
                  describe(view));
    }
  }
  return {};
}

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.x, "x", args.x.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.y, "y", args.x.extents(), true); !ok) return ok;
  if (args.x.rank != 4) {
    return fail(ErrorCode::invalid_argument,
                "rope needs x as [batch, tokens, heads, size]; it is {}.", describe(args.x));
  }
  if (const Status ok = check_in_place(args.x, "x", args.y, "y"); !ok) return ok;
  const std::uint64_t size = args.x.shape[3];
  const bool vision = args.mode == Mode::vision;
  if (args.dims % 2 != 0 || std::uint64_t{args.dims} + args.offset > size || args.dims > 2048 ||
      (vision && (std::uint64_t{args.dims} * 2 != size || args.offset != 0))) {
    return fail(ErrorCode::invalid_argument,
                "rope in mode {} cannot turn {} elements from element {} on in heads of {}: their "
                "number must be even, at most 2048, and {}.",
                name(args.mode), args.dims, args.offset, size,
                vision ? "half the head" : "fit the head");
  }
  if (has_sections(args.mode) &&
      args.sections[0] + args.sections[1] + args.sections[2] + args.sections[3] == 0) {
    return fail(ErrorCode::invalid_argument, "rope in mode {} needs sections; all are 0.",
                name(args.mode));
  }
  if (!(args.base > 0) || !(args.scale > 0)) {
    return fail(ErrorCode::invalid_argument,
                "The base {} and the scale {} of rope must be above 0.", args.base, args.scale);
  }
  return check_tables(args);
}

/// The pair at which a frequency has made `turns` turns within the context that the model was trained for.
double pair_with_turns(const Args& args, double turns) {
  return args.dims * std::log(args.trained_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(args.base)));
}

Params params_of(const Args& args) {
  Params params;
  const bool vision = args.mode == Mode::vision;
  params.heads = narrow(args.x.shape[2]);
  params.tokens = narrow(args.x.shape[1]);
  params.offset = args.offset;
  params.dims = vision ? narrow(args.x.shape[3]) : args.dims;
  params.apart = vision ? args.dims : args.dims / 2;
  params.kind = args.mode == Mode::interleaved ? 1 : vision ? 2 : 0;
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

Result<Dispatch> launch(const Args& args, const Caps& caps) {
  Params params = params_of(args);
  const Variant variant{.vec = rows_aligned(args.x, 4) && rows_aligned(args.y, 4) &&
                               params.offset % 4 == 0 && params.dims % 8 == 0,
                        .pairs = args.mode == Mode::pairs,
                        .sections = has_sections(args.mode),
                        .positions = args.positions.given(),
                        .factors = args.factors.given()};
  const std::uint32_t width = variant.vec ? 4 : 1;
  params.turning = params.dims / 2 / width;
  params.items = params.turning + (narrow(args.x.shape[3]) - params.dims) / width;
  // Heads of a token turn by the same angles, so one invocation takes several where there are plenty.
  const std::uint64_t rows = args.x.shape[0] * args.x.shape[1] * args.x.shape[2];
  const std::uint64_t plenty = caps.software ? 256 : 65536;
  params.heads_each = narrow(std::clamp<std::uint64_t>(rows * params.items / plenty, 1, 8));
  params.head_blocks = ceil_div(params.heads, params.heads_each);
  const std::uint64_t jobs = args.x.shape[0] * args.x.shape[1] * params.head_blocks * params.items;
  params.jobs = narrow(jobs);
  Launch out;
  out.source = "rope/rope.wgsl";
  out.label = std::format("rope {} {}", name(args.mode), name(args.x.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  add_strides(out.params, "x", args.x);
  add_strides(out.params, "y", args.y);
  out.operands.push_back(operand_of("x", args.x));
  const bool atomic = !variant.vec && args.y.dtype != DType::f32;
  out.operands.push_back(operand_of("y", args.y, atomic ? Access::atomic : Access::write));
  if (variant.positions) out.operands.push_back({.name = "positions", .view = args.positions});
  if (variant.factors) out.operands.push_back({.name = "factors", .view = args.factors});
  out.grid = grid_1d(ceil_div<std::uint64_t>(jobs, 256), caps);
  return make_dispatch(std::move(out), caps);
}

/// Halves batches, tokens or heads until the tensors fit bindings and jobs fit 31 bits.
Status add(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const bool fits = args.x.bytes().size() <= budget && args.y.bytes().size() <= budget &&
                    args.x.count() < (1ULL << 31);
  if (fits) {
    auto dispatch = launch(args, caps);
    if (!dispatch) return std::unexpected(dispatch.error());
    plan.dispatches.push_back(std::move(*dispatch));
    return {};
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
    case Mode::pairs: return "pairs";
    case Mode::halves: return "halves";
    case Mode::sections: return "sections";
    case Mode::interleaved: return "interleaved";
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

}  // namespace weft::ops::rope
