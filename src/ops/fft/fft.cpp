#include "ops/fft/fft.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/stages.hpp"

namespace weft::ops::fft {
namespace {

constexpr std::uint64_t longest = 1ULL << 24;  // positions are exact in f32

struct PassVariant {
  std::uint32_t radix = 2;
  static constexpr auto fields = std::tuple{field("RADIX", &PassVariant::radix)};
};

struct PassParams {
  std::uint32_t total = 0;
  std::uint32_t count = 0;  // elements of a row over the radix
  std::uint32_t done = 1;   // the product of the radices before
  float direction = -1;
  float scale = 1;
  static constexpr auto fields =
      std::tuple{field("total", &PassParams::total), field("count", &PassParams::count),
                 field("done", &PassParams::done), field("direction", &PassParams::direction),
                 field("scale", &PassParams::scale)};
};

struct ChirpVariant {
  std::string_view mode;
  static constexpr auto fields = std::tuple{field("MODE", &ChirpVariant::mode)};
};

struct ChirpParams {
  std::uint32_t total = 0;
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  float direction = -1;
  float scale = 1;
  static constexpr auto fields = std::tuple{
      field("total", &ChirpParams::total), field("n", &ChirpParams::n), field("m", &ChirpParams::m),
      field("direction", &ChirpParams::direction), field("scale", &ChirpParams::scale)};
};

/// What a length is a product of, or nothing where a prime factor is larger than 7.
std::vector<std::uint32_t> radices_of(std::uint64_t n) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t radix : {8U, 4U, 2U, 7U, 5U, 3U}) {
    for (; n % radix == 0 && n > 1; n /= radix) out.push_back(radix);
  }
  return n == 1 ? out : std::vector<std::uint32_t>{};
}

Operand operand(std::string_view name, const View& view, Access access) {
  return {.name = name, .view = view, .access = access, .unit = view.offset % 8 == 0 ? 2U : 1U};
}

/// Rows [rows, n, 2] of a dense view.
View rows_of(const View& view, std::uint64_t first, std::uint64_t count) {
  View out = view;
  out.offset += first * view.shape[1] * 8;
  out.shape[0] = count;
  return out;
}

class Transform {
 public:
  Transform(const Args& args, const Caps& caps, Stages& stages)
      : caps_(caps), stages_(stages), direction_(args.inverse ? 1.0F : -1.0F), scale_(args.scale) {}

  /// All rows of `x`, dense [rows, n, 2], to those of `y`, as many at a time as bindings hold.
  Status run(const View& x, const View& y) {
    const std::uint64_t rows = x.shape[0];
    const std::uint64_t n = x.shape[1];
    const bool smooth = n == 1 || !radices_of(n).empty();
    const std::uint64_t m = smooth ? n : std::bit_ceil(2 * n - 1);
    const std::uint64_t most = std::min<std::uint64_t>(rows, binding_budget(caps_) / (m * 8));
    if (most == 0) {
      return fail(ErrorCode::unsupported,
                  "A transform of {} elements needs {} bytes at a time; bindings of this device "
                  "have {}.",
                  n, m * 8, caps_.max_binding);
    }
    for (View& view : work_) view = stages_.scratch(DType::f32, {most, m, 2});
    View data;
    View kernel;
    if (!smooth) {
      data = stages_.scratch(DType::f32, {most, m, 2});
      kernel = stages_.scratch(DType::f32, {1, m, 2});
      chirp("kernel", {operand("a", kernel, Access::write)}, m, n, m);
      passes(kernel, kernel, -1, 1);
    }
    for (std::uint64_t row = 0; row < rows; row += most) {
      const std::uint64_t count = std::min(most, rows - row);
      const View from = rows_of(x, row, count);
      const View to = rows_of(y, row, count);
      if (smooth) {
        passes(from, to, direction_, scale_);
      } else {
        convolve(from, to, rows_of(data, 0, count), kernel);
      }
    }
    return {};
  }

 private:
  /// The transform of dense rows. With more than one pass `to` may be `from`.
  void passes(const View& from, const View& to, float direction, float scale) {
    const std::vector<std::uint32_t> radices = radices_of(from.shape[1]);
    if (radices.empty()) {  // one element
      stages_.add(
          map::plan({.function = "scale", .inputs = {from}, .y = to, .scalars = {scale}}, caps_));
      return;
    }
    View source = from;
    std::uint64_t done = 1;
    for (std::size_t i = 0; i < radices.size(); ++i) {
      const bool last = i + 1 == radices.size();
      const View target = last ? to : rows_of(work_[i % 2], 0, from.shape[0]);
      pass(source, target, radices[i], done, direction, last ? scale : 1);
      source = target;
      done *= radices[i];
    }
  }

