// The ways to multiply with weights, and which of them is taken.
#include "ops/mul_mat/kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "ops/choose.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/iterate.hpp"
#include "ops/matrices.hpp"
#include "ops/overlap.hpp"
#include "ops/quant/job.hpp"
#include "ops/quant/quant.hpp"

namespace weft::ops::mul_mat {
namespace {

/// Beyond this many columns it pays to decode the weights once and use the matrix kernels.
constexpr std::uint64_t most_vector_columns = 16;
/// Between these many columns weights are decoded on their way to matrix units, where a device has
/// them; the other kernels for few columns take eight at a time, that for f16 two.
constexpr std::uint64_t most_few_columns = 64;
constexpr std::uint64_t least_few_columns(DType type) { return type == DType::f16 ? 3 : 9; }
/// Bytes of decoded weights in scratch at a time.
constexpr std::uint64_t most_decoded_bytes = 128ULL << 20;

/// The view without repeated batches.
View once(View view) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (view.stride[i] == 0) view.shape[i] = 1;
  }
  return view;
}

/// The product of a problem, with these for its weights and the factors of their rows.
gemm::Args product_of(const Problem& problem, const View& weights, const Caps& caps,
                      const View& scales = {}) {
  return {.a = problem.x,
          .b = weights.transpose(4, 5),
          .c = problem.y,
          .bias = problem.bias,
          .a_scale = problem.x_scales,
          .b_scale = scales.given() ? scales.transpose(4, 5) : View{},
          .activation = problem.activation,
          .scalars = problem.scalars,
          // Where sums are made in f16, x is scaled before it is rounded: see gemm/halve.cpp.
          .allow_f16 = weights.dtype != DType::f32 && gemm::adds_halves(caps)};
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
    stages.add(gemm::plan(product_of(part, *all, caps, scales), caps));
    return {};
  });
}

/// Multiplies as matrices; with `halve` in f16, for matrix units. Values that f16 cannot hold stay
/// finite.
Status add_matrix(Stages& stages, Problem problem, bool halve, const Caps& caps) {
  if (halve) {
    const View halves = stages.scratch(DType::f16, problem.x.extents());
    problem.x_scales = add_halved(stages, problem.x, halves, caps);
    problem.x = halves;
  }
  if (problem.weights.dtype != DType::f16) return add_decoded(stages, problem, caps);
  stages.add(gemm::plan(product_of(problem, problem.weights, caps), caps));
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
  const std::uint64_t columns = packed_columns(problem.weights.dtype, caps).at_once;
  const auto fits = [&](const Problem& part) {
    return part.n() <= columns && part.n() * part.batches() <= caps.max_workgroups &&
           fits_device(part, caps);
  };
  return for_each_part(problem, fits, [&](const Problem& part) -> Status {
    stages.add(launch_packed(part, caps));
    return {};
  });
}

std::uint64_t columns_of(const Args& args) { return args.y.shape[args.y.rank - 2]; }
std::uint64_t k_of(const Args& args) { return args.x.shape[args.x.rank - 1]; }

// few: a few dozen columns, weights decoded on their way to matrix units

Status can_use_few(const Args& args, const Caps& caps) {
  // Sums are added up by the kernel behind matrix products, which does not add to y in place.
  const auto problem = problem_of(args);
  if (!overlap(args.bias, args.y) && problem && can_few(*problem, caps)) return {};
  return fail(ErrorCode::unsupported,
              "Weights {} cannot be multiplied by x ({}) on their way to matrix units here.",
              describe(args.weights), describe(args.x));
}

bool worth_few(const Args& args, const Caps& caps) {
  return !args.exact && caps.traits.matrix_units && float_matrices(caps) &&
         columns_of(args) >= least_few_columns(args.weights.dtype) &&
         columns_of(args) <= most_few_columns;
}

Status make_few(Stages& stages, const Args&, const Problem& problem, const Caps& caps) {
  return add_few(stages, problem, caps);
}

// packed: few columns, x rounded to 8 bits

Status can_packed(const Args& args, const Caps& caps) {
  if (can_pack(args.weights, args.x, caps)) return {};
  return fail(ErrorCode::unsupported,
              "Weights {} cannot be multiplied by x ({}) in 8 bits on this device.",
              describe(args.weights), describe(args.x));
}

bool worth_packed(const Args& args, const Caps& caps) {
  return args.allow_q8 && !args.exact &&
         columns_of(args) <= packed_columns(args.weights.dtype, caps).most &&
         (args.packed.given() || pays_to_pack(args.weights.bytes().size(), columns_of(args), caps));
}

