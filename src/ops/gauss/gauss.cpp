#include "ops/gauss/gauss.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"

namespace weft::ops::gauss {
namespace {

using Batch = std::array<std::uint32_t, max_rank - 2>;

struct Variant {
  std::uint32_t rank = 0;  // dimensions in front of the matrices
  bool solve = false;
  bool det = false;
  bool log = false;
};

struct Params {
  std::uint32_t groups = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t nan = 0x7fc00000;
  std::uint32_t minus_infinity = 0xff800000;
  std::uint32_t a_row = 0;
  std::uint32_t a_column = 0;
  std::uint32_t b_row = 0;
  std::uint32_t b_column = 0;
  std::uint32_t x_row = 0;
  std::uint32_t x_column = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_column = 0;
  Batch batch{};
  Batch a{};
  Batch b{};
  Batch x{};
  Batch y{};
  Batch s{};
  Batch l{};
};

/// The strides of a batch, and of the rows and columns of a matrix.
void lay(const View& view, std::uint32_t outer, Batch& batch, std::uint32_t* row,
         std::uint32_t* column) {
  for (std::uint32_t i = 0; i < outer; ++i) batch[i] = narrow(view.stride[i]);
  if (row == nullptr) return;
  *row = narrow(view.stride[outer]);
  *column = narrow(view.stride[outer + 1]);
}

/// The extents in front of the matrices, which decide how many there are.
Params params_of(const View& like, std::uint32_t outer) {
  Params params;
  std::uint64_t batches = 1;
  for (std::uint32_t i = 0; i < outer; ++i) {
    params.batch[i] = narrow(like.shape[i]);
    batches *= like.shape[i];
  }
  params.groups = narrow(batches);
  return params;
}

bool all_f32(std::initializer_list<const View*> views) {
  return std::ranges::all_of(
      views, [](const View* view) { return !view->given() || view->dtype == DType::f32; });
}

Status check_views(std::initializer_list<const View*> views) {
  for (const View* view : views) {
    if (!view->given()) continue;
    if (const Status ok = validate(*view, "a matrix"); !ok) return ok;
  }
  return {};
}

/// Batches of all views in front of their matrices, halved until each view fits one binding;
/// `launch` gets the parts.
Status halves(std::vector<View> views, std::uint32_t outer, std::uint64_t scratch, const Caps& caps,
              const std::function<Status(const std::vector<View>&)>& launch) {
  const std::uint64_t budget = binding_budget(caps);
  std::uint64_t batches = 1;
  for (std::uint32_t i = 0; i < outer; ++i) batches *= views[0].shape[i];
  const bool fits =
      batches * scratch * 4 <= budget && std::ranges::all_of(views, [&](const View& view) {
        return !view.given() || view.bytes().size() <= budget;
      });
  if (fits) return launch(views);
  std::uint32_t dim = 0;
  while (dim < outer && views[0].shape[dim] == 1) ++dim;
  if (dim == outer) {
    return fail(ErrorCode::unsupported,
                "A matrix of {} and its working copy do not fit one binding of the device, {} "
                "bytes.",
                describe(views[0]), budget);
  }
  const std::uint64_t extent = views[0].shape[dim];
  const std::uint64_t half = half_of(extent);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<View> part = views;
    for (View& view : part) {
      if (view.given()) view = view.slice(dim, first, count);
    }
    return part;
  };
  return halves(cut(0, half), outer, scratch, caps, launch).and_then([&] {
    return halves(cut(half, extent - half), outer, scratch, caps, launch);
  });
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check_views({&args.a, &args.b, &args.x, &args.det, &args.sign, &args.log});
      !ok) {
    return std::unexpected(ok.error());
  }
  const bool solves = args.x.given();
  const View& like = solves ? args.x : args.det;
  const std::uint32_t outer = solves ? (like.rank < 2 ? 0 : like.rank - 2) : like.rank;
  const std::uint64_t n = args.a.rank < 2 ? 0 : args.a.shape[args.a.rank - 1];
  const bool square = args.a.rank >= 2 && args.a.shape[args.a.rank - 2] == n && n > 0;
  const bool right = !solves || (args.b.given() && like.rank >= 2 && args.b.rank >= 2 &&
                                 args.b.shape[args.b.rank - 2] == n && like.shape[outer] == n &&
                                 args.b.shape[args.b.rank - 1] == like.shape[outer + 1]);
  if (!like.given() || !square || !right ||
      !all_f32({&args.a, &args.b, &args.x, &args.det, &args.sign, &args.log}) ||
      args.sign.given() != args.log.given() ||
      (args.log.given() && (solves || !std::ranges::equal(args.sign.extents(), like.extents()) ||
                            !std::ranges::equal(args.log.extents(), like.extents()))) ||
      (solves && args.det.given() &&
       !std::ranges::equal(args.det.extents(), like.extents().first(outer)))) {
    return fail(ErrorCode::invalid_argument,
                "Elimination needs f32 matrices [..., n, n], [..., n, k] and a solution of that "
                "shape, or a determinant; it was given {}, {}, {} and {}.",
                describe(args.a), describe(args.b), describe(args.x), describe(args.det));
  }
  Plan plan;
  if (like.empty()) return plan;
  for (const View* view : {&like, &args.sign, &args.log}) {
    if (!view->given()) continue;
    if (const Status ok = check_distinct(*view, "the result"); !ok) {
      return std::unexpected(ok.error());
    }
  }
  std::vector<std::uint64_t> shape(like.extents().begin(), like.extents().begin() + outer);
  shape.insert(shape.end(), {n, n});
  const auto a = args.a.broadcast_to(shape);
  if (!a) return std::unexpected(a.error());
  std::vector<View> views{*a, {}, args.x, args.det, args.sign, args.log};
  const std::uint64_t k = solves ? like.shape[outer + 1] : 0;
  if (solves) {
    const auto b = args.b.broadcast_to(like.extents());
    if (!b) return std::unexpected(b.error());
    views[1] = *b;
    const bool same =
        args.b.offset == args.x.offset && std::ranges::equal(b->stride, args.x.stride);
    if (overlap(args.a, args.x) || (overlap(args.b, args.x) && !same)) {
      return fail(ErrorCode::invalid_argument,
                  "The solution {} shares memory with the system of {} and {}.", describe(args.x),
                  describe(args.a), describe(args.b));
    }
  }
  const auto emit = [&](const std::vector<View>& v) -> Status {
    Params params = params_of(v[0], outer);
    params.n = narrow(n);
    params.k = narrow(k);
    lay(v[0], outer, params.a, &params.a_row, &params.a_column);
    View copy = View::dense(DType::f32, {params.groups * n * (n + k)});
    copy.slot = plan.add_scratch(round_up<std::uint64_t>(copy.bytes().size(), 16));
    Launch launch;
    launch.source = "gauss/gauss.wgsl";
    launch.label = solves ? "gauss solve" : "gauss det";
    launch.operands = {{.name = "a", .view = v[0]},
                       {.name = "w", .view = copy, .access = Access::write}};
    if (solves) {
      lay(v[1], outer, params.b, &params.b_row, &params.b_column);
      lay(v[2], outer, params.x, &params.x_row, &params.x_column);
      launch.operands.push_back({.name = "b", .view = v[1]});
      launch.operands.push_back({.name = "x", .view = v[2], .access = Access::write});
    }
    if (v[3].given()) {
      lay(v[3], outer, params.y, nullptr, nullptr);
      launch.operands.push_back({.name = "y", .view = v[3], .access = Access::write});
    }
    if (v[5].given()) {
      lay(v[4], outer, params.s, nullptr, nullptr);
      lay(v[5], outer, params.l, nullptr, nullptr);
      launch.operands.push_back({.name = "s", .view = v[4], .access = Access::write});
      launch.operands.push_back({.name = "l", .view = v[5], .access = Access::write});
    }
    launch.constants = constants_of(
        Variant{.rank = outer, .solve = solves, .det = v[3].given(), .log = v[5].given()});
    launch.params = block_of(params);
    launch.grid = grid_1d(params.groups, caps);
    return plan.add(make_dispatch(std::move(launch), caps));
  };
  if (const Status ok = halves(views, outer, n * (n + k), caps, emit); !ok) {
    return wrap(ok.error(), "planning an elimination");
  }
  return plan;
}

