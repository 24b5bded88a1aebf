// Products in f16: rows of a and columns of b are scaled by powers of two, and the result is scaled
// back. With bf16 operands and matrix units that add in f32 largest values become 2^14. f16 has
// three bits more than bf16, so that nothing is rounded down to 2^-31 of a row's largest value.
// Where matrix units add in f16 alone, or where there are none and plain instructions are twice as
// fast in f16, operands of any type are scaled to 2^5, so that short sums fit; their errors are
// those of f16, so that the result must be of 16 bits or rounding must be allowed.
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/gemm/problem.hpp"
#include "ops/gemm/shape.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/stages.hpp"

namespace weft::ops::gemm {
namespace {

/// Below this many multiplications the launches that scale cost more than they gain.
constexpr std::uint64_t least_work = 1ULL << 26;
constexpr std::string_view halves_name = "halves";
constexpr std::uint64_t band_rows = 128;
constexpr std::uint64_t band_columns = 256;

struct HalveParams {
  std::array<std::uint32_t, 3> batch{};
  std::array<std::uint32_t, 3> x{};
  std::uint32_t x_row = 0;
  std::uint32_t shape_x = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t chunks = 0;
  std::int32_t exponent = 14;  // of the largest values
};

std::uint32_t u32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// An operand [batches, X, K] as f16, and the factors [batches, X, 1] that it was divided by.
struct Halved {
  View halves;
  View scales;
};

HalveParams params_of(const View& view, std::uint32_t row_dim, std::int32_t exponent) {
  HalveParams params;
  params.exponent = exponent;
  for (std::uint32_t i = 0; i < 3; ++i) {
    params.batch[i] = u32(view.shape[i]);
    params.x[i] = u32(view.stride[i]);
  }
  params.x_row = u32(view.stride[row_dim]);
  return params;
}

Halved by_rows(Stages& stages, const View& view, std::int32_t exponent, const Caps& caps) {
  const std::uint64_t rows = view.count() / view.shape[4];
  Halved out{.halves = stages.scratch(DType::f16, view.extents()),
             .scales = stages.scratch(
                 DType::f32, {view.shape[0], view.shape[1], view.shape[2], view.shape[3], 1})};
  HalveParams params = params_of(view, 3, exponent);
  params.shape_x = u32(view.shape[3]);
  params.rows = u32(rows);
  params.chunks = u32(view.shape[4] / 4);
  Launch launch;
  launch.source = "gemm/halve_rows.wgsl";
  launch.label = "gemm halve rows";
  launch.params = block_of(params);
  launch.operands = {operand_of("x", view, Access::read, 4),
                     {.name = "halves", .view = out.halves, .access = Access::write, .unit = 2},
                     {.name = "scales", .view = out.scales, .access = Access::write}};
  launch.grid = grid_1d(rows, caps);
  stages.add(make_dispatch(std::move(launch), caps));
  return out;
}

Halved by_columns(Stages& stages, const View& view, std::int32_t exponent, const Caps& caps) {
  const View turned = view.transpose(3, 4);  // [batches, K, X]
  const std::uint64_t columns = turned.shape[4];
  const std::uint64_t batches = turned.shape[0] * turned.shape[1] * turned.shape[2];
  const View halves = stages.scratch(DType::f16, turned.extents());
  const View largest = stages.scratch(DType::u32, {batches * columns});
  Halved out{.halves = halves.transpose(3, 4),
             .scales = stages.scratch(DType::f32,
                                      {view.shape[0], view.shape[1], view.shape[2], columns, 1})};
  stages.add(map::plan({.function = "fill", .inputs = {}, .y = largest}, caps));
  HalveParams params = params_of(turned, 3, exponent);
  params.rows = u32(turned.shape[3]);
  params.columns = u32(columns);
  Launch launch;
  launch.source = "gemm/halve_columns.wgsl";
  launch.label = "gemm largest of columns";
  launch.params = block_of(params);
  launch.operands = {operand_of("x", turned, Access::read, 4),
                     {.name = "largest", .view = largest, .access = Access::atomic}};
  launch.grid = {u32(ceil_div(columns, band_columns)), u32(ceil_div(turned.shape[3], band_rows)),
                 u32(batches)};
  Launch scale = launch;
  stages.add(make_dispatch(std::move(launch), caps));
  scale.source = "gemm/halve_by.wgsl";
  scale.label = "gemm halve columns";
  scale.operands = {operand_of("x", turned, Access::read, 4),
                    {.name = "largest", .view = largest},
                    {.name = "halves", .view = halves, .access = Access::write, .unit = 2},
                    {.name = "scales", .view = out.scales, .access = Access::write}};
  stages.add(make_dispatch(std::move(scale), caps));
  return out;
}

bool can_halve(const View& view, bool all, const Caps& caps) {
  if (view.dtype == DType::f16 && !all) return true;
  return (view.dtype == DType::bf16 || all) && !view.empty() &&
         view.bytes().size() <= binding_budget(caps) && view.count() * 2 <= binding_budget(caps) &&
         (rows_aligned(view, 4) || rows_aligned(view.transpose(3, 4), 4));
}

/// The view without repeated batches.
View once(View view) {
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (view.stride[i] == 0) view.shape[i] = 1;
  }
  return view;
}

/// Whether short sums are made in f16, and their errors are good enough for the result.
bool adds_in_f16(const Problem& problem, const Context& context) {
  return (size_of(problem.c.dtype) == 2 || context.args.allow_f16) && adds_halves(context.caps);
}

/// Replaces an operand [batches, X, K], and gives its factors for c. f16 operands stay as they are
/// unless short sums need them scaled.
Status halve(Stages& stages, View& view, View& scales, bool bounded, const Caps& caps) {
  if (view.dtype == DType::f16 && !bounded) return {};
  const View plain = once(view);
  const std::int32_t exponent = bounded ? bounded_exponent - 1 : 14;
  const Halved halved = rows_aligned(plain, 4) ? by_rows(stages, plain, exponent, caps)
                                               : by_columns(stages, plain, exponent, caps);
  auto all = halved.halves.broadcast_to(view.extents());
  if (!all) return std::unexpected(all.error());
  view = *all;
  scales = halved.scales;
  return {};
}

}  // namespace

