#include "ops/conv/conv.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/unfold/conv_shapes.hpp"

namespace weft::ops::conv {
namespace {

using Shape = std::vector<std::uint64_t>;

/// A convolution by its tensors: x [N, C, …], y [N, OC, …] and weights [OC, C / groups, …].
struct Setup {
  Shape image;
  std::uint64_t channels = 1;  // of y
  Shape kernel;
  std::vector<Axis> axes;
  std::uint64_t groups = 1;
  bool bias = false;
  bool allow_f16 = false;
  std::string_view way = {};
};

std::size_t place(const Shape& shape, const Shape& at) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) n = n * shape[i] + at[i];
  return n;
}

/// Calls visit(in the image, in the windows, in the weights) for every product.
template <class Visit>
void for_each_product(const Setup& setup, const Shape& out, Visit&& visit) {
  const Shape weights = unfold::weights_of(setup);
  const std::uint64_t each = setup.channels / setup.groups;
  std::size_t y = 0;
  for (Index o(out); !o.done(); o.next(), ++y) {
    std::size_t w = o[1];
    for (std::size_t i = 1; i < weights.size(); ++i) w *= weights[i];
    const Shape terms(weights.begin() + 1, weights.end());
    for (Index k(terms); !k.done(); k.next(), ++w) {
      Shape at{o[0], o[1] / each * weights[1] + k[0]};
      bool inside = true;
      for (std::size_t i = 0; i < setup.axes.size(); ++i) {
        const auto where = static_cast<std::int64_t>(o[2 + i] * setup.axes[i].stride +
                                                     k[1 + i] * setup.axes[i].dilation) -
                           setup.axes[i].pad;
        inside = inside && where >= 0 && where < static_cast<std::int64_t>(setup.image[2 + i]);
        at.push_back(static_cast<std::uint64_t>(where));
      }
      if (inside) visit(place(setup.image, at), y, w);
    }
  }
}

/// How the tensors lie in memory, and their types.
struct Layout {
  TensorSpec image{};
  TensorSpec out{};
  TensorSpec weights{};
};

void fill_shapes(const Setup& setup, Layout& layout) {
  layout.image.shape = setup.image;
  layout.out.shape = unfold::windows_of(setup);
  layout.weights.shape = unfold::weights_of(setup);
}

double terms_of(const Shape& shape, std::size_t skip) {
  double terms = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != skip) terms *= static_cast<double>(shape[i]);
  }
  return terms;
}

/// Values that are rounded to f16 on the way need a wider tolerance.
void set_tolerance(Case& test, const Setup& setup, double terms) {
  test.epsilons = setup.allow_f16 ? 8192 : 16;
  test.scale = std::sqrt(terms);
}

/// The plan that a case asks for; where a device has no matrices for it, any other.
template <class Which>
Result<Plan> planned(Which args, const Setup& setup, const Caps& caps) {
  args.kernel = setup.way;
  auto found = plan(args, caps);
  if (found || setup.way != "implicit") return found;
  args.kernel = {};
  return plan(args, caps);
}

/// A convolution (Args) or a transposed one (TransposedArgs), which goes the other way.
template <class Which>
Case product_case(std::string label, const Setup& setup, Layout layout) {
  constexpr bool forward = std::same_as<Which, Args>;
  Case test;
  test.name = std::move(label);
  fill_shapes(setup, layout);
  set_tolerance(test, setup, terms_of(layout.weights.shape, forward ? 0 : 1));
  TensorSpec& from = forward ? layout.image : layout.out;
  TensorSpec& to = forward ? layout.out : layout.image;
  to.output = true;
  test.tensors = {from, layout.weights, to};
  if (setup.bias) test.tensors.push_back({.shape = {to.shape[1]}});
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    Which args{.x = v[0],
               .w = v[1],
               .y = v[2],
               .bias = v.size() > 3 ? v[3] : View{},
               .axes = setup.axes,
               .groups = setup.groups,
               .allow_f16 = setup.allow_f16};
    return planned(std::move(args), setup, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    std::ranges::fill(t[2].values, 0.0);
    const Shape windows = t[forward ? 2 : 0].shape;
    for_each_product(setup, windows, [&](std::size_t image, std::size_t out, std::size_t w) {
      t[2].values[forward ? out : image] += t[0].values[forward ? image : out] * t[1].values[w];
    });
    if (t.size() < 4) return;
    std::size_t n = 0;
    for (Index i(t[2].shape); !i.done(); i.next(), ++n) t[2].values[n] += t[3].values[i[1]];
  };
  return test;
}

