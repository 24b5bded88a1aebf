#include "ops/conv/conv.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/choose.hpp"
#include "ops/conv/direct.hpp"
#include "ops/conv/implicit.hpp"
#include "ops/conv/window.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"

namespace weft::ops::conv {
namespace {

constexpr std::uint64_t most = 1ULL << 28;  // as in unfold: sums of such numbers fit 32 bits

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::forward: return "A convolution";
    case Mode::transposed: return "A transposed convolution";
    case Mode::weight: return "A gradient of convolution weights";
  }
  return "?";
}

Status check_types(const Problem& problem, Mode mode) {
  for (const View* view : {&problem.image, &problem.out, &problem.w, &problem.bias}) {
    if (is_float(view->dtype) || !view->given()) continue;
    return fail(ErrorCode::unsupported, "{} takes f32, f16 and bf16; a tensor is {}.",
                name_of(mode), describe(*view));
  }
  for (const Axis& axis : problem.axes) {
    const auto pad = static_cast<std::uint64_t>(axis.pad < 0 ? -axis.pad : axis.pad);
    if (axis.stride == 0 || axis.dilation == 0 || axis.stride > most || axis.dilation > most ||
        pad > most) {
      return fail(ErrorCode::invalid_argument,
                  "{} needs strides and dilations of at least 1; they are {} and {}, with padding "
                  "{}.",
                  name_of(mode), axis.stride, axis.dilation, axis.pad);
    }
  }
  for (const View* view : {&problem.image, &problem.out, &problem.w}) {
    if (std::ranges::all_of(view->extents(), [](std::uint64_t e) { return e <= most; })) continue;
    return fail(ErrorCode::unsupported, "{} takes extents up to {}; a tensor is {}.", name_of(mode),
                most, describe(*view));
  }
  return {};
}

Status check(const Problem& problem, Mode mode) {
  const auto spatial = problem.spatial();
  const View& y = mode == Mode::forward      ? problem.out
                  : mode == Mode::transposed ? problem.image
                                             : problem.w;
  for (const View* view : {&problem.image, &problem.out, &problem.w}) {
    if (const Status ok = validate(*view, "a tensor of a convolution"); !ok) return ok;
  }
  if (problem.bias.given()) {
    if (const Status ok = validate(problem.bias, "bias"); !ok) return ok;
  }
  const bool ranks = spatial >= 1 && spatial <= 3 && problem.image.rank == spatial + 2 &&
                     problem.out.rank == spatial + 2 && problem.w.rank == spatial + 2;
  if (!ranks || problem.groups == 0 || problem.image.shape[1] % problem.groups != 0 ||
      problem.out.shape[1] % problem.groups != 0 ||
      problem.w.shape[1] != problem.image.shape[1] / problem.groups ||
      problem.w.shape[0] != problem.out.shape[1] ||
      problem.image.shape[0] != problem.out.shape[0]) {
    return fail(ErrorCode::invalid_argument,
                "{} with {} spatial dimensions and {} groups does not fit {} with windows, {} with "
                "one element per window and weights {}.",
                name_of(mode), spatial, problem.groups, describe(problem.image),
                describe(problem.out), describe(problem.w));
  }
  if (problem.bias.given() && (problem.bias.rank != 1 || problem.bias.shape[0] != y.shape[1])) {
    return fail(ErrorCode::invalid_argument, "{} with {} channels cannot add a bias {}.",
                name_of(mode), y.shape[1], describe(problem.bias));
  }
  for (const View* view : {&problem.image, &problem.out, &problem.w, &problem.bias}) {
    if (view != &y && overlap(*view, y)) {
      return fail(ErrorCode::invalid_argument, "{} cannot write {} over its input {}.",
                  name_of(mode), describe(y), describe(*view));
    }
  }
  if (const Status ok = check_distinct(y, mode == Mode::weight ? "dw" : "y"); !ok) return ok;
  return check_types(problem, mode);
}

bool fits(const Problem& problem, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  bool small = true;
  for (const View* view : {&problem.image, &problem.out, &problem.w}) {
    small = small && view->bytes().size() <= budget && view->count() < (1ULL << 31);
  }
  return small;
}

Status can_gemm(const Problem&, Mode, const Caps&) { return {}; }

/// Matrix products pay where each group has enough channels on both sides and enough windows.
bool worth_gemm(const Problem& problem, Mode, const Caps&) {
  const std::uint64_t outputs = problem.w.shape[0] / problem.groups;
  std::uint64_t terms = 1;
  for (std::uint32_t i = 1; i < problem.w.rank; ++i) terms *= problem.w.shape[i];
  const std::uint64_t windows = problem.out.count() / problem.out.shape[1];
  return problem.groups <= 8 && outputs >= 8 && terms >= 16 && windows >= 16;
}

