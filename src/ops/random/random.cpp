#include "ops/random/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/overlap.hpp"
#include "ops/random/host.hpp"
#include "ops/random/tables.hpp"
#include "ops/tables.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::random {
namespace {

struct Variant {
  std::string_view function;
  std::string_view dtype;
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;
  std::uint32_t rows = quantile_rows;
  bool pairs = false;    // an element has a block of bits for itself
  bool table = false;    // quantiles
  bool weights = false;  // are there
};

using Words = std::array<std::uint32_t, max_rank>;

struct Params {
  std::uint32_t chunks = 0;
  std::uint32_t zero = 0;
  std::uint32_t first_low = 0;
  std::uint32_t first_high = 0;
  std::uint32_t domain = 0;
  float factor = 1;
  float offset = 0;
  float least = 0;
  float most = 0;
  std::uint32_t start = 0;
  std::uint32_t range = 0;
  std::uint32_t dropped = 0;
  Words shape{};
  Words y_stride{};
  Words n_stride{};
  Words w_stride{};
};

bool takes(Function function, DType dtype) {
  switch (function) {
    case Function::bits: return dtype == DType::u32;
    case Function::randint: return dtype == DType::i32 || dtype == DType::u32;
    case Function::gumbel: return dtype == DType::f32;
    default: return is_float(dtype);
  }
}

Status check(const Args& args) {
  if (const Status ok = validate(args.key, "key"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  if (!args.key.given() || args.key.dtype != DType::u32 || args.key.count() != 2 ||
      !args.key.is_dense()) {
    return fail(ErrorCode::invalid_argument, "The key is {}; it must be two neighbouring u32.",
                describe(args.key));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (const Status ok = check(args.distribution, args.y.dtype); !ok) return ok;
  if (args.first % 2 != 0) {
    return fail(ErrorCode::invalid_argument, "The first number is {}; it must be even.",
                args.first);
  }
  if (overlap(args.key, args.y)) {
    return fail(ErrorCode::invalid_argument, "The result {} shares memory with the key {}.",
                describe(args.y), describe(args.key));
  }
  if (!args.weights.given()) return {};
  if (const Status ok = validate(args.weights, "weights"); !ok) return ok;
  if (args.distribution.function != Function::gumbel || args.weights.dtype != DType::f32 ||
      !std::ranges::equal(args.weights.extents(), args.y.extents()) ||
      overlap(args.weights, args.y)) {
    return fail(ErrorCode::invalid_argument,
                "Weights are for gumbel, of f32 and the shape of the result {}, and apart from it; "
                "they are {}.",
                describe(args.y), describe(args.weights));
  }
  return {};
}

bool in_fours(const View& view) {
  const std::uint32_t inner = view.rank - 1;
  const std::uint64_t bytes = 4ULL * size_of(view.dtype);
  if (view.stride[inner] != 1 || view.shape[inner] % 4 != 0 || view.offset % bytes != 0)
    return false;
  for (std::uint32_t i = 0; i < inner; ++i) {
    if (view.stride[i] % 4 != 0) return false;
  }
  return true;
}

/// `number` is the place of each element, as a view of bytes.
Result<Dispatch> launch_piece(const Args& args, std::span<const View> piece, const Caps& caps) {
  std::array views{piece[0], piece[1], piece[2]};
  collapse(views);
  const auto& [y, number, weights] = views;
  if (number.bytes().size() > (1ULL << 32)) {
    return fail(ErrorCode::unsupported,
                "The elements of {} lie so that pieces of it are 2^32 elements apart.",
                describe(args.y));
  }
  const Function function = args.distribution.function;
  const Numbers numbers = numbers_of(args.distribution, y.dtype);
  const bool weighted = args.weights.given();
  const bool normal = function == Function::normal || function == Function::truncated_normal;
  Variant variant{.function = name(function),
                  .dtype = name(y.dtype),
                  .rank = y.rank,
                  .pairs = function == Function::randint,
                  .table = normal || function == Function::gumbel,
                  .weights = weighted};
  if (in_fours(y) && in_fours(number) && (!weighted || in_fours(weights))) variant.chunk = 4;
  const std::uint64_t first = args.first + number.offset;
  Params params{.chunks = static_cast<std::uint32_t>(y.count() / variant.chunk),
                .first_low = static_cast<std::uint32_t>(first),
                .first_high = static_cast<std::uint32_t>(first >> 32U),
                .domain = args.domain,
                .factor = numbers.factor,
                .offset = numbers.offset,
                .least = numbers.least,
                .most = numbers.most,
                .start = numbers.start,
                .range = numbers.range,
                .dropped = numbers.dropped};
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    params.shape[i] = static_cast<std::uint32_t>(y.shape[i]);
    params.y_stride[i] = static_cast<std::uint32_t>(y.stride[i]);
    params.n_stride[i] = static_cast<std::uint32_t>(number.stride[i]);
    params.w_stride[i] = static_cast<std::uint32_t>(weights.stride[i]);
  }
  const std::uint32_t unit = std::max(1U, variant.chunk * size_of(y.dtype) / 4);
  const bool shares_words = variant.chunk == 1 && size_of(y.dtype) < 4;
  Launch launch{.source = "random/random.wgsl"};
  launch.constants = constants_of(variant);
  launch.params = ops::block_of(params);
  launch.operands = {{.name = "key", .view = args.key},
                     {.name = "y",
                      .view = y,
                      .access = shares_words ? Access::atomic : Access::write,
                      .unit = unit}};
  if (variant.table) {
    const Slot slot = normal ? normal_table_slot : gumbel_table_slot;
    launch.operands.push_back(
        {.name = "table", .view = View::dense(DType::u32, {table_words(slot).size()}, slot)});
  }
  if (weighted) launch.operands.push_back({.name = "weights", .view = weights, .unit = unit});
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.chunks, workgroup_width(caps)), caps);
  launch.label = formatted("random {} {}", name(function), name(y.dtype));
  return make_dispatch(std::move(launch), caps);
}

}  // namespace

