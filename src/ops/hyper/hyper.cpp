#include "ops/hyper/hyper.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/row_kernel.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::hyper {
namespace {

struct Variant {
  std::string_view mode;
  bool gated = false;
  bool mixed = false;
};

/// A tensor of a launch: its first dimension is the tokens, unless it is the same for all of them.
struct Tensor {
  std::string_view name;
  View view;
  std::vector<std::string_view> strides;  ///< Names of the parameters for its strides.
  bool output = false;
  bool per_token = true;
};

Status check_tensor(const Tensor& tensor, std::span<const std::uint64_t> shape) {
  if (const Status ok = check_float_tensor(tensor.view, tensor.name, shape, tensor.output); !ok)
    return ok;
  if (tensor.view.dtype == DType::f32) return {};
  return fail(ErrorCode::unsupported, "Tensor `{}` is {}; it must be f32.", tensor.name,
              describe(tensor.view));
}

Status check_overlaps(std::span<const Tensor> tensors) {
  const Tensor& y = tensors.back();
  for (const Tensor& tensor : tensors.first(tensors.size() - 1)) {
    const ByteRange a = tensor.view.bytes();
    const ByteRange b = y.view.bytes();
    if (tensor.view.slot == y.view.slot && a.begin < b.end && b.begin < a.end) {
      return fail(ErrorCode::invalid_argument, "Tensor `{}` ({}) overlaps the output ({}).",
                  tensor.name, describe(tensor.view), describe(y.view));
    }
  }
  return {};
}

/// Launches over all tokens, in pieces that fit their bindings. `finish` adds what the op itself
/// knows.
Result<Plan> launch_tokens(const std::vector<Tensor>& tensors, const Caps& caps,
                           const std::function<void(Launch&, std::uint64_t tokens)>& finish) {
  Plan plan;
  const std::uint64_t tokens = tensors.back().view.shape[0];
  if (tensors.back().view.empty()) return plan;
  std::uint64_t piece = tokens;
  for (const Tensor& tensor : tensors) {
    if (!tensor.per_token || tensor.view.stride[0] == 0) continue;
    const std::uint64_t token =
        tensor.view.slice(0, 0, 1).bytes().size() / size_of(tensor.view.dtype);
    const std::uint64_t room = binding_budget(caps) / size_of(tensor.view.dtype);
    if (token > room) {
      return fail(ErrorCode::unsupported,
                  "One token of `{}` ({}) passes the {} bytes of a binding.", tensor.name,
                  describe(tensor.view), caps.max_binding);
    }
    piece = std::min(piece, (room - token) / tensor.view.stride[0] + 1);
  }
  for (std::uint64_t first = 0; first < tokens; first += piece) {
    const std::uint64_t count = std::min(piece, tokens - first);
    Launch launch;
    for (const Tensor& tensor : tensors) {
      View view = tensor.per_token ? tensor.view.slice(0, first, count) : tensor.view;
      for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
        launch.params.add(formatted("{}_{}", tensor.name, tensor.strides[i]),
                          static_cast<std::uint32_t>(view.stride[i]));
      }
      launch.operands.push_back({.name = tensor.name,
                                 .view = view,
                                 .access = tensor.output ? Access::write : Access::read});
    }
    finish(launch, count);
    if (const Status ok = plan.add(make_dispatch(std::move(launch), caps)); !ok)
      return std::unexpected(ok.error());
  }
  return plan;
}

/// The parts of a launch of streams.wgsl that reading and writing share.
void finish_streams(Launch& launch, const Variant& variant, std::uint64_t tokens,
                    std::uint64_t streams, std::uint64_t width, const Caps& caps) {
  launch.source = "hyper/streams.wgsl";
  launch.constants = constants_of(variant);
  launch.params.add("count", static_cast<std::uint32_t>(tokens * width));
  launch.params.add("width", static_cast<std::uint32_t>(width));
  launch.params.add("streams", static_cast<std::uint32_t>(streams));
  launch.grid = grid_1d(ceil_div<std::uint64_t>(tokens * width, workgroup_width(caps)), caps);
  launch.label = formatted("hyper {}", variant.mode);
}

Status check_rank(const View& view, std::string_view name, std::uint32_t rank) {
  if (view.given() && view.rank == rank) return {};
  return fail(ErrorCode::invalid_argument, "Tensor `{}` is {}; it needs {} dimensions.", name,
              describe(view), rank);
}

}  // namespace

