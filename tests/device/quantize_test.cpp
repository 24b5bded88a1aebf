// Affine quantization against whole numbers on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::int8_t>;
using Ints = std::vector<std::int32_t>;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor row(const Floats& values) { return api_device().tensor({values.size()}, values); }

Floats waves(std::size_t count, double phase = 0) {
  Floats out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(3 * std::sin(phase + 1.3 * static_cast<double>(i)));
  }
  return out;
}

TEST(DeviceQuantize, RoundsToEvenAndStaysInRange) {
  const Tensor x = row({0.5F, 1.5F, -2.5F, 1000, -1000, inf, -inf, nan});
  EXPECT_EQ(quantize(x, row({1})).to_vector<std::int8_t>(),
            (Bytes{0, 2, -2, 127, -128, 127, -128, 0}));
  const Tensor zero = api_device().tensor({1}, Ints{10});
  EXPECT_EQ(quantize(x.slice(0, 0, 5), row({0.5F}), {.zero_point = zero, .dtype = DType::u8})
                .to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{11, 13, 5, 255, 0}));
  EXPECT_EQ(quantize(x.slice(0, 0, 0), row({1})).to_vector<std::int8_t>(), Bytes{});
}

TEST(DeviceQuantize, ChannelsAndGroupsHaveScalesOfTheirOwn) {
  const Floats values = waves(2 * 3 * 4);
  const Tensor x = api_device().tensor({2, 3, 4}, values);
  const Floats scales{0.1F, 0.05F, 0.2F};
  const Tensor q = quantize(x, row(scales), {.axis = 1});
  const Tensor back = dequantize(q, row(scales), {.axis = 1});
  const auto whole = q.to_vector<std::int8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = scales[i / 4 % 3];
    EXPECT_EQ(whole[i], std::clamp(std::nearbyint(values[i] / scale), -128.0F, 127.0F)) << i;
    EXPECT_NEAR(back.to_vector()[i], static_cast<float>(whole[i]) * scale, 1e-6) << i;
  }
  // Groups of 2 along the last axis, from a view.
  const Floats many = waves(2 * 3 * 2, 1);
  const Tensor group_scales = abs(api_device().tensor({2, 3, 2}, many)) + 0.02;
  const Tensor turned = (x.permute({2, 0, 1}) + 0).permute({1, 2, 0});
  const Tensor grouped = dequantize(quantize(turned, group_scales, {.group = 2}), group_scales,
                                    {.group = 2, .dtype = DType::f16});
  EXPECT_EQ(grouped.dtype(), DType::f16);
  const Floats got = grouped.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = std::abs(many[i / 2]) + 0.02F;
    const float wanted = std::clamp(std::nearbyint(values[i] / scale), -128.0F, 127.0F) * scale;
    EXPECT_NEAR(got[i], wanted, 4e-3 + 1e-3 * std::abs(wanted)) << i;
  }
  EXPECT_THROW((void)quantize(x, row({1, 2}), {.axis = 1}), Error);
  EXPECT_THROW((void)quantize(x, group_scales, {.group = 3}), Error);
  EXPECT_THROW((void)quantize(x, row({1}), {.dtype = DType::i32}), Error);
  EXPECT_THROW((void)quantize(x.to(DType::i32), row({1})), Error);
}

TEST(DeviceQuantize, FourBitsShareBytes) {
  const Bytes all{-8, -7, -1, 0, 1, 7, 3, -4};
  const Tensor q = api_device().tensor({2, 4}, all);
  const Tensor packed = pack_int4(q);
  EXPECT_EQ(packed.shape(), (Shape{2, 2}));
  EXPECT_EQ(packed.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0x98, 0x0f, 0x71, 0xc3}));
  EXPECT_EQ(unpack_int4(packed).to_vector<std::int8_t>(), all);
  EXPECT_EQ(unpack_int4(packed, false).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{8, 9, 15, 0, 1, 7, 3, 12}));
  EXPECT_THROW((void)pack_int4(q.slice(1, 0, 3)), Error);
}

