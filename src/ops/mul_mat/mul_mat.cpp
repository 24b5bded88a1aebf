#include "ops/mul_mat/mul_mat.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/mul_mat/problem.hpp"
#include "ops/overlap.hpp"
#include "ops/quant/job.hpp"
#include "ops/quant/quant.hpp"
#include "ops/stages.hpp"

namespace weft::ops::mul_mat {
namespace {

/// Beyond this many columns it pays to decode the weights once and use the matrix kernels.
constexpr std::uint64_t most_vector_columns = 16;
/// Between these many columns weights are decoded on their way to matrix units, where a device has them; the other kernels
/// for few columns take eight at a time, that for f16 two.
constexpr std::uint64_t most_few_columns = 64;
constexpr std::uint64_t least_few_columns(DType type) { return type == DType::f16 ? 3 : 9; }
/// Bytes of decoded weights in scratch at a time.
constexpr std::uint64_t most_decoded_bytes = 128ULL << 20;

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

/// The view with batches broadcast to those of y, and rank 6.
Result<View> with_batches(const View& view, const View& y) {
  std::vector<std::uint64_t> shape(y.extents().begin(), y.extents().end());
  shape[y.rank - 2] = view.shape[view.rank - 2];
  shape[y.rank - 1] = view.shape[view.rank - 1];
  auto out = view.broadcast_to(shape);
  while (out && out->rank < 6) *out = out->unsqueeze(0);
  return out;
}

/// Neighbours that share weights are columns of one product: weights are then read once for all of them.
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

/// The view without repeated batches.
View once(View view) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (view.stride[i] == 0) view.shape[i] = 1;
  }
  return view;
}

/// The product of a problem, with these for its weights and the factors of their rows.
gemm::Args product_of(const Problem& problem, const View& weights, const View& scales = {}) {
  return {.a = problem.x,
          .b = weights.transpose(4, 5),
          .c = problem.y,
          .bias = problem.bias,
          .a_scale = problem.x_scales,
          .b_scale = scales.given() ? scales.transpose(4, 5) : View{},
          .activation = problem.activation,
          .scalars = problem.scalars};
}

/// Multiplies as matrices weights that are quantized or bf16, made f16 in scratch part by part.
Status add_decoded(Stages& stages, const Problem& problem, const Caps& caps) {
  const std::uint64_t limit = std::min(binding_budget(caps), most_decoded_bytes);
  const auto bytes = [](const Problem& part) { return once(part.weights).count() * 2; };
  const auto fits = [&](const Problem& part) {
    return bytes(part) <= limit && part.weights.bytes().size() <= binding_budget(caps);
  };
  std::uint64_t most = 0;
  const Status measured = for_each_part(problem, fits, [&](const Problem& part) -> Status {
    most = std::max(most, bytes(part));
    return {};
  });
  if (!measured) return measured;
  const View room = stages.scratch(DType::f16, {most / 2});
  return for_each_part(problem, fits, [&](const Problem& part) -> Status {
    const View blocks = once(part.weights);
    const View decoded = View::dense(DType::f16, blocks.extents(), room.slot);
    View scales;
    if (is_quantized(blocks.dtype)) {
      stages.add(quant::plan(quant::DecodeArgs{.table = blocks, .y = decoded}, caps));
    } else {
      scales = add_halved(stages, blocks, decoded, caps);
    }
    const auto all = decoded.broadcast_to(part.weights.extents());
    if (!all) return std::unexpected(all.error());
    stages.add(gemm::plan(product_of(part, *all, scales), caps));
    return {};
  });
}

/// Multiplies as matrices; with `halve` in f16, for matrix units. Values that f16 cannot hold stay finite.
Status add_matrix(Stages& stages, Problem problem, bool halve, const Caps& caps) {
  if (halve) {
    const View halves = stages.scratch(DType::f16, problem.x.extents());
    problem.x_scales = add_halved(stages, problem.x, halves, caps);
    problem.x = halves;
  }
  if (problem.weights.dtype != DType::f16) return add_decoded(stages, problem, caps);
  stages.add(gemm::plan(product_of(problem, problem.weights), caps));
  return {};
}

Status add_vector(Stages& stages, const Problem& problem, std::uint32_t rows, const Caps& caps) {
  const auto fits = [&](const Problem& part) {
    return part.n() <= vector_columns && fits_device(part, caps);
  };
  return for_each_part(problem, fits, [&](const Problem& part) -> Status {
    stages.add(launch_vector(part, rows, caps));
    return {};
  });
}

/// Multiplies x rounded to 8 bits; `packed` is x in that form, of rank 6.
Status add_packed(Stages& stages, Problem problem, const View& packed, const Caps& caps) {
  problem.x = packed;
  fold_batches(problem);
  const auto fits = [&](const Problem& part) {
    return part.n() <= vector_columns && fits_device(part, caps);
  };
  return for_each_part(problem, fits, [&](const Problem& part) -> Status {
    stages.add(launch_packed(part, caps));
    return {};
  });
}

