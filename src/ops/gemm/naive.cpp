#include "ops/gemm/problem.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::gemm {
namespace {

struct ReduceVariant {
  bool is_reduce = true;
  std::uint32_t workgroup = narrow_workgroup;
};

/// A grid of one invocation per four columns (or per element) of c, batches in z.
Grid grid_for(const Problem& problem, bool four, const Caps& caps) {
  const std::uint64_t columns = four ? ceil_div<std::uint64_t>(problem.n(), 4) : problem.n();
  Grid grid = grid_1d(ceil_div<std::uint64_t>(problem.m() * columns, narrow_workgroup), caps);
  grid.z = static_cast<std::uint32_t>(problem.batches()) * problem.splits;
  return grid;
}

bool worth(const Problem& problem, const Context&) {
  return problem.m() * problem.n() * problem.k() <= 4096 && problem.k() <= 64;
}

Result<Choice> choose(const Problem&, const Context&) { return Choice{}; }

Result<Dispatch> launch(const Problem& given, const Choice&, const Context& context) {
  Problem problem = given;
  if (problem.k() == 0) {
    // Nothing is read of a and b, which may not even have memory; their bindings need some.
    problem.a.dtype = problem.b.dtype = problem.c.dtype;
  }
  const Traits traits = traits_of(problem, 1, 1);
  Launch out = launch_of(problem, traits, 1);
  if (problem.k() == 0) out.operands[0].view = out.operands[1].view = problem.c;
  out.source = "gemm/naive.wgsl";
  out.label = "gemm naive";
  out.constants = merged(traits, NarrowVariant{});
  out.grid = grid_for(problem, traits.c_vec, context.caps);
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel naive_kernel{"naive", worth, choose, launch};

Result<Dispatch> launch_reduce(const Problem& given, const View& partial, const Caps& caps) {
  Problem problem = given;
  const std::uint64_t slice = problem.c.count();
  const std::uint64_t parts_count = partial.count() / slice;
  // The sum runs over slices: as if a were [M, parts] with the columns of c behind each element.
  problem.a = View::dense(
      DType::f32,
      {problem.c.shape[0], problem.c.shape[1], problem.c.shape[2], problem.m(), problem.n()},
      partial.slot);
  problem.a.offset = partial.offset;
  problem.a.shape[4] = parts_count;
  problem.a.stride[4] = slice;
  problem.b = problem.a;
  Traits traits = traits_of(problem, 4, 1);
  traits.a_vec = problem.n() % 4 == 0;
  Launch out = launch_of(problem, traits, 4);
  out.operands[0].view = partial;
  out.operands.erase(out.operands.begin() + 1);  // there is no b
  out.source = "gemm/reduce.wgsl";
  out.label = "gemm reduce";
  out.constants = merged(traits, ReduceVariant{});
  out.grid = grid_for(problem, true, caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::gemm
