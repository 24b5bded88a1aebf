// Transforms along several axes, of frames, and cosine transforms, against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "base/format.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Complex = std::complex<double>;
using Complexes = std::vector<Complex>;

Floats waves(std::size_t count, double phase = 0) {
  Floats out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(std::sin(phase + 0.7 * static_cast<double>(i * i % 31)));
  }
  return out;
}

Complexes complexes(const Floats& values) {
  Complexes out(values.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {values[2 * i], values[2 * i + 1]};
  return out;
}

/// The transform of [outer, n, inner] along n, by its sum.
Complexes along(const Complexes& x, std::size_t n, std::size_t inner, bool inverse) {
  Complexes y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t k = i / inner % n;
    const std::size_t first = i - k * inner;
    for (std::size_t j = 0; j < n; ++j) {
      const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j * k % n) /
                           static_cast<double>(n);
      y[i] += x[first + j * inner] * std::polar(1.0, angle);
    }
  }
  return y;
}

void near(const Tensor& got, const Complexes& wanted, double factor, double tolerance = 2e-5) {
  const Complexes values = complexes(got.to_vector());
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(std::abs(values[i] - wanted[i] * factor), 0, tolerance) << i;
  }
}

void near(const Tensor& got, const Floats& wanted, double tolerance = 1e-5) {
  const Floats values = got.to_vector();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << i;
}

TEST(DeviceTransforms, SeveralAxesWithEveryNorm) {
  const Floats values = waves(3 * 5 * 4 * 2);
  const Tensor x = api_device().tensor({3, 5, 4, 2}, values);
  const Complexes start = complexes(values);
  const Complexes two = along(along(start, 4, 1, false), 5, 4, false);
  const Complexes all = along(two, 3, 20, false);
  near(fft2(x), two, 1);
  near(fft2(x, {1, 2}, "ortho"), two, 1 / std::sqrt(20.0));
  near(fft2(x, {}, "forward"), two, 1 / 20.0);
  near(fftn(x), all, 1, 5e-5);
  near(fftn(x, {0}), along(start, 3, 20, false), 1);
  near(ifftn(x, {0, -1}), along(along(start, 3, 20, true), 4, 1, true), 1 / 12.0);
  for (const std::string norm : {"backward", "ortho", "forward"}) {
    near(ifftn(fftn(x, {}, norm), {}, norm), values);
    near(ifft2(fft2(x, {0, 1}, norm), {0, 1}, norm), values);
  }
  EXPECT_THROW((void)fftn(x, {0, 0}), Error);
  EXPECT_THROW((void)fftn(x, {3}), Error);
  EXPECT_THROW((void)fftn(x, {}, "none"), Error);
  EXPECT_THROW((void)fft2(x, {0}), Error);
  EXPECT_THROW((void)fftn(x.to(DType::u8)), Error);
}

TEST(DeviceTransforms, RealNumbersHaveHalf) {
  const Floats values = waves(2 * 3 * 5);
  const Tensor x = api_device().tensor({2, 3, 5}, values);
  const Complexes start(values.begin(), values.end());
  const Complexes whole = along(along(start, 5, 1, false), 3, 5, false);
  Complexes half;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i % 5 < 3) half.push_back(whole[i]);
  }
  near(rfft2(x), half, 1);
  for (const std::string norm : {"backward", "ortho", "forward"}) {
    near(irfft2(rfft2(x, {}, norm), 5, {}, norm), values);
    near(irfftn(rfftn(x, {2, 1}, norm), 3, {2, 1}, norm), values);
  }
}

TEST(DeviceTransforms, SixteenBitsAreComputedInF32) {
  const Tensor x = api_device().tensor({3, 10, 2}, waves(60));
  const Tensor real = api_device().tensor({2, 40}, waves(80));
  const Tensor window = api_device().tensor({8}, waves(8, 1));
  using Function = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<std::string, std::pair<Tensor, Function>>> functions{
      {"fft", {x, [](In v) { return fft(v); }}},
      {"ifft", {x, [](In v) { return ifft(v, 0); }}},
      {"rfft", {real, [](In v) { return rfft(v); }}},
      {"irfft", {x, [](In v) { return irfft(v, 18); }}},
      {"fft2", {x, [](In v) { return fft2(v); }}},
      {"ifftn", {x, [](In v) { return ifftn(v, {}, "ortho"); }}},
      {"rfftn", {real, [](In v) { return rfftn(v); }}},
      {"irfftn", {x, [](In v) { return irfftn(v, 18, {0, 1}); }}},
      {"stft", {real, [&](In v) { return stft(v, 8, {.window = window.to(v.tensor.dtype())}); }}},
      {"istft", {x.reshape({5, 6, 2}), [](In v) { return istft(v, 8, 16); }}},
      {"dct", {real, [](In v) { return dct(v); }}},
      {"idct", {real, [](In v) { return idct(v, 0); }}}};
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const auto& [name, made] : functions) {
      SCOPED_TRACE(formatted("{} {}", name, weft::name(type)));
      const Tensor given = made.first.to(type);
      const Tensor got = made.second(given);
      EXPECT_EQ(got.dtype(), type);
      // A window of 16 bits is the same in both.
      const Tensor wide = name == "stft"
                              ? stft(given.to(DType::f32), 8, {.window = window.to(type)})
                              : made.second(given.to(DType::f32));
      EXPECT_EQ(got.to_vector(), wide.to(type).to_vector());
    }
  }
  EXPECT_THROW((void)fftn(x.to(DType::i32)), Error);
  const Tensor leaf = variable(real.to(DType::f16));
  EXPECT_EQ(grad(sum(rfft(leaf)), {leaf})[0].dtype(), DType::f16);
}

