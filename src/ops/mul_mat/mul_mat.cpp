#include "ops/mul_mat/mul_mat.hpp"

#include <utility>

#include "ops/gemm/gemm.hpp"
#include "ops/map/map.hpp"
#include "ops/mul_mat/kernels.hpp"
#include "ops/quant/job.hpp"

namespace weft::ops::mul_mat {
namespace {

/// What comes after the product.
Status check_end(const Args& args) {
  if (args.activation != "none") {
    const map::Function* function = map::find_function(args.activation);
    if (function == nullptr || function->family != map::Family::unary) {
      return fail(ErrorCode::not_found, "There is no unary function named `{}`.", args.activation);
    }
  }
  if (!args.bias.given()) return {};
  if (const Status ok = validate(args.bias, "bias"); !ok) return ok;
  if (args.bias.dtype != DType::f32) {
    return fail(ErrorCode::unsupported, "The bias of a product must be f32; it is {}.",
                describe(args.bias));
  }
  return {};
}

Status check(const Args& args) {
  if (const Status ok = validate(args.weights, "weights", Types::quantized_too); !ok) return ok;
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  const View& weights = args.weights;
  const View& x = args.x;
  const View& y = args.y;
  if (weights.rank < 2 || x.rank < 2 || y.rank < 2 || y.rank > 6) {
    return fail(ErrorCode::invalid_argument,
                "A product needs two to six dimensions; weights are {}, x is {} and y is {}.",
                describe(weights), describe(x), describe(y));
  }
  if (weights.shape[weights.rank - 1] != x.shape[x.rank - 1] ||
      weights.shape[weights.rank - 2] != y.shape[y.rank - 1] ||
      x.shape[x.rank - 2] != y.shape[y.rank - 2]) {
    return fail(ErrorCode::invalid_argument,
                "Weights [M,K] times x [N,K] give y [N,M]; weights are {}, x is {} and y is {}.",
                describe(weights), describe(x), describe(y));
  }
  if (const Status ok = check_end(args); !ok) return ok;
  if (!is_float(x.dtype) || y.dtype != DType::f32) {
    return fail(ErrorCode::unsupported,
                "Products take x of f32, f16 or bf16 and give f32; x is {} and y is {}.",
                describe(x), describe(y));
  }
  return {};
}

/// What the kernels of matrix products make of float weights.
Result<Plan> plan_product(const Args& args, const Caps& caps) {
  const std::uint32_t last = args.weights.rank - 1;
  const bool rounded = !args.exact && size_of(args.weights.dtype) == 2;
  return gemm::plan({.a = args.x,
                     .b = args.weights.transpose(last - 1, last),
                     .c = args.y,
                     .bias = args.bias,
                     .activation = args.activation,
                     .scalars = args.scalars,
                     // x as weights are, where that is faster: see gemm/halve.cpp.
                     .allow_f16 = rounded && gemm::adds_halves(caps)},
                    caps);
}

}  // namespace

Result<View> with_batches(const View& view, const View& y) {
  std::vector<std::uint64_t> shape(y.extents().begin(), y.extents().end());
  shape[y.rank - 2] = view.shape[view.rank - 2];
  shape[y.rank - 1] = view.shape[view.rank - 1];
  auto out = view.broadcast_to(shape);
  while (out && out->rank < 6) *out = out->unsqueeze(0);
  return out;
}

Result<Problem> problem_of(const Args& args) {
  auto weights = with_batches(args.weights, args.y);
  auto x = with_batches(args.x, args.y);
  auto y = with_batches(args.y, args.y);
  for (const auto* view : {&weights, &x, &y}) {
    if (!*view) return std::unexpected(view->error());
  }
  return Problem{.weights = *weights,
                 .x = *x,
                 .y = *y,
                 .activation = args.activation,
                 .scalars = args.scalars};
}

void fold_batches(Problem& problem) {
  if (problem.n() != 1) return;
  for (std::uint32_t i = 4; i-- > 0;) {
    if (problem.y.shape[i] == 1 || problem.weights.stride[i] != 0) continue;
    problem.x = problem.x.transpose(i, 4);
    problem.y = problem.y.transpose(i, 4);
    if (problem.bias.given()) problem.bias = problem.bias.transpose(i, 4);
    problem.weights.shape[i] = 1;
    return;
  }
}

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (args.y.empty()) return Plan{};
  const std::uint64_t k = args.x.shape[args.x.rank - 1];
  if (k == 0 && args.bias.given()) {
    return fail(ErrorCode::unsupported, "A product of no elements has no bias here; x is {}.",
                describe(args.x));
  }
  if (k == 0) return map::plan({.function = "fill", .y = args.y}, caps);
  const auto kernel = choose(args, caps);
  if (!kernel) return std::unexpected(kernel.error());
  if (*kernel == &product_kernel) return plan_product(args, caps);
  auto made = problem_of(args);
  if (!made) return std::unexpected(made.error());
  Problem& problem = *made;
  if (args.bias.given()) {
    auto bias = args.bias.broadcast_to(args.y.extents());
    if (!bias) return std::unexpected(bias.error());
    while (bias->rank < 6) *bias = bias->unsqueeze(0);
    problem.bias = *bias;
  }
  Stages stages{args.weights, args.x, args.y, args.packed, args.bias};
  if (!(*kernel)->raw) {
    if (problem.x.dtype != DType::f32 || !quant::rows_in_chunks(problem.x, 4)) {
      const View dense = stages.scratch(DType::f32, problem.x.extents());
      stages.add(map::plan({.function = "copy", .inputs = {problem.x}, .y = dense}, caps));
      problem.x = dense;
    }
    fold_batches(problem);
  }
  const Status ok = (*kernel)->make(stages, args, problem, caps);
  if (!ok) return std::unexpected(ok.error());
  return std::move(stages).finish();
}

}  // namespace weft::ops::mul_mat
