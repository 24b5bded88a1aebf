// Products and convolutions of whole numbers, what becomes of their sums, and floats of 8 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"
#include "small_bindings.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::int8_t>;
using Naturals = std::vector<std::uint8_t>;
using Ints = std::vector<std::int32_t>;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor row(const Floats& values) { return api_device().tensor({values.size()}, values); }
Tensor one(float value) { return api_device().tensor({}, Floats{value}); }
Tensor whole(std::int32_t value) { return api_device().tensor({}, Ints{value}); }

Bytes numbers(std::size_t count, int seed) {
  Bytes out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int8_t>((static_cast<int>(i) * 37 + seed * 53) % 255 - 127);
  }
  return out;
}

TEST(DeviceQuantizedProducts, LinearBecomesWholeNumbersAgain) {
  const std::size_t rows = 3, depth = 7, columns = 5;
  const Bytes xs = numbers(rows * depth, 1);
  const Bytes ws = numbers(columns * depth, 2);
  const Floats scales{0.01F, 0.02F, 0.005F, 0.03F, 0.015F};
  const Floats bias{1, -2, 0.5F, 0, 3};
  const Tensor x = api_device().tensor({1, rows, depth}, xs);
  const Tensor w = api_device().tensor({columns, depth}, ws);
  const QuantizedLinearOptions floats{.x_zero_point = whole(4), .bias = row(bias)};
  const Tensor y = quantized_linear(x, one(0.02F), w, row(scales), floats);
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.shape(), (Shape{1, rows, columns}));
  QuantizedLinearOptions again = floats;
  again.result = {.scale = one(0.11F), .zero_point = whole(-7)};
  const auto q = quantized_linear(x, one(0.02F), w, row(scales), again).to_vector<std::int8_t>();
  again.result.dtype = DType::u8;
  again.result.zero_point = whole(130);
  const auto u = quantized_linear(x, one(0.02F), w, row(scales), again).to_vector<std::uint8_t>();
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::size_t r = i / columns, c = i % columns;
    int sum = 0;
    for (std::size_t k = 0; k < depth; ++k) sum += (xs[r * depth + k] - 4) * ws[c * depth + k];
    const double wanted = 0.02 * scales[c] * sum + bias[c];
    EXPECT_NEAR(y.to_vector()[i], wanted, 1e-5 * (1 + std::abs(wanted))) << i;
    // Nothing lies so near to the middle of two numbers that f32 could decide otherwise.
    EXPECT_EQ(q[i], std::clamp(std::nearbyint(wanted / 0.11) - 7, -128.0, 127.0)) << i;
    EXPECT_EQ(u[i], std::clamp(std::nearbyint(wanted / 0.11) + 130, 0.0, 255.0)) << i;
  }
}

TEST(DeviceQuantizedProducts, HalvesGoToTheEvenNeighbourBeforeTheZeroPointIsAdded) {
  // Sums 1, 3, 5, -1, -3 halved.
  const Tensor x = api_device().tensor({5, 1}, Bytes{1, 3, 5, -1, -3});
  const Tensor w = api_device().tensor({1, 1}, Bytes{1});
  const auto of = [&](std::int32_t zero) {
    return quantized_linear(x, one(0.5F), w, one(1),
                            {.result = {.scale = one(1), .zero_point = whole(zero)}})
        .to_vector<std::int8_t>();
  };
  EXPECT_EQ(of(0), (Bytes{0, 2, 2, 0, -2}));
  EXPECT_EQ(of(1), (Bytes{1, 3, 3, 1, -1}));
  const auto special = [&](float scale) {
    return quantized_linear(x, one(scale), w, one(1), {.result = {.scale = one(1)}})
        .to_vector<std::int8_t>();
  };
  EXPECT_EQ(special(inf), (Bytes{127, 127, 127, -128, -128}));
  EXPECT_EQ(special(nan), (Bytes{0, 0, 0, 0, 0}));
}

