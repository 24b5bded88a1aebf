// Booleans, 64-bit integers, and what becomes of two types in one operation.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;
using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

template <class T>
Tensor row(const std::vector<T>& values) {
  return api_device().tensor({values.size()}, values);
}

TEST(DeviceTypes, ProductsHaveTheTypeThatBothMake) {
  const Tensor wide = api_device().tensor({1, 2}, Floats{1, 2049});
  const Tensor ones = api_device().tensor({2, 1}, Floats{1, 1});
  const auto type_of = [&](DType a, DType b) { return matmul(wide.to(a), ones.to(b)).dtype(); };
  EXPECT_EQ(type_of(DType::f16, DType::f32), DType::f32);
  EXPECT_EQ(type_of(DType::f32, DType::f16), DType::f32);
  EXPECT_EQ(type_of(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(type_of(DType::bf16, DType::bf16), DType::bf16);
  EXPECT_EQ(type_of(DType::f16, DType::i8), DType::f16);
  // 2049 + 1 has too many digits for f16 in one operand, not in the result.
  EXPECT_EQ(matmul(ones.to(DType::f16).transpose(), wide.transpose()).item(), 2050);
  EXPECT_EQ(matmul(wide, ones.to(DType::f16), {.dtype = DType::f16}).dtype(), DType::f16);
}

TEST(DeviceTypes, BooleansComeFromQuestionsAndAnswerThem) {
  const Tensor a = row(Floats{1, 2, 3, NAN});
  const Tensor b = row(Floats{1, 3, 2, NAN});
  const Tensor less_than = less(a, b);
  EXPECT_EQ(less_than.dtype(), DType::boolean);
  EXPECT_EQ(less_than.to_vector<std::uint8_t>(), (Bytes{0, 1, 0, 0}));
  EXPECT_EQ(less_than.to_string(), "bool[4] [false, true, false, false]");
  EXPECT_EQ(logical_or(less_than, equal(a, b)).to_vector<std::uint8_t>(), (Bytes{1, 1, 0, 0}));
  EXPECT_EQ(logical_not(a).to_vector<std::uint8_t>(), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(where(less_than, a, b * 10).slice(0, 0, 3).to_vector(), (Floats{10, 2, 20}));
  EXPECT_TRUE(any(less_than).item<bool>());
  EXPECT_FALSE(all(less_than).item<bool>());
  EXPECT_EQ(sum(less_than).item<std::int32_t>(), 1);
  EXPECT_EQ(
      api_device().tensor({3}, std::vector<bool>{true, false, true}).to(DType::f16).to_vector(),
      (Floats{1, 0, 1}));
  EXPECT_EQ(row(Floats{0, -0.0F, 0.5F, NAN}).to(DType::boolean).to_vector<std::uint8_t>(),
            (Bytes{0, 0, 1, 1}));
  EXPECT_EQ(row(Ints{0, 256, -1}).to(DType::boolean).to_vector<std::uint8_t>(), (Bytes{0, 1, 1}));
  EXPECT_EQ((less_than + equal(a, b)).dtype(), DType::boolean);
  EXPECT_EQ((less_than * 2).to_vector<std::int32_t>(), (Ints{0, 2, 0, 0}));
  EXPECT_EQ((less_than * 0.5).to_vector(), (Floats{0, 0.5F, 0, 0}));
  EXPECT_THROW((void)(less_than - less_than), Error);
  EXPECT_THROW((void)-less_than, Error);
}

TEST(DeviceTypes, BooleansStayInRegistersInChains) {
  const auto f = [](const std::vector<Tensor>& in) -> Outputs {
    const Tensor inside = logical_and(greater(in[0], in[1]), less(in[0], in[2]));
    return where(inside, in[0] * 2, in[0] * 0.5) + less(in[1], in[2]).to(DType::f32);
  };
  const Compiled fused = compile(f);
  const Compiled plain = compile(f, {.without = "all"});
  const std::vector<Tensor> in{row(Floats{-2, 0.5F, 3, 0}), row(Floats{-1, 0, 1, 0}),
                               row(Floats{1, 1, 1, 1})};
  EXPECT_EQ(fused.one(in).to_vector(), (Floats{0, 2, 1.5F, 1}));
  EXPECT_EQ(plain.one(in).to_vector(), fused.one(in).to_vector());
  EXPECT_EQ(fused.report().dispatches, 1U);
  // A mask that comes from outside is read as it is.
  const Compiled masked = compile([](const std::vector<Tensor>& given) -> Outputs {
    return sum(where(given[0], given[1] * 2, given[1]));
  });
  EXPECT_EQ(masked.one({greater(in[0], in[1]), in[0]}).item(), -2 + 1 + 6 + 0);
}

TEST(DeviceTypes, TwoTypesMeetInOneThatHoldsBoth) {
  const Tensor i = row(Ints{1, -2, 16777217});
  const Tensor f = row(Floats{0.5F, 0.25F, 0});
  EXPECT_EQ((i + f).to_vector(), (Floats{1.5F, -1.75F, 16777216}));
  EXPECT_EQ((row(Floats{1}).to(DType::f16) + row(Floats{2}).to(DType::bf16)).dtype(), DType::f32);
  EXPECT_EQ((row(Bytes{200}) + row(std::vector<std::int8_t>{-100})).to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{100}));
  EXPECT_EQ(
      (row(std::vector<std::uint32_t>{4294967295U}) + row(Ints{-1})).to_vector<std::int64_t>(),
      (Longs{4294967294}));
  EXPECT_EQ(less(row(std::vector<std::uint32_t>{4294967295U}), row(Ints{-1})).item<bool>(), false);
  EXPECT_EQ((i * 0.5).to_vector(), (Floats{0.5F, -1, 8388608.5F}));
  EXPECT_EQ((i * 2).to_vector<std::int32_t>(), (Ints{2, -4, 33554434}));
  EXPECT_EQ((row(Ints{7, -7}) / row(Ints{2, 2})).to_vector(), (Floats{3.5F, -3.5F}));
  EXPECT_EQ((row(Ints{7, -7}) / 2).to_vector(), (Floats{3.5F, -3.5F}));
  EXPECT_EQ(floor_divide(row(Ints{7, -7, 5}), row(Ints{2, 2, 0})).to_vector<std::int32_t>(),
            (Ints{3, -4, 0}));
  EXPECT_EQ((row(Floats{49, 3}) / 49).to_vector(), (Floats{1, 3.0F / 49}));
  EXPECT_NEAR(exp(row(Ints{1})).item(), 2.7182817F, 1e-6);
  EXPECT_EQ(where(row(Floats{0.5F, 0}), row(Ints{1, 2}), row(Ints{3, 4})).to_vector<std::int32_t>(),
            (Ints{1, 4}));
}

TEST(DeviceTypes, LongIntegersAreComputedInTwoWords) {
  const Tensor a = row(Longs{most, least, 1LL << 40, -3, 0});
  const Tensor b = row(Longs{1, -1, 3, 1LL << 33, 0});
  EXPECT_EQ((a + b).to_vector<std::int64_t>(),
            (Longs{least, most, (1LL << 40) + 3, (1LL << 33) - 3, 0}));
  EXPECT_EQ((a * b).to_vector<std::int64_t>(),
            (Longs{most, least, 3LL << 40, -3 * (1LL << 33), 0}));
  EXPECT_EQ((-a).to_vector<std::int64_t>(), (Longs{-most, least, -(1LL << 40), 3, 0}));
  EXPECT_EQ((a - 5).to_vector<std::int64_t>()[1], most - 4);
  EXPECT_EQ(greater(a, b).to_vector<std::uint8_t>(), (Bytes{1, 0, 1, 0, 0}));
  EXPECT_EQ(maximum(a, b).to_vector<std::int64_t>(), (Longs{most, -1, 1LL << 40, 1LL << 33, 0}));
  EXPECT_EQ(where(b, a, b).to_vector<std::int64_t>(), (Longs{most, least, 1LL << 40, -3, 0}));
  EXPECT_EQ(a.to(DType::f32).to_vector(), (Floats{0x1p63F, -0x1p63F, 0x1p40F, -3, 0}));
  EXPECT_EQ(row(Floats{0x1p40F, -1.5F}).to(DType::i64).to_vector<std::int64_t>(),
            (Longs{1LL << 40, -1}));
  EXPECT_EQ(a.to(DType::i32).to_vector<std::int32_t>(), (Ints{-1, 0, 0, -3, 0}));
  EXPECT_EQ(a.to_string(),
            "i64[5] [9223372036854775807, -9223372036854775808, 1099511627776, -3, 0]");
  EXPECT_EQ(sum(a).item<std::int64_t>(), -1 + (1LL << 40) - 3);
  EXPECT_EQ(max(a.reshape({1, 5}), {1}).to_vector<std::int64_t>(), (Longs{most}));
  EXPECT_EQ(argmax(a).item<std::int32_t>(), 0);
  EXPECT_EQ(api_device().full({2}, 0x1p52, DType::i64).to_vector<std::int64_t>(),
            (Longs{1LL << 52, 1LL << 52}));
  EXPECT_EQ(left_shift(a, row(Longs{1, 1, 1, 1, 1})).to_vector<std::int64_t>(),
            (Longs{-2, 0, 1LL << 41, -6, 0}));
  EXPECT_EQ(right_shift(a, row(Longs{32, 63, 39, 1, 1})).to_vector<std::int64_t>(),
            (Longs{(1LL << 31) - 1, -1, 2, -2, 0}));
  EXPECT_EQ(floor_divide(a, row(Longs{10, 10, -7, 2, 5})).to_vector<std::int64_t>(),
            (Longs{most / 10, least / 10 - 1, -((1LL << 40) / 7) - 1, -2, 0}));
}

TEST(DeviceTypes, FloatsStopAtTheRangeOfIntegers) {
  const Floats values{NAN, 1e10F, -1e10F, 2147483648.0F, 4294967296.0F, 300, -300, 40000, -1.9F};
  const Tensor x = row(values);
  constexpr std::int32_t high = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(x.to(DType::i32).to_vector<std::int32_t>(),
            (Ints{0, high, low, high, high, 300, -300, 40000, -1}));
  EXPECT_EQ(
      x.to(DType::u32).to_vector<std::uint32_t>(),
      (std::vector<std::uint32_t>{0, 4294967295U, 0, 2147483648U, 4294967295U, 300, 0, 40000, 0}));
  EXPECT_EQ(x.to(DType::i8).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{0, 127, -128, 127, 127, 127, -128, 127, -1}));
  EXPECT_EQ(x.to(DType::u8).to_vector<std::uint8_t>(),
            (Bytes{0, 255, 0, 255, 255, 255, 0, 255, 0}));
  // A matrix that lies the other way round is copied by a kernel of its own.
  Floats many(64 * 64);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = values[i % values.size()];
  const Tensor turned = api_device().tensor({64, 64}, many).transpose().to(DType::i16);
  const std::vector<std::int16_t> expected{0, 32767, -32768, 32767, 32767, 300, -300, 32767, -1};
  const auto got = turned.transpose().to_vector<std::int16_t>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i % expected.size()]);
}