Result<Plan> plan(const CholeskyArgs& args, const Caps& caps) {
  if (const Status ok = check_views({&args.a, &args.y}); !ok) return std::unexpected(ok.error());
  const View& y = args.y;
  const std::uint64_t n = y.rank < 2 ? 0 : y.shape[y.rank - 1];
  if (y.rank < 2 || y.shape[y.rank - 2] != n || !all_f32({&args.a, &y}) ||
      !std::ranges::equal(args.a.extents(), y.extents())) {
    return fail(ErrorCode::invalid_argument,
                "A Cholesky factor needs f32 matrices [..., n, n]; it was given {} and {}.",
                describe(args.a), describe(y));
  }
  Plan plan;
  if (y.empty()) return plan;
  if (const Status ok = check_distinct(y, "y"); !ok) return std::unexpected(ok.error());
  if (overlap(args.a, y)) {
    return fail(ErrorCode::invalid_argument, "The Cholesky factor {} shares memory with {}.",
                describe(y), describe(args.a));
  }
  const std::uint32_t outer = y.rank - 2;
  const auto emit = [&](const std::vector<View>& v) -> Status {
    Params params = params_of(v[0], outer);
    params.n = narrow(n);
    lay(v[0], outer, params.a, &params.a_row, &params.a_column);
    lay(v[1], outer, params.y, &params.y_row, &params.y_column);
    Launch launch;
    launch.source = "gauss/cholesky.wgsl";
    launch.label = "gauss cholesky";
    launch.operands = {{.name = "a", .view = v[0]},
                       {.name = "y", .view = v[1], .access = Access::write}};
    launch.constants = constants_of(Variant{.rank = outer});
    launch.params = block_of(params);
    launch.grid = grid_1d(params.groups, caps);
    return plan.add(make_dispatch(std::move(launch), caps));
  };
  if (const Status ok = halves({args.a, y}, outer, 0, caps, emit); !ok) {
    return wrap(ok.error(), "planning a Cholesky factor");
  }
  return plan;
}

}  // namespace weft::ops::gauss
