// New tensors, other shapes and other orders of elements.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// 0, 1, 2, … in a shape.
Tensor counted(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return api_device().arange(count).reshape(shape);
}

Tensor indices(const Shape& shape, const std::vector<std::int32_t>& values) {
  return api_device().tensor(shape, values);
}

TEST(DeviceCreate, FilledTensors) {
  const Device& device = api_device();
  EXPECT_EQ(zeros(device, {2, 2}).to_vector(), Floats(4, 0));
  EXPECT_EQ(ones(device, {3}, DType::i32).to_vector<std::int32_t>(), (std::vector{1, 1, 1}));
  EXPECT_EQ(full(device, {2}, 7.5, DType::f16).to_vector(), Floats(2, 7.5));
  const Tensor x = full(device, {2, 3}, 4, DType::bf16);
  EXPECT_EQ(zeros_like(x).dtype(), DType::bf16);
  EXPECT_EQ(ones_like(x, DType::f32).to_vector(), Floats(6, 1));
  EXPECT_EQ(full_like(x, -2).to_vector(), Floats(6, -2));
  EXPECT_EQ(empty_like(x).shape(), x.shape());
  EXPECT_EQ(zeros(device, {0, 3}).to_vector(), Floats());
  EXPECT_EQ(ones(device, {}).item(), 1.0F);
}

TEST(DeviceShape, IndicesAreOfAnyTypeOfWholeNumbers) {
  const Tensor x = counted({4, 2});
  for (const DType type : {DType::u8, DType::i8, DType::i16, DType::u32, DType::i64}) {
    const Tensor at = indices({2}, {3, 1}).to(type);
    EXPECT_EQ(take(x, at, 0).to_vector(), (Floats{6, 7, 2, 3}));
    EXPECT_EQ(embedding(x, at).to_vector(), (Floats{6, 7, 2, 3}));
    EXPECT_EQ(gather(x, at.reshape({2, 1}), 0).to_vector(), (Floats{6, 2}));
    EXPECT_EQ(index_copy(x, at, -x.slice(0, 0, 2)).to_vector(),
              (Floats{0, 1, -2, -3, 4, 5, -0.0F, -1}));
    EXPECT_EQ(scatter_add(x, at.reshape({2, 1}), ones(api_device(), {2, 1}), 0).to_vector(),
              (Floats{0, 1, 3, 3, 4, 5, 7, 7}));
  }
}

