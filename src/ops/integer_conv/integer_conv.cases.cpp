#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/integer_conv/integer_conv.hpp"
#include "ops/matrices.hpp"
#include "ops/unfold/conv_shapes.hpp"

namespace weft::ops::integer_conv {
namespace {

using Shape = std::vector<std::uint64_t>;

struct Options {
  Shape image;                 // N, C, spatial…
  std::uint64_t channels = 1;  // of y
  Shape kernel;
  std::vector<Axis> axes;
  std::uint64_t groups = 1;
  DType x = DType::i8;
  DType w = DType::i8;
  bool zeros = false;
  DType result = DType::i32;  // others have factors
  bool matrix = false;        // on matrix units, where there are any
};

/// The sum for one place of the result.
double sum_at(const Options& o, const Index& at, std::span<const HostTensor> t) {
  const Shape weights = unfold::weights_of(o);
  const Shape terms(weights.begin() + 1, weights.end());
  const std::uint64_t part = at[1] / (o.channels / o.groups);
  std::size_t w = at[1];
  for (std::size_t i = 1; i < weights.size(); ++i) w *= weights[i];
  double sum = 0;
  for (Index k(terms); !k.done(); k.next(), ++w) {
    std::size_t place = at[0] * o.image[1] + part * weights[1] + k[0];
    bool inside = true;
    for (std::size_t i = 0; i < o.axes.size(); ++i) {
      const auto where =
          static_cast<std::int64_t>(at[2 + i] * o.axes[i].stride + k[1 + i] * o.axes[i].dilation) -
          o.axes[i].pad;
      inside = inside && where >= 0 && where < static_cast<std::int64_t>(o.image[2 + i]);
      place = place * o.image[2 + i] + static_cast<std::size_t>(where);
    }
    if (!inside) continue;
    sum += (t[0].values[place] - (o.zeros ? t[2].values[0] : 0)) *
           (t[1].values[w] - (o.zeros ? t[3].values[at[1]] : 0));
  }
  return sum;
}

TensorSpec bytes_of(TensorSpec spec, DType dtype, const Shape& shape, bool few) {
  spec.dtype = dtype;
  spec.shape = shape;
  spec.low = dtype == DType::i8 ? (few ? -3 : -128) : 0;
  spec.high = few ? 3 : (dtype == DType::i8 ? 127 : 255);
  return spec;
}

Case convolution(const std::string& label, const Options& o, TensorSpec x = {}, TensorSpec w = {},
                 TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 0;
  const bool finished = o.result != DType::i32;
  const bool few = finished && o.result != DType::f32;
  x = bytes_of(std::move(x), o.x, o.image, few);
  w = bytes_of(std::move(w), o.w, unfold::weights_of(o), few);
  y.dtype = o.result;
  y.shape = unfold::windows_of(o);
  y.output = true;
  const bool sign = o.x == DType::i8;
  const TensorSpec x_zero{
      .dtype = DType::i32, .shape = {1}, .low = sign ? -100.0 : 0.0, .high = few ? 3.0 : 100.0};
  const TensorSpec w_zero{
      .dtype = DType::i32, .shape = {o.channels}, .low = -5, .high = 5, .step = 2};
  // Whole factors, so that sums times factors are exact.
  const TensorSpec factors{
      .shape = {3, o.channels}, .fill = Fill::integers, .low = -2, .high = 2, .pad = 1};
  test.tensors = {x, w, x_zero, w_zero, factors, y};
  std::uint64_t products = y.shape[0] * y.shape[1] * o.image[1] / o.groups;
  for (const std::uint64_t extent : o.kernel) products *= extent;
  for (std::size_t i = 2; i < y.shape.size(); ++i) products *= y.shape[i];
  test.flops = 2.0 * static_cast<double>(products);
  test.plan = [o, finished](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0],
                 .w = v[1],
                 .x_zero = o.zeros ? v[2] : View{},
                 .w_zero = o.zeros ? v[3] : View{},
                 .y = v[5],
                 .factors = finished ? v[4] : View{},
                 .axes = o.axes,
                 .groups = o.groups,
                 .kernel = o.matrix && byte_matrices(caps) ? "matrix" : ""},
                caps);
  };
  test.reference = [o](std::span<HostTensor> t) {
    std::size_t to = 0;
    for (Index at(t[5].shape); !at.done(); at.next(), ++to) {
      double sum = sum_at(o, at, t);
      if (o.result != DType::i32) {
        sum = sum * t[4].values[at[1]] + t[4].values[o.channels + at[1]];
      }
      if (o.result == DType::i8 || o.result == DType::u8) {
        const bool with_sign = o.result == DType::i8;
        sum = std::clamp(std::nearbyint(sum) + t[4].values[2 * o.channels + at[1]],
                         with_sign ? -128.0 : 0.0, with_sign ? 127.0 : 255.0);
      }
      t[5].values[to] = round_to(o.result, sum);
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  std::vector<Case> out;
  Random random(seed);
  const Axis same{.stride = 1, .pad = 1, .dilation = 1};
  const Axis steps{.stride = 2, .pad = 2, .dilation = 3};
  const auto add = [&](const std::string& label, const Options& o, TensorSpec x = {},
                       TensorSpec w = {}, TensorSpec y = {}) {
    out.push_back(convolution(label, o, std::move(x), std::move(w), std::move(y)));
  };
  add("image", {.image = {2, 5, 9, 10}, .channels = 7, .kernel = {3, 3}, .axes = {same, same}});
  add("unsigned", {.image = {2, 4, 9, 8},
                   .channels = 70,
                   .kernel = {3, 2},
                   .axes = {same, steps},
                   .x = DType::u8,
                   .w = DType::u8,
                   .zeros = true});
  add("zeros", {.image = {1, 6, 11, 13},
                .channels = 6,
                .kernel = {3, 3},
                .axes = {steps, same},
                .zeros = true});
  add("mixed",
      {.image = {1, 3, 8, 8}, .channels = 4, .kernel = {1, 1}, .axes = {{}, {}}, .x = DType::u8});
  add("signal",
      {.image = {3, 8, 40}, .channels = 5, .kernel = {5}, .axes = {steps}, .zeros = true});
  add("volume",
      {.image = {1, 3, 5, 6, 7}, .channels = 4, .kernel = {2, 3, 2}, .axes = {same, {}, steps}});
  // Channels last: four of them are a word.
  const TensorSpec last{.order = {0, 2, 3, 1}};
  add("channels_last",
      {.image = {2, 8, 7, 9},
       .channels = 12,
       .kernel = {3, 3},
       .axes = {same, same},
       .zeros = true},
      last, last, last);
  add("channels_last_odd",
      {.image = {2, 6, 7, 9}, .channels = 9, .kernel = {3, 3}, .axes = {same, same}}, last, last,
      last);
  add("groups", {.image = {2, 12, 6, 6},
                 .channels = 9,
                 .kernel = {3, 3},
                 .axes = {same, same},
                 .groups = 3,
                 .zeros = true});
  add("groups_last",
      {.image = {2, 8, 6, 6}, .channels = 4, .kernel = {3, 3}, .axes = {same, same}, .groups = 2},
      last, last);
  add("depthwise", {.image = {1, 10, 8, 8},
                    .channels = 10,
                    .kernel = {3, 3},
                    .axes = {same, same},
                    .groups = 10,
                    .x = DType::u8,
                    .zeros = true});
  add("strided", {.image = {2, 4, 6, 7}, .channels = 4, .kernel = {2, 2}, .axes = {{}, {}}},
      {.pad = 3, .offset = 1}, {.pad = 2, .offset = 2}, {.pad = 1, .offset = 3});
  add("one", {.image = {1, 1, 1}, .channels = 1, .kernel = {1}, .axes = {{}}, .zeros = true});
  add("no_images", {.image = {0, 3, 4, 4}, .channels = 2, .kernel = {3, 3}, .axes = {same, same}});
  add("no_channels",
      {.image = {1, 0, 4, 4}, .channels = 2, .kernel = {3, 3}, .axes = {same, same}});
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8}) {
    const std::string suffix(name(type));
    add("finished_" + suffix, {.image = {1, 3, 8, 9},
                               .channels = 66,
                               .kernel = {2, 2},
                               .axes = {{}, {}},
                               .result = type});
    add("finished_odd_" + suffix, {.image = {2, 4, 7, 5},
                                   .channels = 3,
                                   .kernel = {2, 2},
                                   .axes = {{}, {}},
                                   .x = DType::u8,
                                   .zeros = true,
                                   .result = type});
  }
  add("finished_last",
      {.image = {1, 3, 6, 6},
       .channels = 8,
       .kernel = {1, 1},
       .axes = {{}, {}},
       .result = DType::i8},
      last, last, last);
  // Past a binding of 1 MiB: images, channels, and windows of one image.
  add("many_images",
      {.image = {40, 4, 128, 96}, .channels = 2, .kernel = {1, 1}, .axes = {{}, {}}});
  add("large_image", {.image = {1, 2, 900, 700},
                      .channels = 1,
                      .kernel = {3, 1},
                      .axes = {{.stride = 2, .pad = 3, .dilation = 2}, {.stride = 3}},
                      .zeros = true});
  add("large_groups", {.image = {1, 4, 600, 500},
                       .channels = 4,
                       .kernel = {1, 1},
                       .axes = {{}, {}},
                       .groups = 2,
                       .zeros = true});
  add("large_weights",
      {.image = {1, 300, 1, 1}, .channels = 4000, .kernel = {1, 1}, .axes = {{}, {}}});
  for (int i = 0; i < 3; ++i) {
    const auto axis = [&] {
      return Axis{.stride = random.between(1, 3),
                  .pad = static_cast<std::int64_t>(random.between(0, 2)),
                  .dilation = random.between(1, 2)};
    };
    const std::uint64_t groups = random.between(1, 3);
    add(formatted("random{}", i), {.image = {random.between(1, 2), groups * random.between(1, 9),
                                             random.between(5, 20), random.between(5, 20)},
                                   .channels = groups * random.between(1, 40),
                                   .kernel = {random.between(1, 3), random.between(1, 3)},
                                   .axes = {axis(), axis()},
                                   .groups = groups,
                                   .x = random.between(0, 1) == 0 ? DType::i8 : DType::u8,
                                   .zeros = true});
  }
  for (const DType type : {DType::i32, DType::f16, DType::i8, DType::u8}) {
    add(formatted("matrix_{}", name(type)), {.image = {2, 14, 9, 8},
                                             .channels = 38,
                                             .kernel = {3, 2},
                                             .axes = {same, steps},
                                             .groups = type == DType::f16 ? 2U : 1U,
                                             .x = type == DType::i32 ? DType::u8 : DType::i8,
                                             .w = type == DType::i8 ? DType::u8 : DType::i8,
                                             .zeros = type != DType::f16,
                                             .result = type,
                                             .matrix = true});
  }
  add("matrix_aligned", {.image = {1, 8, 12, 12},
                         .channels = 24,
                         .kernel = {3, 3},
                         .axes = {same, same},
                         .matrix = true});
  for (const bool is_last : {false, true}) {
    Case bench = convolution(
        is_last ? "bench_last" : "bench",
        {.image = {8, 128, 56, 56}, .channels = 128, .kernel = {3, 3}, .axes = {same, same}},
        is_last ? last : TensorSpec{}, is_last ? last : TensorSpec{},
        is_last ? last : TensorSpec{});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {
      "integer_conv",
      "Exact convolutions of 8-bit whole numbers with zero points; sums as they are, scaled, or "
      "made 8-bit whole numbers again",
      "i8 u8 (results i32, floats, i8, u8)", cases};
}

}  // namespace weft::ops::integer_conv