TEST(DeviceTypes, MatricesOfIntegersAreMultiplied) {
  const Tensor a = row(Ints{1, 2, 3, 65536, 5, 6}).reshape({2, 3});
  EXPECT_EQ(matmul(a, a.transpose()).to_vector<std::int32_t>(), (Ints{14, 65564, 65564, 61}));
  const Tensor b = row(Longs{1LL << 40, 1, 2, 3}).reshape({2, 1, 2, 1});
  EXPECT_EQ(matmul(b, row(Longs{2, -1}).reshape({1, 2})).to_vector<std::int64_t>(),
            (Longs{1LL << 41, -(1LL << 40), 2, -1, 4, -2, 6, -3}));
  EXPECT_EQ(matmul(row(Bytes{200, 2}).reshape({1, 2}), row(Bytes{2, 3}).reshape({2, 1}))
                .to_vector<std::uint8_t>(),
            (Bytes{150}));
  EXPECT_EQ(matmul(a, row(Floats{0.5F, 1, 0}).reshape({3, 1})).to_vector(), (Floats{2.5F, 32773}));
  EXPECT_THROW((void)matmul(a, a), Error);
}

TEST(DeviceTypes, LimitsAreThoseOfTheType) {
  const Tensor u = row(std::vector<std::uint32_t>{0, 3000000000U});
  EXPECT_EQ(clip(u, 1, {}).to_vector<std::uint32_t>(),
            (std::vector<std::uint32_t>{1, 3000000000U}));
  EXPECT_EQ(clip(row(Longs{least, most}), {}, 5).to_vector<std::int64_t>(), (Longs{least, 5}));
  EXPECT_EQ(clip(row(Longs{least, most}), -7, {}).to_vector<std::int64_t>(), (Longs{-7, most}));
  EXPECT_EQ(clip(row(Ints{0, 2, 9}), 0.5, 2.5).to_vector(), (Floats{0.5F, 2, 2.5F}));
  // An index of 64 bits that does not fit into 32 lies outside, too.
  EXPECT_EQ(take(row(Floats{1, 2}), row(Longs{(1LL << 32) + 1, -1, 0})).to_vector(),
            (Floats{0, 2, 1}));
}

