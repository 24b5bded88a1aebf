// What C++ takes where numpy takes numbers, single axes, -1 in shapes and steps that go backwards.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;
using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;

Tensor floats(const Floats& values) { return api_device().tensor({values.size()}, values); }
Tensor ints(const Ints& values) { return api_device().tensor({values.size()}, values); }
Bytes truths(const Tensor& x) {
  EXPECT_EQ(x.dtype(), DType::boolean);
  return x.to_vector<std::uint8_t>();
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceOperands, ComparisonsAreOperators) {
  const Tensor x = floats({-1, 0, 2});
  const Tensor y = floats({-1, 1, 1});
  EXPECT_EQ(truths(x == y), (Bytes{1, 0, 0}));
  EXPECT_EQ(truths(x != y), (Bytes{0, 1, 1}));
  EXPECT_EQ(truths(x < y), (Bytes{0, 1, 0}));
  EXPECT_EQ(truths(x <= y), (Bytes{1, 1, 0}));
  EXPECT_EQ(truths(x > 0), (Bytes{0, 0, 1}));
  EXPECT_EQ(truths(x >= 0.0F), (Bytes{0, 1, 1}));
  EXPECT_EQ(truths(0 < x), (Bytes{0, 0, 1}));
  EXPECT_EQ(truths(2 == x), (Bytes{0, 0, 1}));
  EXPECT_EQ(truths(0.5 >= x), (Bytes{1, 1, 0}));
  EXPECT_EQ(truths((x > -1) & (y > 0)), (Bytes{0, 1, 1}));
  EXPECT_EQ(truths((x > 0) | (x == -1)), (Bytes{1, 0, 1}));
  EXPECT_EQ(truths((x > 0) ^ (y > 0)), (Bytes{0, 1, 0}));
  EXPECT_EQ(truths(~(x > 0)), (Bytes{1, 1, 0}));
  EXPECT_EQ(where(x > 0, x, 0.0).to_vector(), (Floats{0, 0, 2}));
  // Which element should decide? An `if` of a comparison does not compile.
  static_assert(!std::is_constructible_v<bool, Comparison>);
  static_assert(std::is_constructible_v<bool, Tensor>);
}

TEST(DeviceOperands, NumbersTakeTheTypeOfTheTensor) {
  const Tensor half = floats({-2, 3}).to(DType::f16);
  EXPECT_EQ(maximum(half, 0.5).dtype(), DType::f16);
  EXPECT_EQ(maximum(half, 0.5).to_vector(), (Floats{0.5F, 3}));
  EXPECT_EQ(minimum(1, half).to_vector(), (Floats{-2, 1}));
  const Tensor whole = ints({-7, 7});
  EXPECT_EQ((whole % 3).to_vector<std::int32_t>(), (Ints{2, 1}));
  EXPECT_EQ((10 % whole).to_vector<std::int32_t>(), (Ints{-4, 3}));
  EXPECT_EQ(floor_divide(whole, 2).to_vector<std::int32_t>(), (Ints{-4, 3}));
  EXPECT_EQ(maximum(whole, 0.5).dtype(), DType::f32);
  EXPECT_EQ((whole & 3).to_vector<std::int32_t>(), (Ints{1, 3}));
  EXPECT_EQ(left_shift(whole, 1).to_vector<std::int32_t>(), (Ints{-14, 14}));
  EXPECT_EQ(where(whole > 0, 1, 0).dtype(), DType::i32);
  EXPECT_EQ(where(whole > 0, 1.0, 0).dtype(), DType::f32);
  EXPECT_EQ(where(whole > 0, true, false).dtype(), DType::boolean);
  EXPECT_EQ(where(whole > 0, 1, floats({5, 6})).to_vector(), (Floats{5, 1}));
  EXPECT_EQ(add(floats({1}), 2).to_vector(), (Floats{3}));
  EXPECT_EQ(sub(1, floats({3})).to_vector(), (Floats{-2}));
}

