#include "ops/ssm_conv/ssm_conv.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/row_kernel.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::ssm_conv {
namespace {

/// Tokens that an invocation takes in a row.
constexpr std::uint64_t block_tokens = 16;
constexpr std::uint64_t most_taps = 64;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

struct Variant {
  std::uint32_t taps = 1;
  bool has_bias = false;
  bool silu = false;
};

struct Params {
  std::uint32_t count = 0;
  std::uint32_t channels = 0;
  std::uint32_t tokens = 0;
  std::uint32_t block = 1;
  std::uint32_t blocks = 1;
  std::uint32_t x_sequence = 0;
  std::uint32_t x_channel = 0;
  std::uint32_t x_token = 0;
  std::uint32_t weight_channel = 0;
  std::uint32_t weight_tap = 0;
  std::uint32_t bias_channel = 0;
  std::uint32_t y_sequence = 0;
  std::uint32_t y_token = 0;
  std::uint32_t y_channel = 0;
};

Status check(const Args& args) {
  const View& x = args.x;
  if (const Status ok = check_float_tensor(x, "x", x.extents(), false); !ok) return ok;
  const View& w = args.weight;
  if (const Status ok = check_float_tensor(w, "weight", w.extents(), false); !ok) return ok;
  if (x.rank != 3 || w.rank != 2 || w.shape[0] != x.shape[1] || w.shape[1] == 0 ||
      w.shape[1] > most_taps || x.shape[2] + 1 < w.shape[1]) {
    return fail(ErrorCode::invalid_argument,
                "A causal convolution needs x [sequences, channels, taps - 1 + tokens] and weight "
                "[channels, 1 to {} taps]; they are {} and {}.",
                most_taps, describe(x), describe(w));
  }
  const std::uint64_t shape[] = {x.shape[0], x.shape[2] + 1 - w.shape[1], x.shape[1]};
  if (const Status ok = check_float_tensor(args.y, "y", shape, true); !ok) return ok;
  if (args.y.dtype != DType::f32) {
    return fail(ErrorCode::unsupported, "The output of a causal convolution is {}; it must be f32.",
                describe(args.y));
  }
  if (args.bias.given()) {
    if (const Status ok =
            check_float_tensor(args.bias, "bias", std::span(x.shape).subspan(1, 1), false);
        !ok)
      return ok;
  }
  for (const auto& [view, label] : {std::pair{x, "x"}, {w, "weight"}, {args.bias, "bias"}}) {
    const ByteRange a = view.bytes();
    const ByteRange b = args.y.bytes();
    if (view.given() && view.slot == args.y.slot && a.begin < b.end && b.begin < a.end) {
      return fail(ErrorCode::invalid_argument, "Tensor `{}` ({}) overlaps the output ({}).", label,
                  describe(view), describe(args.y));
    }
  }
  return {};
}

Status emit(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t taps = args.weight.shape[1];
  const auto [sequences, tokens, channels] =
      std::array{args.y.shape[0], args.y.shape[1], args.y.shape[2]};
  const std::uint64_t most = std::max(args.x.bytes().size(), args.y.bytes().size());
  if (most > binding_budget(caps) && sequences * tokens * channels > 1) {
    // Halves of the sequences, else of the channels, else of the tokens.
    const std::uint32_t dim = sequences > 1 ? 0 : channels > 1 ? 2 : 1;
    const std::uint64_t extent = args.y.shape[dim];
    const std::uint64_t half = half_of(extent);
    for (const auto& [first, count] : {std::pair{std::uint64_t{0}, half}, {half, extent - half}}) {
      Args piece = args;
      piece.y = args.y.slice(dim, first, count);
      if (dim == 0) piece.x = args.x.slice(0, first, count);
      if (dim == 1) piece.x = args.x.slice(2, first, count + taps - 1);
      if (dim == 2) {
        piece.x = args.x.slice(1, first, count);
        piece.weight = args.weight.slice(0, first, count);
        if (args.bias.given()) piece.bias = args.bias.slice(0, first, count);
      }
      if (const Status ok = emit(plan, piece, caps); !ok) return ok;
    }
    return {};
  }
  Params params{.channels = narrow(channels),
                .tokens = narrow(tokens),
                .block = narrow(std::min(tokens, block_tokens)),
                .blocks = narrow(ceil_div(tokens, block_tokens)),
                .x_sequence = narrow(args.x.stride[0]),
                .x_channel = narrow(args.x.stride[1]),
                .x_token = narrow(args.x.stride[2]),
                .weight_channel = narrow(args.weight.stride[0]),
                .weight_tap = narrow(args.weight.stride[1]),
                .bias_channel = narrow(args.bias.stride[0]),
                .y_sequence = narrow(args.y.stride[0]),
                .y_token = narrow(args.y.stride[1]),
                .y_channel = narrow(args.y.stride[2])};
  params.count = narrow(sequences * channels * params.blocks);
  Launch launch{.source = "ssm_conv/ssm_conv.wgsl"};
  launch.constants =
      constants_of(Variant{.taps = narrow(taps), .has_bias = args.bias.given(), .silu = args.silu});
  launch.params = block_of(params);
  launch.operands = {{.name = "x", .view = args.x},
                     {.name = "weight", .view = args.weight},
                     {.name = "y", .view = args.y, .access = Access::write}};
  if (args.bias.given()) launch.operands.push_back({.name = "bias", .view = args.bias});
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.count, workgroup_width(caps)), caps);
  launch.label = "ssm_conv";
  return plan.add(make_dispatch(std::move(launch), caps));
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning a causal convolution";
  if (const Status ok = check(args); !ok) return wrap(ok.error(), doing);
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = emit(plan, args, caps); !ok) return wrap(ok.error(), doing);
  return plan;
}

}  // namespace weft::ops::ssm_conv
