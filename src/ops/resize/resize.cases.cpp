#include "ops/resize/resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::resize {
namespace {

using Shape = std::vector<std::uint64_t>;

struct Setup {
  Shape from;
  Shape to;
  Mode mode = Mode::nearest;
  bool align_corners = false;
  bool antialias = false;
};

/// What an element of y takes of the elements of x along one dimension.
struct Tap {
  std::uint64_t at = 0;
  double weight = 0;
};

double cubic(double d) {
  const double a = -0.75;
  d = std::abs(d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

std::vector<Tap> taps(const Setup& setup, std::size_t dim, std::uint64_t i) {
  const std::uint64_t from = setup.from[dim];
  const std::uint64_t to = setup.to[dim];
  const bool corners = dim >= 2 && setup.align_corners && from > 1 && to > 1;
  const double scale = corners ? static_cast<double>(from - 1) / static_cast<double>(to - 1)
                               : static_cast<double>(from) / static_cast<double>(to);
  if (setup.mode == Mode::nearest || dim < 2) {
    const std::uint64_t at = corners ? i * (from - 1) / (to - 1) : i * from / to;
    return {{.at = at, .weight = 1}};
  }
  const double offset = setup.align_corners ? 0 : 0.5;
  const double centre = (static_cast<double>(i) + offset) * scale - offset;
  std::vector<Tap> out;
  double total = 0;
  const double reach = setup.antialias ? std::max(1.0, scale) : setup.mode == Mode::linear ? 1 : 2;
  for (auto k = static_cast<std::int64_t>(std::floor(centre - reach));
       k <= static_cast<std::int64_t>(std::ceil(centre + reach)); ++k) {
    const double away = static_cast<double>(k) - centre;
    const double weight = setup.mode == Mode::cubic
                              ? cubic(away)
                              : std::max(0.0, 1 - std::abs(away) / (setup.antialias ? reach : 1));
    const auto last = static_cast<std::int64_t>(from) - 1;
    if (setup.antialias && (k < 0 || k > last)) continue;
    out.push_back(
        {.at = static_cast<std::uint64_t>(std::clamp<std::int64_t>(k, 0, last)), .weight = weight});
    total += weight;
  }
  for (Tap& tap : out) tap.weight /= setup.antialias ? total : 1;
  return out;
}

Case resize_case(const std::string& label, const Setup& setup, TensorSpec x = {},
                 TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = setup.mode == Mode::nearest ? 0 : 4096;  // of coordinates of a few hundred
  x.shape = setup.from;
  y.shape = setup.to;
  y.output = true;
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0],
                 .y = v[1],
                 .mode = setup.mode,
                 .align_corners = setup.align_corners,
                 .antialias = setup.antialias},
                caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    std::size_t n = 0;
    for (Index i(setup.to); !i.done(); i.next(), ++n) {
      double sum = 0;
      const std::uint64_t plane =
          taps(setup, 0, i[0])[0].at * setup.from[1] + taps(setup, 1, i[1])[0].at;
      for (const Tap& row : taps(setup, 2, i[2])) {
        for (const Tap& column : taps(setup, 3, i[3])) {
          const std::uint64_t at = (plane * setup.from[2] + row.at) * setup.from[3] + column.at;
          sum += row.weight * column.weight * t[0].values[at];
        }
      }
      t[1].values[n] = sum;
    }
  };
  return test;
}

void add_modes(std::vector<Case>& out, const std::string& label, Setup setup,
               const TensorSpec& x = {}, const TensorSpec& y = {}) {
  for (const auto& [mode, name] :
       {std::pair{Mode::nearest, "nearest"}, {Mode::linear, "linear"}, {Mode::cubic, "cubic"}}) {
    setup.mode = mode;
    out.push_back(resize_case(formatted("{}_{}", name, label), setup, x, y));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    add_modes(out, formatted("double_{}", name(type)), {.from = {2, 3, 5, 7}, .to = {2, 3, 10, 14}},
              {.dtype = type}, {.dtype = type});
  }
  add_modes(out, "odd", {.from = {1, 2, 9, 11}, .to = {1, 2, 5, 23}});
  add_modes(out, "corners", {.from = {1, 2, 6, 7}, .to = {1, 2, 11, 4}, .align_corners = true});
  add_modes(out, "corners_of_one",
            {.from = {1, 2, 4, 1}, .to = {1, 2, 1, 5}, .align_corners = true});
  add_modes(out, "planes", {.from = {4, 3, 5, 5}, .to = {6, 2, 7, 3}});
  add_modes(out, "channels_last_f16", {.from = {2, 4, 6, 6}, .to = {2, 4, 9, 8}},
            {.dtype = DType::f16, .order = {0, 2, 3, 1}},
            {.dtype = DType::f16, .order = {0, 2, 3, 1}});
  add_modes(out, "padded", {.from = {2, 2, 6, 5}, .to = {2, 2, 3, 10}}, {.pad = 2, .offset = 1},
            {.pad = 1, .offset = 3});
  out.push_back(resize_case("empty", {.from = {2, 2, 6, 5}, .to = {2, 2, 0, 10}}));
  const Setup area{
      .from = {2, 2, 17, 13}, .to = {2, 2, 5, 29}, .mode = Mode::linear, .antialias = true};
  out.push_back(resize_case("area", area));
  add_modes(out, "large", {.from = {2, 3, 160, 150}, .to = {2, 3, 320, 300}});
  out.push_back(
      resize_case("nearest_large_plane", {.from = {1, 1, 300, 300}, .to = {1, 1, 900, 450}}));
  for (int i = 0; i < 3; ++i) {
    const auto extent = [&] { return random.between(1, 20); };
    const std::uint64_t n = random.between(1, 3);
    add_modes(out, formatted("random{}", i),
              {.from = {n, 2, extent(), extent()}, .to = {n, 2, extent(), extent()}});
  }
  const auto bench = [&](Case test) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  Setup large{.from = {8, 64, 256, 256}, .to = {8, 64, 512, 512}};
  bench(resize_case("nearest_8x64x256x256_to_512_f32", large));
  large.mode = Mode::linear;
  bench(resize_case("linear_8x64x256x256_to_512_f32", large));
  const TensorSpec half{.dtype = DType::f16};
  bench(resize_case("linear_8x64x256x256_to_512_f16", large, half, half));
  large.mode = Mode::cubic;
  bench(resize_case("cubic_8x64x256x256_to_512_f32", large));
  bench(resize_case("linear_8x64x512x512_to_224_f32",
                    {.from = {8, 64, 512, 512}, .to = {8, 64, 224, 224}, .mode = Mode::linear}));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"resize",
          "Images stretched or shrunk: nearest, linear, cubic, and linear with antialiasing",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::resize