TEST(DeviceOperands, NumbersOutOfRangeCompareAndAreOtherwiseErrors) {
  const Tensor x = api_device().tensor({2}, Bytes{0, 255});
  EXPECT_EQ(truths(x < 300), (Bytes{1, 1}));
  EXPECT_EQ(truths(x == -1), (Bytes{0, 0}));
  EXPECT_EQ(truths(x < 1e30), (Bytes{1, 1}));
  EXPECT_EQ(truths(x > std::numeric_limits<double>::infinity()), (Bytes{0, 0}));
  EXPECT_TRUE(message_of([&] { (void)maximum(x, 300); }).contains("300 is out of the range of u8"));
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;  // no double has it
  const Tensor wide = api_device().tensor({2}, Longs{large - 1, large});
  EXPECT_EQ(truths(wide == large), (Bytes{0, 1}));
  EXPECT_TRUE(message_of([&] { (void)(Tensor() > 1); }).contains("no tensor"));
  // In the words of what was called.
  EXPECT_TRUE(message_of([&] {
                (void)(x + 0x1p40);
              }).starts_with("`add` of u8[2] cannot have the parameter 1099511627776. (add at "));
}

TEST(DeviceOperands, WholeNumbersCompareExactlyWithAnyNumber) {
  const Tensor x = ints({16777216, 16777217, -16777217});  // f32 has only the first
  EXPECT_EQ(truths(x > 16777216.5), (Bytes{0, 1, 0}));
  EXPECT_EQ(truths(x <= 16777216.5), (Bytes{1, 0, 1}));
  EXPECT_EQ(truths(16777216.5 < x), (Bytes{0, 1, 0}));
  EXPECT_EQ(truths(16777216.5 >= x), (Bytes{1, 0, 1}));
  EXPECT_EQ(truths(x < -16777216.5), (Bytes{0, 0, 1}));
  EXPECT_EQ(truths(-16777216.5 <= x), (Bytes{1, 1, 0}));
  EXPECT_EQ(truths(x == 16777216.5), (Bytes{0, 0, 0}));
  EXPECT_EQ(truths(x != 16777216.5), (Bytes{1, 1, 1}));
  EXPECT_EQ(truths((x > 0) < 0.5), (Bytes{0, 0, 1}));
  const Tensor ends = api_device().tensor({2}, Longs{INT64_MIN, INT64_MAX});
  EXPECT_EQ(truths(ends < 0x1p63), (Bytes{1, 1}));
  EXPECT_EQ(truths(0x1p63 <= ends), (Bytes{0, 0}));
  EXPECT_EQ(truths(ends >= -0x1p63), (Bytes{1, 1}));
  EXPECT_EQ(truths(ends > std::numeric_limits<double>::quiet_NaN()), (Bytes{0, 0}));
  EXPECT_EQ(truths(ends != std::numeric_limits<double>::quiet_NaN()), (Bytes{1, 1}));
  EXPECT_EQ(truths(ends > -std::numeric_limits<double>::infinity()), (Bytes{1, 1}));
}

TEST(DeviceOperands, QuotientsOfWholeNumbersAreFloats) {
  EXPECT_EQ(div(ints({7, -7}), 2).to_vector(), (Floats{3.5, -3.5}));
  EXPECT_EQ(div(1, ints({2, 4})).to_vector(), (Floats{0.5, 0.25}));
  EXPECT_EQ(div(ints({7, 8}), ints({2, 5})).to_vector(), (Floats{3.5, 1.6F}));
  EXPECT_EQ(div(api_device().tensor({2}, Longs{1, 3}), 2).dtype(), DType::f32);
  EXPECT_EQ(div(ints({1, 0}) > 0, 2).to_vector(), (Floats{0.5, 0}));
}

TEST(DeviceOperands, PowersOfIntegersAreIntegers) {
  EXPECT_EQ(pow(ints({-3, 2, 0}), 3).to_vector<std::int32_t>(), (Ints{-27, 8, 0}));
  EXPECT_EQ(pow(2, ints({0, 5, 30})).to_vector<std::int32_t>(), (Ints{1, 32, 1 << 30}));
  EXPECT_EQ(pow(ints({1, -1, -1, 2, 7}), ints({-3, -3, -4, -1, 13})).to_vector<std::int32_t>(),
            (Ints{1, -1, 1, 0, -1895237401}));  // 7¹³ goes round the range
  const Tensor wide = api_device().tensor({3}, Longs{3, -1, 10});
  EXPECT_EQ(pow(wide, api_device().tensor({3}, Longs{39, -5, 18})).to_vector<std::int64_t>(),
            (Longs{4052555153018976267, -1, 1000000000000000000}));
  EXPECT_EQ(pow(floats({2, 3}), 2).to_vector(), (Floats{4, 9}));
  EXPECT_EQ(pow(floats({4, 9}), 0.5).to_vector(), (Floats{2, 3}));
  const Tensor x = variable(floats({2, 3}));
  EXPECT_EQ(grad(sum(pow(x, 3)), {x})[0].to_vector(), (Floats{12, 27}));
}