Case forward_case(const std::string& label, const Setup& setup, const Layout& layout = {}) {
  return product_case<Args>("conv_" + label, setup, layout);
}

Case transposed_case(const std::string& label, const Setup& setup, const Layout& layout = {}) {
  return product_case<TransposedArgs>("transposed_" + label, setup, layout);
}

Case weight_case(const std::string& label, const Setup& setup, Layout layout = {}) {
  Case test;
  test.name = "weight_" + label;
  fill_shapes(setup, layout);
  set_tolerance(test, setup, terms_of(layout.out.shape, 1));
  test.epsilons *= 4;  // thousands of products in one sum
  layout.weights.output = true;
  test.tensors = {layout.image, layout.out, layout.weights};
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return planned(WeightArgs{.x = v[0],
                              .dy = v[1],
                              .dw = v[2],
                              .axes = setup.axes,
                              .groups = setup.groups,
                              .allow_f16 = setup.allow_f16},
                   setup, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    std::ranges::fill(t[2].values, 0.0);
    for_each_product(setup, t[1].shape, [&](std::size_t x, std::size_t y, std::size_t w) {
      t[2].values[w] += t[0].values[x] * t[1].values[y];
    });
  };
  return test;
}

void add_all(std::vector<Case>& out, const std::string& label, Setup setup,
             const Layout& layout = {}) {
  const bool forced = !setup.way.empty();
  for (const std::string_view way : {"direct", "gemm"}) {
    if (!forced) setup.way = way;
    const std::string of = label + "_" + std::string(setup.way);
    out.push_back(forward_case(of, setup, layout));
    out.push_back(transposed_case(of, setup, layout));
    out.push_back(weight_case(of, setup, layout));
    if (forced) return;
  }
}

/// Windows that matrix units read where they lie, on devices that have some.
void add_implicit(std::vector<Case>& out) {
  const TensorSpec half{.dtype = DType::f16};
  const Layout halves{.image = half, .out = half, .weights = half};
  const Axis same{.pad = 1};
  const auto add = [&](const std::string& label, Setup setup, const Layout& layout) {
    setup.way = "implicit";
    out.push_back(forward_case(label + "_implicit", setup, layout));
    if (setup.axes[0].stride == 1)
      out.push_back(transposed_case(label + "_implicit", setup, layout));
  };
  Setup setup{
      .image = {3, 32, 6, 8}, .channels = 16, .kernel = {3, 3}, .axes = {same, same}, .bias = true};
  add("windows_f16", setup, halves);
  setup.allow_f16 = true;
  add("windows_f32", setup, {});
  setup.bias = false;
  setup.image = {1, 16, 9, 12};
  setup.channels = 48;
  setup.kernel = {2, 5};
  setup.axes = {{.pad = 2, .dilation = 3}, {.pad = 2}};
  out.push_back(forward_case("windows_last_implicit", setup,
                             {.image = {.dtype = DType::f16, .order = {0, 2, 3, 1}, .offset = 3},
                              .out = half,
                              .weights = {.dtype = DType::f16, .order = {2, 3, 1, 0}}}));
  setup.image = {1, 16, 11, 14};
  setup.axes = {{.stride = 2, .pad = 1}, {.stride = 3, .pad = 4}};
  add("windows_stride", setup, halves);
  setup.axes = {{.pad = -1}, {.pad = 0}};
  setup.image = {2, 16, 9, 16};
  add("windows_cut", setup, halves);
  // More tiles than a grid has workgroups side by side, where this would be the first choice.
  setup = {.image = {4, 32, 26, 26}, .channels = 32, .kernel = {3, 3}, .axes = {same, same}};
  out.push_back(forward_case("windows_past_the_grid", setup, halves));
  out.back().plan = [plan = out.back().plan](std::span<const View> views, const Caps& caps) {
    Caps narrow = caps;
    narrow.traits.matrix_units = true;
    narrow.max_workgroups = 100;
    return plan(views, narrow);
  };
}