TEST(DeviceTypes, NarrowAndLongElementsAreMovedAndSorted) {
  const Tensor bytes = row(Bytes{7, 250, 0, 7});
  EXPECT_EQ(top_k(bytes, 2).values.to_vector<std::uint8_t>(), (Bytes{250, 7}));
  EXPECT_EQ(roll(bytes, {1}).to_vector<std::uint8_t>(), (Bytes{7, 7, 250, 0}));
  EXPECT_EQ(max(bytes).item<std::uint8_t>(), 250);
  EXPECT_EQ(sum(bytes).item<std::uint32_t>(), 264U);
  EXPECT_EQ(tril(bytes.reshape({2, 2})).to_vector<std::uint8_t>(), (Bytes{7, 0, 0, 7}));
  EXPECT_EQ(pad(bytes, {1}, {0}, 3).to_vector<std::uint8_t>(), (Bytes{3, 7, 250, 0, 7}));
  const Tensor longs = row(Longs{most, -1, least, 1LL << 35, 5});
  EXPECT_EQ(sort(longs).values.to_vector<std::int64_t>(), (Longs{least, -1, 5, 1LL << 35, most}));
  EXPECT_EQ(roll(longs, {-1}).to_vector<std::int64_t>(), (Longs{-1, least, 1LL << 35, 5, most}));
  EXPECT_EQ(gather(longs, row(Ints{4, 0}), 0).to_vector<std::int64_t>(), (Longs{5, most}));
  EXPECT_THROW((void)map("bitwise_and", row(Floats{1}), row(Floats{1})), Error);
}