TEST(DeviceQuantizedProducts, ConvolutionsAreExact) {
  // Padding counts as the zero point, so that it adds nothing.
  const Bytes xs = numbers(90, 3);
  const Bytes ws = numbers(72, 4);
  const Tensor x = api_device().tensor({1, 3, 5, 6}, xs);
  const Tensor w = api_device().tensor({4, 3, 3, 2}, ws);
  const ConvOptions options{.windows = {.stride = {2, 1}, .pad = {1, 2}, .dilation = {1, 3}}};
  const Tensor zero = api_device().tensor({4}, Ints{1, -2, 3, 0});
  const Tensor got = conv_integer(x, w, options, whole(-9), zero);
  // Whole numbers below 2^24 are exact in f32.
  const Tensor wide = conv(x.to(DType::f32) + 9,
                           w.to(DType::f32) - zero.to(DType::f32).reshape({4, 1, 1, 1}), options);
  EXPECT_EQ(got.dtype(), DType::i32);
  EXPECT_EQ(got.shape(), wide.shape());
  EXPECT_EQ(got.to_vector<std::int32_t>(), wide.to(DType::i32).to_vector<std::int32_t>());
  const Tensor scales = row({0.5F, 0.25F, 1, 2});
  const QuantizedConvOptions floats{.windows = options.windows,
                                    .x_zero_point = whole(-9),
                                    .weight_zero_point = zero,
                                    .bias = row({1, 2, 3, 4})};
  const Tensor y = quantized_conv(x, one(0.25F), w, scales, floats);
  const Tensor same = got.to(DType::f32) * (scales * 0.25).reshape({1, 4, 1, 1}) +
                      row({1, 2, 3, 4}).reshape({1, 4, 1, 1});
  EXPECT_EQ(y.to_vector(), same.to_vector());
  QuantizedConvOptions again = floats;
  again.result = {.scale = one(64), .zero_point = whole(100), .dtype = DType::u8};
  EXPECT_EQ(quantized_conv(x, one(0.25F), w, scales, again).to_vector<std::uint8_t>(),
            quantize(same, one(64), {.zero_point = whole(100), .dtype = DType::u8})
                .to_vector<std::uint8_t>());
}

TEST(DeviceQuantizedProducts, MatricesPastABindingLieEitherWay) {
  // A column of [K, N] is spread over nearly all of it, as is a row of a transposed one.
  const Device device = with_binding("4096");
  const std::size_t m = 50, k = 130, n = 60;
  const Bytes as = numbers(m * k, 1);
  const Bytes bs = numbers(k * n, 2);
  Ints wanted(m * n);
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    for (std::size_t i = 0; i < k; ++i) {
      wanted[at] += as[i * m + at / n] * bs[i * n + at % n];
    }
  }
  const Tensor a = device.tensor({k, m}, as).transpose();
  EXPECT_EQ(matmul_integer(a, device.tensor({k, n}, bs)).to_vector<std::int32_t>(), wanted);
}

TEST(DeviceQuantizedProducts, SumsOfNothingAreZero) {
  const Tensor x = api_device().tensor({3, 0}, Bytes{});
  const Tensor w = api_device().tensor({0, 2}, Bytes{});
  const Tensor zero = api_device().tensor({2}, Ints{4, -5});
  EXPECT_EQ(matmul_integer(x, w).to_vector<std::int32_t>(), Ints(6));
  EXPECT_EQ(matmul_integer(x, w, {}, zero).to_vector<std::int32_t>(), Ints(6));
  const Tensor rows = w.transpose();
  EXPECT_EQ(quantized_linear(x, one(2), rows, one(3)).to_vector(), Floats(6));
  EXPECT_EQ(quantized_linear(
                x, one(2), rows, one(3),
                {.bias = row({1, -4}), .result = {.scale = one(0.5F), .zero_point = whole(1)}})
                .to_vector<std::int8_t>(),
            (Bytes{3, -7, 3, -7, 3, -7}));
  const Tensor image = api_device().tensor({1, 0, 3, 2}, Bytes{});
  const Tensor windows = api_device().tensor({2, 0, 2, 1}, Bytes{});
  EXPECT_EQ(conv_integer(image, windows, {}, whole(3)).to_vector<std::int32_t>(), Ints(8));
  EXPECT_EQ(quantized_conv(image, one(2), windows, one(3), {.bias = row({1, -4})}).to_vector(),
            (Floats{1, 1, 1, 1, -4, -4, -4, -4}));
}

TEST(DeviceQuantizedProducts, WhatDoesNotFitIsRefused) {
  const Tensor x = api_device().tensor({2, 3}, numbers(6, 1));
  const Tensor w = api_device().tensor({4, 3}, numbers(12, 1));
  EXPECT_THROW((void)quantized_linear(x.to(DType::i32), one(1), w, one(1)), Error);
  EXPECT_THROW((void)quantized_linear(x, row({1, 2}), w, one(1)), Error);
  EXPECT_THROW((void)quantized_linear(x, one(1), w, row({1, 2})), Error);
  EXPECT_THROW((void)quantized_linear(x, one(1), w, one(1), {.bias = row({1, 2, 3})}), Error);
  EXPECT_THROW((void)quantized_linear(x, one(1), w, one(1), {.result = {.dtype = DType::i8}}),
               Error);
  EXPECT_THROW((void)quantized_linear(x, one(1), w, one(1),
                                      {.result = {.scale = one(1), .dtype = DType::f32}}),
               Error);
  EXPECT_THROW((void)quantized_conv(x, one(1), w, one(1)), Error);
  const Tensor image = api_device().tensor({1, 2, 3}, numbers(6, 1));
  EXPECT_THROW((void)conv_integer(image, api_device().tensor({1, 3, 1}, numbers(3, 1))), Error);
  EXPECT_THROW((void)conv_integer(image, api_device().tensor({1, 2, 4}, numbers(8, 1))), Error);
  EXPECT_THROW((void)conv_integer(image, api_device().tensor({1, 2, 1}, numbers(2, 1)), {}, one(1)),
               Error);
  const Tensor none = quantized_linear(x.slice(0, 0, 0), one(1), w, one(1));
  EXPECT_EQ(none.shape(), (Shape{0, 4}));
}

