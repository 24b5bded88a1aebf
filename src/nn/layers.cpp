#include "nn/layers.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "weft/ops.hpp"

namespace weft::nn {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = matmul(x, weight.transpose());
  return bias ? y + bias : y;
}

RopeTables rope_tables(const Device& device, std::uint64_t positions, std::uint64_t width,
                       double base, DType dtype) {
  const std::uint64_t half = width / 2;
  std::vector<float> cos(positions * half);
  std::vector<float> sin(positions * half);
  for (std::uint64_t p = 0; p < positions; ++p) {
    for (std::uint64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(p) * std::pow(base, exponent);
      cos[p * half + i] = static_cast<float>(std::cos(angle));
      sin[p * half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return {device.tensor({positions, half}, cos).to(dtype),
          device.tensor({positions, half}, sin).to(dtype)};
}

Tensor rope(const Tensor& x, const RopeTables& tables) {
  const auto last = static_cast<std::uint32_t>(x.shape().size() - 1);
  const std::uint64_t half = x.shape().back() / 2;
  const Tensor a = x.slice(last, 0, half);
  const Tensor b = x.slice(last, half, half);
  return concat({{a * tables.cos - b * tables.sin, a * tables.sin + b * tables.cos}}, last);
}

Tensor causal_mask(const Device& device, std::uint64_t positions, std::uint64_t window,
                   DType dtype) {
  std::vector<float> mask(positions * positions);
  for (std::uint64_t query = 0; query < positions; ++query) {
    for (std::uint64_t key = 0; key < positions; ++key) {
      const bool seen = key <= query && (window == 0 || query - key < window);
      mask[query * positions + key] = seen ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
  return device.tensor({positions, positions}, mask).to(dtype);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  // Scaled before the product, so that 16-bit scores stay in range.
  const double scale = 1 / std::sqrt(static_cast<double>(q.shape().back()));
  const Tensor scores = matmul(q * scale, k.transpose());
  return matmul(softmax(mask ? scores + mask : scores), v);
}

Tensor gated_mlp(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& down) {
  return linear(silu(linear(x, gate)) * linear(x, up), down);
}

}  // namespace weft::nn