Status make_packed(Stages& stages, const Args& args, const Problem& problem, const Caps& caps) {
  if (const Status ok = check_packed(args.packed, args.x); !ok) return ok;
  const View mine = args.packed.given() ? args.packed : add_pack(stages, args.x, caps);
  const auto packed = with_batches(mine, args.y);
  if (!packed) return std::unexpected(packed.error());
  return add_packed(stages, problem, *packed, caps);
}

// vector: few columns at a time, straight from the blocks

Status can_vector(const Args& args, const Caps&) {
  if (is_quantized(args.weights.dtype)) return {};
  return fail(ErrorCode::unsupported, "Weights {} have no blocks to multiply one by one.",
              describe(args.weights));
}

bool worth_vector(const Args& args, const Caps&) {
  return args.exact || columns_of(args) <= most_vector_columns;
}

template <std::uint32_t rows>
Status make_vector(Stages& stages, const Args& args, const Problem& problem, const Caps& caps) {
  return add_vector(stages, problem, rows == 0 && args.exact ? exact_rows : rows, caps);
}

// halve: as matrices of f16, both sides; decode: as matrices, of f16 where matrix units multiply
// them

Status can_halve(const Args& args, const Caps& caps) {
  const View& weights = args.weights;
  const bool type = is_quantized(weights.dtype) || weights.dtype == DType::f16 ||
                    (weights.dtype == DType::bf16 && quant::rows_in_chunks(weights, 4));
  const std::uint64_t bytes = View::dense(DType::f32, args.x.extents()).bytes().size();
  if (type && k_of(args) % 4 == 0 && bytes <= binding_budget(caps)) return {};
  return fail(ErrorCode::unsupported, "Weights {} and x {} cannot be multiplied as f16 here.",
              describe(weights), describe(args.x));
}

/// Matrix units that are real multiply f16 into f32: x is rounded for them.
bool worth_halving(const Args& args, const Caps& caps) {
  return caps.traits.matrix_units && find_matrices(caps, MatrixType::f16, MatrixType::f32) &&
         can_halve(args, caps);
}

Status can_decode(const Args& args, const Caps& caps) {
  if (is_quantized(args.weights.dtype) || worth_halving(args, caps)) return {};
  return fail(ErrorCode::unsupported, "Weights {} need not be decoded.", describe(args.weights));
}

bool worth_decode(const Args& args, const Caps&) {
  return !args.exact && columns_of(args) > most_vector_columns;
}

Status make_decode(Stages& stages, const Args& args, const Problem& problem, const Caps& caps) {
  return add_matrix(stages, problem, worth_halving(args, caps), caps);
}

Status make_halve(Stages& stages, const Args&, const Problem& problem, const Caps& caps) {
  return add_matrix(stages, problem, true, caps);
}

// product: floats as they are

Status can_product(const Args& args, const Caps&) {
  if (!is_quantized(args.weights.dtype)) return {};
  return fail(ErrorCode::unsupported, "Weights {} are no floats, which is what products take.",
              describe(args.weights));
}

bool always(const Args&, const Caps&) { return true; }
bool never(const Args&, const Caps&) { return false; }

constexpr Kernel packed_kernel{"packed", can_packed, worth_packed, make_packed, true};
constexpr Kernel few_kernel{"few", can_use_few, worth_few, make_few};
constexpr Kernel vector_kernel{"vector", can_vector, worth_vector, make_vector<0>};
constexpr Kernel decode_kernel{"decode", can_decode, worth_decode, make_decode};
// By name alone: for tests and benchmarks.
constexpr Kernel halve_kernel{"halve", can_halve, never, make_halve};
constexpr Kernel vector_1_kernel{"vector_1", can_vector, never, make_vector<1>};
constexpr Kernel vector_2_kernel{"vector_2", can_vector, never, make_vector<2>};
constexpr Kernel vector_4_kernel{"vector_4", can_vector, never, make_vector<4>};
constexpr Kernel vector_8_kernel{"vector_8", can_vector, never, make_vector<8>};

}  // namespace

constinit const Kernel product_kernel{"product", can_product, always, nullptr};

namespace {

// In order of preference.
constexpr std::array<const Kernel*, 10> kernels{
    &few_kernel,   &packed_kernel,   &vector_kernel,   &decode_kernel,   &product_kernel,
    &halve_kernel, &vector_1_kernel, &vector_2_kernel, &vector_4_kernel, &vector_8_kernel};

}  // namespace

Result<const Kernel*> choose(const Args& args, const Caps& caps) {
  return choose_kernel(kernels, "A product with weights", args.kernel, args, caps);
}

bool wants_packed(const Args& args, const Caps& caps) {
  if (args.y.rank < 2 || args.y.empty() || args.weights.rank < 2) return false;
  const auto kernel = choose(args, caps);
  return kernel && *kernel == &packed_kernel;
}

}  // namespace weft::ops::mul_mat
