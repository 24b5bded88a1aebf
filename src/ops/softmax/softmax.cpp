#include "ops/softmax/softmax.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "ops/choose.hpp"
#include "ops/row_kernel.hpp"
#include "ops/softmax/columns.hpp"
#include "ops/softmax/dense.hpp"
#include "ops/softmax/lone.hpp"

namespace weft::ops::softmax {
namespace {

struct Variant {
  bool log = false;
  std::uint32_t chain = 0;  // inputs of the chain that x is; 0: x is an operand
  std::string_view mask_kind = "none";
  std::string_view head_kind = "none";
  std::string_view sinks_kind = "none";
};

struct Params {
  float scale = 1;
  float bias = 0;  // log2 of the ratio between the slopes of neighbouring heads
  std::uint32_t slopes =
      1;  // heads that have whole powers of the ratio; later ones lie between them
};

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.x, "x", args.x.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.y, "y", args.x.extents(), true); !ok) return ok;
  if (args.x.rank == 0) {
    return fail(ErrorCode::invalid_argument,
                "softmax needs a tensor with at least one dimension; x is {}.", describe(args.x));
  }
  if (const Status ok = check_in_place(args.x, "x", args.y, "y"); !ok) return ok;
  if (args.mask.given()) {
    const View& mask = args.mask;
    if (const Status ok = check_float_tensor(mask, "mask", mask.extents(), false); !ok) return ok;
    if (const Status ok = check_in_place(mask, "mask", args.y, "y"); !ok) return ok;
    bool fits = mask.rank >= 1 && mask.rank <= args.x.rank &&
                mask.shape[mask.rank - 1] == args.x.shape[args.x.rank - 1];
    for (std::uint32_t i = 0; fits && i < mask.rank; ++i) {
      const std::uint64_t extent = args.x.shape[args.x.rank - mask.rank + i];
      fits = mask.shape[i] == 0 ? extent == 0 : extent % mask.shape[i] == 0;
    }
    if (!fits) {
      return fail(ErrorCode::invalid_argument,
                  "The mask is {}; its rows must be those of x ({}) and its other extents must "
                  "divide those of x.",
                  describe(mask), describe(args.x));
    }
  } else if (args.max_bias > 0) {
    return fail(ErrorCode::invalid_argument,
                "max_bias is {}, but there is no mask for the slopes to act on.", args.max_bias);
  }
  if (args.sinks.given()) {
    const std::uint64_t heads = args.x.rank < 3 ? 1 : args.x.shape[args.x.rank - 3];
    const std::uint64_t shape[] = {heads};
    if (const Status ok = check_float_tensor(args.sinks, "sinks", shape, false); !ok) return ok;
    if (const Status ok = check_in_place(args.sinks, "sinks", args.y, "y"); !ok) return ok;
  }
  return {};
}

/// Makes repetition explicit: where the mask has `extent` elements along a dimension of x and
/// repeats, that dimension is split in all views into (repetitions, extent), and the mask stands
/// still along the first.
Status repeat_mask(std::vector<View>& views, View& mask) {
  while (mask.rank < views.front().rank) mask = mask.unsqueeze(0);
  for (std::uint32_t i = 0; i + 1 < mask.rank; ++i) {
    const std::uint64_t extent = mask.shape[i];
    const std::uint64_t wanted = views.front().shape[i];
    if (extent == 1 && wanted != 1) {
      mask.shape[i] = wanted;
      mask.stride[i] = 0;
    } else if (extent != wanted) {
      if (mask.rank == max_rank) {
        return fail(ErrorCode::unsupported,
                    "A mask that repeats along dimension {} ({} of {} elements) needs one more "
                    "dimension than the {} that tensors can have.",
                    i, extent, wanted, max_rank);
      }
      for (View& view : views) view = view.split(i, extent);
      mask = mask.unsqueeze(i);
      mask.shape[i] = wanted / extent;
      ++i;
    }
  }
  return {};
}