Status check(const Distribution& d, DType dtype) {
  if (!takes(d.function, dtype)) {
    return fail(ErrorCode::unsupported, "{} does not give {}.", name(d.function), name(dtype));
  }
  const auto finite = [](double v) { return std::isfinite(static_cast<float>(v)); };
  switch (d.function) {
    case Function::uniform:
      if (!(d.low < d.high) || !finite(d.low) || !finite(d.high) || !finite(d.high - d.low)) {
        return fail(ErrorCode::invalid_argument,
                    "uniform needs finite limits with low < high; they are {} and {}.", d.low,
                    d.high);
      }
      return {};
    case Function::randint: {
      const double least = dtype == DType::u32 ? 0 : -0x1p31;
      const bool fits = d.low == std::floor(d.low) && d.high == std::floor(d.high) &&
                        d.low < d.high && d.low >= least && d.high <= least + 0x1p32;
      if (!fits) {
        return fail(ErrorCode::invalid_argument,
                    "randint of {} needs whole numbers low < high, from {} to {}; they are {} "
                    "and {}.",
                    name(dtype), least, least + 0x1p32, d.low, d.high);
      }
      return {};
    }
    case Function::truncated_normal:
      // Beyond 5.5 so few of the 2^32 words are left that neighbouring numbers lie far apart.
      if (!(d.low < d.high) || d.low > 5.5 || d.high < -5.5) {
        return fail(ErrorCode::invalid_argument,
                    "truncated_normal needs low < high, in standard deviations and with low at "
                    "most 5.5 and high at least -5.5; they are {} and {}.",
                    d.low, d.high);
      }
      [[fallthrough]];
    case Function::normal:
      if (!(d.std >= 0) || !finite(d.std) || !finite(d.mean)) {
        return fail(ErrorCode::invalid_argument,
                    "{} needs a finite mean and a standard deviation of at least 0; they are {} "
                    "and {}.",
                    name(d.function), d.mean, d.std);
      }
      return {};
    case Function::bits:
    case Function::gumbel: return {};
  }
  return {};
}

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning random numbers";
  if (const Status ok = check(args); !ok) return wrap(ok.error(), doing);
  Plan plan;
  if (args.y.empty()) return plan;
  const View number = View::dense(DType::u8, args.y.extents());
  const View weights = args.weights.given() ? args.weights : number;
  const Status done =
      for_each_piece({args.y, number, weights}, caps, [&](std::span<const View> piece) -> Status {
        return plan.add(launch_piece(args, piece, caps));
      });
  if (!done) return wrap(done.error(), doing);
  return plan;
}

}  // namespace weft::ops::random
