// The public C++ API, from a user's point of view.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "base/format.hpp"
#include "base/half.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Drivers may cut digits off where they convert to 16 bits; the results here must not depend on it.
TEST(DeviceApi, HalvesAreRoundedToNearestEven) {
  std::vector<float> values = {0.0F, -0.0F, 65504.0F, 65519.99F, 65520.0F, -65536.0F, 1e30F};
  for (std::uint32_t exponent = 100; exponent < 145; ++exponent) {
    for (const std::uint32_t digits : {0U, 0xfffU, 0x1000U, 0x1001U, 0x1fffU, 0x2fffU, 0x3000U,
                                       0x3001U, 0x7fefffU, 0x7ff000U, 0x7fffffU, 0x400000U}) {
      values.push_back(std::bit_cast<float>((exponent << 23U) | digits));
      values.push_back(-values.back());
    }
  }
  std::vector<float> expected;
  for (const float value : values) expected.push_back(f32_from_f16(f16_bits(value)));
  const Tensor x = api_device().tensor({values.size()}, values);
  const std::vector<float> rounded = x.to(DType::f16).to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool tiny = std::abs(values[i]) < 0x1p-14F;
    EXPECT_TRUE(rounded[i] == expected[i] ||
                (tiny && std::abs(rounded[i] - expected[i]) < 0x1.8p-24F))
        << values[i] << " became " << rounded[i] << " and not " << expected[i];
  }
  const Tensor nan = x.to(DType::f16) - api_device().full({1}, std::nan(""), DType::f16);
  for (const float value : nan.to_vector()) EXPECT_TRUE(std::isnan(value)) << value;
}

TEST(DeviceApi, ArithmeticBroadcastsAndReads) {
  const Tensor a = api_device().tensor({2, 3}, std::vector{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F});
  const Tensor b = api_device().tensor({3}, std::vector{10.0F, 20.0F, 30.0F});
  EXPECT_EQ((a + b).to_vector(), (std::vector{11.0F, 22.0F, 33.0F, 14.0F, 25.0F, 36.0F}));
  EXPECT_EQ((b - a * 2).to_vector(), (std::vector{8.0F, 16.0F, 24.0F, 2.0F, 10.0F, 18.0F}));
  EXPECT_EQ((-a / a).to_vector(), std::vector(6, -1.0F));
  EXPECT_EQ(sum(a).item(), 21.0F);
  EXPECT_EQ(mean(a, {0}).to_vector(), (std::vector{2.5F, 3.5F, 4.5F}));
  EXPECT_EQ(reduce("argmax", a, {1}).to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 2}));
}

