#include "ops/pool/pool.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/unfold/windows.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::pool {
namespace {

struct Variant {
  std::string_view mode;
  std::string_view function;
  bool outside = false;
  bool nan = false;
  std::uint32_t chunk = 1;
  std::uint32_t items = 1;  // rows of an invocation
};

using unfold::Steps;

struct Params {
  unfold::WindowParams window;
  std::uint32_t total = 0;
  std::uint32_t channels = 0;
  Steps x{};
  Steps e{};
  Steps y{};
  std::array<std::int32_t, 3> reach{};  // windows in front of the last one that hold an element
};

/// A pool in normal form: the image and its windows, whose columns are [N, o…, C] with kernel
/// dimensions that repeat.
struct Job {
  unfold::Windows windows;
  View x{};  // what went in, for the gradient of `max`: [N, C, D, H, W]
  Function function = Function::max;
  bool outside = false;
  bool nan = false;
  bool backward = false;
};

/// [N, OD, OH, OW, C, k…] as [N, C, OD, OH, OW].
View one_per_window(const View& columns) {
  View out = columns.permute(std::array<std::uint32_t, 8>{0, 4, 1, 2, 3, 5, 6, 7});
  out.rank = 5;
  return out;
}

Status push(Plan& plan, std::string_view source, const Variant& variant, const Params& params,
            std::vector<Operand> operands, const Caps& caps) {
  Launch launch;
  launch.label =
      formatted("pool {} {} {}", variant.function, variant.mode, name(operands.back().view.dtype));
  launch.source = source;
  launch.operands = std::move(operands);
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, workgroup_width(caps)), caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Finding a place takes longer than an element itself, so an invocation takes several rows; small
/// tensors need all invocations to fill a device.
std::uint32_t rows_of(const View& y, const Caps& caps) {
  if (caps.traits.items > 1) return y.shape[3] < 4 ? 1 : 4;
  return y.shape[3] >= 16 && y.count() >= (1ULL << 20) ? 8 : 1;
}

/// Invocations for the elements of `y`, [N, C, D, H, W].
std::uint32_t total_of(const View& y, const Variant& variant) {
  return narrow(y.shape[0] * y.shape[1] * y.shape[2] *
                ceil_div<std::uint64_t>(y.shape[3], variant.items) * y.shape[4] / variant.chunk);
}

/// The gradient of the largest: which element that was, for each window, then what each element
/// gets.
Status launch_gradient(Plan& plan, const Job& job, const View& out, Variant variant, Params params,
                       Access access, const Caps& caps) {
  const View& y = job.windows.image;
  View which = View::dense(DType::u32, out.extents());
  which.slot = plan.add_scratch(round_up<std::uint64_t>(which.bytes().size(), 16));
  params.x = unfold::steps_of(job.x);
  params.y = unfold::steps_of(which);
  Variant first{
      .mode = "which", .function = variant.function, .nan = job.nan, .items = rows_of(out, caps)};
  params.total = total_of(out, first);
  const Status found = push(plan, "pool/windows.wgsl", first, params,
                            {{"x", job.x}, {"y", which, Access::write}}, caps);
  if (!found) return found;
  params.e = unfold::steps_of(out);
  params.y = unfold::steps_of(y);
  for (std::size_t i = 0; i < 3; ++i) {
    params.reach[i] =
        (params.window.kernel[i] - 1) * params.window.dilation[i] / params.window.stride[i];
  }
  variant.mode = "gather";
  variant.items = rows_of(y, caps);
  params.total = total_of(y, variant);
  return push(plan, "pool/gather.wgsl", variant, params,
              {{"e", out}, {"which", which}, {"y", y, access}}, caps);
}

Status launch_job(Plan& plan, const Job& job, const Caps& caps) {
  const View& image = job.windows.image;
  const View out = one_per_window(job.windows.columns);
  const View& y = job.backward ? image : out;
  Params params;
  for (std::uint32_t i = 0; i < 3; ++i) {
    params.window.set(i, image.shape[2 + i], out.shape[2 + i], job.windows.columns.shape[5 + i],
                      job.windows.axes[i]);
  }
  Variant variant{.mode = job.backward ? "backward" : "forward",
                  .function = job.function == Function::max ? "max" : "mean",
                  .outside = job.outside && job.function == Function::mean,
                  .nan = job.nan && !job.backward && job.function == Function::max};
  Access access = Access::write;
  if (size_of(y.dtype) < 4) {
    if (unfold::in_pairs(y)) {
      variant.chunk = 2;
    } else {
      access = Access::atomic;
    }
  }
  params.channels = narrow(y.shape[1]);
  if (job.backward && job.function == Function::max)
    return launch_gradient(plan, job, out, variant, params, access, caps);
  params.y = unfold::steps_of(y);
  if (job.backward) {
    params.e = unfold::steps_of(out);
    params.total = total_of(y, variant);
    return push(plan, "pool/mean_gradient.wgsl", variant, params, {{"e", out}, {"y", y, access}},
                caps);
  }
  variant.items = rows_of(y, caps);
  params.x = unfold::steps_of(image);
  params.total = total_of(y, variant);
  return push(plan, "pool/windows.wgsl", variant, params, {{"x", image}, {"y", y, access}}, caps);
}

/// Cuts between images and channels, and a forward pool also between windows, until everything fits
/// a binding.
Status split(Plan& plan, const Job& job, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const View& image = job.windows.image;
  const View& columns = job.windows.columns;
  bool small = image.count() < (1ULL << 31) && one_per_window(columns).count() < (1ULL << 31);
  for (const View* view : {&image, &columns, &job.x})
    small = small && (!view->given() || view->bytes().size() <= budget);
  small = small && (!job.x.given() || one_per_window(columns).count() * 4 <= budget);
  if (small) return launch_job(plan, job, caps);
  std::uint32_t dim = columns.shape[0] > 1 ? 0 : 4;
  if (columns.shape[dim] == 1 && !job.backward) {
    dim = 1;
    while (dim < 3 && columns.shape[dim] == 1) ++dim;
  }
  if (columns.shape[dim] == 1) {
    return fail(ErrorCode::unsupported,
                "One channel of {} needs more than the {} bytes that this device binds.",
                describe(image), caps.max_binding);
  }
  const std::uint64_t half = half_of(columns.shape[dim]);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    Job part = job;
    const std::uint32_t of_image = dim == 4 ? 1 : dim;
    part.windows = job.backward ? unfold::cut_image(job.windows, of_image, first, count)
                                : unfold::cut_columns(job.windows, dim, first, count);
    if (job.x.given()) part.x = job.x.slice(of_image, first, count);
    return part;
  };
  return split(plan, cut(0, half), caps).and_then([&] {
    return split(plan, cut(half, columns.shape[dim] - half), caps);
  });
}