/// Rows of any kind.
Result<Plan> plan_any(const Args& args, const Caps& caps) {
  std::vector<View> chained;
  if (args.chain.given()) {
    auto inputs = fused::broadcast_inputs(args.chain, args.y.extents(), args.y);
    if (!inputs) return std::unexpected(inputs.error());
    chained = std::move(*inputs);
  }
  std::vector<View> views{args.x, args.y};
  views.insert(views.end(), chained.begin(), chained.end());
  for (View& view : views) {
    while (view.rank < 3) view = view.unsqueeze(0);
  }
  const std::size_t head_place = views.size();
  const std::uint32_t head_dim = views.front().rank - 3;
  const std::uint64_t heads = views.front().shape[head_dim];
  // The number of the head as a view: it steps along the heads and nowhere else.
  View head = views.front();
  head.dtype = DType::f32;
  head.offset = 0;
  head.stride.fill(0);
  head.stride[head_dim] = 1;
  views.push_back(head);
  View sinks = head;
  if (args.sinks.given()) {
    sinks.slot = args.sinks.slot;
    sinks.dtype = args.sinks.dtype;
    sinks.offset = args.sinks.offset;
    sinks.stride[head_dim] = args.sinks.stride[0];
    views.push_back(sinks);
  }
  View mask = args.mask;
  if (mask.given()) {
    if (const Status ok = repeat_mask(views, mask); !ok) return std::unexpected(ok.error());
  }

  RowKernel kernel;
  kernel.source = "softmax/softmax.wgsl";
  kernel.label =
      formatted("{} {}", args.log ? "log_softmax" : "softmax",
                chained.empty() ? std::string(name(args.x.dtype)) : fused::label_of(args.chain));
  kernel.constants =
      constants_of(Variant{.log = args.log, .chain = static_cast<std::uint32_t>(chained.size())});
  kernel.state_words = 2;
  if (chained.empty()) kernel.operands.push_back({.name = "x", .view = views[0]});
  for (std::size_t i = 0; i < chained.size(); ++i) {
    kernel.operands.push_back({.name = fused::input_names[i], .view = views[2 + i]});
  }
  kernel.operands.push_back({.name = "y", .view = views[1], .role = RowRole::output});
  Params params{.scale = args.scale};
  if (mask.given()) kernel.operands.push_back({.name = "mask", .view = mask});
  if (args.max_bias > 0) {
    params.slopes = static_cast<std::uint32_t>(std::bit_floor(heads));
    params.bias = -args.max_bias / static_cast<float>(params.slopes);
    kernel.operands.push_back({.name = "head", .view = views[head_place], .role = RowRole::number});
  }
  if (args.sinks.given()) {
    kernel.operands.push_back(
        {.name = "sinks", .view = views[head_place + 1], .role = RowRole::late});
  }
  kernel.params = block_of(params);
  if (!chained.empty()) {
    kernel.text = fused::text_of(args.chain);
    fused::add_scalars(kernel.params, args.chain);
  }
  return plan_rows(kernel, caps);
}

Status can_any(const Args&, const Caps&) { return {}; }
bool always(const Args&, const Caps&) { return true; }

/// One kernel of the op's list: `can` says why it cannot make a softmax at all, `worth` whether it
/// is a good choice, `launch` makes the plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Caps&);
  bool (*worth)(const Args&, const Caps&);
  Result<Plan> (*launch)(const Args&, const Caps&);
};

constexpr Kernel columns_kernel{"columns", can_columns, worth_columns, plan_columns};
constexpr Kernel lone_kernel{"lone", can_lone, worth_lone, plan_lone};
constexpr Kernel dense_kernel{"dense", can_dense, worth_dense, plan_dense};
constexpr Kernel rows_kernel{"rows", can_any, always, plan_any};

// In order of preference.
constexpr std::array kernels{&columns_kernel, &lone_kernel, &dense_kernel, &rows_kernel};

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  Args args = given;
  if (args.chain.given()) args.x = args.y;  // has the shape
  if (const Status ok = check(args); !ok) return wrap(ok.error(), "planning softmax");
  if (args.x.empty()) return Plan{};
  const auto kernel = choose_kernel(kernels, "Softmax", {}, args, caps);
  if (!kernel) return wrap(kernel.error(), "planning softmax");
  auto planned = (*kernel)->launch(args, caps);
  if (!planned) return wrap(planned.error(), "planning softmax");
  return planned;
}

}  // namespace weft::ops::softmax