std::optional<Halves> choose_halves(const Problem& problem, const Context& context) {
  const Args& args = context.args;
  const Caps& caps = context.caps;
  const bool bounded = adds_in_f16(problem, context);
  if (problem.a.dtype == DType::f16 && problem.b.dtype == DType::f16 && !bounded) return {};
  if (problem.a_scale.given() || problem.b_scale.given() || problem.k() == 0) return {};
  if (!can_halve(once(problem.a), bounded, caps) ||
      !can_halve(once(problem.b.transpose(3, 4)), bounded, caps)) {
    return {};
  }
  const bool forced = args.kernel == halves_name;
  const bool small = problem.m() <= 8 || problem.n() <= 8 ||
                     problem.m() * problem.n() * problem.k() * problem.batches() < least_work;
  if (!forced && (!args.kernel.empty() || small)) return {};
  const auto units = choose_matrix(problem.m(), problem.n(), problem.k(), problem.batches(), caps,
                                   {.halves = true, .bounded = bounded});
  // Who asks for halves means matrix units, even where they are not worth it.
  if (forced) return Halves{.bounded = bounded, .matrix_units = units.has_value()};
  const bool worth = units && caps.traits.matrix_units ? units->tile.component == MatrixType::f16
                                                       : bounded && fast_halves(caps);
  return worth ? std::optional(Halves{.bounded = bounded}) : std::nullopt;
}

Result<Plan> halved(const Problem& problem, const Halves& halves, const Context& context) {
  Stages stages{problem.a, problem.b, problem.c, problem.bias};
  View a = problem.a;
  View b = problem.b.transpose(3, 4);
  View a_scale;
  View b_scale;
  if (const Status ok = halve(stages, a, a_scale, halves.bounded, context.caps); !ok)
    return std::unexpected(ok.error());
  if (const Status ok = halve(stages, b, b_scale, halves.bounded, context.caps); !ok)
    return std::unexpected(ok.error());
  stages.add(plan({.a = a,
                   .b = b.transpose(3, 4),
                   .c = problem.c,
                   .bias = problem.bias,
                   .a_scale = a_scale,
                   .b_scale = b_scale.given() ? b_scale.transpose(3, 4) : View{},
                   .alpha = problem.alpha,
                   .beta = problem.beta,
                   .activation = problem.activation,
                   .scalars = problem.scalars,
                   .bounded = halves.bounded,
                   .kernel = halves.matrix_units ? "matrix" : ""},
                  context.caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::gemm
