// Random numbers through the public API. That devices and the host agree in every layout is for the
// cases of the op.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "base/half.hpp"
#include "ops/random/host.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

using random::Generator;
using random::Key;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

double mean_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double count_of(const std::vector<std::int32_t>& values, int wanted) {
  return static_cast<double>(std::ranges::count(values, wanted));
}

TEST(DeviceRandom, HasTheBitsOfTheHost) {
  using ops::random::Function;
  constexpr std::uint64_t count = 1 << 16;
  const Key key(0x123456789abcdef0ULL);
  const auto numbers = ops::random::numbers_of({.function = Function::normal}, DType::f32);
  const std::vector<float> wide = random::normal(key.on(api_device()), {count}).to_vector();
  const std::vector<float> f16 =
      random::normal(key.on(api_device()), {count}, {.dtype = DType::f16}).to_vector();
  const std::vector<float> bf16 =
      random::normal(key.on(api_device()), {count}, {.dtype = DType::bf16}).to_vector();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = ops::random::draw_float(
        Function::normal, numbers, ops::random::block_of(key.words, i, 0, Function::normal)[0]);
    const bool same =
        std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(value) &&
        f16[i] == f32_from_f16(f16_bits(value)) && bf16[i] == f32_from_bf16(bf16_bits(value));
    wrong += same ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceRandom, KeysAreTheSameOnHostAndDevice) {
  const Key key(42);
  std::vector<std::uint32_t> expected;
  for (const Key& part : key.split(5)) {
    expected.insert(expected.end(), part.words.begin(), part.words.end());
  }
  const Tensor keys = random::split(key.on(api_device()), 5);
  EXPECT_EQ(keys.shape(), (Shape{5, 2}));
  EXPECT_EQ(keys.to_vector<std::uint32_t>(), expected);
  const Key folded = key.fold_in(0xfffffffeU);
  EXPECT_EQ(random::fold_in(random::key(api_device(), 42), 0xfffffffeU).to_vector<std::uint32_t>(),
            (std::vector(folded.words.begin(), folded.words.end())));
  // A row of split() is a key.
  EXPECT_EQ(random::bits(keys.slice(0, 3, 1), {7}).to_vector<std::uint32_t>(),
            random::bits(key.child(3).on(api_device()), {7}).to_vector<std::uint32_t>());
}

TEST(DeviceRandom, MomentsAreThoseOfTheDistributions) {
  Generator generator(api_device(), 7);
  constexpr std::uint64_t count = 200000;
  const auto check = [&](const Tensor& drawn, double mean, double deviation) {
    const std::vector<float> values = drawn.to_vector();
    double squares = 0;
    for (const float v : values) squares += (v - mean) * (v - mean);
    EXPECT_NEAR(mean_of(values), mean, 5 * deviation / std::sqrt(count));
    EXPECT_NEAR(std::sqrt(squares / count), deviation, 0.01 * deviation);
  };
  check(generator.uniform({count}), 0.5, std::sqrt(1.0 / 12));
  check(generator.uniform({count}, {.low = -2, .high = 4, .dtype = DType::f16}), 1, std::sqrt(3.0));
  check(generator.normal({count}, {.mean = 3, .std = 0.5}), 3, 0.5);
  check(generator.truncated_normal({count}), 0, 0.8796);
  const std::vector<float> cut =
      generator.truncated_normal({count}, {.low = 1, .high = 1.5}).to_vector();
  EXPECT_EQ(std::ranges::count_if(cut, [](float v) { return v < 1 || v > 1.5; }), 0);
  check(generator.bernoulli({count}, 0.3).to(DType::f32), 0.3, std::sqrt(0.21));
  check(random::gumbel(generator.next_key(), {count}), 0.57722, 1.28255);
}

TEST(DeviceRandom, WholeNumbersOfEveryType) {
  Generator generator(api_device(), 8);
  const std::vector<std::int32_t> dice = generator.randint({60000}, 1, 7).to_vector<std::int32_t>();
  for (int side = 1; side < 7; ++side) EXPECT_NEAR(count_of(dice, side), 10000, 500);
  for (const auto& [type, low, high] : {std::tuple{DType::i8, -128L, 128L},
                                        {DType::u8, 0L, 256L},
                                        {DType::i16, -300L, -200L},
                                        {DType::i64, -5L, 5L},
                                        {DType::u32, 0L, 0x100000000L},
                                        {DType::i32, 0L, 1L}}) {
    const Tensor drawn = generator.randint({3, 50}, low, high, type);
    EXPECT_EQ(drawn.dtype(), type);
    for (const float v : drawn.to(DType::f32).to_vector()) {
      EXPECT_TRUE(v >= static_cast<float>(low) && v <= static_cast<float>(high)) << v;
    }
  }
  EXPECT_TRUE(message_of([&] { (void)generator.randint({2}, 0, 257, DType::u8); })
                  .starts_with("randint of u8 needs low < high, from 0 to 256; they are 0 and 257. "
                               "(randint at "));
  EXPECT_TRUE(message_of([&] {
                (void)generator.randint({2}, 0, 2, DType::f32);
              }).starts_with("randint gives whole numbers; it was asked for f32."));
}