Result<Plan> plan(const CombineArgs& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the mix of hyper-connections";
  constexpr std::uint64_t n = combine_streams;
  if (const Status ok = check_rank(args.mixes, "mixes", 2); !ok) return wrap(ok.error(), doing);
  if (const Status ok = check_rank(args.scale, "scale", 1); !ok) return wrap(ok.error(), doing);
  const std::vector<Tensor> tensors{
      {.name = "mixes", .view = args.mixes, .strides = {"t", "i"}},
      {.name = "scale", .view = args.scale, .strides = {"i"}, .per_token = false},
      {.name = "base", .view = args.base, .strides = {"i"}, .per_token = false},
      {.name = "y", .view = args.y, .strides = {"t", "from", "to"}, .output = true}};
  const std::uint64_t tokens = args.mixes.shape[0];
  const std::uint64_t mixes[] = {tokens, (2 + n) * n};
  const std::uint64_t scale[] = {std::max<std::uint64_t>(args.scale.shape[0], 3)};
  const std::uint64_t y[] = {tokens, n, n};
  for (const auto& [index, shape] : {std::pair{0U, std::span<const std::uint64_t>(mixes)},
                                     {1U, std::span<const std::uint64_t>(scale)},
                                     {2U, std::span<const std::uint64_t>(mixes).subspan(1)},
                                     {3U, std::span<const std::uint64_t>(y)}}) {
    if (const Status ok = check_tensor(tensors[index], shape); !ok) return wrap(ok.error(), doing);
  }
  if (args.iterations == 0) {
    return fail(ErrorCode::invalid_argument, "The mix of hyper-connections needs an iteration.");
  }
  if (const Status ok = check_overlaps(tensors); !ok) return wrap(ok.error(), doing);
  return launch_tokens(tensors, caps, [&](Launch& launch, std::uint64_t count) {
    launch.source = "hyper/combine.wgsl";
    launch.constants = constants_of(NarrowVariant{});
    launch.params.add("tokens", static_cast<std::uint32_t>(count));
    launch.params.add("iterations", args.iterations);
    launch.params.add("eps", args.eps);
    launch.grid = grid_1d(ceil_div<std::uint64_t>(count, narrow_workgroup), caps);
    launch.label = "hyper combine";
  });
}

Result<Plan> plan(const ReadArgs& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the input of hyper-connections";
  if (const Status ok = check_rank(args.x, "x", 3); !ok) return wrap(ok.error(), doing);
  if (args.weights.given() == args.gates.given()) {
    return fail(ErrorCode::invalid_argument, "Hyper-connections read by either weights or gates.");
  }
  const bool gated = args.gates.given();
  const auto shape = args.x.extents();
  const std::uint64_t y[] = {shape[0], shape[2]};
  std::vector<Tensor> tensors{{.name = "x", .view = args.x, .strides = {"t", "s", "i"}},
                              {.name = "weights", .view = args.weights, .strides = {"t", "s"}},
                              {.name = "y", .view = args.y, .strides = {"t", "i"}, .output = true}};
  if (gated) {
    tensors[1].view = args.gates;
    tensors[1].strides.emplace_back("i");
  }
  if (const Status ok = check_tensor(tensors[0], shape); !ok) return wrap(ok.error(), doing);
  if (const Status ok = check_tensor(tensors[1], gated ? shape : shape.first(2)); !ok)
    return wrap(ok.error(), doing);
  if (const Status ok = check_tensor(tensors[2], y); !ok) return wrap(ok.error(), doing);
  if (const Status ok = check_overlaps(tensors); !ok) return wrap(ok.error(), doing);
  return launch_tokens(tensors, caps, [&](Launch& launch, std::uint64_t count) {
    launch.params.add("scale", args.scale);
    finish_streams(launch, {.mode = "read", .gated = gated}, count, shape[1], shape[2], caps);
  });
}

Result<Plan> plan(const WriteArgs& args, const Caps& caps) {
  constexpr std::string_view doing = "planning the output of hyper-connections";
  if (const Status ok = check_rank(args.residual, "residual", 3); !ok)
    return wrap(ok.error(), doing);
  const auto shape = args.residual.extents();
  const std::uint64_t x[] = {shape[0], shape[2]};
  const std::uint64_t mix[] = {shape[0], shape[1], shape[1]};
  std::vector<Tensor> tensors{
      {.name = "x", .view = args.x, .strides = {"t", "i"}},
      {.name = "residual", .view = args.residual, .strides = {"t", "s", "i"}},
      {.name = "share", .view = args.share, .strides = {"t", "s"}}};
  if (args.mix.given())
    tensors.push_back({.name = "mix", .view = args.mix, .strides = {"t", "from", "to"}});
  tensors.push_back({.name = "y", .view = args.y, .strides = {"t", "s", "i"}, .output = true});
  for (const Tensor& tensor : tensors) {
    const auto wanted = tensor.name == "x"       ? std::span<const std::uint64_t>(x)
                        : tensor.name == "mix"   ? std::span<const std::uint64_t>(mix)
                        : tensor.name == "share" ? shape.first(2)
                                                 : shape;
    if (const Status ok = check_tensor(tensor, wanted); !ok) return wrap(ok.error(), doing);
  }
  if (const Status ok = check_overlaps(tensors); !ok) return wrap(ok.error(), doing);
  return launch_tokens(tensors, caps, [&](Launch& launch, std::uint64_t count) {
    finish_streams(launch, {.mode = "write", .mixed = args.mix.given()}, count, shape[1], shape[2],
                   caps);
  });
}

}  // namespace weft::ops::hyper