  void pass(const View& from, const View& to, std::uint32_t radix, std::uint64_t done,
            float direction, float scale) {
    const std::uint64_t count = from.shape[1] / radix;
    PassParams params;
    params.total = narrow(from.shape[0] * count);
    params.count = narrow(count);
    params.done = narrow(done);
    params.direction = direction;
    params.scale = scale;
    Launch launch;
    launch.source = "fft/pass.wgsl";
    launch.label = formatted("fft pass of {}", radix);
    launch.operands = {operand("x", from, Access::read), operand("y", to, Access::write)};
    launch.constants = constants_of(PassVariant{radix});
    launch.params = block_of(params);
    launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, 256), caps_);
    stages_.add(make_dispatch(std::move(launch), caps_));
  }

  void chirp(std::string_view mode, std::vector<Operand> operands, std::uint64_t total,
             std::uint64_t n, std::uint64_t m, float scale = 1) {
    ChirpParams params;
    params.total = narrow(total);
    params.n = narrow(n);
    params.m = narrow(m);
    params.direction = direction_;
    params.scale = scale;
    Launch launch;
    launch.source = "fft/chirp.wgsl";
    launch.label = formatted("fft chirp {}", mode);
    launch.operands = std::move(operands);
    launch.constants = constants_of(ChirpVariant{mode});
    launch.params = block_of(params);
    launch.grid = grid_1d(ceil_div<std::uint64_t>(total, 256), caps_);
    stages_.add(make_dispatch(std::move(launch), caps_));
  }

  /// A transform of any length as the product of two of length m, which are transforms of chirps.
  void convolve(const View& from, const View& to, const View& data, const View& kernel) {
    const std::uint64_t rows = from.shape[0];
    const std::uint64_t n = from.shape[1];
    const std::uint64_t m = kernel.shape[1];
    const Operand a = operand("a", data, Access::write);
    chirp("start", {operand("x", from, Access::read), a}, rows * m, n, m);
    passes(data, data, -1, 1);
    chirp("multiply", {a, operand("b", kernel, Access::read)}, rows * m, n, m);
    passes(data, data, 1, 1);
    chirp("finish", {operand("a", data, Access::read), operand("y", to, Access::write)}, rows * n,
          n, m, scale_ / static_cast<float>(m));
  }

  const Caps& caps_;
  Stages& stages_;
  float direction_;
  float scale_;
  std::array<View, 2> work_;
};

Status check(const Args& args) {
  if (const Status ok = validate(args.x, "x"); !ok) return ok;
  if (const Status ok = validate(args.y, "y"); !ok) return ok;
  const View& x = args.x;
  const bool fits = x.dtype == DType::f32 && args.y.dtype == DType::f32 && x.rank >= 2 &&
                    x.shape[x.rank - 1] == 2 && std::ranges::equal(x.extents(), args.y.extents());
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "A transform needs complex numbers [..., n, 2] of f32 and a result of that shape; "
                "it was given {} and {}.",
                describe(x), describe(args.y));
  }
  if (x.shape[x.rank - 2] > longest) {
    return fail(ErrorCode::unsupported, "Transforms have at most {} elements; x is {}.", longest,
                describe(x));
  }
  if (const Status ok = check_distinct(args.y, "y"); !ok) return ok;
  if (overlap(x, args.y)) {
    return fail(ErrorCode::invalid_argument, "The result {} of a transform overlaps its input {}.",
                describe(args.y), describe(x));
  }
  return {};
}

/// A dense view as [rows, n, 2].
View as_rows(const View& view, std::uint64_t n) {
  View out = View::dense(DType::f32, {view.count() / (2 * n), n, 2}, view.slot);
  out.offset = view.offset;
  return out;
}

}  // namespace

Result<Plan> plan(const Args& args, const Caps& caps) {
  if (const Status ok = check(args); !ok) return std::unexpected(ok.error());
  if (args.x.empty()) return Plan{};
  const std::uint64_t n = args.x.shape[args.x.rank - 2];
  Stages stages({args.x, args.y});
  View x = args.x;
  if (!x.is_dense()) {
    x = stages.scratch(DType::f32, args.x.extents());
    stages.add(map::plan({.function = "copy", .inputs = {args.x}, .y = x}, caps));
  }
  const View y = args.y.is_dense() ? args.y : stages.scratch(DType::f32, args.y.extents());
  Transform transform(args, caps, stages);
  if (const Status ok = transform.run(as_rows(x, n), as_rows(y, n)); !ok)
    return std::unexpected(ok.error());
  if (!args.y.is_dense())
    stages.add(map::plan({.function = "copy", .inputs = {y}, .y = args.y}, caps));
  return std::move(stages).finish();
}

}  // namespace weft::ops::fft
