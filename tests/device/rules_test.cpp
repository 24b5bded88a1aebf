// Rules that random programs against numpy found broken: types, signs of zeros, long integers,
// empty tensors, zeros in products.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;

constexpr std::int64_t large = 1LL << 40;
constexpr float inf = std::numeric_limits<float>::infinity();

template <class T>
Tensor line(const std::vector<T>& values) {
  return api_device().tensor({values.size()}, values);
}

std::string sentence_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceRules, AnglesKnowTheSignsOfZeros) {
  const Floats y{0.0F, -0.0F, 0.0F, -0.0F, 0.0F, -0.0F, -1.0F, 1.0F};
  const Floats x{1.0F, 1.0F, -1.0F, -1.0F, -0.0F, -0.0F, -0.0F, -0.0F};
  const Floats got = atan2(line(y), line(x)).to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(got[i], std::atan2(y[i], x[i]), 1e-6) << i;
    EXPECT_EQ(std::signbit(got[i]), std::signbit(std::atan2(y[i], x[i]))) << i;
  }
  EXPECT_TRUE(std::signbit(asin(line(Floats{-0.0F})).item()));
  EXPECT_TRUE(std::signbit(atan(line(Floats{-0.0F})).item()));
}

TEST(DeviceRules, FunctionsOfFloatsTakeTheTypeOfTheFloatsBesideIntegers) {
  const Tensor whole = line(Ints{1, 2}).to(DType::i8);
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    EXPECT_EQ(atan2(whole, line(Floats{1, 2}).to(type)).dtype(), type);
    EXPECT_EQ(logaddexp(line(Floats{1, 2}).to(type), whole).dtype(), type);
  }
  EXPECT_EQ(atan2(whole, whole).dtype(), DType::f32);
}

TEST(DeviceRules, RunningResultsOfLongIntegers) {
  const Tensor x = line(Longs{large, -3, 5, 2 * large, 1});
  EXPECT_EQ(cumsum(x, 0).to_vector<std::int64_t>(),
            (Longs{large, large - 3, large + 2, 3 * large + 2, 3 * large + 3}));
  EXPECT_EQ(cumsum(x, 0, true).to_vector<std::int64_t>(),
            (Longs{0, large, large - 3, large + 2, 3 * large + 2}));
  EXPECT_EQ(cumsum(x, 0, false, true).to_vector<std::int64_t>(),
            (Longs{3 * large + 3, 2 * large + 3, 2 * large + 6, 2 * large + 1, 1}));
  EXPECT_EQ(cummax(x, 0).to_vector<std::int64_t>(),
            (Longs{large, large, large, 2 * large, 2 * large}));
  EXPECT_EQ(cummin(x, 0).to_vector<std::int64_t>(), (Longs{large, -3, -3, -3, -3}));
  EXPECT_EQ(cumprod(line(Longs{large, -3, 2}), 0).to_vector<std::int64_t>(),
            (Longs{large, -3 * large, -6 * large}));
  EXPECT_EQ(cumsum(x.reshape({5, 1}), -1).to_vector<std::int64_t>(), x.to_vector<std::int64_t>());
  EXPECT_EQ(cumsum(x.slice(0, 0, 0), 0).shape(), (Shape{0}));
}

TEST(DeviceRules, ReductionsOfOneLongInteger) {
  const Tensor x = line(Longs{large}).reshape({});
  EXPECT_EQ(any(x).dtype(), DType::boolean);
  EXPECT_EQ(all(x).dtype(), DType::boolean);
  EXPECT_TRUE(any(x).item<bool>());
  EXPECT_EQ(argmax(x).to_vector<std::int32_t>(), (Ints{0}));
  EXPECT_EQ(sum(x).item<std::int64_t>(), large);
  EXPECT_EQ(max(x).item<std::int64_t>(), large);
}

TEST(DeviceRules, PlacesAmongIntegersOfEveryType) {
  const Tensor wide = line(Longs{-large, -1, 0, large, large + 1});
  const Tensor values = line(Longs{-large - 1, -1, 1, large, large + 2});
  EXPECT_EQ(searchsorted(wide, values).to_vector<std::int32_t>(), (Ints{0, 1, 3, 3, 5}));
  EXPECT_EQ(searchsorted(wide, values, true).to_vector<std::int32_t>(), (Ints{0, 2, 3, 4, 5}));
  for (const DType type : {DType::i8, DType::i16, DType::u8, DType::i32, DType::u32}) {
    const Tensor sorted = line(Ints{1, 2, 2, 100}).to(type);
    EXPECT_EQ(searchsorted(sorted, line(Ints{0, 2, 101}).to(type), true).to_vector<std::int32_t>(),
              (Ints{0, 3, 4}))
        << name(type);
  }
  EXPECT_EQ(searchsorted(line(Ints{0, 1}).to(DType::boolean), line(Ints{1}).to(DType::boolean))
                .to_vector<std::int32_t>(),
            (Ints{1}));
}

