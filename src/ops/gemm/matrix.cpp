
#include "base/format.hpp"
#include "ops/gemm/problem.hpp"

namespace weft::ops::gemm {
namespace {

constexpr std::uint32_t load_width = 8;  // elements per load

struct Variant {
  std::uint32_t bm = 0;
  std::uint32_t bn = 0;
  std::uint32_t bk = 0;
  std::uint32_t sm = 0;
  std::uint32_t sn = 0;
  std::uint32_t mm = 0;
  std::uint32_t mn = 0;
  std::uint32_t mk = 0;
  std::uint32_t band = 0;
  std::uint32_t subgroup = 0;  // invocations of a subgroup
  bool a_f16 = true;
  bool b_f16 = true;
};

/// Rows of c should step by 1, so that matrices and vectors of it are stored at once.
Problem oriented(const Problem& problem) {
  return problem.c.stride[4] != 1 && problem.c.stride[3] == 1 ? problem.transposed() : problem;
}

std::optional<MatrixSplit> choice_for(const Problem& problem, const Context& context) {
  if (context.args.matrix_tile) return MatrixSplit{*context.args.matrix_tile};
  return choose_matrix(problem.m(), problem.n(), problem.k(), problem.batches(), context.caps);
}

std::unexpected<Failure> no_tile(const Caps& caps) {
  return fail(ErrorCode::unsupported,
              "This device has no subgroup matrices that multiply f16 into f32, or no tile of "
              "them fits {} invocations and {} bytes of memory per workgroup.",
              caps.workgroup_invocations, caps.workgroup_bytes);
}

Status can(const Problem& given, const Context& context) {
  const Problem problem = oriented(given);
  const bool halves = problem.a.dtype == DType::f16 && problem.b.dtype == DType::f16;
  if (!halves && !context.args.allow_f16) {
    return fail(ErrorCode::unsupported,
                "Matrix units multiply f16; the operands are {} and {} and rounding them was not "
                "allowed.",
                name(problem.a.dtype), name(problem.b.dtype));
  }
  const auto choice = choice_for(problem, context);
  if (!choice || !choice->tile.valid(context.caps)) return no_tile(context.caps);
  return {};
}

bool worth(const Problem&, const Context& context) { return context.caps.traits.matrix_units; }

std::uint32_t parts(const Problem& problem, const Context& context) {
  const auto choice = choice_for(oriented(problem), context);
  return choice ? choice->parts : 1;
}

std::uint64_t step(const Problem& problem, const Context& context) {
  const auto choice = choice_for(oriented(problem), context);
  return choice ? choice->tile.bk : 1;
}

Result<Dispatch> launch(const Problem& given, const Context& context) {
  const Problem problem = oriented(given);
  const auto choice = choice_for(problem, context);
  if (!choice) return no_tile(context.caps);
  const MatrixTile& tile = choice->tile;
  const Traits traits = traits_of(problem, load_width, tile.bk);
  const Variant variant{.bm = tile.bm,
                        .bn = tile.bn,
                        .bk = tile.bk,
                        .sm = tile.sm,
                        .sn = tile.sn,
                        .mm = tile.mm,
                        .mn = tile.mn,
                        .mk = tile.mk,
                        .band = tile.band,
                        .subgroup = context.caps.subgroup_max,
                        .a_f16 = problem.a.dtype == DType::f16,
                        .b_f16 = problem.b.dtype == DType::f16};
  Launch out = launch_of(problem, traits, load_width);
  out.source = "gemm/matrix.wgsl";
  out.label = formatted("gemm matrix {}x{}x{}", tile.bm, tile.bn, tile.bk);
  out.features = {.f16 = true, .subgroups = true, .subgroup_matrix = true};
  out.constants = merged(traits, variant);
  out.grid = {static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.n(), tile.bn)),
              static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.m(), tile.bm)),
              static_cast<std::uint32_t>(problem.batches()) * problem.splits};
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel matrix_kernel{"matrix", can, worth, parts, step, launch};

}  // namespace weft::ops::gemm
