#include <utility>

#include "base/format.hpp"
#include "ops/attention/problem.hpp"

namespace weft::ops::attention {
namespace {

struct Variant {
  bool y_vec = false;
  bool sinks = false;
  bool lse = false;

  static constexpr auto fields =
      std::tuple{field("Y_VEC", &Variant::y_vec), field("SINKS", &Variant::sinks),
                 field("LSE", &Variant::lse)};
};

}  // namespace

Result<Dispatch> combine(const Problem& problem, const Splits& splits, const Caps& caps) {
  const Variant variant{.y_vec = rows_aligned(problem.y, 4),
                        .sinks = problem.sinks.given(),
                        .lse = problem.lse.given()};
  Params params = params_of(problem, splits);
  params.jobs = narrow(problem.rows());
  Launch out;
  out.source = "attention/combine.wgsl";
  out.label = formatted("attention combine {}", name(problem.y.dtype));
  out.constants = constants_of(variant);
  out.params = block_of(params);
  out.operands.push_back({.name = "part", .view = splits.part, .access = Access::read, .unit = 4});
  const bool atomic = !variant.y_vec && problem.y.dtype != DType::f32;
  add_strides(out.params, "y", problem.y);
  out.operands.push_back(operand_of("y", problem.y, atomic ? Access::atomic : Access::write));
  if (variant.sinks) out.operands.push_back({.name = "sinks", .view = problem.sinks});
  if (variant.lse) {
    add_strides(out.params, "lse", problem.lse);
    out.operands.push_back({.name = "lse", .view = problem.lse, .access = Access::write});
  }
  out.grid = grid_1d(problem.rows(), caps);
  return make_dispatch(std::move(out), caps);
}

}  // namespace weft::ops::attention