void add_tests(std::vector<Case>& out) {
  const Axis same{.stride = 1, .pad = 1};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const TensorSpec of{.dtype = type};
    add_all(out, formatted("3x3_{}", name(type)),
            {.image = {2, 4, 9, 10},
             .channels = 6,
             .kernel = {3, 3},
             .axes = {same, same},
             .bias = true},
            {.image = of, .out = of, .weights = of});
  }
  add_all(out, "odd",
          {.image = {3, 5, 11, 7},
           .channels = 3,
           .kernel = {2, 3},
           .axes = {{.stride = 2, .pad = 2, .dilation = 2}, {.stride = 3, .pad = 1}}});
  add_all(out, "groups",
          {.image = {2, 6, 8, 9},
           .channels = 4,
           .kernel = {3, 3},
           .axes = {same, same},
           .groups = 2,
           .bias = true});
  add_all(out, "depthwise",
          {.image = {2, 5, 8, 9},
           .channels = 5,
           .kernel = {3, 3},
           .axes = {same, same},
           .groups = 5,
           .way = "direct"});
  const TensorSpec half{.dtype = DType::f16};
  const TensorSpec half_last{.dtype = DType::f16, .order = {0, 2, 3, 1}};
  add_all(out, "depthwise_f16",
          {.image = {2, 5, 9, 10},
           .channels = 5,
           .kernel = {3, 3},
           .axes = {same, same},
           .groups = 5,
           .bias = true},
          {.image = half, .out = half, .weights = half});
  add_all(out, "depthwise_last_f16",
          {.image = {2, 6, 9, 7},
           .channels = 6,
           .kernel = {5, 3},
           .axes = {{.pad = 2}, same},
           .groups = 6,
           .bias = true},
          {.image = half_last, .out = half_last, .weights = half});
  add_all(out, "depthwise_last_window",
          {.image = {2, 34, 9, 7},
           .channels = 34,
           .kernel = {3, 5},
           .axes = {same, {.pad = 1}},
           .groups = 34,
           .way = "window"},
          {.image = half_last, .out = half_last, .weights = half});
  add_implicit(out);
  const Axis two{.stride = 2, .pad = 3};
  add_all(
      out, "depthwise_7x7_stride_2",
      {.image = {1, 4, 19, 22}, .channels = 8, .kernel = {7, 7}, .axes = {two, two}, .groups = 4});
  add_all(out, "1d",
          {.image = {2, 4, 40},
           .channels = 7,
           .kernel = {5},
           .axes = {{.stride = 2, .pad = 3}},
           .bias = true});
  add_all(out, "3d",
          {.image = {2, 3, 4, 5, 6},
           .channels = 4,
           .kernel = {2, 3, 3},
           .axes = {{.stride = 1, .pad = 1}, same, {.stride = 2, .pad = 1}}});
  add_all(
      out, "pointwise",
      {.image = {2, 12, 5, 7}, .channels = 9, .kernel = {1, 1}, .axes = {{}, {}}, .bias = true});
  add_all(out, "channels_last_f16",
          {.image = {2, 8, 6, 6}, .channels = 8, .kernel = {3, 3}, .axes = {same, same}},
          {.image = {.dtype = DType::f16, .order = {0, 2, 3, 1}},
           .out = {.dtype = DType::f16, .order = {0, 2, 3, 1}},
           .weights = {.dtype = DType::f16, .order = {2, 3, 1, 0}}});
  add_all(
      out, "padded", {.image = {2, 4, 6, 7}, .channels = 5, .kernel = {3, 2}, .axes = {same, same}},
      {.image = {.pad = 2, .offset = 1}, .out = {.pad = 1, .offset = 3}, .weights = {.pad = 1}});
  add_all(out, "f16_weights",
          {.image = {2, 8, 9, 10},
           .channels = 16,
           .kernel = {3, 3},
           .axes = {same, same},
           .allow_f16 = true},
          {.weights = {.dtype = DType::f16}});
  add_all(out, "one", {.image = {1, 1, 1}, .channels = 1, .kernel = {1}, .axes = {{}}});
  add_all(out, "no_images", {.image = {0, 2, 4}, .channels = 3, .kernel = {2}, .axes = {{}}});
  add_all(out, "no_windows",
          {.image = {2, 2, 4}, .channels = 3, .kernel = {5}, .axes = {{}}, .bias = true});
  const Setup large{.image = {2, 8, 60, 50}, .channels = 8, .kernel = {3, 3}, .axes = {same, same}};
  out.push_back(forward_case("large", large));
  out.push_back(transposed_case("large", large));
  out.push_back(weight_case("large", large));
  const Setup wide{.image = {1, 80, 60, 60},
                   .channels = 80,
                   .kernel = {3, 3},
                   .axes = {same, same},
                   .groups = 80};
  out.push_back(forward_case("large_depthwise", wide));
  out.push_back(transposed_case("large_depthwise", wide));
}