TEST(DeviceTransforms, FramesAndBack) {
  const std::size_t samples = 50, n = 8, hop = 3;
  const Floats signal = waves(2 * samples);
  const Tensor x = api_device().tensor({2, samples}, signal);
  Floats hann(n);
  for (std::size_t i = 0; i < n; ++i) {
    hann[i] =
        static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / n));
  }
  const Tensor window = api_device().tensor({n}, hann);
  const Tensor y = stft(x, n, {.hop = hop, .window = window});
  const std::size_t frames = 1 + samples / hop;
  EXPECT_EQ(y.shape(), (Shape{2, n / 2 + 1, frames, 2}));
  const Complexes got = complexes(y.to_vector());
  for (std::size_t k = 0; k < n / 2 + 1; ++k) {
    for (std::size_t f = 0; f < frames; ++f) {
      Complex wanted = 0;
      for (std::size_t i = 0; i < n; ++i) {
        auto at = static_cast<std::ptrdiff_t>(f * hop + i) - static_cast<std::ptrdiff_t>(n / 2);
        if (at < 0) at = -at;
        const auto last = static_cast<std::ptrdiff_t>(samples) - 1;
        if (at > last) at = 2 * last - at;
        wanted += double{hann[i]} * signal[samples + static_cast<std::size_t>(at)] *
                  std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k) / n);
      }
      EXPECT_NEAR(std::abs(got[((n / 2 + 1) + k) * frames + f] - wanted), 0, 1e-5) << k << " " << f;
    }
  }
  near(istft(y, n, samples, {.hop = hop, .window = window}), signal);
  const StftOptions plain{.hop = 2, .center = false, .norm = "ortho"};
  near(istft(stft(x, n, plain), n, samples, plain), signal);
  EXPECT_THROW((void)stft(x, 200), Error);
  EXPECT_THROW((void)stft(x, n, {.hop = 9}), Error);
  EXPECT_THROW((void)istft(y, 10, samples), Error);
}

TEST(DeviceTransforms, Cosines) {
  for (const std::size_t n : {1, 2, 7, 12}) {
    const Floats values = waves(3 * n, 0.4);
    const Tensor x = api_device().tensor({n, 3}, values);
    Floats wanted(3 * n);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          sum += 2 * values[i * 3 + c] *
                 std::cos(std::numbers::pi * static_cast<double>(k * (2 * i + 1)) /
                          (2 * static_cast<double>(n)));
        }
        wanted[k * 3 + c] = static_cast<float>(sum);
      }
    }
    near(dct(x, 0), wanted, 1e-4);
    for (const std::string norm : {"backward", "ortho", "forward"}) {
      near(idct(dct(x, 0, norm), 0, norm), values);
    }
    // Lengths stay with "ortho".
    EXPECT_NEAR(sum(dct(x, 0, "ortho") * dct(x, 0, "ortho")).item(), sum(x * x).item(), 1e-4);
  }
}

/// Row k of the matrix of a cosine transform, at column i.
double cosine(std::uint64_t type, std::size_t n, std::size_t k, std::size_t i) {
  const double size = static_cast<double>(n);
  const double row = static_cast<double>(k);
  const double column = static_cast<double>(i);
  switch (type) {
    case 1: {
      const double ends = i == 0 || i == n - 1 ? 1 : 2;
      return ends * std::cos(std::numbers::pi * row * column / (size - 1));
    }
    case 2: return 2 * std::cos(std::numbers::pi * row * (2 * column + 1) / (2 * size));
    case 3:
      return (i == 0 ? 1 : 2) * std::cos(std::numbers::pi * (2 * row + 1) * column / (2 * size));
    default: return 2 * std::cos(std::numbers::pi * (2 * row + 1) * (2 * column + 1) / (4 * size));
  }
}