TEST(DeviceApi, ViewsShareElementsAndCopiesFollowThem) {
  const Tensor m = api_device().arange(12).reshape({3, 4});
  EXPECT_EQ(m.transpose().to_vector(), (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(m.slice(1, 1, 2).to_vector(), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(m.transpose().reshape({12}).slice(0, 0, 3).to_vector(), (std::vector<float>{0, 4, 8}));
  EXPECT_EQ(m.permute({1, 0}).shape(), (Shape{4, 3}));
  const std::vector parts{m.slice(1, 0, 1), m.slice(1, 3, 1)};
  EXPECT_EQ(concat(parts, 1).to_vector(), (std::vector<float>{0, 3, 4, 7, 8, 11}));
  EXPECT_EQ(m.strides(), (Shape{4, 1}));
  EXPECT_EQ(m.slice(1, 0, 2, 2).transpose().strides(), (Shape{2, 4}));
  EXPECT_EQ(m.reshape({3, 1, 4}).broadcast_to({3, 5, 4}).strides(), (Shape{4, 0, 1}));
  EXPECT_EQ(cumsum(m, 0).slice(0, 2, 1).to_vector(), (std::vector<float>{12, 15, 18, 21}));
}

TEST(DeviceApi, IntegersAreNeitherCutNorRounded) {
  const Tensor a = api_device().arange(5, 0, 1, DType::i32);
  EXPECT_EQ((a / 2).to_vector(), (std::vector{0.0F, 0.5F, 1.0F, 1.5F, 2.0F}));
  EXPECT_EQ(floor_divide(a, api_device().full({}, 2, DType::i32)).to_vector<std::int32_t>(),
            (std::vector{0, 0, 1, 1, 2}));
  EXPECT_EQ((a * 3 - 1).to_vector<std::int32_t>(), (std::vector{-1, 2, 5, 8, 11}));
  EXPECT_EQ((a * 1.5).to_vector(), (std::vector{0.0F, 1.5F, 3.0F, 4.5F, 6.0F}));
  EXPECT_NE(message_of([&] { (void)(a * 1e12); }).find("i32[5] cannot have the parameter 1e+12"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)clamp(a, 0.5, 2); }).find("0.5"), std::string::npos);
}

TEST(DeviceApi, TypesConvert) {
  const Tensor half = api_device().full({5}, 1.5, DType::f16);
  EXPECT_EQ(half.to_vector(), std::vector(5, 1.5F));
  EXPECT_EQ(half.to(DType::i32).to_vector<std::int32_t>(), std::vector<std::int32_t>(5, 1));
  EXPECT_EQ(half.to(DType::bf16).to_string(), "bf16[5] [1.5, 1.5, 1.5, 1.5, 1.5]");
}

TEST(DeviceApi, ModelsPieces) {
  const Tensor x = api_device().tensor({2, 2}, std::vector{0.0F, std::log(3.0F), 1.0F, 1.0F});
  const std::vector<float> soft = softmax(x).to_vector();
  EXPECT_NEAR(soft[0], 0.25F, 1e-6);
  EXPECT_NEAR(soft[1], 0.75F, 1e-6);
  EXPECT_NEAR(soft[2], 0.5F, 1e-6);
  EXPECT_NEAR(log_softmax(x).to_vector()[3], std::log(0.5F), 1e-6);
  const Tensor y = api_device().tensor({1, 2}, std::vector{3.0F, 4.0F});
  EXPECT_NEAR(rms_norm(y, {}, 0).to_vector()[1], 4.0F / std::sqrt(12.5F), 1e-6);
  EXPECT_NEAR(layer_norm(y, {}, {}, 0).to_vector()[0], -1.0F, 1e-5);
  EXPECT_EQ(matmul(y, y.transpose()).item(), 25.0F);
}

TEST(DeviceApi, ComparisonsAndMasks) {
  const Tensor a = api_device().tensor({4}, {0.0F, 1.0F, 2.0F, 3.0F});
  const Tensor b = api_device().full({4}, 2);
  EXPECT_EQ(equal(a, b).to_vector(), (std::vector<float>{0, 0, 1, 0}));
  EXPECT_EQ(equal(a, b).dtype(), DType::boolean);
  EXPECT_EQ((less(a, b) + not_equal(a, b) * 2).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{3, 3, 0, 2}));
  EXPECT_EQ(logical_xor(greater_equal(a, b), greater(a, b)).to_vector(), equal(a, b).to_vector());
  EXPECT_EQ((6 / (less_equal(a, b) + 1)).to_vector(), (std::vector<float>{3, 3, 3, 6}));
  const Tensor q = sin(api_device().arange(48)).reshape({1, 2, 3, 8});
  const Tensor mask = triu(api_device().full({3, 3}, -1e9), 1);
  EXPECT_EQ(attention(q, q, q, {}, mask).to_vector(),
            attention(q, q, q, {}, mask.reshape({1, 1, 3, 3})).to_vector());
}

TEST(DeviceApi, QuantizedWeightsAreJoinedAndCutInWholeBlocks) {
  const Tensor values = sin(api_device().arange(384)).reshape({6, 64});
  const Tensor x = cos(api_device().arange(128)).reshape({2, 64});
  for (const DType dtype : {DType::q4_0, DType::q8_0, DType::mxfp4}) {
    const Tensor all = values.to(dtype);
    const Tensor rows = concat({all.slice(0, 0, 2), all.slice(0, 2, 4)}, 0);
    EXPECT_EQ(rows.dtype(), dtype);
    EXPECT_EQ(rows.to_vector(), all.to_vector());
    EXPECT_EQ(concat({all.slice(1, 0, 32), all.slice(1, 32, 32)}, 1).to_vector(), all.to_vector());
    const Tensor product = linear(x, rows);
    EXPECT_EQ(product.slice(1, 2, 4).to_vector(), linear(x, all.slice(0, 2, 4)).to_vector());
    const std::vector<float> exact = product.to_vector();
    const std::vector<float> rounded = linear(x, rows, {}, {.allow_q8 = true}).to_vector();
    for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(rounded[i], exact[i], 0.1) << i;
  }
}

TEST(DeviceApi, TextsShowIntegersWholeAndReadOnlyWhatTheyShow) {
  const Tensor whole = api_device().arange(3, 123456788, 1, DType::i32);
  EXPECT_EQ(whole.to_string(), "i32[3] [123456788, 123456789, 123456790]");
  EXPECT_EQ(api_device().full({1}, std::nan("")).to_string(), "f32[1] [nan]");
  EXPECT_EQ(api_device().arange(20).reshape({2, 10}).to_string(),
            "f32[2,10] [[0, 1, 2, 3, 4, 5, 6, 7, …], [10, 11, 12, 13, 14, 15, 16, 17, …]]");
  EXPECT_EQ(api_device().full({0, 2}, 0).to_string(), "f32[0,2] []");
  const Tensor huge = api_device().full({1ULL << 44}, 0);
  EXPECT_NE(message_of([&] { (void)huge.to_string(); }).find("17592186044416"), std::string::npos);
}

