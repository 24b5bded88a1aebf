#include "ops/pool/pool.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::pool {
namespace {

using Shape = std::vector<std::uint64_t>;

struct Setup {
  Function function = Function::max;
  Shape image;
  Shape kernel;
  std::vector<Axis> axes;
  bool count_outside = false;

  [[nodiscard]] Shape windows() const {
    Shape shape{image[0], image[1]};
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto room = static_cast<std::int64_t>(image[2 + i]) + 2 * axes[i].pad -
                        static_cast<std::int64_t>(axes[i].dilation * (kernel[i] - 1)) - 1;
      shape.push_back(room < 0 ? 0 : static_cast<std::uint64_t>(room) / axes[i].stride + 1);
    }
    return shape;
  }
};

std::size_t place(const Shape& shape, const Shape& at) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) n = n * shape[i] + at[i];
  return n;
}

/// Calls visit(number of the window, numbers of its elements in the image, in order) for each
/// window.
template <class Visit>
void for_each_window(const Setup& setup, Visit&& visit) {
  std::size_t y = 0;
  for (Index o(setup.windows()); !o.done(); o.next(), ++y) {
    std::vector<std::size_t> elements;
    for (Index k(setup.kernel); !k.done(); k.next()) {
      Shape at{o[0], o[1]};
      bool inside = true;
      for (std::size_t i = 0; i < setup.axes.size(); ++i) {
        const auto where = static_cast<std::int64_t>(o[2 + i] * setup.axes[i].stride +
                                                     k[i] * setup.axes[i].dilation) -
                           setup.axes[i].pad;
        inside = inside && where >= 0 && where < static_cast<std::int64_t>(setup.image[2 + i]);
        at.push_back(static_cast<std::uint64_t>(where));
      }
      if (inside) elements.push_back(place(setup.image, at));
    }
    visit(y, elements);
  }
}

double divisor(const Setup& setup, std::size_t inside) {
  if (!setup.count_outside) return inside == 0 ? 1.0 : static_cast<double>(inside);
  double count = 1;
  for (const std::uint64_t extent : setup.kernel) count *= static_cast<double>(extent);
  return count;
}

/// The first largest element; a position past the end where there is none.
std::size_t largest(const std::vector<double>& values, const std::vector<std::size_t>& elements) {
  std::size_t best = values.size();
  for (const std::size_t at : elements) {
    if (best == values.size() || values[at] > values[best]) best = at;
  }
  return best;
}

Case forward_case(const std::string& label, const Setup& setup, TensorSpec x = {},
                  TensorSpec y = {}) {
  Case test;
  test.name = label;
  x.shape = setup.image;
  y.shape = setup.windows();
  y.output = true;
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return plan(Args{.function = setup.function,
                     .x = v[0],
                     .y = v[1],
                     .kernel = setup.kernel,
                     .axes = setup.axes,
                     .count_outside = setup.count_outside},
                caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    for_each_window(setup, [&](std::size_t y_at, const std::vector<std::size_t>& elements) {
      if (setup.function == Function::max) {
        const std::size_t best = largest(t[0].values, elements);
        t[1].values[y_at] = best == t[0].values.size()
                                ? round_to(t[1].dtype, -3.4028234663852886e38)
                                : t[0].values[best];
        return;
      }
      double sum = 0;
      for (const std::size_t at : elements) sum += t[0].values[at];
      t[1].values[y_at] = sum / divisor(setup, elements.size());
    });
  };
  return test;
}

Case backward_case(const std::string& label, const Setup& setup, TensorSpec dx = {},
                   TensorSpec dy = {}) {
  Case test;
  test.name = "backward_" + label;
  dx.shape = setup.image;
  dy.shape = setup.windows();
  TensorSpec x = dx;
  x.fill = Fill::integers;  // with ties, of which the first one counts
  x.low = -4;
  x.high = 4;
  dx.output = true;
  test.tensors = {std::move(dy), std::move(dx)};
  if (setup.function == Function::max) test.tensors.push_back(std::move(x));
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return plan(BackwardArgs{.function = setup.function,
                             .dy = v[0],
                             .x = v.size() > 2 ? v[2] : View{},
                             .dx = v[1],
                             .kernel = setup.kernel,
                             .axes = setup.axes,
                             .count_outside = setup.count_outside},
                caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    std::ranges::fill(t[1].values, 0.0);
    for_each_window(setup, [&](std::size_t y_at, const std::vector<std::size_t>& elements) {
      if (setup.function == Function::max) {
        const std::size_t best = largest(t[2].values, elements);
        if (best < t[2].values.size()) t[1].values[best] += t[0].values[y_at];
        return;
      }
      for (const std::size_t at : elements)
        t[1].values[at] += t[0].values[y_at] / divisor(setup, elements.size());
    });
  };
  return test;
}

