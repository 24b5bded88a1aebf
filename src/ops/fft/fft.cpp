#include "ops/fft/fft.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <ranges>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/math.hpp"
#include "ops/fft/passes.hpp"
#include "ops/fields.hpp"
#include "ops/iterate.hpp"
#include "ops/map/map.hpp"
#include "ops/overlap.hpp"
#include "ops/stages.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::fft {
namespace {

constexpr std::uint64_t longest = 1ULL << 24;  // positions are exact in f32

/// What a pass over rows of pass.wgsl is.
enum class Mode : std::uint8_t { whole, first, later, convolve };
constexpr std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::whole: return "whole";
    case Mode::first: return "first";
    case Mode::later: return "later";
    case Mode::convolve: return "convolve";
  }
  return "?";
}

struct PassVariant {
  Mode mode = Mode::whole;
  std::uint64_t stages = 0;  // radices as digits of base 32
  std::uint32_t together = 1;
  std::uint32_t size = 256;
};

struct PassParams {
  std::uint32_t total = 0;
  std::uint32_t count = 0;  // elements of a row over those of the pass
  std::uint32_t done = 1;   // the product of the passes before
  std::uint32_t n = 0;      // convolve: elements of a row
  std::uint32_t inverse = 0;
  float scale = 1;
};

struct ChirpVariant {
  std::string_view mode;
};

struct ChirpParams {
  std::uint32_t total = 0;
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  std::uint32_t inverse = 0;
  float scale = 1;
};

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
      : caps_(caps), stages_(stages), inverse_(args.inverse), scale_(args.scale) {}

  /// All rows of `x`, dense [rows, n, 2], to those of `y`, as many at a time as bindings hold.
  Status run(const View& x, const View& y) {
    const std::uint64_t rows = x.shape[0];
    const std::uint64_t n = x.shape[1];
    const bool smooth = n == 1 || !passes_of(n, caps_).empty();
    const std::uint64_t m = smooth ? n : convolution_of(n, caps_);
    const bool at_once = !smooth && passes_of(m, caps_).size() == 1;
    const std::uint64_t most =
        std::min<std::uint64_t>(rows, binding_budget(caps_) / ((at_once ? n : m) * 8));
    if (most == 0 || binding_budget(caps_) < m * 8) {
      return fail(ErrorCode::unsupported,
                  "A transform of {} elements needs {} bytes at a time; bindings of this device "
                  "have {}.",
                  n, m * 8, caps_.max_binding);
    }
    const std::uint64_t work_rows = at_once ? 1 : most;
    for (View& view : work_) view = stages_.scratch(DType::f32, {work_rows, m, 2});
    View data;
    if (!smooth) {
      if (!at_once) data = stages_.scratch(DType::f32, {most, m, 2});
      chirps_ = stages_.scratch(DType::f32, {1, m, 2});
      kernel_ = stages_.scratch(DType::f32, {1, m, 2});
      chirp("kernel", {operand("c", chirps_, Access::write)}, m, n, m);
      passes(chirps_, kernel_, false, 1);
    }
    for (std::uint64_t row = 0; row < rows; row += most) {
      const std::uint64_t count = std::min(most, rows - row);
      const View from = rows_of(x, row, count);
      const View to = rows_of(y, row, count);
      if (smooth) {
        passes(from, to, inverse_, scale_);
      } else if (at_once) {
        pass(from, to, passes_of(m, caps_).front(), Mode::convolve, 1, inverse_,
             scale_ / static_cast<float>(m));
      } else {
        convolve(from, to, rows_of(data, 0, count));
      }
    }
    return {};
  }

 private:
  /// The transform of dense rows. With more than one pass `to` may be `from`.
  void passes(const View& from, const View& to, bool inverse, float scale) {
    const std::vector<Pass> all = passes_of(from.shape[1], caps_);
    if (all.empty()) {  // one element
      stages_.add(
          map::plan({.function = "scale", .inputs = {from}, .y = to, .scalars = {scale}}, caps_));
      return;
    }
    View source = from;
    std::uint64_t done = 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool last = i + 1 == all.size();
      const View target = last ? to : rows_of(work_[i % 2], 0, from.shape[0]);
      pass(source, target, all[i],
           all.size() == 1 ? Mode::whole
           : i == 0        ? Mode::first
                           : Mode::later,
           done, inverse, last ? scale : 1);
      source = target;
      done *= all[i].length;
    }
  }

  void pass(const View& from, const View& to, const Pass& of, Mode mode, std::uint64_t done,
            bool inverse, float scale) {
    const bool convolves = mode == Mode::convolve;
    PassParams params;
    params.count = convolves ? 1 : narrow(from.shape[1] / of.length);
    params.total = narrow(from.shape[0] * params.count);
    params.done = narrow(done);
    params.n = narrow(from.shape[1]);
    params.inverse = inverse ? 1 : 0;
    params.scale = scale;
    PassVariant variant{.mode = mode};
    for (const std::uint32_t radix : of.radices | std::views::reverse)
      variant.stages = variant.stages * 32 + radix;
    variant.together = together(of, params.total, convolves || mode == Mode::whole, caps_);
    variant.size = size_of_group(of, variant.together, caps_);
    Launch launch;
    launch.source = "fft/pass.wgsl";
    launch.label = formatted("fft {} of {}", name(mode), of.length);
    launch.operands = {operand("x", from, Access::read), operand("y", to, Access::write)};
    if (convolves) {
      launch.operands.push_back(operand("b", kernel_, Access::read));
      launch.operands.push_back(operand("c", chirps_, Access::read));
    }
    launch.constants = constants_of(variant);
    launch.params = block_of(params);
    launch.grid = grid_1d(ceil_div<std::uint64_t>(params.total, variant.together), caps_);
    stages_.add(make_dispatch(std::move(launch), caps_));
  }

  void chirp(std::string_view mode, std::vector<Operand> operands, std::uint64_t total,
             std::uint64_t n, std::uint64_t m, float scale = 1) {
    ChirpParams params;
    params.total = narrow(total);
    params.n = narrow(n);
    params.m = narrow(m);
    params.inverse = inverse_ ? 1 : 0;
    params.scale = scale;
    Launch launch;
    launch.source = "fft/chirp.wgsl";
    launch.label = formatted("fft chirp {}", mode);
    launch.operands = std::move(operands);
    launch.constants = constants_of(ChirpVariant{mode});
    launch.params = block_of(params);
    launch.grid = grid_1d(ceil_div<std::uint64_t>(total, workgroup_width(caps_)), caps_);
    stages_.add(make_dispatch(std::move(launch), caps_));
  }

  /// A transform of any length as the product of two of length m, which are transforms of chirps.
  void convolve(const View& from, const View& to, const View& data) {
    const std::uint64_t rows = from.shape[0];
    const std::uint64_t n = from.shape[1];
    const std::uint64_t m = kernel_.shape[1];
    const Operand a = operand("a", data, Access::write);
    const Operand c = operand("c", chirps_, Access::read);
    chirp("start", {operand("x", from, Access::read), a, c}, rows * m, n, m);
    passes(data, data, false, 1);
    chirp("multiply", {a, operand("b", kernel_, Access::read), c}, rows * m, n, m);
    passes(data, data, true, 1);
    chirp("finish", {operand("a", data, Access::read), operand("y", to, Access::write), c},
          rows * n, n, m, scale_ / static_cast<float>(m));
  }

  const Caps& caps_;
  Stages& stages_;
  bool inverse_;
  float scale_;
  std::array<View, 2> work_;
  View chirps_;  // conjugates, as a convolution kernel of m elements, and its transform
  View kernel_;
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
