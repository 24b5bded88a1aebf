#include "ops/optimizer/optimizer.hpp"

#include <algorithm>
#include <format>
#include <string_view>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/row_kernel.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::optimizer {
namespace {

struct StepVariant {
  bool adam = false;
  bool coupled = false;
  bool has_m = false;
  bool has_scale = false;
  bool has_working = false;
  std::uint32_t block = 1;
};

struct StepParams {
  std::uint32_t count = 0;
};

struct ClipVariant {
  bool has_norm = false;
  bool has_loss_scale = false;
};

struct ClipParams {
  std::uint32_t count = 0;
  float max_norm = 0;
};

/// A tensor of a step by its name in the shader.
struct Tensor {
  std::string_view name;
  View view;
  bool output = false;
};

Status check_tensor(const Tensor& tensor, const View& like) {
  if (const Status ok = check_float_tensor(tensor.view, tensor.name, like.extents(), tensor.output);
      !ok)
    return ok;
  const bool any_type = tensor.name == "gradients" || tensor.name == "working";
  if (tensor.view.is_dense() && (any_type || tensor.view.dtype == DType::f32)) return {};
  return fail(ErrorCode::invalid_argument,
              "Tensor `{}` of an optimizer step is {}; it must be dense{}.", tensor.name,
              describe(tensor.view), any_type ? "" : " and f32");
}

Status check_numbers(const View& view, std::string_view name, std::uint64_t least) {
  if (const Status ok = check_float_tensor(view, name, view.extents(), false); !ok) return ok;
  if (view.dtype == DType::f32 && view.is_dense() && view.count() >= least) return {};
  return fail(ErrorCode::invalid_argument, "Tensor `{}` is {}; it must hold {} dense f32.", name,
              describe(view), least);
}

View flat(const View& dense) {
  View out = View::dense(dense.dtype, {dense.count()}, dense.slot);
  out.offset = dense.offset;
  return out;
}

/// A scalar whose bits a kernel looks at.
View as_bits(const View& scalar) {
  View out = flat(scalar);
  out.shape[0] = 1;
  out.dtype = DType::u32;
  return out;
}

Result<Plan> plan_step(const std::vector<Tensor>& tensors, StepVariant variant, const View& numbers,
                       const View& scale, const Caps& caps) {
  const View& weights = tensors.front().view;
  for (const Tensor& tensor : tensors) {
    if (const Status ok = check_tensor(tensor, weights); !ok) return std::unexpected(ok.error());
    for (const Tensor& other : tensors) {
      const ByteRange a = tensor.view.bytes();
      const ByteRange b = other.view.bytes();
      if (&tensor != &other && tensor.view.slot == other.view.slot && tensor.output &&
          a.begin < b.end && b.begin < a.end) {
        return fail(ErrorCode::invalid_argument, "Tensors `{}` ({}) and `{}` ({}) overlap.",
                    tensor.name, describe(tensor.view), other.name, describe(other.view));
      }
    }
  }
  const std::uint64_t wanted = variant.adam ? 7 : variant.has_m ? 3 : 2;
  if (const Status ok = check_numbers(numbers, "numbers", wanted); !ok)
    return std::unexpected(ok.error());
  variant.has_scale = scale.given();
  if (scale.given()) {
    if (const Status ok = check_numbers(scale, "scale", 1); !ok) return std::unexpected(ok.error());
  }
  Plan plan;
  const std::uint64_t count = weights.count();
  const std::uint64_t piece = round_down<std::uint64_t>(
      std::min<std::uint64_t>(binding_budget(caps) / sizeof(float), 1ULL << 30), 64);
  for (std::uint64_t first = 0; first < count; first += piece) {
    const std::uint64_t n = std::min(piece, count - first);
    Launch launch{.source = "optimizer/step.wgsl"};
    const bool aligned = std::ranges::all_of(tensors, [](const Tensor& tensor) {
      return tensor.view.offset % (4 * std::uint64_t{size_of(tensor.view.dtype)}) == 0;
    });
    variant.block = aligned ? 4 : 1;
    for (const Tensor& tensor : tensors) {
      const std::uint32_t bytes = size_of(tensor.view.dtype);
      const bool shares_words = !aligned && bytes < 4;
      launch.operands.push_back({.name = tensor.name == "gradients" ? "g"
                                         : tensor.name == "weights" ? "w"
                                                                    : tensor.name,
                                 .view = flat(tensor.view).slice(0, first, n),
                                 .access = !tensor.output ? Access::read
                                           : shares_words ? Access::atomic
                                                          : Access::write,
                                 .unit = std::max(1U, variant.block * bytes / 4)});
    }
    launch.operands.push_back({.name = "numbers", .view = flat(numbers)});
    if (scale.given()) launch.operands.push_back({.name = "scale", .view = as_bits(scale)});
    launch.constants = constants_of(variant);
    launch.params = block_of(StepParams{.count = static_cast<std::uint32_t>(n)});
    launch.grid = grid_1d(
        ceil_div<std::uint64_t>(n, std::uint64_t{workgroup_width(caps)} * variant.block), caps);
    launch.label = variant.adam ? "adamw" : "sgd";
    if (const Status ok = plan.add(make_dispatch(std::move(launch), caps)); !ok)
      return std::unexpected(ok.error());
  }
  return plan;
}

std::vector<Tensor> tensors_of(const Weights& weights) {
  std::vector<Tensor> out{{.name = "weights", .view = weights.weights, .output = true},
                          {.name = "gradients", .view = weights.gradients}};
  if (weights.working.given())
    out.push_back({.name = "working", .view = weights.working, .output = true});
  return out;
}

}  // namespace