TEST(DeviceTransforms, CosinesOfEachType) {
  for (const std::size_t n : {1, 2, 3, 8, 13}) {
    const Floats values = waves(2 * n, 0.7);
    const Tensor x = api_device().tensor({2, n}, values);
    for (const std::uint64_t type : {1U, 2U, 3U, 4U}) {
      if (type == 1 && n == 1) {
        EXPECT_THROW((void)dct(x, 1, "backward", type), Error);
        continue;
      }
      Floats wanted(2 * n);
      for (std::size_t place = 0; place < 2 * n; ++place) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i)
          sum += values[place / n * n + i] * cosine(type, n, place % n, i);
        wanted[place] = static_cast<float>(sum);
      }
      near(dct(x, 1, "backward", type), wanted, 1e-4);
      for (const std::string norm : {"backward", "ortho", "forward"}) {
        near(idct(dct(x, 1, norm, type), 1, norm, type), values);
      }
      const Tensor turned = dct(x, 1, "ortho", type);
      EXPECT_NEAR(sum(turned * turned).item(), sum(x * x).item(), 1e-4);
    }
  }
  EXPECT_THROW((void)dct(api_device().arange(4), 0, "backward", 5), Error);
}

/// Along one axis, in double.
Floats convolved(const Floats& a, const Floats& b) {
  Floats out(a.size() + b.size() - 1);
  for (std::size_t n = 0; n < out.size(); ++n) {
    double sum = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      if (n >= k && n - k < a.size()) sum += static_cast<double>(a[n - k]) * b[k];
    }
    out[n] = static_cast<float>(sum);
  }
  return out;
}

TEST(DeviceTransforms, ConvolutionsByWindowsAndByTransforms) {
  for (const std::size_t k : {1U, 2U, 5U, 12U, 31U}) {
    const std::size_t n = 23;
    Floats a(n), b(k);
    for (std::size_t i = 0; i < n; ++i)
      a[i] = static_cast<float>(std::sin(1.0 + 1.7 * static_cast<double>(i)));
    for (std::size_t i = 0; i < k; ++i)
      b[i] = static_cast<float>(std::cos(2.3 * static_cast<double>(i)));
    const Floats full = convolved(a, b);
    const Tensor x = api_device().tensor({n}, a);
    const Tensor y = api_device().tensor({k}, b);
    for (const std::string_view method : {"direct", "fft", "auto"}) {
      SCOPED_TRACE(std::to_string(k) + " " + std::string(method));
      const auto near = [&](const Floats& got, std::size_t first, std::size_t count) {
        ASSERT_EQ(got.size(), count);
        for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(got[i], full[first + i], 2e-5) << i;
      };
      near(convolve(x, y, "full", method).to_vector(), 0, n + k - 1);
      near(convolve(x, y, "same", method).to_vector(), (k - 1) / 2, n);
      if (k <= n) near(convolve(x, y, "valid", method).to_vector(), k - 1, n - k + 1);
    }
  }
  EXPECT_THROW((void)convolve(api_device().full({3}, 1), api_device().full({4}, 1), "valid"),
               Error);
  EXPECT_THROW((void)convolve(api_device().full({3}, 1), api_device().full({2}, 1), "half"), Error);
  EXPECT_THROW((void)convolve(api_device().full({3}, 1), api_device().full({2, 2}, 1)), Error);
  EXPECT_THROW((void)convolve(api_device().full({0}, 1), api_device().full({2}, 1)), Error);
}

TEST(DeviceTransforms, ConvolutionsOfBatchesAndTheirGradients) {
  const Tensor a = variable(sin(api_device().arange(2 * 7 * 9).reshape({2, 7, 9})));
  const Tensor b = variable(cos(api_device().arange(12).reshape({3, 4}) * 1.3));
  const Tensor direct = convolve(a, b, "same", "direct");
  const Tensor by_fft = convolve(a, b, "same", "fft");
  EXPECT_EQ(direct.shape(), (Shape{2, 7, 9}));
  EXPECT_TRUE(allclose(direct, by_fft, 1e-4, 1e-4));
  const Tensor weights = sin(api_device().arange(2 * 7 * 9).reshape({2, 7, 9}) * 0.7);
  const auto d = grad(sum(direct * weights), {a, b});
  const auto e = grad(sum(by_fft * weights), {a, b});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(allclose(d[i], e[i], 1e-4, 1e-4)) << i;
  }
  EXPECT_EQ(convolve(a.to(DType::f16), b.to(DType::f16), "full", "fft").dtype(), DType::f16);
}

}  // namespace
}  // namespace weft::test