TEST(DeviceTypes, FilesHoldBooleansAndShortIntegers) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "weft_types_test.safetensors";
  const Tensor mask = row(Floats{0, 1, 1}).to(DType::boolean);
  const Tensor shorts = row(std::vector<std::int16_t>{-5, 300});
  save(path, {.tensors = {{"mask", mask}, {"shorts", shorts}}, .texts = {}});
  const NamedTensors loaded = load(api_device(), path);
  EXPECT_EQ(loaded.tensors.at("mask").dtype(), DType::boolean);
  EXPECT_EQ(loaded.tensors.at("mask").to_vector<std::uint8_t>(), (Bytes{0, 1, 1}));
  EXPECT_EQ(loaded.tensors.at("shorts").to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{-5, 300}));
  std::filesystem::remove(path);
}

TEST(DeviceTypes, MoreFunctions) {
  const auto near = [](const Tensor& y, const Floats& wanted) {
    const Floats got = y.to_vector();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i])
                                        : got[i] == wanted[i] || std::abs(got[i] - wanted[i]) <=
                                                                     3e-6F * std::abs(wanted[i]))
          << i << ": " << got[i] << ", expected " << wanted[i];
    }
  };
  const float inf = std::numeric_limits<float>::infinity();
  near(asin(row(Floats{-1, 0.3F, 1, 2})), {-1.5707964F, std::asin(0.3F), 1.5707964F, NAN});
  near(acos(row(Floats{-1, 0.3F, 1, -2})), {3.1415927F, std::acos(0.3F), 0, NAN});
  near(atan(row(Floats{-inf, -2, 1e-20F, inf})),
       {-1.5707964F, std::atan(-2.0F), 1e-20F, 1.5707964F});
  near(acosh(row(Floats{0.5F, 1, 1.0001F, 1e20F})),
       {NAN, 0, std::acosh(1.0001F), std::acosh(1e20F)});
  near(atanh(row(Floats{-1, 1e-10F, 0.9F, 1})), {-inf, 1e-10F, std::atanh(0.9F), inf});
  near(erfinv(row(Floats{-1, 1e-10F, 0.9999F, 1})), {-inf, 8.862269e-11F, 2.7510354F, inf});
  near(lgamma(row(Floats{1, 2, 3, 0.001F, 1e6F, -1.5F, -2, 0})),
       {0, 0, 0.6931472F, std::lgamma(0.001F), std::lgamma(1e6F), std::lgamma(-1.5F), inf, inf});
  near(digamma(row(Floats{1, 0.5F, 100, -1.5F, -2})),
       {-0.57721567F, -1.9635100F, 4.6001620F, 0.70315664F, NAN});
  near(sinh(row(Floats{1e-10F, -89, 0.5F})), {1e-10F, std::sinh(-89.0F), std::sinh(0.5F)});
  near(round(row(Floats{0.5F, 1.5F, -2.5F})), {0, 2, -2});
  near(nan_to_num(row(Floats{NAN, inf, -inf, 2}), 7, 8), {7, 8, -3.4028235e38F, 2});
  near(log2(row(Floats{8, 1.0000001F, 0.5F})), {3, std::log2(1.0000001F), -1});
}

}  // namespace
}  // namespace weft::test