Result<Plan> plan(const AdamArgs& args, const Caps& caps) {
  auto tensors = tensors_of(args.tensors);
  tensors.push_back({.name = "m", .view = args.m, .output = true});
  tensors.push_back({.name = "v", .view = args.v, .output = true});
  auto planned = plan_step(tensors,
                           {.adam = true,
                            .coupled = args.coupled,
                            .has_m = true,
                            .has_working = args.tensors.working.given()},
                           args.numbers, args.tensors.scale, caps);
  if (!planned) return wrap(planned.error(), "planning a step of AdamW");
  return planned;
}

Result<Plan> plan(const SgdArgs& args, const Caps& caps) {
  auto tensors = tensors_of(args.tensors);
  if (args.momentum.given())
    tensors.push_back({.name = "m", .view = args.momentum, .output = true});
  auto planned = plan_step(tensors,
                           {.coupled = args.coupled,
                            .has_m = args.momentum.given(),
                            .has_working = args.tensors.working.given()},
                           args.numbers, args.tensors.scale, caps);
  if (!planned) return wrap(planned.error(), "planning a step of gradient descent");
  return planned;
}

Result<Plan> plan(const ClipArgs& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the clipping of gradients";
  for (const auto& [view, name] :
       {std::pair{args.scale, "scale"}, {args.norm, "norm"}, {args.loss_scale, "loss_scale"}}) {
    if (!view.given() && std::string_view(name) != "scale") continue;
    if (const Status ok = check_numbers(view, name, 1); !ok) return wrap(ok.error(), doing);
  }
  Stages stages({args.scale, args.norm, args.loss_scale});
  const View squares =
      stages.scratch(DType::f32, {std::max<std::uint64_t>(args.gradients.size(), 1)});
  for (std::size_t i = 0; i < args.gradients.size(); ++i) {
    const View& gradient = args.gradients[i];
    if (const Status ok = check_float_tensor(gradient, "gradients", gradient.extents(), false); !ok)
      return wrap(ok.error(), doing);
    View sum = squares.slice(0, i, 1);
    sum.rank = 0;
    stages.add(reduce::plan({.function = reduce::Function::sum_squares,
                             .x = gradient,
                             .axes = reduce::all_axes(gradient),
                             .y = sum},
                            caps));
  }
  Launch launch{.source = "optimizer/clip.wgsl"};
  launch.constants = constants_of(
      ClipVariant{.has_norm = args.norm.given(), .has_loss_scale = args.loss_scale.given()});
  launch.params = block_of(ClipParams{.count = static_cast<std::uint32_t>(args.gradients.size()),
                                      .max_norm = args.max_norm});
  launch.operands = {{.name = "squares", .view = squares},
                     {.name = "scale", .view = as_bits(args.scale), .access = Access::write}};
  if (args.norm.given())
    launch.operands.push_back({.name = "norm", .view = flat(args.norm), .access = Access::write});
  if (args.loss_scale.given())
    launch.operands.push_back({.name = "loss_scale", .view = flat(args.loss_scale)});
  launch.label = "clip gradients";
  stages.add(make_dispatch(std::move(launch), caps));
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::optimizer