void add_both(std::vector<Case>& out, const std::string& label, Setup setup,
              const TensorSpec& image = {}, const TensorSpec& windows = {}) {
  for (const Function function : {Function::max, Function::mean}) {
    setup.function = function;
    const std::string of = (function == Function::max ? "max_" : "mean_") + label;
    out.push_back(forward_case(of, setup, image, windows));
    out.push_back(backward_case(of, setup, image, windows));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const TensorSpec of{.dtype = type};
    add_both(out, formatted("3x3_{}", name(type)),
             {.image = {2, 3, 8, 10},
              .kernel = {3, 3},
              .axes = {{.stride = 1, .pad = 1}, {.stride = 1, .pad = 1}}},
             of, of);
  }
  const Axis half{.stride = 2};
  add_both(out, "outside",
           {.image = {2, 3, 9, 11},
            .kernel = {3, 2},
            .axes = {{.stride = 2, .pad = 1}, {.stride = 3, .pad = 1}},
            .count_outside = true});
  add_both(out, "1d", {.image = {3, 4, 33}, .kernel = {4}, .axes = {half}});
  add_both(out, "3d", {.image = {2, 2, 5, 6, 7}, .kernel = {2, 2, 3}, .axes = {half, half, {}}});
  add_both(
      out, "dilated",
      {.image = {1, 2, 12, 13},
       .kernel = {2, 3},
       .axes = {{.stride = 1, .pad = 1, .dilation = 3}, {.stride = 2, .pad = 0, .dilation = 2}}});
  add_both(out, "only_padding",
           {.image = {1, 1, 3, 3}, .kernel = {1, 1}, .axes = {{.pad = 1}, {.pad = 1}}});
  add_both(out, "cropped",
           {.image = {1, 2, 15, 14},
            .kernel = {3, 2},
            .axes = {{.stride = 2, .pad = -3}, {.stride = 3, .pad = -1}}});
  add_both(out, "one", {.image = {1, 1, 1}, .kernel = {1}, .axes = {{}}});
  add_both(out, "empty", {.image = {0, 2, 4, 4}, .kernel = {2, 2}, .axes = {half, half}});
  add_both(out, "no_windows", {.image = {1, 2, 4, 4}, .kernel = {5, 5}, .axes = {half, half}});
  add_both(out, "channels_last", {.image = {2, 5, 8, 8}, .kernel = {2, 2}, .axes = {half, half}},
           {.order = {0, 2, 3, 1}}, {.order = {0, 2, 3, 1}});
  add_both(out, "padded_f16", {.image = {2, 5, 8, 8}, .kernel = {2, 2}, .axes = {half, half}},
           {.dtype = DType::f16, .pad = 1, .offset = 1},
           {.dtype = DType::f16, .pad = 1, .offset = 1});
  add_both(out, "large", {.image = {2, 3, 250, 200}, .kernel = {2, 2}, .axes = {half, half}});
  out.push_back(forward_case(
      "max_large_plane",
      {.image = {1, 1, 700, 600}, .kernel = {3, 3}, .axes = {{.stride = 2, .pad = 1}, half}}));
  for (int i = 0; i < 3; ++i) {
    const auto axis = [&] {
      return Axis{.stride = random.between(1, 3),
                  .pad = static_cast<std::int64_t>(random.between(0, 2)),
                  .dilation = random.between(1, 2)};
    };
    add_both(out, formatted("random{}", i),
             {.image = {random.between(1, 3), random.between(1, 4), random.between(5, 12),
                        random.between(5, 12)},
              .kernel = {random.between(1, 3), random.between(1, 3)},
              .axes = {axis(), axis()},
              .count_outside = random.between(0, 1) == 1});
  }
  const auto bench = [&](Case test) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  const Setup large{.image = {16, 64, 224, 224}, .kernel = {2, 2}, .axes = {half, half}};
  bench(forward_case("max_2x2_16x64x224x224_f32", large));
  bench(backward_case("max_2x2_16x64x224x224_f32", large));
  const Axis stem{.stride = 2, .pad = 1};
  const Setup shared{.image = {16, 64, 112, 112}, .kernel = {3, 3}, .axes = {stem, stem}};
  const TensorSpec f16{.dtype = DType::f16};
  bench(forward_case("max_3x3_16x64x112x112_f16", shared, f16, f16));
  bench(backward_case("max_3x3_16x64x112x112_f16", shared, f16, f16));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"pool", "The largest or the mean of windows in 1 to 3 dimensions, and their gradients",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::pool
