#include "ops/sinusoid/sinusoid.hpp"

#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::sinusoid {
namespace {

struct Params {
  std::uint32_t total = 0;
  std::uint32_t columns = 0;
  std::uint32_t half = 0;
  float rate = 0;  // log2 of the period
  std::uint32_t x_step = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_step = 0;
};

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (args.x.rank != 1 || args.y.rank != 2 || args.x.shape[0] != args.y.shape[0]) {
    return fail(ErrorCode::invalid_argument,
                "Sinusoids of positions [N] are rows [N, D]; the tensors are {} and {}.",
                describe(args.x), describe(args.y));
  }
  if ((!is_float(args.x.dtype) && args.x.dtype != DType::i32) || !is_float(args.y.dtype)) {
    return fail(ErrorCode::unsupported,
                "Sinusoids take positions of f32, f16, bf16 or i32 and give floats; they are {} "
                "and {}.",
                describe(args.x), describe(args.y));
  }
  if (!(args.period > 0)) {
    return fail(ErrorCode::invalid_argument, "The period of sinusoids must be above 0; it is {}.",
                args.period);
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(args.x, args.y)) {
    return fail(ErrorCode::invalid_argument, "The output {} of sinusoids shares memory with {}.",
                describe(args.y), describe(args.x));
  }
  return {};
}

Status split(Plan& plan, const Args& args, const Caps& caps) {
  const View& y = args.y;
  const std::uint64_t budget = binding_budget(caps);
  const bool small =
      y.bytes().size() <= budget && args.x.bytes().size() <= budget && y.count() < (1ULL << 31);
  if (!small && y.shape[0] > 1) {
    const std::uint64_t half = half_of(y.shape[0]);
    const auto cut = [&](std::uint64_t first, std::uint64_t count) {
      Args part = args;
      part.x = args.x.slice(0, first, count);
      part.y = y.slice(0, first, count);
      return part;
    };
    return split(plan, cut(0, half), caps).and_then([&] {
      return split(plan, cut(half, y.shape[0] - half), caps);
    });
  }
  Params params;
  params.total = narrow(y.count());
  params.columns = narrow(y.shape[1]);
  params.half = params.columns / 2;
  params.rate = static_cast<float>(std::log2(args.period));
  params.x_step = narrow(args.x.stride[0]);
  params.y_row = narrow(y.stride[0]);
  params.y_step = narrow(y.stride[1]);
  Launch launch;
  launch.source = "sinusoid/sinusoid.wgsl";
  launch.label = formatted("sinusoid {}", name(y.dtype));
  launch.params = block_of(params);
  launch.operands = {{"x", args.x},
                     {"y", y, size_of(y.dtype) < 4 ? Access::atomic : Access::write}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  Plan plan;
  if (args.y.empty()) return plan;
  if (const Status ok = split(plan, args, caps); !ok) return wrap(ok.error(), "planning sinusoids");
  return plan;
}

}  // namespace weft::ops::sinusoid
