#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/fft/fft.hpp"

namespace weft::ops::fft {
namespace {

using Complex = std::complex<double>;

/// By halves while the length is even, then from the definition.
std::vector<Complex> transform(const std::vector<Complex>& x, double direction) {
  const std::size_t n = x.size();
  const auto turn = [&](std::size_t k) {
    return std::polar(1.0, direction * 2 * std::numbers::pi * static_cast<double>(k % n) /
                               static_cast<double>(n));
  };
  std::vector<Complex> y(n);
  if (n % 2 == 0) {
    std::vector<Complex> even;
    std::vector<Complex> odd;
    for (std::size_t i = 0; i < n; ++i) (i % 2 == 0 ? even : odd).push_back(x[i]);
    even = transform(even, direction);
    odd = transform(odd, direction);
    for (std::size_t k = 0; k < n; ++k) y[k] = even[k % (n / 2)] + turn(k) * odd[k % (n / 2)];
    return y;
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) y[k] += x[j] * turn(j * k);
  }
  return y;
}

Case make_case(const std::string& label, TensorSpec x, TensorSpec y, bool inverse = false) {
  Case test;
  const std::uint64_t n = x.shape[x.shape.size() - 2];
  const double scale = inverse && n > 0 ? 1 / static_cast<double>(n) : 1;
  test.name = label + (inverse ? "_inverse" : "");
  y.shape = x.shape;
  y.output = true;
  test.tensors = {std::move(x), std::move(y)};
  test.epsilons = 64;
  test.scale = std::sqrt(static_cast<double>(n)) * (inverse ? scale : 1);
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0], .y = v[1], .inverse = inverse, .scale = static_cast<float>(scale)},
                caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    for (std::size_t row = 0; n > 0 && row < t[0].values.size() / (2 * n); ++row) {
      std::vector<Complex> in(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = (row * n + i) * 2;
        in[i] = {t[0].values[at], t[0].values[at + 1]};
      }
      const std::vector<Complex> out = transform(in, inverse ? 1 : -1);
      for (std::size_t i = 0; i < n; ++i) {
        t[1].values[(row * n + i) * 2] = out[i].real() * scale;
        t[1].values[(row * n + i) * 2 + 1] = out[i].imag() * scale;
      }
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 8U, 9U, 11U, 13U, 15U, 17U, 30U, 97U, 128U, 210U,
                                286U, 1001U, 1024U, 2025U, 2197U}) {
    out.push_back(make_case(formatted("length_{}", n), {.shape = {3, n, 2}}, {}));
  }
  for (const std::uint64_t n : {16U, 22U, 34U, 360U}) {
    out.push_back(make_case(formatted("length_{}", n), {.shape = {2, 2, n, 2}}, {}, true));
  }
  for (const std::uint64_t n : {3000U, 4096U, 6006U, 65536U}) {  // one pass or two, by the device
    out.push_back(make_case(formatted("length_{}", n), {.shape = {1, n, 2}}, {}));
  }
  out.push_back(make_case("strided", {.shape = {3, 20, 2}, .order = {2, 0, 1}}, {.pad = 3}));
  out.push_back(make_case("odd_offset", {.shape = {26, 2}, .offset = 1}, {.offset = 3}));
  out.push_back(make_case("empty", {.shape = {0, 8, 2}}, {}));
  out.push_back(make_case("past_one_binding", {.shape = {300, 512, 2}}, {}));
  out.push_back(make_case("large_prime", {.shape = {1, 4099, 2}}, {}));
  out.push_back(make_case("past_one_binding_any", {.shape = {40, 1009, 2}}, {}, true));
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t n = random.between(1, 300);
    out.push_back(make_case(formatted("random{}", i), {.shape = {2, n, 2}}, {}));
  }
  for (const auto& [n, rows] :
       {std::pair{1024U, 4096U}, {65536U, 64U}, {1000U, 4096U}, {1001U, 4096U}, {1009U, 4096U}}) {
    Case bench = make_case(formatted("bench_{}x{}", rows, n), {.shape = {rows, n, 2}}, {});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"fft", "Discrete Fourier transforms of rows of complex numbers, of any length", "f32",
          cases};
}

}  // namespace weft::ops::fft