TEST(DeviceOperands, OneAxisNeedsNoBrackets) {
  const Tensor x = api_device().arange(6).reshape({2, 3});
  EXPECT_EQ(sum(x, 1).to_vector(), (Floats{3, 12}));
  EXPECT_EQ(sum(x, -1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(max(x, std::uint64_t{0}).to_vector(), (Floats{3, 4, 5}));
  EXPECT_EQ(argmax(x, -1).to_vector<std::int32_t>(), (Ints{2, 2}));
  EXPECT_EQ(var(x, 0).to_vector(), (Floats{2.25, 2.25, 2.25}));
  EXPECT_EQ(flip(x, 1).at(0).to_vector(), (Floats{2, 1, 0}));
  EXPECT_EQ(squeeze(x.reshape({2, 1, 3}), 1).shape(), (Shape{2, 3}));
  static_assert(!std::is_convertible_v<bool, Dims>);  // sum(x, true) would mean something else
  EXPECT_TRUE(message_of([&] { (void)sum(x, 2); }).contains("sum"));
}

TEST(DeviceOperands, OneExtentFollowsFromTheOthers) {
  const Tensor x = api_device().arange(24);
  const std::uint64_t rows = 4;
  EXPECT_EQ(x.reshape({rows, -1}).shape(), (Shape{4, 6}));
  EXPECT_EQ(x.reshape({2, -1, 3}).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{24}));
  EXPECT_EQ(x.reshape(Shape{24, 1}).shape(), (Shape{24, 1}));
  EXPECT_EQ(x.reshape(std::vector<std::int64_t>{6, -1}).shape(), (Shape{6, 4}));
  EXPECT_EQ(x.slice(0, 0, 0).reshape({-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(expand(x.reshape({1, -1}), {5, -1}).shape(), (Shape{5, 24}));
  for (const Extents& wrong : {Extents{5, -1}, Extents{-1, -1}, Extents{-2, 12}, Extents{0, -1},
                               Extents{std::uint64_t{0} - 1, 1}}) {
    const std::string text = message_of([&] { (void)x.reshape(wrong); });
    EXPECT_TRUE(text.contains("[24] cannot be reshaped to")) << text;
    EXPECT_TRUE(text.contains("reshape at operands_test.cpp")) << text;
  }
}

TEST(DeviceOperands, SlicesGoBackwards) {
  const Tensor x = api_device().arange(10);
  EXPECT_EQ(x.at(Slice{.step = -1}).to_vector(), (Floats{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(x.at(Slice{7, 2, -2}).to_vector(), (Floats{7, 5, 3}));
  EXPECT_EQ(x.at(Slice{-1, {}, -4}).to_vector(), (Floats{9, 5, 1}));
  EXPECT_EQ(x.at(Slice{100, -100, -9}).to_vector(), (Floats{9, 0}));
  EXPECT_EQ(x.at(Slice{2, 7, -1}).shape(), (Shape{0}));
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(x.at(Slice{.step = lowest}).to_vector(), (Floats{9}));
  EXPECT_EQ(x.at(Slice{.step = std::numeric_limits<std::int64_t>::max()}).to_vector(), (Floats{0}));
  EXPECT_EQ(x.reshape({2, 5}).at(Ellipsis, Slice{.step = -3}).to_vector(), (Floats{4, 1, 9, 6}));
}

TEST(DeviceOperands, DoublesAndStreams) {
  const Tensor x = api_device().tensor({2}, {0.5, 2.0});
  EXPECT_EQ(x.dtype(), DType::f32);
  std::ostringstream out;
  out << x << " and " << (x > 1);
  EXPECT_EQ(out.str(), "f32[2] [0.5, 2] and bool[2] [false, true]");
}

}  // namespace
}  // namespace weft::test
