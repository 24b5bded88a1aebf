#include "ops/dropout/dropout.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/iterate.hpp"
#include "ops/row_kernel.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::dropout {
namespace {

struct Variant {
  std::uint32_t rank = 1;
  std::uint32_t chunk = 1;
};

using Words = std::array<std::uint32_t, max_rank>;

struct Params {
  std::uint32_t chunks = 0;
  std::uint32_t threshold = 0;
  float factor = 1;
  std::uint32_t stream = 0;
  std::uint32_t n_off = 0;
  Words shape{};
  Words x_stride{};
  Words y_stride{};
  Words n_stride{};
};

Status check(const Args& args) {
  if (const Status ok = check_float_tensor(args.x, "x", args.x.extents(), false); !ok) return ok;
  if (const Status ok = check_float_tensor(args.y, "y", args.x.extents(), true); !ok) return ok;
  if (const Status ok = check_in_place(args.x, "x", args.y, "y"); !ok) return ok;
  if (const Status ok = validate(args.seed, "seed"); !ok) return ok;
  if (!args.seed.given() || args.seed.dtype != DType::u32 || args.seed.count() != 2 ||
      !args.seed.is_dense()) {
    return fail(ErrorCode::invalid_argument, "The seed is {}; it must be two neighbouring u32.",
                describe(args.seed));
  }
  if (!(args.rate >= 0) || args.rate >= 1) {
    return fail(ErrorCode::invalid_argument,
                "The rate of dropout is {}; it must be at least 0 and below 1.", args.rate);
  }
  if (args.x.count() >= (1ULL << 32)) {
    return fail(ErrorCode::unsupported, "Dropout counts up to 2^32 elements; x is {}.",
                describe(args.x));
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

Result<Dispatch> launch_piece(const Args& args, std::span<const View> piece, const Caps& caps) {
  std::array views{piece[0], piece[1], piece[2]};
  collapse(views);
  const auto& [y, x, number] = views;
  const std::uint32_t inner = y.rank - 1;
  Variant variant{.rank = y.rank};
  if (in_fours(x) && in_fours(y) && number.stride[inner] == 1) variant.chunk = 4;
  Params params{.chunks = static_cast<std::uint32_t>(y.count() / variant.chunk),
                .threshold = static_cast<std::uint32_t>(static_cast<double>(args.rate) * 0x1p32),
                .factor = static_cast<float>(1 / (1 - static_cast<double>(args.rate))),
                .stream = args.stream,
                .n_off = static_cast<std::uint32_t>(number.offset)};
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    params.shape[i] = static_cast<std::uint32_t>(y.shape[i]);
    params.x_stride[i] = static_cast<std::uint32_t>(x.stride[i]);
    params.y_stride[i] = static_cast<std::uint32_t>(y.stride[i]);
    params.n_stride[i] = static_cast<std::uint32_t>(number.stride[i]);
  }
  const auto unit = [&](const View& view) {
    return std::max(1U, variant.chunk * size_of(view.dtype) / 4);
  };
  const bool shares_words = variant.chunk == 1 && size_of(y.dtype) < 4;
  Launch launch{.source = "dropout/dropout.wgsl"};
  launch.constants = constants_of(variant);
  launch.params = block_of(params);
  launch.operands = {{.name = "x", .view = x, .unit = unit(x)},
                     {.name = "seed", .view = args.seed},
                     {.name = "y",
                      .view = y,
                      .access = shares_words ? Access::atomic : Access::write,
                      .unit = unit(y)}};
  launch.grid = grid_1d(ceil_div<std::uint64_t>(params.chunks, workgroup_width(caps)), caps);
  launch.label = formatted("dropout {}", name(y.dtype));
  return make_dispatch(std::move(launch), caps);
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  constexpr std::string_view doing = "planning dropout";
  if (const Status ok = check(args); !ok) return wrap(ok.error(), doing);
  Plan plan;
  if (args.x.empty()) return plan;
  // The number of an element as a view: bytes, so that offsets count elements.
  const View number = View::dense(DType::u8, args.x.extents());
  const Status done =
      for_each_piece({args.y, args.x, number}, caps, [&](std::span<const View> piece) -> Status {
        return plan.add(launch_piece(args, piece, caps));
      });
  if (!done) return wrap(done.error(), doing);
  return plan;
}

}  // namespace weft::ops::dropout