TEST(DeviceCreate, RangesEndBeforeTheirStop) {
  const Device& device = api_device();
  EXPECT_EQ(arange(device, 4).to_vector(), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(arange(device, 1, 2, 0.25).to_vector(), (Floats{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(device, 5, 0, -2, DType::i32).to_vector<std::int32_t>(), (std::vector{5, 3, 1}));
  EXPECT_EQ(arange(device, 3, 1).size(), 0);
  EXPECT_TRUE(message_of([&] { (void)arange(device, 0, 5, 0); })
                  .starts_with("arange of f32 needs finite numbers, a step other than 0; it was "
                               "given start 0, stop 5 and step 0. (arange at "));
  EXPECT_TRUE(message_of([&] {
                (void)arange(device, 0, 5, 0.5, DType::i32);
              }).contains("and whole numbers"));
}

TEST(DeviceCreate, LinspaceHasBothEnds) {
  const Device& device = api_device();
  const Floats values = linspace(device, -1, 0.3, 1001).to_vector();
  ASSERT_EQ(values.size(), 1001);
  EXPECT_EQ(values.front(), -1.0F);
  EXPECT_EQ(values.back(), 0.3F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], -1 + 1.3 * static_cast<double>(i) / 1000, 2e-7);
  }
  EXPECT_EQ(linspace(device, 0, 1, 4, false).to_vector(), (Floats{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(linspace(device, 3, 9, 1).to_vector(), Floats{3});
  EXPECT_EQ(linspace(device, 3, 9, 0).size(), 0);
  EXPECT_EQ(linspace(device, 2, -2, 3, true, DType::f16).to_vector(), (Floats{2, 0, -2}));
}

TEST(DeviceCreate, Matrices) {
  const Device& device = api_device();
  EXPECT_EQ(eye(device, 2).to_vector(), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(eye(device, 2, 3, 1).to_vector(), (Floats{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye(device, 2, 2, -1, DType::i32).to_vector<std::int32_t>(), (std::vector{0, 0, 1, 0}));
  EXPECT_EQ(tri(device, 2, 3).to_vector(), (Floats{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(tri(device, 3, 2, -1).to_vector(), (Floats{0, 0, 1, 0, 1, 1}));
  const auto grid = meshgrid({counted({2}), counted({3})});
  EXPECT_EQ(grid[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(grid[0].to_vector(), (Floats{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(grid[1].to_vector(), (Floats{0, 0, 1, 1, 2, 2}));
  const auto rows = meshgrid({counted({2}), counted({3})}, "ij");
  EXPECT_EQ(rows[0].to_vector(), (Floats{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(rows[1].to_vector(), (Floats{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(message_of([&] {
                (void)meshgrid({grid[0]});
              }).starts_with("meshgrid takes vectors; f32[3,2] was given. (meshgrid at "));
}

TEST(DeviceShapes, DimensionsOfOne) {
  const Tensor x = counted({2, 1, 3, 1});
  EXPECT_EQ(squeeze(x).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(x, {-1}).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(unsqueeze(squeeze(x), -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(squeeze(x), 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(unsqueeze(ones(api_device(), {}), 0).shape(), Shape{1});
  EXPECT_TRUE(message_of([&] { (void)squeeze(x, {0}); })
                  .starts_with("squeeze takes out dimensions of extent 1; dimension 0 of the shape "
                               "[2,1,3,1] has 2. (squeeze at "));
  EXPECT_TRUE(message_of([&] { (void)unsqueeze(x, 5); })
                  .starts_with("unsqueeze with the shape [2,1,3,1,1] takes an axis from -5 to 4; 5 "
                               "was given."));
  EXPECT_TRUE(message_of([&] { (void)squeeze(x, {1, -3}); }).contains("twice"));
}

TEST(DeviceShapes, FlattenAndBack) {
  const Tensor x = counted({2, 3, 4});
  EXPECT_EQ(flatten(x).shape(), Shape{24});
  EXPECT_EQ(flatten(x, 1).shape(), (Shape{2, 12}));
  EXPECT_EQ(flatten(x, -3, 1).shape(), (Shape{6, 4}));
  EXPECT_EQ(flatten(ones(api_device(), {})).shape(), Shape{1});
  EXPECT_EQ(flatten(zeros(api_device(), {2, 0, 3}), 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(unflatten(x, -1, {2, -1}).shape(), (Shape{2, 3, 2, 2}));
  EXPECT_TRUE(
      message_of([&] { (void)flatten(x, 2, 1); }).contains("which is before it. (flatten at"));
  EXPECT_TRUE(
      message_of([&] {
        (void)unflatten(x, 1, {2, -1});
      }).starts_with("unflatten cannot divide dimension 1 of the shape [2,3,4] into [2,-1]."));
}

TEST(DeviceShapes, OrdersOfDimensions) {
  const Tensor x = counted({2, 3, 4});
  EXPECT_EQ(movedim(x, 0, -1).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(movedim(x, {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(swapaxes(x, 0, 2).to_vector(), x.permute({2, 1, 0}).to_vector());
  EXPECT_EQ(expand(counted({3, 1}), {2, -1, 2}).to_vector(),
            (Floats{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_TRUE(message_of([&] { (void)expand(x, {2, 3, 5}); })
                  .starts_with("expand repeats extents of 1; the shape [2,3,4] cannot become "
                               "[2,3,5]. (expand at "));
  EXPECT_TRUE(message_of([&] { (void)swapaxes(x, 0, -4); })
                  .starts_with("swapaxes with the shape [2,3,4] takes an axis from -3 to 2; -4 was "
                               "given. (swapaxes at "));
}

TEST(DeviceShapes, StackAndSplit) {
  const Tensor a = counted({2, 2});
  const Tensor b = a + 10;
  EXPECT_EQ(stack({a, b}).to_vector(), (Floats{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(stack({a, b}, -1).to_vector(), (Floats{0, 10, 1, 11, 2, 12, 3, 13}));
  EXPECT_TRUE(
      message_of([&] { (void)stack({a, counted({3})}); })
          .starts_with("stack needs tensors of one shape; f32[2,2] and f32[3] were given. (stack "
                       "at "));
  // Parts are brought to the type that holds the values of all.
  const Tensor mixed = stack({indices({2}, {1, 2}), counted({2})});
  EXPECT_EQ(mixed.dtype(), DType::f32);
  EXPECT_EQ(mixed.to_vector(), (Floats{1, 2, 0, 1}));
  const Tensor joined = concat({counted({2}) > 0, indices({1}, {-7})}, 0);
  EXPECT_EQ(joined.to_vector<std::int32_t>(), (std::vector{0, 1, -7}));
  const Tensor x = counted({7});
  const auto thirds = chunk(x, 3);
  ASSERT_EQ(thirds.size(), 3);
  EXPECT_EQ(thirds[2].to_vector(), Floats{6});
  EXPECT_EQ(chunk(x, 4).size(), 4);
  EXPECT_EQ(chunk(counted({5}), 4).size(), 3);  // 2, 2 and 1
  EXPECT_EQ(chunk(x, std::numeric_limits<std::uint64_t>::max()).size(), 7);
  EXPECT_TRUE(message_of([&] {
                const std::uint64_t half = std::uint64_t{1} << 63U;
                (void)repeat_interleave(counted({2}), {half, half}, 0);
              })
                  .starts_with("repeat_interleave of dimension 0 of the shape [2] by "
                               "[9223372036854775808,9223372036854775808] would give more than "
                               "2147483647 elements. (repeat_interleave at "));
  EXPECT_EQ(split(counted({4, 2}), 2)[1].to_vector(), (Floats{4, 5, 6, 7}));
  const auto parts = split(x, std::vector<std::uint64_t>{2, 2, 5});
  ASSERT_EQ(parts.size(), 4);
  EXPECT_EQ(parts[1].size(), 0);
  EXPECT_EQ(parts[2].to_vector(), (Floats{2, 3, 4}));
  EXPECT_TRUE(
      message_of([&] {
        (void)split(x, 2);
      }).starts_with("split cannot divide dimension 0 of the shape [7] into 2 equal parts."));
  EXPECT_TRUE(message_of([&] {
                (void)split(x, std::vector<std::uint64_t>{9});
              }).contains("they are [9]. (split at "));
}

TEST(DeviceShapes, RepeatAndFlip) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(repeat_interleave(x, 2, 0).to_vector(), (Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(repeat_interleave(x, 2, -1).to_vector(), (Floats{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(repeat_interleave(x, std::vector<std::uint64_t>{1, 0, 2}, 1).to_vector(),
            (Floats{0, 2, 2, 3, 5, 5}));
  EXPECT_EQ(repeat_interleave(x, 0, 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(flip(x).to_vector(), (Floats{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(flip(x, {0}).to_vector(), (Floats{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(flip(x.transpose(), {-1}).to_vector(), (Floats{3, 0, 4, 1, 5, 2}));
  EXPECT_EQ(flip(indices({3}, {7, 8, 9})).to_vector<std::int32_t>(), (std::vector{9, 8, 7}));
  EXPECT_EQ(flip(zeros(api_device(), {0, 2})).shape(), (Shape{0, 2}));
}

TEST(DeviceShapes, TakeElements) {
  const Tensor x = counted({2, 3, 2});
  const Tensor at = indices({2, 2}, {2, 0, -1, 1});
  const Tensor y = take(x, at, 1);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2, 2}));
  EXPECT_EQ(y.to_vector(), (Floats{4, 5, 0, 1, 4, 5, 2, 3, 10, 11, 6, 7, 10, 11, 8, 9}));
  EXPECT_EQ(take(x, indices({}, {1}), 0).shape(), (Shape{3, 2}));
  EXPECT_EQ(take(x, indices({2}, {-1, 3})).to_vector(), (Floats{11, 3}));
  EXPECT_EQ(take(indices({3}, {4, 5, 6}), indices({2}, {2, 0}), 0).to_vector<std::int32_t>(),
            (std::vector{6, 4}));
  EXPECT_EQ(take_along(counted({2, 3}), indices({2, 1}, {2, -3}), 1).to_vector(), (Floats{2, 3}));
  EXPECT_EQ(take_along(counted({2, 3}), indices({1, 2}, {1, 1}), -1).to_vector(),
            (Floats{1, 1, 4, 4}));
  EXPECT_TRUE(message_of([&] {
                (void)take(x, counted({2}), 0);
              }).starts_with("take needs whole numbers as indices; they are f32[2]. (take at "));
  EXPECT_TRUE(message_of([&] { (void)take_along(x, at, 0); }).contains("(take_along at"));
}

TEST(DeviceShapes, MasksAndDiagonals) {
  const Tensor x = counted({2, 3});
  const Tensor mask = less(x, full(api_device(), {}, 2.5));
  EXPECT_EQ(masked_fill(x, mask, -1).to_vector(), (Floats{-1, -1, -1, 3, 4, 5}));
  EXPECT_EQ(masked_fill(x, indices({3}, {0, 1, 0}), 9).to_vector(), (Floats{0, 9, 2, 3, 9, 5}));
  EXPECT_TRUE(message_of([&] {
                (void)masked_fill(x, indices({2}, {0, 1}), 9);
              }).starts_with("masked_fill of f32[2,3] needs a mask that broadcasts to its shape"));
  // What is masked is out of reach of gradients, also where the rest of the expression is not
  // defined.
  const Tensor v = variable(api_device().tensor({2}, Floats{-1, 4}));
  const Tensor bad = indices({2}, {1, 0});
  EXPECT_EQ(grad(sum(masked_fill(v, bad, 1) * 3), {v})[0].to_vector(), (Floats{0, 3}));
  EXPECT_EQ(diagonal(x).to_vector(), (Floats{0, 4}));
  EXPECT_EQ(diagonal(x, 1).to_vector(), (Floats{1, 5}));
  EXPECT_EQ(diagonal(x, -1).to_vector(), Floats{3});
  EXPECT_EQ(diagonal(x, 3).size(), 0);
  EXPECT_EQ(diagonal(x, -7).size(), 0);
  const Tensor cube = counted({2, 3, 2});
  EXPECT_EQ(diagonal(cube, 0, -1, 0).to_vector(), (Floats{0, 7, 2, 9, 4, 11}));
  EXPECT_EQ(trace(counted({3, 3})).item(), 12.0F);
  EXPECT_TRUE(message_of([&] { (void)diagonal(cube, 0, 1, -2); }).contains("twice. (diagonal at"));
}

}  // namespace
}  // namespace weft::test