TEST(DeviceQuantizedProducts, FourBitsInGroups) {
  const Tensor x = row({-3, 2.6F, 0.4F, 9, 100, -100, 1, 2});
  const Tensor scale = row({0.5F, 2, 20, 0.5F});
  const Tensor q = quantize(x, scale, {.group = 2, .low = -8, .high = 7});
  EXPECT_EQ(q.to_vector<std::int8_t>(), (Bytes{-6, 5, 0, 4, 5, -5, 2, 4}));
  EXPECT_EQ(quantize(x, row({0.5F}), {.low = -8, .high = 7}).to_vector<std::int8_t>(),
            (Bytes{-6, 5, 1, 7, 7, -8, 2, 4}));
  EXPECT_EQ(dequantize(unpack_int4(pack_int4(q)), scale, {.group = 2}).to_vector(),
            (Floats{-3, 2.5F, 0, 8, 100, -100, 1, 2}));
  EXPECT_THROW((void)quantize(x, row({1}), {.low = -129}), Error);
  EXPECT_THROW((void)quantize(x, row({1}), {.low = 3, .high = 2}), Error);
  const Tensor v = variable(x);
  const Tensor y = fake_quantize(v, scale, {.group = 2, .low = -8, .high = 4});
  EXPECT_EQ(y.to_vector(), (Floats{-3, 2, 0, 8, 80, -100, 1, 2}));
  EXPECT_EQ(grad(y, row({1, 2, 3, 4, 5, 6, 7, 8}), {v})[0].to_vector(),
            (Floats{1, 0, 3, 4, 0, 6, 7, 8}));
}

TEST(DeviceQuantizedProducts, FloatsOfEightBits) {
  // Every number goes to itself; NaN stays NaN.
  Naturals all(256);
  for (std::size_t i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  const Tensor bits = api_device().tensor({2, 128}, all);
  for (const std::string_view format : {"e4m3", "e5m2"}) {
    SCOPED_TRACE(format);
    const Floats values = from_f8(bits, format).to_vector();
    const auto back = to_f8(from_f8(bits, format, DType::f16), format).to_vector<std::uint8_t>();
    for (std::size_t i = 0; i < 256; ++i) {
      const bool is_nan = (i & 127U) > (format == "e4m3" ? 126U : 124U);
      EXPECT_EQ(std::isnan(values[i]), is_nan) << i;
      if (is_nan) {
        EXPECT_GT(back[i] & 127, format == "e4m3" ? 126 : 124) << i;
      } else {
        EXPECT_EQ(back[i], i) << i;
      }
    }
  }
  const Floats e4m3 = from_f8(api_device().tensor({4}, Naturals{1, 8, 0x7e, 0xb8})).to_vector();
  EXPECT_EQ(e4m3, (Floats{0x1p-9F, 0x1p-6F, 448, -1}));
  const Floats e5m2 =
      from_f8(api_device().tensor({4}, Naturals{1, 4, 0x7b, 0xfc}), "e5m2").to_vector();
  EXPECT_EQ(e5m2, (Floats{0x1p-16F, 0x1p-14F, 57344, -inf}));
  // Halves: 17 is between 16 (even) and 18, 19 between 18 and 20 (even); 2^-10 between 0 and the
  // least number.
  const Tensor x = row({17, 19, 0x1p-10F, -0x1p-10F, 0x1.8p-9F, 464, 465, inf, nan, -1e9F});
  EXPECT_EQ(to_f8(x).to_vector<std::uint8_t>(),
            (Naturals{0x58, 0x5a, 0, 0x80, 2, 0x7e, 0x7f, 0x7f, 0x7f, 0xff}));
  const Tensor y = row({9, 11, 61439, 61440, inf, nan, -inf});
  EXPECT_EQ(to_f8(y, "e5m2").to_vector<std::uint8_t>(),
            (Naturals{0x48, 0x4a, 0x7b, 0x7c, 0x7c, 0x7f, 0xfc}));
  EXPECT_EQ(to_f8(x.slice(0, 0, 0)).shape(), (Shape{0}));
  EXPECT_THROW((void)to_f8(x, "e3m4"), Error);
  EXPECT_THROW((void)from_f8(x), Error);
}

TEST(DeviceQuantizedProducts, FilesGiveTheBitsOfFloatsOfEightBits) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "weft_f8_test.safetensors";
  const std::string header = R"({"w":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}})";
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << header << "\x38\xb8\x7e";
  file.close();
  const NamedTensors loaded = load(api_device(), path);
  const Tensor w = loaded.tensors.at("w");
  EXPECT_EQ(w.dtype(), DType::u8);
  EXPECT_EQ(from_f8(w).to_vector(), (Floats{1, -1, 448}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft::test