/// The views of a product in the form that kernels take.
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

/// Matrix units that are real, and multiply f16.
bool has_matrices(const Caps& caps) {
  return caps.subgroup_matrix && caps.f16 && caps.traits.matrix_units;
}

bool wants_few(const Args& args, const Caps& caps) {
  const std::uint64_t columns = args.y.shape[args.y.rank - 2];
  if (!args.kernel.empty()) {
    if (args.kernel != "few") return false;
  } else if (args.exact || !has_matrices(caps) || columns < least_few_columns(args.weights.dtype) ||
             columns > most_few_columns) {
    return false;
  }
  // Sums are added up by the kernel behind matrix products, which does not add to y in place.
  if (overlap(args.bias, args.y)) return false;
  const auto problem = problem_of(args);
  return problem && can_few(*problem, caps);
}

}  // namespace

bool wants_packed(const Args& args, const Caps& caps) {
  if (args.y.rank < 2 || args.y.empty() || args.weights.rank < 2) return false;
  const std::uint64_t columns = args.y.shape[args.y.rank - 2];
  const bool open =
      args.kernel.empty() && args.allow_q8 && !args.exact && columns <= most_vector_columns &&
      !wants_few(args, caps) &&
      (args.packed.given() || pays_to_pack(args.weights.bytes().size(), columns, caps));
  return (open || args.kernel == "packed") && can_pack(args.weights, args.x, caps);
}

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (args.y.empty()) return Plan{};
  const bool quantized = is_quantized(args.weights.dtype);
  const std::uint64_t k = args.x.shape[args.x.rank - 1];
  std::string_view kernel = args.kernel;
  if (kernel.empty()) {
    const std::uint64_t columns = args.y.shape[args.y.rank - 2];
    kernel = columns <= most_vector_columns ? "vector" : "decode";
    if (args.exact) kernel = quantized ? "vector" : "product";
    if (wants_few(args, caps)) kernel = "few";
    if (wants_packed(args, caps)) kernel = "packed";
  } else if (kernel == "few" && !wants_few(args, caps)) {
    return fail(ErrorCode::unsupported,
                "Weights {} cannot be multiplied by x ({}) on their way to matrix units here.",
                describe(args.weights), describe(args.x));
  }
  const bool halve =
      (kernel == "halve" || (kernel == "decode" && has_matrices(caps))) && k % 4 == 0 &&
      (quantized || args.weights.dtype == DType::f16 ||
       (args.weights.dtype == DType::bf16 && quant::rows_in_chunks(args.weights, 4))) &&
      View::dense(DType::f32, args.x.extents()).bytes().size() <= binding_budget(caps);
  if (k == 0 && args.bias.given()) {
    return fail(ErrorCode::unsupported, "A product of no elements has no bias here; x is {}.",
                describe(args.x));
  }
  if (k == 0) return map::plan({.function = "fill", .y = args.y}, caps);
  if (!quantized && !halve && kernel != "few") {
    const std::uint32_t last = args.weights.rank - 1;
    return gemm::plan({.a = args.x,
                       .b = args.weights.transpose(last - 1, last),
                       .c = args.y,
                       .bias = args.bias,
                       .activation = args.activation,
                       .scalars = args.scalars},
                      caps);
  }
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
  Status ok;
  if (kernel == "packed") {
    if (!wants_packed(args, caps)) {
      return fail(ErrorCode::unsupported,
                  "Weights {} cannot be multiplied by x ({}) in 8 bits on this device.",
                  describe(args.weights), describe(args.x));
    }
    if (ok = check_packed(args.packed, args.x); !ok) return std::unexpected(ok.error());
    const View mine = args.packed.given() ? args.packed : add_pack(stages, args.x, caps);
    const auto packed = with_batches(mine, args.y);
    if (!packed) return std::unexpected(packed.error());
    ok = add_packed(stages, problem, *packed, caps);
    if (!ok) return std::unexpected(ok.error());
    return std::move(stages).finish();
  }
  if (problem.x.dtype != DType::f32 || !quant::rows_in_chunks(problem.x, 4)) {
    const View packed = stages.scratch(DType::f32, problem.x.extents());
    stages.add(map::plan({.function = "copy", .inputs = {problem.x}, .y = packed}, caps));
    problem.x = packed;
  }
  fold_batches(problem);

  if (kernel.starts_with("vector")) {
    const std::uint32_t rows = kernel.size() > 7 ? static_cast<std::uint32_t>(kernel.back() - '0')
                               : args.exact      ? exact_rows
                                                 : 0;
    ok = add_vector(stages, problem, rows, caps);
  } else if (kernel == "few") {
    ok = add_few(stages, problem, caps);
  } else if (kernel == "decode" || kernel == "halve") {
    ok = add_matrix(stages, problem, halve, caps);
  } else {
    ok = fail(ErrorCode::not_found, "There is no product kernel named `{}`.", kernel);
  }
  if (!ok) return std::unexpected(ok.error());
  return std::move(stages).finish();
}

}  // namespace weft::ops::mul_mat