TEST(DeviceRandom, PermutationsHaveEveryNumberOnce) {
  Generator generator(api_device(), 9);
  for (const std::uint64_t count : {0ULL, 1ULL, 5ULL, 2000ULL}) {
    std::vector<std::int32_t> order = generator.permutation(count).to_vector<std::int32_t>();
    ASSERT_EQ(order.size(), count);
    if (count > 100) {
      EXPECT_FALSE(std::ranges::is_sorted(order));
    }
    std::ranges::sort(order);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i));
  }
  // All orders of three are equally likely.
  std::vector<int> seen(27);
  for (int i = 0; i < 600; ++i) {
    const auto order = generator.permutation(3).to_vector<std::int32_t>();
    ++seen[static_cast<std::size_t>(order[0] * 9 + order[1] * 3 + order[2])];
  }
  for (const int which : {5, 7, 11, 15, 19, 21})
    EXPECT_NEAR(seen[static_cast<std::size_t>(which)], 100, 50);
  const Tensor x = api_device().arange(24).reshape({2, 4, 3});
  const Tensor key = generator.next_key();
  const auto shuffled = random::permutation(key, x, -2).to_vector();
  const auto order = random::permutation(key, 4).to_vector<std::int32_t>();
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(
        shuffled[i],
        static_cast<float>(i / 12 * 12 + static_cast<std::size_t>(order[i / 3 % 4]) * 3 + i % 3));
  }
  EXPECT_TRUE(message_of([&] { (void)random::permutation(key, x, 3); })
                  .starts_with("permutation with the shape [2,4,3] takes an axis from -3 to 2; "
                               "3 was given. (permutation at "));
}

TEST(DeviceRandom, CategoriesComeAsOftenAsTheirProbabilities) {
  Generator generator(api_device(), 10);
  constexpr std::uint64_t count = 20000;
  const std::vector<float> shares{0.1F, 0.0F, 0.6F, 0.3F};
  const Tensor weights = api_device().tensor({4}, shares);
  const Tensor logits = log(weights * 5 + 1e-30);
  const auto expect_shares = [&](const Tensor& drawn) {
    const std::vector<std::int32_t> indices = drawn.to_vector<std::int32_t>();
    ASSERT_EQ(indices.size(), count);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(count_of(indices, i), shares[static_cast<std::size_t>(i)] * count, 350);
    }
  };
  expect_shares(random::categorical(generator.next_key(), logits.broadcast_to({count, 4})));
  expect_shares(random::categorical(generator.next_key(),
                                    logits.reshape({4, 1}).broadcast_to({4, count}), 0));
  expect_shares(random::multinomial(generator.next_key(), weights * 3, count, true));
  const auto all = random::multinomial(generator.next_key(), weights.broadcast_to({50, 4}), 4)
                       .to_vector<std::int32_t>();
  for (std::size_t row = 0; row < 50; ++row) {
    EXPECT_EQ(std::set(all.begin() + static_cast<long>(row * 4),
                       all.begin() + static_cast<long>(row * 4 + 4))
                  .size(),
              4);
    EXPECT_EQ(all[row * 4 + 3], 1);  // of weight 0
  }
  EXPECT_TRUE(message_of([&] {
                (void)random::multinomial(generator.next_key(), weights, 5);
              }).starts_with("multinomial draws 5 indices without replacement"));
}

TEST(DeviceRandom, ACompiledFunctionTakesItsKeyAsAnInput) {
  const Compiled draw = compile([](const std::vector<Tensor>& in) {
    const Tensor keys = random::split(in[0]);
    return Outputs{random::normal(keys.slice(0, 0, 1), {5}) +
                   random::uniform(keys.slice(0, 1, 1), {5})};
  });
  for (const std::uint64_t seed : {1ULL, 2ULL}) {
    const auto keys = Key(seed).split();
    const Tensor plain = random::normal(keys[0].on(api_device()), {5}) +
                         random::uniform(keys[1].on(api_device()), {5});
    EXPECT_EQ(draw.one({random::key(api_device(), seed)}).to_vector(), plain.to_vector());
  }
  EXPECT_EQ(draw.report().built, 1);
}

TEST(DeviceRandom, GeneratorsContinueFromTheirState) {
  Generator a(api_device(), 3);
  (void)a.next();
  Generator b(api_device());
  b.set_state(a.state());
  EXPECT_EQ(a.normal({9}).to_vector(), b.normal({9}).to_vector());
  const auto next = a.normal({9}).to_vector();
  a.manual_seed(3);
  (void)a.next();
  (void)a.next();
  EXPECT_EQ(a.normal({9}).to_vector(), next);
  EXPECT_NE(a.normal({9}).to_vector(), next);
}

TEST(DeviceRandom, ErrorsNameTheFunction) {
  const Tensor wrong = api_device().full({2}, 1);
  EXPECT_TRUE(message_of([&] {
                (void)random::normal(wrong, {3});
              }).starts_with("normal needs a key of two u32; it was given f32[2]."))
      << message_of([&] { (void)random::normal(wrong, {3}); });
  Generator generator(api_device());
  EXPECT_TRUE(
      message_of([&] {
        (void)generator.bernoulli({3}, 1.5);
      }).starts_with("bernoulli needs a probability from 0 to 1; it is 1.5. (bernoulli at"));
}

}  // namespace
}  // namespace weft::test
