// Results that were wrong once, and calls that crashed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"
#include "small_bindings.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Unsigned = std::vector<std::uint32_t>;
using Bytes = std::vector<std::uint8_t>;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor row(const Floats& values) { return api_device().tensor({values.size()}, values); }

void expect_same(const Floats& got, const Floats& wanted, const char* what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i]) : got[i] == wanted[i])
        << what << ", element " << i << ": got " << got[i] << ", expected " << wanted[i];
  }
}

TEST(DeviceWrongResults, ReductionsOfOuterDimensionsEndWhereRowsFillABinding) {
  const Device device = with_binding("4096");
  for (const std::uint64_t columns : {701U, 1100U, 5000U}) {
    const Tensor x = device.arange(2 * columns).reshape({2, columns});
    const Floats sums = sum(x, {0}).to_vector();
    const Floats most = max(x, {0}).to_vector();
    for (std::uint64_t i = 0; i < columns; ++i) {
      ASSERT_EQ(sums[i], static_cast<float>(2 * i + columns));
      ASSERT_EQ(most[i], static_cast<float>(i + columns));
    }
  }
  const Tensor wide = device.full({3, 1}, 2).broadcast_to({3, 3000});
  // What a gradient does with a broadcast.
  const Tensor few = device.full({1, 1500}, 2);
  const Tensor many = few.broadcast_to({2, 1500}) * device.full({2, 1500}, 3);
  EXPECT_EQ(grad(sum(many), {few}).front().to_vector(), Floats(1500, 6));
  EXPECT_EQ(sum(wide, {0}).to_vector(), Floats(3000, 6));
  EXPECT_EQ(sum(wide, {1}).to_vector(), Floats(3, 6000));
}

TEST(DeviceWrongResults, RunningSumsRollsAndPadsPassOneBinding) {
  const Device device = with_binding("4096");
  const std::uint64_t columns = 1500;
  const Tensor x = device.arange(3 * columns).reshape({3, columns});
  const auto f = [&](std::uint64_t i, std::uint64_t j) {
    return static_cast<float>(i * columns + j);
  };
  const Floats sums = cumsum(x, 0).to_vector();
  const Floats rolled = roll(x, {1, 700}).to_vector();
  const Floats edge = pad(x, {1, 0}, {2, 0}, Edge::replicate).to_vector();
  const Floats mirrored = pad(x, {2, 0}, {1, 0}, Edge::reflect).to_vector();
  const Floats turned = flip(x).to_vector();
  const Floats turned_down = flip(x, {0}).to_vector();
  const Floats turned_right = flip(x, {1}).to_vector();
  const Tensor line = x.reshape({3 * columns});
  const Floats backwards = flip(line).to_vector();
  const Floats both_ends = pad(line, {4000}, {4400}, Edge::reflect).to_vector();
  const Floats around = pad(line, {3}, {4500}, Edge::circular).to_vector();
  const Floats transposed = flip(x.transpose()).to_vector();
  const Bytes bytes = flip(line.to(DType::i32).to(DType::u8)).to_vector<std::uint8_t>();
  for (std::uint64_t i = 0; i < 3 * columns; ++i) {
    ASSERT_EQ(turned[i], static_cast<float>(3 * columns - 1 - i));
    ASSERT_EQ(backwards[i], static_cast<float>(3 * columns - 1 - i));
    ASSERT_EQ(turned_down[i], f(2 - i / columns, i % columns));
    ASSERT_EQ(turned_right[i], f(i / columns, columns - 1 - i % columns));
    ASSERT_EQ(transposed[i], f(2 - i % 3, columns - 1 - i / 3));
    ASSERT_EQ(bytes[i], static_cast<std::uint8_t>(3 * columns - 1 - i));
    ASSERT_EQ(both_ends[4000 + i], static_cast<float>(i));
    ASSERT_EQ(around[3 + i], static_cast<float>(i));
  }
  for (std::uint64_t i = 0; i < 4000; ++i) {
    ASSERT_EQ(both_ends[i], static_cast<float>(4000 - i));
    ASSERT_EQ(both_ends[8500 + i], static_cast<float>(4498 - i));
  }
  for (std::uint64_t i = 0; i < 4500; ++i) ASSERT_EQ(around[4503 + i], static_cast<float>(i));
  for (std::uint64_t j = 0; j < columns; ++j) {
    ASSERT_EQ(sums[2 * columns + j], f(0, j) + f(1, j) + f(2, j));
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(rolled[((i + 1) % 3) * columns + (j + 700) % columns], f(i, j));
    }
    ASSERT_EQ(edge[j], f(0, j));
    ASSERT_EQ(edge[2 * columns + j], f(1, j));
    ASSERT_EQ(edge[5 * columns + j], f(2, j));
    ASSERT_EQ(mirrored[j], f(2, j));
    ASSERT_EQ(mirrored[1 * columns + j], f(1, j));
    ASSERT_EQ(mirrored[4 * columns + j], f(2, j));
    ASSERT_EQ(mirrored[5 * columns + j], f(1, j));
  }
}