TEST(DeviceRules, ContractionsPromoteAndKeepTheTypeOfIntegers) {
  const Tensor bytes = line(Ints{100, 100, 3}).to(DType::u8);
  const Tensor product = inner(bytes, bytes);
  EXPECT_EQ(product.dtype(), DType::u8);
  EXPECT_EQ(product.to(DType::i32).item<std::int32_t>(), (100 * 100 * 2 + 9) % 256);
  const Tensor mixed = tensordot(line(Floats{1.5F, 2}), line(Ints{2, 4}), 1);
  EXPECT_EQ(mixed.dtype(), DType::f32);
  EXPECT_EQ(mixed.item(), 11);
  const Tensor yes = line(Ints{0, 1}).to(DType::boolean);
  EXPECT_EQ(einsum("i,i->", {yes, yes}).dtype(), DType::boolean);
  // Sums on the way are not rounded to 16 bits: 256 + 1 is no number of bf16.
  const Tensor rows = line(Floats{256, 1, -256, 0}).to(DType::bf16).reshape({2, 2});
  EXPECT_EQ(einsum("ij,i->", {rows, line(Floats{1, 1}).to(DType::bf16)}).to(DType::f32).item(), 1);
}

TEST(DeviceRules, ResultsOfNothing) {
  const Tensor none = api_device().full({0, 2}, 1);
  EXPECT_EQ(logsumexp(none, {0}).to_vector(), (Floats{-inf, -inf}));
  EXPECT_EQ(norm(none).item(), 0);
  EXPECT_TRUE(sentence_of([] {
                (void)max(api_device().full({2, 0, 0}, 1), {1});
              }).starts_with("`max` of no elements has no result"));
}

TEST(DeviceRules, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor two = api_device().full({2}, 1);
  const Tensor three = api_device().full({3}, 1);
  const auto says = [](const auto& call, std::string_view place) {
    EXPECT_TRUE(sentence_of(call).contains(place)) << sentence_of(call);
  };
  says([&] { (void)isclose(two, three); }, "(isclose at rules_test.cpp:");
  says([&] { (void)tril(two); }, "(tril at rules_test.cpp:");
  says([&] { (void)max_pool(two, {2, 2}); }, "(max_pool at rules_test.cpp:");
  says([&] { (void)take(api_device().full({0}, 1), line(Ints{0}), 0); },
       "(take at rules_test.cpp:");
  says([&] { (void)(two + three); }, "(add at rules_test.cpp:");  // and nothing stays behind
}

TEST(DeviceRules, MediansOfIntegers) {
  EXPECT_EQ(median(line(Ints{5, 1, 4, 2})).item(), 3);
  EXPECT_EQ(median(line(Longs{5, 1, 4})).dtype(), DType::f32);
}

TEST(DeviceRules, ProductsWithZerosHaveDerivatives) {
  const Tensor x = variable(line(Floats{2, 0, 3, 4}));
  // d(Σ products)/dx: 1 + 0 + …, 2 + 2·3 + 2·3·4, then nothing behind the zero.
  EXPECT_EQ(grad(sum(cumprod(x, 0)), {x})[0].to_vector(), (Floats{1, 2 + 6 + 24, 0, 0}));
  const Tensor back = grad(sum(cumprod(x, 0, true)), {x})[0];
  EXPECT_EQ(back.to_vector(), (Floats{0, 12 * (1 + 2), 4, 1 + 3}));
}

TEST(DeviceRules, ASumDoesNotOverwriteWhatItsChainRepeats) {
  const Device& device = api_device();
  const Compiled f = compile([](const std::vector<Tensor>& in) -> Outputs {
    const Tensor column = in[0] * 2 + in[1];  // [3, 1], read for the last time by the sum below
    return {{sum(column * in[2] + column, {1}, true) * 1.5}};
  });
  const Tensor column = device.tensor({3, 1}, Floats{1, 2, 3});
  const Tensor matrix = device.tensor({3, 2}, Floats{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(f({column, column, matrix})[0].to_vector(),
            (Floats{1.5F * 3 * 5, 1.5F * 6 * 9, 1.5F * 9 * 13}));
}

TEST(DeviceRules, OptimizersTakeGradientsThatAreViews) {
  const Device& device = api_device();
  const Tensor weights = device.tensor({2, 3}, Floats{1, 2, 3, 4, 5, 6});
  const Tensor turned = device.tensor({3, 2}, Floats{1, 4, 2, 5, 3, 6}).transpose();
  EXPECT_EQ(sgd(weights, turned, {}, {.lr = 0.5F}).weights.to_vector(),
            (Floats{0.5F, 1, 1.5F, 2, 2.5F, 3}));
  const Tensor repeated = device.full({1, 1}, 2).broadcast_to({2, 3});
  EXPECT_EQ(sgd(weights, repeated, {}, {.lr = 0.5F}).weights.to_vector(),
            (Floats{0, 1, 2, 3, 4, 5}));
  const Tensor zeros = device.full({2, 3}, 0);
  const Tensor first = device.full({1}, 1);
  EXPECT_EQ(adamw(weights, turned, zeros, zeros, first).weights.to_vector(),
            adamw(weights, weights, zeros, zeros, first).weights.to_vector());
}

TEST(DeviceRules, SentencesNameTheFunctionThatWasCalled) {
  const Tensor x = api_device().full({2, 3}, 1);
  EXPECT_TRUE(sentence_of([&] {
                (void)linear(x, api_device().full({4, 5}, 1));
              }).starts_with("linear needs x […, K] and a weight […, M, K]; the shapes are [2,3]"));
  EXPECT_TRUE(sentence_of([&] { (void)top_k(x, 4); }).starts_with("top_k cannot take 4 elements"));
  EXPECT_EQ(linear(line(Floats{1, 2, 3}), x).to_vector(), (Floats{6, 6}));
}

}  // namespace
}  // namespace weft::test