TEST(DeviceApi, MeansOfIntegersAreFractions) {
  const Tensor x = api_device().arange(4, 0, 1, DType::i32);
  EXPECT_EQ(mean(x).item(), 1.5F);
  EXPECT_EQ(reduce("norm", api_device().arange(2, 3, 1, DType::i32)).item(), 5.0F);
  EXPECT_EQ(sum(x).item<std::int32_t>(), 6);
  EXPECT_NE(message_of([&] { (void)reduce("median", x); }).find("did you mean `mean`"),
            std::string::npos);
}

TEST(DeviceApi, SafeModeReportsIndicesOutside) {
  const Device safe({.safe = true});
  const Tensor table = safe.arange(12).reshape({4, 3});
  const Tensor good = safe.tensor({2}, std::vector<std::int64_t>{3, 0});
  const Tensor bad = safe.tensor({2}, std::vector<std::int32_t>{1, 4});
  const Tensor negative = safe.tensor({1, 3}, std::vector<std::int64_t>{0, 1, -1});
  EXPECT_EQ(embedding(table, good).to_vector(), (std::vector<float>{9, 10, 11, 0, 1, 2}));
  EXPECT_NE(message_of([&] {
              (void)embedding(table, bad);
            }).find("Index 4, element 1 of 2 in shape [2], is not below 4. (embedding at "),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)index_copy(table, bad, safe.full({2, 3}, 0)); }).find("Index 4"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)gather(table, negative, 0); }).find("Index -1, element 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              (void)scatter_add(table, negative, safe.full({1, 3}, 0), 0);
            }).find("Index -1"),
            std::string::npos);
  // In fast mode nothing waits: no row, and zeros.
  const Tensor fast = api_device().arange(12).reshape({4, 3});
  const Tensor outside = api_device().tensor({1}, std::vector<std::int32_t>{4});
  if (std::getenv("WEFT_MODE") == nullptr) {
    EXPECT_EQ(embedding(fast, outside).to_vector(), (std::vector<float>{0, 0, 0}));
  }
}

TEST(DeviceApi, UsersKernelsRun) {
  const Kernel twice =
      api_device().kernel({.wgsl = "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
                                   "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
                                   "@group(0) @binding(2) var<uniform> count: vec4<u32>;\n"
                                   "override factor: f32;\n"
                                   "@compute @workgroup_size(64)\n"
                                   "fn main(@builtin(global_invocation_id) at: vec3<u32>) {\n"
                                   "  if (at.x < count.x) { y[at.x] = factor * x[at.x]; }\n"
                                   "}\n",
                           .writes = {false, true},
                           .scalars = 1,
                           .constants = {{"factor", 2.0}}});
  const Tensor x = api_device().arange(100);
  const Tensor y = api_device().full({100}, -1);
  twice.run({x, y}, {2, 1, 1}, {90});
  EXPECT_EQ(y.to_vector()[89], 178.0F);
  EXPECT_EQ(y.to_vector()[90], -1.0F);
  EXPECT_NE(message_of([&] { twice.run({x}, {1, 1, 1}, {90}); }).find("takes 2 tensors"),
            std::string::npos);
}

/// How a message names this line; in a page no places are known.
std::string here(Where where = Where::current()) {
  return where.line() == 0 ? "" : formatted(" at api_test.cpp:{}", where.line());
}

TEST(DeviceApi, ErrorsSayTheValues) {
  const Tensor a = api_device().full({2, 3}, 1);
  const Tensor b = api_device().full({4}, 1);
  EXPECT_EQ(message_of([&] { (void)(a + b); }),
            "Shapes [2,3] and [4] do not broadcast: 3 and 4 differ. (add" + here() + ")");
  EXPECT_NE(message_of([&] { (void)matmul(a, a); }).find("[2,3] and [2,3]"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)a.reshape({7}); }).find("[7]"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)map("gulp", a); }).find("gulp"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)sum(a, {5}); }).find("5 was given"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)matmul(a, {}); }).find("f32[2,3] is empty"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)layer_norm(Tensor(), b); }).find("is empty"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)a.item(); }).find('6'), std::string::npos);
  EXPECT_NE(message_of([&] { (void)a.to_vector<std::int32_t>(); }).find("f32"), std::string::npos);
  EXPECT_NE(message_of([] { (void)Tensor().size(); }), "no error");
  EXPECT_NE(message_of([] { (void)compile({}); }), "no error");
  EXPECT_NE(
      message_of([] { (void)api_device().tensor({3}, std::vector{1.0F}); }).find("3 elements"),
      std::string::npos);
}

// Not of DeviceApi, which also runs under sanitizers: they end the process where there is no
// memory.
TEST(HostMemory, MayBeTooLittle) {
  const Tensor huge = api_device().full({1}, 1).broadcast_to({1ULL << 50U});
  EXPECT_NE(message_of([&] { (void)huge.to_vector(); }).find("1125899906842624 elements"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::test
