#include "ops/triangle/triangle.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::triangle {
namespace {

struct Variant {
  std::uint32_t rank = 1;
  std::uint32_t workgroup = narrow_workgroup;  // columns of a matrix
};

using Batch = std::array<std::uint32_t, max_rank - 2>;

struct Params {
  std::uint32_t groups = 0;
  std::uint32_t tiles = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t upper = 0;
  std::uint32_t a_row = 0;
  std::uint32_t a_column = 0;
  std::uint32_t b_row = 0;
  std::uint32_t b_column = 0;
  std::uint32_t x_row = 0;
  std::uint32_t x_column = 0;
  Batch batch{};
  Batch a{};
  Batch b{};
  Batch x{};
};

/// Views of one rank, with batches of one shape.
struct Problem {
  View a;
  View b;
  View x;
  bool upper = false;
};

Result<Problem> check(const Args& args) {
  for (const View* view : {&args.a, &args.b, &args.x}) {
    if (const Status ok = validate(*view, "a tensor of a triangular system"); !ok)
      return std::unexpected(ok.error());
    if (view->dtype != DType::f32) {
      return fail(ErrorCode::unsupported, "Triangular systems are solved in f32; a tensor is {}.",
                  describe(*view));
    }
  }
  const View& x = args.x;
  const std::uint64_t n = x.rank < 2 ? 0 : x.shape[x.rank - 2];
  const bool fits = x.rank >= 2 && args.a.rank >= 2 && args.b.rank >= 2 &&
                    args.a.shape[args.a.rank - 1] == n && args.a.shape[args.a.rank - 2] == n &&
                    args.b.shape[args.b.rank - 2] == n &&
                    args.b.shape[args.b.rank - 1] == x.shape[x.rank - 1];
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "A triangular system of {} and {} does not have a solution {}.", describe(args.a),
                describe(args.b), describe(x));
  }
  std::vector<std::uint64_t> square(x.extents().begin(), x.extents().end());
  square.back() = n;
  const auto a = args.a.broadcast_to(square);
  if (!a) return std::unexpected(a.error());
  const auto b = args.b.broadcast_to(x.extents());
  if (!b) return std::unexpected(b.error());
  if (x.empty()) return Problem{*a, *b, x, args.upper};
  if (const Status ok = check_distinct(x, "x"); !ok) return std::unexpected(ok.error());
  bool same = args.b.offset == x.offset;
  for (std::uint32_t i = 0; i < x.rank; ++i)
    same = same && (x.shape[i] == 1 || b->stride[i] == x.stride[i]);
  if (overlap(args.a, x) || (overlap(args.b, x) && !same)) {
    return fail(ErrorCode::invalid_argument,
                "The solution {} shares memory with the system of {} and {}.", describe(x),
                describe(args.a), describe(args.b));
  }
  return Problem{*a, *b, x, args.upper};
}

Status launch_problem(Plan& plan, const Problem& problem, const Caps& caps) {
  const std::uint32_t outer = problem.x.rank - 2;
  Params params;
  params.n = narrow(problem.x.shape[outer]);
  params.k = narrow(problem.x.shape[outer + 1]);
  params.upper = problem.upper ? 1 : 0;
  params.a_row = narrow(problem.a.stride[outer]);
  params.a_column = narrow(problem.a.stride[outer + 1]);
  params.b_row = narrow(problem.b.stride[outer]);
  params.b_column = narrow(problem.b.stride[outer + 1]);
  params.x_row = narrow(problem.x.stride[outer]);
  params.x_column = narrow(problem.x.stride[outer + 1]);
  std::uint64_t batches = 1;
  for (std::uint32_t i = 0; i < outer; ++i) {
    batches *= problem.x.shape[i];
    params.batch[i] = narrow(problem.x.shape[i]);
    params.a[i] = narrow(problem.a.stride[i]);
    params.b[i] = narrow(problem.b.stride[i]);
    params.x[i] = narrow(problem.x.stride[i]);
  }
  params.tiles = narrow(ceil_div<std::uint64_t>(params.k, narrow_workgroup));
  params.groups = narrow(batches * params.tiles);
  Launch launch;
  launch.source = "triangle/triangle.wgsl";
  launch.label = "triangle";
  launch.constants = constants_of(Variant{.rank = outer});
  launch.params = block_of(params);
  launch.operands = {{"a", problem.a}, {"b", problem.b}, {"x", problem.x, Access::write}};
  launch.grid = grid_1d(params.groups, caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

/// Cuts between systems, then between columns, until everything fits a binding.
Status split(Plan& plan, const Problem& problem, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const bool small = problem.a.bytes().size() <= budget && problem.b.bytes().size() <= budget &&
                     problem.x.bytes().size() <= budget;
  if (small) return launch_problem(plan, problem, caps);
  for (std::uint32_t dim = 0; dim < problem.x.rank; ++dim) {
    if (problem.x.shape[dim] == 1 || dim + 2 == problem.x.rank) continue;
    const std::uint64_t half = half_of(problem.x.shape[dim]);
    const auto cut = [&](std::uint64_t first, std::uint64_t count) {
      Problem out = problem;
      if (dim + 2 < problem.x.rank) out.a = problem.a.slice(dim, first, count);
      out.b = problem.b.slice(dim, first, count);
      out.x = problem.x.slice(dim, first, count);
      return out;
    };
    return split(plan, cut(0, half), caps).and_then([&] {
      return split(plan, cut(half, problem.x.shape[dim] - half), caps);
    });
  }
  return fail(ErrorCode::unsupported,
              "A matrix of {} needs more than the {} bytes that this device binds.",
              describe(problem.a), caps.max_binding);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  const auto problem = check(args);
  if (!problem) return wrap(problem.error(), "planning a triangular system");
  Plan plan;
  if (problem->x.empty()) return plan;
  if (const Status ok = split(plan, *problem, caps); !ok)
    return wrap(ok.error(), "planning a triangular system");
  return plan;
}

}  // namespace weft::ops::triangle