Status can_direct(const Problem& problem, Mode mode, const Caps& caps) {
  if (fits(problem, caps)) return {};
  return fail(ErrorCode::unsupported, "{} of {} to {} does not fit one binding of this device.",
              name_of(mode), describe(problem.image), describe(problem.out));
}

Status can_window(const Problem& problem, Mode mode, const Caps& caps) {
  if (takes_window(problem, mode)) return can_direct(problem, mode, caps);
  return fail(ErrorCode::unsupported,
              "{} of {} to {} is not one of small windows in two dimensions.", name_of(mode),
              describe(problem.image), describe(problem.out));
}

bool always(const Problem&, Mode, const Caps&) { return true; }

/// One kernel of the op's list: `can` says why it cannot make a convolution at all, `worth` whether
/// it is a good choice, `launch` makes the plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Problem&, Mode, const Caps&);
  bool (*worth)(const Problem&, Mode, const Caps&);
  Result<Plan> (*launch)(const Problem&, Mode, const Caps&);
};

constexpr Kernel implicit_kernel{"implicit", can_implicit, worth_implicit, plan_implicit};
constexpr Kernel gemm_kernel{"gemm", can_gemm, worth_gemm, plan_gemm};
constexpr Kernel window_kernel{"window", can_window, always, plan_window};
constexpr Kernel direct_kernel{"direct", can_direct, always, plan_direct};

// In order of preference.
constexpr std::array kernels{&implicit_kernel, &gemm_kernel, &window_kernel, &direct_kernel};

Result<Plan> choose(const Problem& problem, Mode mode, std::string_view forced, const Caps& caps) {
  const auto kernel = choose_kernel(kernels, name_of(mode), forced, problem, mode, caps);
  if (kernel) return (*kernel)->launch(problem, mode, caps);
  if (kernel.error().code == ErrorCode::not_found || fits(problem, caps)) {
    return std::unexpected(kernel.error());
  }
  // Images and groups are convolutions by themselves; what is still too large then is cut by matrix
  // products.
  const std::uint64_t images = problem.out.shape[0];
  const bool by_image = images > 1 && mode != Mode::weight;
  if (!by_image && problem.groups == 1) return plan_gemm(problem, mode, caps);
  const std::uint64_t half = (by_image ? images : problem.groups) / 2;
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    return by_image ? problem.images(first, count)
                    : problem.part(first, count, mode == Mode::forward);
  };
  auto plan = choose(cut(0, half), mode, forced, caps);
  if (!plan) return plan;
  auto rest = choose(cut(half, (by_image ? images : problem.groups) - half), mode, forced, caps);
  if (!rest) return rest;
  plan->append(std::move(*rest));
  return plan;
}

Result<Plan> plan_problem(const Problem& problem, Mode mode, std::string_view kernel,
                          const Caps& caps) {
  if (const Status ok = check(problem, mode); !ok) return std::unexpected(ok.error());
  const View& y = mode == Mode::forward      ? problem.out
                  : mode == Mode::transposed ? problem.image
                                             : problem.w;
  if (y.empty()) return Plan{};
  if (problem.image.empty() || problem.out.empty() || problem.w.empty()) {
    if (!problem.bias.given())
      return map::plan({.function = "fill", .y = y, .scalars = {0.0}}, caps);
    View bias = problem.bias;
    while (bias.rank + 1 < y.rank) bias = bias.unsqueeze(bias.rank);
    return map::plan({.function = "copy", .inputs = {bias}, .y = y}, caps);
  }
  auto plan = choose(problem, mode, kernel, caps);
  if (!plan) return wrap(plan.error(), "planning a convolution");
  return plan;
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  return plan_problem({.image = args.x,
                       .out = args.y,
                       .w = args.w,
                       .bias = args.bias,
                       .axes = args.axes,
                       .groups = args.groups,
                       .allow_f16 = args.allow_f16},
                      Mode::forward, args.kernel, caps);
}

Result<Plan> plan(const TransposedArgs& args, const Caps& caps) {
  return plan_problem({.image = args.y,
                       .out = args.x,
                       .w = args.w,
                       .bias = args.bias,
                       .axes = args.axes,
                       .groups = args.groups,
                       .allow_f16 = args.allow_f16},
                      Mode::transposed, args.kernel, caps);
}

Result<Plan> plan(const WeightArgs& args, const Caps& caps) {
  return plan_problem({.image = args.x,
                       .out = args.dy,
                       .w = args.dw,
                       .axes = args.axes,
                       .groups = args.groups,
                       .allow_f16 = args.allow_f16},
                      Mode::weight, args.kernel, caps);
}

}  // namespace weft::ops::conv