TEST(DeviceWrongResults, ChainsFitTheBindingsOfTheDevice) {
  const Device device = with_binding("128M,bindings=4");
  std::vector<Tensor> x;
  for (int i = 0; i < 6; ++i) x.push_back(device.tensor({2, 3}, Floats(6, static_cast<float>(i))));
  const Tensor all = ((x[0] + x[1]) * x[2] - x[3]) * x[4] + x[5];
  EXPECT_EQ(all.to_vector(), Floats(6, 1));
  EXPECT_EQ(sum((x[1] + x[2]) * x[3] - x[4] * x[5]).item(), -66);
  const Tensor normed = layer_norm((x[0] + x[1]) * x[2] + x[4], x[5].at(0), x[3].at(0));
  EXPECT_EQ(normed.to_vector(), Floats(6, 3));
}

TEST(DeviceWrongResults, SortsAreRightOrRefusedInSmallBindings) {
  std::vector<std::int32_t> values(9001);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(i * 7919 % 9001);
  }
  // Not everything is refused.
  const std::pair<const char*, int> least_right[] = {
      {"4096", 2}, {"8192", 4}, {"16384", 7}, {"32768", 8}};
  for (const auto& [bytes, least] : least_right) {
    const Device device = with_binding(bytes);
    int right = 0;
    for (const std::uint64_t count : {9001U, 3000U, 1200U, 400U}) {
      const Ints part(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
      Ints sorted = part;
      std::ranges::sort(sorted, std::greater<>());
      const Tensor x = device.tensor({count}, part);
      for (const std::uint64_t keep : {std::uint64_t{5}, count}) {
        try {
          const Ints got = top_k(x, keep).values.to_vector<std::int32_t>();
          EXPECT_TRUE(std::equal(got.begin(), got.end(), sorted.begin())) << bytes << " " << count;
          ++right;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
        }
      }
    }
    EXPECT_GE(right, least) << bytes;
  }
}

