#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/unfold/unfold.hpp"

namespace weft::ops::unfold {
namespace {

using Shape = std::vector<std::uint64_t>;

std::size_t place(const Shape& shape, const Shape& at) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) n = n * shape[i] + at[i];
  return n;
}

/// Calls visit(number in the columns, number in the image) for every place that both have.
template <class Visit>
void for_each_pair(const HostTensor& image, const HostTensor& columns,
                   const std::vector<Axis>& axes, Visit&& visit) {
  const std::size_t spatial = axes.size();
  std::size_t n = 0;
  for (Index i(columns.shape); !i.done(); i.next(), ++n) {
    Shape at{i[0], i[1 + spatial]};
    bool inside = true;
    for (std::size_t k = 0; k < spatial; ++k) {
      const auto where = static_cast<std::int64_t>(i[1 + k] * axes[k].stride +
                                                   i[2 + spatial + k] * axes[k].dilation) -
                         axes[k].pad;
      inside = inside && where >= 0 && where < static_cast<std::int64_t>(image.shape[2 + k]);
      at.push_back(static_cast<std::uint64_t>(where));
    }
    if (inside) visit(n, place(image.shape, at));
  }
}

/// Windows as a convolution has them: `kernel` elements, `behind` padding at the far end.
TensorSpec columns_of(const TensorSpec& image, const Shape& kernel, const std::vector<Axis>& axes,
                      TensorSpec like) {
  like.shape = {image.shape[0]};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t room = static_cast<std::int64_t>(image.shape[2 + i]) + 2 * axes[i].pad -
                              static_cast<std::int64_t>(axes[i].dilation * (kernel[i] - 1)) - 1;
    like.shape.push_back(room < 0 ? 0 : static_cast<std::uint64_t>(room) / axes[i].stride + 1);
  }
  like.shape.push_back(image.shape[1]);
  like.shape.insert(like.shape.end(), kernel.begin(), kernel.end());
  return like;
}

Case unfold_case(const std::string& label, TensorSpec image, const Shape& kernel,
                 const std::vector<Axis>& axes, TensorSpec columns = {}) {
  Case test;
  test.name = "unfold_" + label;
  test.epsilons = 0;
  columns = columns_of(image, kernel, axes, std::move(columns));
  columns.output = true;
  test.tensors = {std::move(image), std::move(columns)};
  test.plan = [axes](std::span<const View> v, const Caps& caps) {
    return plan(UnfoldArgs{.image = v[0], .columns = v[1], .axes = axes}, caps);
  };
  test.reference = [axes](std::span<HostTensor> t) {
    std::ranges::fill(t[1].values, 0.0);
    for_each_pair(t[0], t[1], axes, [&](std::size_t column, std::size_t at) {
      t[1].values[column] = t[0].values[at];
    });
  };
  return test;
}