/// y [N, C, o…] as the columns of an unfolded image.
Result<View> as_columns(const View& out, std::span<const std::uint64_t> kernel) {
  if (out.rank != kernel.size() + 2) {
    return fail(ErrorCode::invalid_argument,
                "A pool with {} spatial dimensions needs tensors [N, C, …]; one is {}.",
                kernel.size(), describe(out));
  }
  View columns = out;
  for (std::uint32_t i = 1; i + 1 < out.rank; ++i) columns = columns.transpose(i, i + 1);
  for (const std::uint64_t extent : kernel) {
    if (extent == 0 || columns.rank == max_rank) {
      return fail(ErrorCode::invalid_argument,
                  "A pool needs 1 to 3 kernel extents of at least 1; one of {} is {}.",
                  kernel.size(), extent);
    }
    columns = columns.unsqueeze(columns.rank);
    columns.shape[columns.rank - 1] = extent;
  }
  return columns;
}

Result<Plan> plan_job(Job job, const View& image, const View& out,
                      std::span<const std::uint64_t> kernel, std::span<const Axis> axes,
                      const Caps& caps) {
  if (const Status ok = validate(out, "a pool's output"); !ok) return std::unexpected(ok.error());
  const auto columns = as_columns(out, kernel);
  if (!columns) return std::unexpected(columns.error());
  auto windows = unfold::normalize("a pool", image, *columns, axes);
  if (!windows) return std::unexpected(windows.error());
  job.windows = *windows;
  const View& y = job.backward ? image : out;
  if (y.empty()) return Plan{};
  if (const Status ok = check_distinct(y, job.backward ? "dx" : "y"); !ok)
    return std::unexpected(ok.error());
  for (const View* view : {&image, &out, static_cast<const View*>(&job.x)}) {
    if (view != &y && overlap(*view, y))
      return fail(ErrorCode::invalid_argument, "A pool cannot write {} over its input {}.",
                  describe(y), describe(*view));
  }
  if (image.empty() || out.empty()) {
    const bool lowest = !job.backward && job.function == Function::max;
    const double low = job.nan ? -std::numeric_limits<double>::infinity() : -3.4028234663852886e38;
    return map::plan({.function = "fill", .y = y, .scalars = {lowest ? low : 0.0}}, caps);
  }
  Plan plan;
  if (const Status ok = split(plan, job, caps); !ok) return wrap(ok.error(), "planning a pool");
  return plan;
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  return plan_job(
      {.function = args.function, .outside = args.count_outside, .nan = args.propagates_nan},
      args.x, args.y, args.kernel, args.axes, caps);
}

Result<Plan> plan(const BackwardArgs& args, const Caps& caps) {
  Job job{.function = args.function,
          .outside = args.count_outside,
          .nan = args.propagates_nan,
          .backward = true};
  if (args.function == Function::max) {
    if (const Status ok = validate(args.x, "x"); !ok) return std::unexpected(ok.error());
    if (!std::ranges::equal(args.x.extents(), args.dx.extents()) || !is_float(args.x.dtype)) {
      return fail(ErrorCode::invalid_argument,
                  "The gradient {} of a pool needs the input of the pool, which is {}.",
                  describe(args.dx), describe(args.x));
    }
    job.x = args.x;
    while (job.x.rank < 5 && job.x.rank >= 2) job.x = job.x.unsqueeze(2);
  }
  return plan_job(job, args.dx, args.dy, args.kernel, args.axes, caps);
}

}  // namespace weft::ops::pool
