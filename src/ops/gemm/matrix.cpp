
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
  std::string_view component = "f16";
  bool short_sums = false;  // in f16, of BK terms
  bool a_f16 = true;
  bool b_f16 = true;
};

bool takes_halves(const Problem& problem, const Context& context) {
  const bool halves = problem.a.dtype == DType::f16 && problem.b.dtype == DType::f16;
  return halves || context.args.allow_f16;
}

std::unexpected<Failure> no_tile(const Caps& caps) {
  return fail(ErrorCode::unsupported,
              "This device has no subgroup matrices that multiply floats into f32, or no tile of "
              "them fits {} invocations and {} bytes of memory per workgroup.",
              caps.workgroup_invocations, caps.workgroup_bytes);
}

bool worth(const Problem&, const Context& context) { return context.caps.traits.matrix_units; }

Result<Choice> choose(const Problem& problem, const Context& context) {
  const bool turned = in_columns(problem.c);
  std::optional<MatrixSplit> split;
  if (context.args.matrix_tile) {
    split = MatrixSplit{*context.args.matrix_tile};
  } else {
    split =
        choose_matrix(turned ? problem.n() : problem.m(), turned ? problem.m() : problem.n(),
                      problem.k(), problem.batches(), context.caps,
                      {.halves = takes_halves(problem, context), .bounded = context.args.bounded});
  }
  if (!split && !takes_halves(problem, context)) {
    return fail(ErrorCode::unsupported,
                "Matrix units multiply f16; the operands are {} and {} and rounding them was not "
                "allowed.",
                name(problem.a.dtype), name(problem.b.dtype));
  }
  if (!split || !split->tile.valid(context.caps)) return no_tile(context.caps);
  return Choice{turned, split->tile, split->parts, split->tile.bk};
}

Result<Dispatch> launch(const Problem& problem, const Choice& choice, const Context& context) {
  const auto& tile = std::get<MatrixTile>(choice.tile);
  const auto matrices = tile.matrices(context.caps);
  if (!matrices) return no_tile(context.caps);
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
                        .subgroup = matrices->subgroup,
                        .component = matrices->component(),
                        .short_sums = tile.result == MatrixType::f16,
                        .a_f16 = problem.a.dtype == DType::f16,
                        .b_f16 = problem.b.dtype == DType::f16};
  Launch out = launch_of(problem, traits, load_width);
  out.source = "gemm/matrix.wgsl";
  out.label = formatted("gemm matrix {}x{}x{}", tile.bm, tile.bn, tile.bk);
  out.features = features_of(*matrices, context.caps);
  out.constants = merged(traits, variant);
  out.grid = {static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.n(), tile.bn)),
              static_cast<std::uint32_t>(ceil_div<std::uint64_t>(problem.m(), tile.bm)),
              static_cast<std::uint32_t>(problem.batches()) * problem.splits};
  return make_dispatch(std::move(out), context.caps);
}

}  // namespace

constinit const Kernel matrix_kernel{"matrix", worth, choose, launch};

}  // namespace weft::ops::gemm