TEST(DeviceWrongResults, WhatWouldTakeTooManyLaunchesIsRefused) {
  const Device device = with_binding("4096");
  const Tensor x = device.arange(1000);
  const std::function<Tensor()> large[] = {
      [&] { return pad(x, {0}, {101'000'000}); },
      [&] { return pad(x, {33'000'000}, {36'000'000}, Edge::replicate); },
      [&] { return device.full({101'000'000}, 1) + 1; },
      [&] { return x.broadcast_to({101'000, 1000}) * 2; },
  };
  for (const auto& make : large) {
    try {
      make().eval();
      ADD_FAILURE() << "more than 65,536 launches in one go";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      EXPECT_TRUE(std::string_view(error.what()).contains("this device binds 4096 bytes at once"))
          << error.what();
    }
  }
  // A few hundred are not too many.
  const Floats some = pad(x, {100'000}, {100'000}).to_vector();
  EXPECT_EQ(some.size(), 201'000U);
  EXPECT_EQ(some[100'999], 999);
  EXPECT_EQ(some[101'000], 0);
}

TEST(DeviceWrongResults, IntegersGoRoundTheirRange) {
  const Tensor u = api_device().tensor({3}, Unsigned{5, 0, 4294967295U});
  EXPECT_EQ((u - 1).to_vector<std::uint32_t>(), (Unsigned{4, 4294967295U, 4294967294U}));
  EXPECT_EQ((-u).to_vector<std::uint32_t>(), (Unsigned{4294967291U, 0, 1}));
  EXPECT_EQ((u * -1).to_vector<std::uint32_t>(), (Unsigned{4294967291U, 0, 1}));
  EXPECT_EQ((3 - u).to_vector<std::uint32_t>(), (Unsigned{4294967294U, 3, 4}));
  const Tensor b = api_device().tensor({3}, Bytes{5, 0, 255});
  EXPECT_EQ((b - 1).to_vector<std::uint8_t>(), (Bytes{4, 255, 254}));
  EXPECT_EQ((-b).to_vector<std::uint8_t>(), (Bytes{251, 0, 1}));
  EXPECT_EQ((b * -1).to_vector<std::uint8_t>(), (Bytes{251, 0, 1}));
  EXPECT_EQ((b + b).to_vector<std::uint8_t>(), (Bytes{10, 0, 254}));
  EXPECT_EQ(clamp(u, -1, 4).to_vector<std::uint32_t>(), (Unsigned{4, 0, 4}));
}

TEST(DeviceWrongResults, GradientsAtZeroes) {
  const auto derived = [](const Tensor& x, const Tensor& y) {
    return grad(sum(y), {x}).front().to_vector();
  };
  const Tensor zero = row({0, 0, 0});
  expect_same(derived(zero, reduce("norm", zero)), {0, 0, 0}, "norm at 0");
  const Tensor x = row({3, 0, 4});
  expect_same(derived(x, reduce("norm", x)), {0.6F, 0, 0.8F}, "norm");
  expect_same(derived(x, prod(x)), {0, 12, 0}, "prod with one 0");
  const Tensor two = row({3, 0, 0});
  expect_same(derived(two, prod(two)), {0, 0, 0}, "prod with two 0");
  const Tensor none = row({3, 2, 4});
  expect_same(derived(none, prod(none)), {8, 12, 6}, "prod");
  const Tensor limits = row({-1, 0, 0.5F, 1, 2});
  expect_same(derived(limits, clamp(limits, 0, 1)), {0, 1, 1, 1, 0}, "clamp at its limits");
}

TEST(DeviceWrongResults, NanIsLargerAndSmallerThanEveryNumber) {
  for (const std::uint64_t count : {5U, 3000U}) {
    for (const DType type : {DType::f32, DType::f16}) {
      Floats values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 97) - 40;
      const std::uint64_t at = count * 2 / 3;
      values[at] = nan;
      const Tensor x = row(values).to(type);
      const Tensor columns = x.reshape({count, 1}).broadcast_to({count, 3});
      for (const char* f : {"max", "min"}) {
        EXPECT_TRUE(std::isnan(reduce(f, x).item())) << f << " " << count;
        EXPECT_TRUE(std::isnan(reduce(f, columns, {0}).to_vector()[2])) << f << " " << count;
      }
      for (const char* f : {"argmax", "argmin"}) {
        EXPECT_EQ(reduce(f, x).item<std::int32_t>(), static_cast<std::int32_t>(at)) << f;
        EXPECT_EQ(reduce(f, columns, {0}).to_vector<std::int32_t>()[1],
                  static_cast<std::int32_t>(at));
      }
      EXPECT_EQ(reduce("any", x * 0).item(), 1.0F);
      EXPECT_TRUE(std::isnan(cummax(x, 0).to_vector()[count - 1])) << count;
      EXPECT_FALSE(std::isnan(cummax(x, 0).to_vector()[at - 1]));
      EXPECT_TRUE(std::isnan(cummin(columns, 0).to_vector()[3 * count - 1])) << count;
    }
  }
  EXPECT_EQ(reduce("all", row({nan, 1})).item(), 1.0F);
  expect_same(cummax(row({-inf, -inf, 3}), 0).to_vector(), {-inf, -inf, 3}, "cummax of -inf");
  const Tensor image = row({1, nan, 3, 4, -inf, -inf}).reshape({1, 1, 6});
  expect_same(max_pool(image, {2}).to_vector(), {nan, 4, -inf}, "max_pool");
}

TEST(DeviceWrongResults, ElementwiseFunctionsOfNan) {
  const Tensor a = row({nan, 1, nan, 2});
  const Tensor b = row({1, nan, nan, 3});
  expect_same(maximum(a, b).to_vector(), {nan, nan, nan, 3}, "maximum");
  expect_same(minimum(a, b).to_vector(), {nan, nan, nan, 2}, "minimum");
  expect_same(map("sign", a).to_vector(), {nan, 1, nan, 1}, "sign");
  const auto numbers = [](const Tensor& mask) { return mask.to(DType::f32).to_vector(); };
  expect_same(numbers(not_equal(a, a)), {1, 0, 1, 0}, "not_equal");
  expect_same(numbers(equal(a, a)), {0, 1, 0, 1}, "equal");
  expect_same(numbers(less_equal(a, b)), {0, 0, 0, 1}, "less_equal");
  expect_same(numbers(greater_equal(a, b)), {0, 0, 0, 0}, "greater_equal");
  expect_same(where(a, row({1, 1, 1, 1}), row({0, 0, 0, 0})).to_vector(), {1, 1, 1, 1}, "where");
  expect_same(where(row({0, -0.0F, 1e-42F, -2}), row({1, 1, 1, 1}), row({0, 0, 0, 0})).to_vector(),
              {0, 0, 1, 1}, "where of small numbers");
}

TEST(DeviceWrongResults, WhatHasNoResultIsAnError) {
  const Device& device = api_device();
  const Tensor none = device.empty({0, 3}, DType::f32);
  for (const char* f : {"max", "min", "argmax", "argmin"}) {
    EXPECT_THROW((void)reduce(f, none, {0}), Error) << f;
    EXPECT_EQ(reduce(f, none, {1}).size(), 0U) << f;
  }
  EXPECT_EQ(sum(none, {0}).to_vector(), (Floats{0, 0, 0}));
  EXPECT_EQ(prod(none).item(), 1.0F);
  EXPECT_THROW((void)sum(device.full({2, 2}, 1), {0, 0}), Error);
  EXPECT_THROW((void)pad(none, {~0ULL, 0}, {2, 0}), Error);
  EXPECT_THROW((void)pad(none, {~0ULL, 0}, {2, 0}, Edge::circular), Error);
  EXPECT_EQ(roll(row({1, 2, 3}), {(1LL << 40) + 1}).to_vector(), (Floats{2, 3, 1}));
  EXPECT_THROW((void)device.full({2}, 300, DType::u8), Error);
  EXPECT_THROW((void)device.full({2}, -1, DType::u32), Error);
  EXPECT_THROW((void)device.full({2}, nan, DType::i32), Error);
  EXPECT_THROW((void)device.full({2}, inf, DType::i8), Error);
  EXPECT_EQ(device.full({2}, 255, DType::u8).to_vector<std::uint8_t>(), (Bytes{255, 255}));
  const Tensor image = device.full({1, 1, 4}, 1);
  EXPECT_THROW((void)max_pool(image, {2}, {.pad = {2}}), Error);
  const Tensor logits = device.full({2, 3}, 0);
  EXPECT_TRUE(std::isnan(cross_entropy(logits, device.tensor({2}, Ints{1, 3})).item()));
  EXPECT_NEAR(cross_entropy(logits, device.tensor({2}, Ints{1, -1})).item(), std::log(3.0F), 1e-6);
  EXPECT_THROW((void)checkpoint([](const std::vector<Tensor>& in) { return in[0]; }, {}), Error);
  const Tensor variable_one = variable(device.full({1}, 1));
  const Compiled updates = compile([&](const std::vector<Tensor>& in) -> Outputs {
    return {std::vector<Tensor>{}, {{variable_one, in[0]}}};
  });
  EXPECT_THROW((void)updates.one({device.full({1}, 2)}), Error);
}

TEST(DeviceWrongResults, EveryTypeWorksOrIsRefusedWhereItIsWritten) {
  using Call = std::function<Tensor(const Tensor&)>;
  const Tensor index = api_device().tensor({2}, Ints{1, 0});
  const std::vector<std::pair<std::string, Call>> calls{
      {"sort", [](const Tensor& x) { return sort(x).values; }},
      {"argsort", [](const Tensor& x) { return argsort(x); }},
      {"top_k", [](const Tensor& x) { return top_k(x, 2).values; }},
      {"sum", [](const Tensor& x) { return sum(x); }},
      {"mean", [](const Tensor& x) { return mean(x); }},
      {"prod", [](const Tensor& x) { return prod(x); }},
      {"max", [](const Tensor& x) { return max(x); }},
      {"min", [](const Tensor& x) { return min(x, {0}); }},
      {"argmax", [](const Tensor& x) { return argmax(x); }},
      {"gather", [&](const Tensor& x) { return gather(x, index, 0); }},
      {"take", [&](const Tensor& x) { return take(x, index, 0); }},
      {"roll", [](const Tensor& x) { return roll(x, {1}); }},
      {"flip", [](const Tensor& x) { return flip(x); }},
      {"tril", [](const Tensor& x) { return tril(x.reshape({2, 2})); }},
      {"pad", [](const Tensor& x) { return pad(x, {1}, {2}, 1); }},
      {"cumsum", [](const Tensor& x) { return cumsum(x, 0); }},
      {"cummax", [](const Tensor& x) { return cummax(x, 0); }},
      {"concat", [](const Tensor& x) { return concat({x, x}, 0); }},
      {"where", [](const Tensor& x) { return where(equal(x, x), x, x); }},
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"matmul", [](const Tensor& x) { return matmul(x.reshape({2, 2}), x.reshape({2, 2})); }},
  };
  for (const DType type : all_dtypes) {
    const Tensor x = row({1, 0, 1, 1}).to(type);
    for (const auto& [name, call] : calls) {
      Tensor y;
      try {
        y = call(x);
      } catch (const Error& error) {
        // In the words of whoever called it.
        EXPECT_TRUE(std::string_view(error.what()).contains(name)) << error.what();
        EXPECT_TRUE(std::string_view(error.what()).contains(weft::name(type))) << error.what();
        continue;
      }
      try {
        y.eval();
      } catch (const Error& error) {
        ADD_FAILURE() << name << " of " << weft::name(type) << " fails late: " << error.what();
      }
    }
  }
}

TEST(DeviceWrongResults, KernelsDoNotChangeWhatWasWrittenBefore) {
  const Tensor x = api_device().tensor({4}, Floats{1, 2, 3, 4});
  const Tensor before = x * 10;
  const Tensor view = x.reshape({2, 2}).transpose() + 0;
  const Kernel kernel = api_device().kernel(
      {.wgsl = "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
               "@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { "
               "y[i] = 7.0; }",
       .writes = {true}});
  kernel.run({x}, {1, 1, 1});
  EXPECT_EQ(x.to_vector(), Floats(4, 7));
  EXPECT_EQ(before.to_vector(), (Floats{10, 20, 30, 40}));
  EXPECT_EQ(view.to_vector(), (Floats{1, 3, 2, 4}));
}

}  // namespace
}  // namespace weft::test