TEST(DeviceQuantize, RangesAreMeasured) {
  const Floats values = waves(12);
  const Tensor x = api_device().tensor({3, 4}, values);
  const Quantized q = quantize_dynamic(x, {.per_row = true});
  EXPECT_FALSE(q.zero_point);
  const auto whole = q.values.to_vector<std::int8_t>();
  for (std::size_t r = 0; r < 3; ++r) {
    float most = 0;
    for (std::size_t i = 0; i < 4; ++i) most = std::max(most, std::abs(values[r * 4 + i]));
    EXPECT_NEAR(q.scale.to_vector()[r], most / 127, 1e-7);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(static_cast<float>(whole[r * 4 + i]) * most / 127, values[r * 4 + i], most / 250);
    }
  }
  // As ONNX has it for u8: the range goes to 0 at least.
  const Quantized u = quantize_dynamic(row({0, 2, -3, -2.45F, 1.34F, 0.5F}), {.symmetric = false});
  EXPECT_NEAR(u.scale.item(), 0.0196078438F, 1e-8);
  EXPECT_EQ(u.zero_point.item<std::int32_t>(), 153);
  EXPECT_EQ(u.values.to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{153, 255, 0, 28, 221, 179}));
  EXPECT_EQ(quantize_dynamic(row({0, 0})).values.to_vector<std::int8_t>(), (Bytes{0, 0}));
  EXPECT_THROW((void)quantize_dynamic(row({})), Error);
}

TEST(DeviceQuantize, FakesLetGradientsThrough) {
  const Tensor x = variable(row({0.24F, -0.26F, 100, -100, 63.4F}));
  const Tensor y = fake_quantize(x, row({0.5F}));
  EXPECT_EQ(y.to_vector(), (Floats{0, -0.5F, 63.5F, -64, 63.5F}));
  EXPECT_EQ(grad(y, row({1, 2, 3, 4, 5}), {x})[0].to_vector(), (Floats{1, 2, 0, 0, 5}));
  EXPECT_THROW((void)fake_quantize(x, row({1}), {.low = 3, .high = 3}), Error);
}

TEST(DeviceQuantize, ProductsOfWholeNumbersAreExact) {
  const Tensor a = api_device().tensor({2, 3}, std::vector<std::uint8_t>{255, 0, 7, 1, 128, 200});
  const Tensor b = api_device().tensor({3, 2}, Bytes{-128, 127, 5, -6, 100, 3});
  EXPECT_EQ(matmul_integer(a, b).to_vector<std::int32_t>(), (Ints{-31940, 32406, 20512, -41}));
  const Tensor za = api_device().tensor({}, Ints{12});
  const Tensor zb = api_device().tensor({2}, Ints{3, -1});
  Ints wanted;
  const Ints av{255, 0, 7, 1, 128, 200};
  const Ints bv{-128, 127, 5, -6, 100, 3};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        sum += (av[i * 3 + k] - 12) * (bv[k * 2 + j] - (j == 0 ? 3 : -1));
      }
      wanted.push_back(sum);
    }
  }
  EXPECT_EQ(matmul_integer(a, b, za, zb).to_vector<std::int32_t>(), wanted);
  EXPECT_THROW((void)matmul_integer(a, b.transpose()), Error);
  EXPECT_THROW((void)matmul_integer(a.to(DType::f32), b), Error);
  EXPECT_THROW((void)matmul_integer(a, b, api_device().tensor({3}, Ints{1, 2, 3})), Error);
  EXPECT_EQ(requantize(matmul_integer(a, b), row({0.001F})).to_vector<std::int8_t>(),
            (Bytes{-32, 32, 21, 0}));
}

TEST(DeviceQuantize, LinearIsNearTheOneOfFloats) {
  const Tensor x = api_device().tensor({5, 33}, waves(5 * 33));
  const Tensor w = api_device().tensor({9, 33}, waves(9 * 33, 2));
  const Quantized q = quantize_dynamic(w, {.per_row = true});
  const Tensor bias = row(waves(9, 3));
  const Floats got = linear_int8(x, q.values, q.scale.reshape({9}), bias).to_vector();
  const Floats wanted = linear(x, w, bias).to_vector();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1.0) << i;
}

}  // namespace
}  // namespace weft::test