void add_benches(std::vector<Case>& out) {
  const Axis same{.stride = 1, .pad = 1};
  const Setup setup{
      .image = {8, 256, 28, 28}, .channels = 256, .kernel = {3, 3}, .axes = {same, same}};
  const TensorSpec f16{.dtype = DType::f16};
  const Layout halves{.image = f16, .out = f16, .weights = f16};
  const auto bench = [&](Case test, double flops) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    test.flops = flops;
    out.push_back(std::move(test));
  };
  const double flops = 2.0 * 8 * 256 * 28 * 28 * 256 * 9;
  bench(forward_case("3x3_8x256x28x28_256_f16", setup, halves), flops);
  bench(transposed_case("3x3_8x256x28x28_256_f16", setup, halves), flops);
  bench(weight_case("3x3_8x256x28x28_256_f16", setup, halves), flops);
  bench(forward_case("3x3_8x256x28x28_256_f32", setup), flops);
  const Setup depthwise{.image = {8, 256, 56, 56},
                        .channels = 256,
                        .kernel = {3, 3},
                        .axes = {same, same},
                        .groups = 256};
  bench(forward_case("depthwise_3x3_8x256x56x56_f32", depthwise), 0);
  bench(forward_case("depthwise_3x3_8x256x56x56_f16", depthwise, halves), 0);
  bench(transposed_case("depthwise_3x3_8x256x56x56_f16", depthwise, halves), 0);
  bench(weight_case("depthwise_3x3_8x256x56x56_f16", depthwise, halves), 0);
  const TensorSpec last{.dtype = DType::f16, .order = {0, 2, 3, 1}};
  bench(forward_case("depthwise_3x3_8x256x56x56_last_f16", depthwise,
                     {.image = last, .out = last, .weights = f16}),
        0);
  Setup wide = depthwise;
  wide.kernel = {7, 7};
  wide.axes = {{.pad = 3}, {.pad = 3}};
  bench(forward_case("depthwise_7x7_8x256x56x56_f16", wide, halves), 0);
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_tests(out);
  for (int i = 0; i < 3; ++i) {
    const auto axis = [&] {
      return Axis{.stride = random.between(1, 3),
                  .pad = static_cast<std::int64_t>(random.between(0, 2)),
                  .dilation = random.between(1, 2)};
    };
    const std::uint64_t groups = random.between(1, 3);
    add_all(out, formatted("random{}", i),
            {.image = {random.between(1, 3), groups * random.between(1, 4), random.between(5, 12),
                       random.between(5, 12)},
             .channels = groups * random.between(1, 4),
             .kernel = {random.between(1, 3), random.between(1, 3)},
             .axes = {axis(), axis()},
             .groups = groups,
             .bias = random.between(0, 1) == 1});
  }
  add_benches(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"conv",
          "Convolutions in 1 to 3 dimensions with groups, their transposes, and the gradients of "
          "their weights",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::conv