Case fold_case(const std::string& label, TensorSpec image, const Shape& kernel,
               const std::vector<Axis>& axes, TensorSpec columns = {}) {
  Case test;
  test.name = "fold_" + label;
  columns = columns_of(image, kernel, axes, std::move(columns));
  image.output = true;
  std::uint64_t terms = 1;
  for (const std::uint64_t extent : kernel) terms *= extent;
  test.scale = std::sqrt(static_cast<double>(terms));
  test.tensors = {std::move(columns), std::move(image)};
  test.plan = [axes](std::span<const View> v, const Caps& caps) {
    return plan(FoldArgs{.columns = v[0], .image = v[1], .axes = axes}, caps);
  };
  test.reference = [axes](std::span<HostTensor> t) {
    std::ranges::fill(t[1].values, 0.0);
    for_each_pair(t[1], t[0], axes, [&](std::size_t column, std::size_t at) {
      t[1].values[at] += t[0].values[column];
    });
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto both = [&](const std::string& label, const TensorSpec& image, const Shape& kernel,
                        const std::vector<Axis>& axes, const TensorSpec& columns = {}) {
    out.push_back(unfold_case(label, image, kernel, axes, columns));
    out.push_back(fold_case(label, image, kernel, axes, columns));
  };
  const Axis same{.stride = 1, .pad = 1};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string of(name(type));
    both("3x3_" + of, {.dtype = type, .shape = {2, 4, 9, 10}}, {3, 3}, {same, same},
         {.dtype = type});
    both("odd_" + of, {.dtype = type, .shape = {2, 3, 7, 5}}, {3, 3},
         {{.stride = 2, .pad = 2, .dilation = 2}, {.stride = 1, .pad = 0}}, {.dtype = type});
    both("side_by_side_" + of, {.dtype = type, .shape = {2, 3, 6, 8}}, {3, 3}, {same, same},
         {.dtype = type, .order = {0, 3, 4, 5, 1, 2}});
  }
  both("1d", {.shape = {2, 5, 33}}, {4}, {{.stride = 3, .pad = 2}});
  both("3d", {.shape = {2, 3, 5, 6, 7}}, {2, 3, 3},
       {{.stride = 1, .pad = 1}, {.stride = 2, .pad = 0}, {.stride = 1, .pad = 1, .dilation = 2}});
  both("stride_past_kernel", {.shape = {1, 2, 17, 19}}, {2, 1},
       {{.stride = 3, .pad = 0}, {.stride = 4, .pad = 0}});
  both("crop", {.shape = {1, 2, 17, 19}}, {3, 3}, {{.stride = 1, .pad = -2}, same});
  both("channels_last_f16", {.dtype = DType::f16, .shape = {2, 8, 9, 10}, .order = {0, 2, 3, 1}},
       {3, 3}, {same, same}, {.dtype = DType::f16, .order = {0, 1, 2, 4, 5, 3}});
  both("padded", {.shape = {2, 4, 9, 10}, .pad = 3, .offset = 1}, {3, 3}, {same, same},
       {.pad = 2, .offset = 3});
  both("offset_f16", {.dtype = DType::f16, .shape = {2, 4, 9, 10}, .offset = 1}, {2, 2},
       {same, same}, {.dtype = DType::f16, .offset = 1});
  both("one", {.shape = {1, 1, 1, 1}}, {1, 1}, {{}, {}});
  both("only_padding", {.shape = {1, 1, 2, 2}}, {1, 1}, {{.stride = 8, .pad = 4}, {.pad = 3}});
  both("empty", {.shape = {0, 3, 4, 4}}, {2, 2}, {{}, {}});
  both("no_windows", {.shape = {1, 3, 4, 4}}, {5, 5}, {{}, {}});
  both("large", {.shape = {2, 12, 90, 80}}, {3, 3}, {same, same});
  both("large_image", {.shape = {1, 1, 700, 800}}, {2, 1}, {{.stride = 2}, {.stride = 2}});
  for (int i = 0; i < 5; ++i) {
    const auto axis = [&] {
      return Axis{.stride = random.between(1, 3),
                  .pad = static_cast<std::int64_t>(random.between(0, 2)),
                  .dilation = random.between(1, 2)};
    };
    const DType type = random.pick<DType>({DType::f32, DType::f16, DType::bf16});
    both(formatted("random{}", i),
         {.dtype = type,
          .shape = {random.between(1, 3), random.between(1, 5), random.between(1, 12),
                    random.between(1, 12)},
          .pad = random.between(0, 1),
          .offset = random.between(0, 2)},
         {random.between(1, 3), random.between(1, 3)}, {axis(), axis()},
         {.dtype = type, .pad = random.between(0, 1), .offset = random.between(0, 2)});
  }
  const auto bench = [&](Case test) {
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  const TensorSpec image{.dtype = DType::f16, .shape = {8, 256, 28, 28}};
  bench(unfold_case("3x3_8x256x28x28_f16", image, {3, 3}, {same, same}, {.dtype = DType::f16}));
  bench(unfold_case("3x3_8x256x28x28_f16_side_by_side", image, {3, 3}, {same, same},
                    {.dtype = DType::f16, .order = {0, 3, 4, 5, 1, 2}}));
  bench(fold_case("3x3_8x256x28x28_f16", image, {3, 3}, {same, same}, {.dtype = DType::f16}));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"unfold",
          "Windows of an image written out (im2col), and their sum back (col2im), 1D to 3D",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::unfold
