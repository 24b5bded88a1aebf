#include "ops/integer_gemm/integer_gemm.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/aligned.hpp"
#include "ops/choose.hpp"
#include "ops/integer_gemm/matrix_tile.hpp"
#include "ops/integer_gemm/result.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::integer_gemm {
namespace {

constexpr std::uint64_t tile = 64;  // as in products.wgsl

struct Variant {
  std::uint32_t rank = 0;  // dimensions in front of the matrices
  bool unsigned_a = false;
  bool unsigned_b = false;
  bool zero_a = false;
  bool zero_b = false;
  bool zeros = false;    // anything has to be subtracted
  bool words_a = false;  // four neighbours along K are one word
  bool words_b = false;
  bool across = false;  // columns of b lie side by side
  bool factors = false;
  bool others = false;
  std::string_view channels = "columns";  // what factors go along
  std::int32_t low = 0;                   // of whole numbers that sums become
  std::int32_t high = 0;
  bool vec = false;  // four neighbouring columns of y are stored at once
  bool few = false;  // so few rows that each invocation has one
};

using Batch = std::array<std::uint32_t, max_rank - 2>;

struct Params {
  std::uint32_t groups = 0;
  std::uint32_t tiles_m = 0;
  std::uint32_t tiles_n = 0;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t fours = 0;  // of K
  std::uint32_t a_row = 0;
  std::uint32_t a_k = 0;
  std::uint32_t b_k = 0;
  std::uint32_t b_column = 0;
  std::uint32_t y_row = 0;
  std::uint32_t y_column = 0;
  std::uint32_t za_step = 0;
  std::uint32_t zb_step = 0;
  std::uint32_t factors_step = 0;
  std::uint32_t factors_next = 0;
  std::uint32_t others_step = 0;
  Batch batch{};
  Batch a{};
  Batch b{};
  Batch y{};
};

/// `args` with the batches of a and b repeated to those of y, or what does not fit.
Result<Args> check(Args args) {
  for (const View* view : {&args.a, &args.b, &args.y}) {
    if (const Status ok = validate(*view, "a matrix of whole numbers"); !ok) {
      return std::unexpected(ok.error());
    }
  }
  const View& y = args.y;
  const auto inner = [](const View& view, std::uint32_t back) {
    return view.rank < 2 ? 0 : view.shape[view.rank - 1 - back];
  };
  const bool zeros =
      (!args.a_zero.given() || (args.a_zero.dtype == DType::i32 && args.a_zero.rank == 1 &&
                                args.a_zero.shape[0] == inner(y, 1))) &&
      (!args.b_zero.given() || (args.b_zero.dtype == DType::i32 && args.b_zero.rank == 1 &&
                                args.b_zero.shape[0] == inner(y, 0)));
  if (!is_byte(args.a.dtype) || !is_byte(args.b.dtype) || !zeros || y.rank < 2 || args.a.rank < 2 ||
      args.b.rank < 2 || inner(args.a, 1) != inner(y, 1) || inner(args.b, 0) != inner(y, 0) ||
      inner(args.a, 0) != inner(args.b, 1)) {
    return fail(ErrorCode::invalid_argument,
                "A product of whole numbers needs [..., M, K] and [..., K, N] of i8 or u8, zero "
                "points i32 [M] and [N] and a result [..., M, N]; it was given {}, {} and {}.",
                describe(args.a), describe(args.b), describe(y));
  }
  if (const Status ok = check_result(y.dtype, args.factors, inner(y, 0)); !ok) {
    return std::unexpected(ok.error());
  }
  if (args.others.given() && (!args.factors.given() || args.others.dtype != DType::f32 ||
                              args.others.rank != 1 || args.others.shape[0] != inner(y, 1))) {
    return fail(ErrorCode::invalid_argument,
                "Scales for the {} rows of a product of whole numbers are f32, and come with "
                "factors; they are {}.",
                inner(y, 1), describe(args.others));
  }
  std::vector<std::uint64_t> shape(y.extents().begin(), y.extents().end());
  shape.back() = inner(args.a, 0);
  auto a = args.a.broadcast_to(shape);
  if (!a) return std::unexpected(a.error());
  shape.back() = inner(y, 0);
  shape[shape.size() - 2] = inner(args.a, 0);
  auto b = args.b.broadcast_to(shape);
  if (!b) return std::unexpected(b.error());
  if (!y.empty()) {
    if (const Status ok = check_distinct(y, "y"); !ok) return std::unexpected(ok.error());
    if (overlap(args.a, y) || overlap(args.b, y) || overlap(args.a_zero, y) ||
        overlap(args.b_zero, y) || overlap(args.factors, y) || overlap(args.others, y)) {
      return fail(ErrorCode::invalid_argument,
                  "The product {} of whole numbers shares memory with {} or {}.", describe(y),
                  describe(args.a), describe(args.b));
    }
  }
  args.a = *a;
  args.b = *b;
  return args;
}

/// With a tile of matrices, or without.
Status launch(Plan& plan, const Args& args, const std::optional<MatrixTile>& matrices,
              const Caps& caps) {
  const View& y = args.y;
  const std::uint32_t outer = y.rank - 2;
  Params params;
  params.m = narrow(y.shape[outer]);
  params.n = narrow(y.shape[outer + 1]);
  params.k = narrow(args.a.shape[outer + 1]);
  // As in products.wgsl. With few rows most of a tile would be empty.
  const std::uint64_t width = workgroup_width(caps);
  const bool few = !matrices && params.m <= width / 16;
  const std::uint64_t tall = matrices ? matrices->bm : width / (few ? 16 : 4);
  params.tiles_m = narrow(ceil_div<std::uint64_t>(params.m, tall));
  params.tiles_n = narrow(ceil_div<std::uint64_t>(params.n, matrices ? matrices->bn : tile));
  params.fours = narrow(ceil_div<std::uint64_t>(params.k, 4));
  params.a_row = narrow(args.a.stride[outer]);
  params.a_k = narrow(args.a.stride[outer + 1]);
  params.b_k = narrow(args.b.stride[outer]);
  params.b_column = narrow(args.b.stride[outer + 1]);
  params.y_row = narrow(y.stride[outer]);
  params.y_column = narrow(y.stride[outer + 1]);
  std::uint64_t batches = 1;
  for (std::uint32_t i = 0; i < outer; ++i) {
    batches *= y.shape[i];
    params.batch[i] = narrow(y.shape[i]);
    params.a[i] = narrow(args.a.stride[i]);
    params.b[i] = narrow(args.b.stride[i]);
    params.y[i] = narrow(y.stride[i]);
  }
  const std::uint64_t groups = batches * params.tiles_m * params.tiles_n;
  params.groups = narrow(groups);
  const Range range = range_of(y.dtype);
  Variant variant{.rank = outer,
                  .unsigned_a = args.a.dtype == DType::u8,
                  .unsigned_b = args.b.dtype == DType::u8,
                  .zero_a = args.a_zero.given(),
                  .zero_b = args.b_zero.given(),
                  .zeros = false,
                  .words_a = in_words(args.a, outer + 1),
                  .words_b = in_words(args.b, outer),
                  .across = args.b.stride[outer + 1] == 1 && args.b.stride[outer] != 1,
                  .factors = args.factors.given(),
                  .others = args.others.given(),
                  .low = range.low,
                  .high = range.high,
                  .vec = rows_aligned(y, 4),
                  .few = few};
  variant.zeros = turns(args.a.dtype, matrices) || turns(args.b.dtype, matrices) ||
                  variant.zero_a || variant.zero_b;
  Launch launch;
  launch.source = matrices ? "integer_gemm/matrix.wgsl" : "integer_gemm/integer_gemm.wgsl";
  launch.label = formatted("integer_gemm{} {} {}", matrices ? " matrix" : "", name(args.a.dtype),
                           name(args.b.dtype));
  launch.operands = {
      {.name = "a", .view = args.a}, {.name = "b", .view = args.b}, result_operand(y, variant.vec)};
  if (variant.zero_a) {
    params.za_step = narrow(args.a_zero.stride[0]);
    launch.operands.push_back({.name = "za", .view = args.a_zero});
  }
  if (variant.zero_b) {
    params.zb_step = narrow(args.b_zero.stride[0]);
    launch.operands.push_back({.name = "zb", .view = args.b_zero});
  }
  if (variant.factors) {
    params.factors_next = narrow(args.factors.stride[0]);
    params.factors_step = narrow(args.factors.stride[1]);
    launch.operands.push_back({.name = "factors", .view = args.factors});
  }
  if (variant.others) {
    params.others_step = narrow(args.others.stride[0]);
    launch.operands.push_back({.name = "others", .view = args.others});
  }
  launch.constants = constants_of(variant);
  if (matrices) {
    launch.constants.merge(constants_of(*matrices));
    launch.features = features_of(*matrices, caps);
  }
  launch.params = block_of(params);
  launch.grid = grid_1d(groups, caps);
  return plan.add(make_dispatch(std::move(launch), caps));
}

std::optional<MatrixTile> tile_of(std::string_view kernel, const Args& args, const Caps& caps) {
  const View& y = args.y;
  return matrix_tile(kernel, y.shape[y.rank - 2], y.shape[y.rank - 1], caps);
}

Status can_matrix(const Args&, const Caps& caps) { return check_kernel("matrix", caps); }

bool worth_matrix(const Args& args, const Caps& caps) {
  return tile_of("", args, caps).has_value();
}

Status launch_matrix(Plan& plan, const Args& args, const Caps& caps) {
  return launch(plan, args, tile_of("matrix", args, caps), caps);
}

Status can_plain(const Args&, const Caps&) { return {}; }
bool always(const Args&, const Caps&) { return true; }

Status launch_plain(Plan& plan, const Args& args, const Caps& caps) {
  return launch(plan, args, std::nullopt, caps);
}

/// One kernel of the op's list: `can` says why it cannot make a product at all, `worth` whether it
/// is a good choice, `launch` adds what it takes to a plan.
struct Kernel {
  std::string_view name;
  Status (*can)(const Args&, const Caps&);
  bool (*worth)(const Args&, const Caps&);
  Status (*launch)(Plan&, const Args&, const Caps&);
};

constexpr Kernel matrix_kernel{"matrix", can_matrix, worth_matrix, launch_matrix};
constexpr Kernel plain_kernel{"plain", can_plain, always, launch_plain};

// In order of preference.
constexpr std::array kernels{&matrix_kernel, &plain_kernel};

/// Halves batches, rows or columns until every matrix fits one binding.
Status split(Plan& plan, const Args& args, const Caps& caps) {
  const std::uint64_t budget = binding_budget(caps);
  const auto fits = [&](const View& view) { return view.bytes().size() <= budget; };
  const View& y = args.y;
  if (fits(args.a) && fits(args.b) && fits(y) && y.count() < (1ULL << 31)) {
    const auto kernel =
        choose_kernel(kernels, "A product of whole numbers", args.kernel, args, caps);
    if (!kernel) return std::unexpected(kernel.error());
    return (*kernel)->launch(plan, args, caps);
  }
  const std::uint32_t m = y.rank - 2;
  std::uint32_t dim = 0;
  while (dim < m && y.shape[dim] == 1) ++dim;
  // A matrix that is too large by itself is cut in the dimension that it has in common with y; else
  // the longer one.
  if (dim == m) {
    const bool rows = fits(args.a) ? (fits(args.b) && y.shape[m] >= y.shape[m + 1])
                                   : (fits(args.b) || y.shape[m] >= y.shape[m + 1]);
    dim = rows ? m : m + 1;
  }
  if (y.shape[dim] == 1) {
    return fail(ErrorCode::unsupported,
                "The product of {} and {} needs a row and a column within one binding of the "
                "device, {} bytes.",
                describe(args.a), describe(args.b), budget);
  }
  const std::uint64_t extent = y.shape[dim];
  const std::uint64_t half = half_of(extent);
  const auto cut = [&](std::uint64_t first, std::uint64_t count) {
    Args part = args;
    part.y = y.slice(dim, first, count);
    if (dim <= m) part.a = args.a.slice(dim, first, count);
    if (dim != m) part.b = args.b.slice(dim, first, count);
    if (dim == m && part.a_zero.given()) part.a_zero = args.a_zero.slice(0, first, count);
    if (dim == m + 1 && part.b_zero.given()) part.b_zero = args.b_zero.slice(0, first, count);
    if (dim == m + 1 && part.factors.given()) part.factors = args.factors.slice(1, first, count);
    if (dim == m && part.others.given()) part.others = args.others.slice(0, first, count);
    return part;
  };
  return split(plan, cut(0, half), caps).and_then([&] {
    return split(plan, cut(half, extent - half), caps);
  });
}

/// A matrix whose rows (`back` 2) or columns (1) are each spread over more than a binding, as those
/// of a large matrix that lies the other way round: copied so that they lie together.
void gather_rows(Stages& stages, View& view, std::uint32_t back, const Caps& caps) {
  const std::uint32_t last = view.rank - 1;
  if (view.slice(view.rank - back, 0, 1).bytes().size() <= binding_budget(caps)) return;
  const View spread = back == 2 ? view : view.transpose(last - 1, last);
  const View together = stages.scratch(view.dtype, spread.extents());
  stages.add(map::plan({.function = "copy", .inputs = {spread}, .y = together}, caps));
  view = back == 2 ? together : together.transpose(last - 1, last);
}

}  // namespace

Result<Plan> plan(const Args& given, const Caps& caps) {
  constexpr std::string_view doing = "planning a product of whole numbers";
  Result<Args> args = check(given);
  if (!args) return std::unexpected(args.error());
  if (args->y.empty()) return Plan{};
  if (const Status ok = check_kernel(given.kernel, caps); !ok) return std::unexpected(ok.error());
  Stages stages(
      {given.a, given.b, given.a_zero, given.b_zero, given.y, given.factors, given.others});
  Args near = given;
  gather_rows(stages, near.a, 2, caps);
  gather_rows(stages, near.b, 1, caps);
  if (args = check(near); !args) return std::unexpected(args.error());
  Plan products;
  if (const Status ok = split(products, *args, caps); !ok) return wrap(ok.error(), doing);
  stages.add(std::move(products));
  auto planned = std::move(stages).finish();
  if (!planned) return wrap(planned.error(), doing);
  return planned;
}

}  // namespace weft::ops::integer_gemm
