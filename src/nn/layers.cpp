#include "nn/layers.hpp"

namespace weft::nn {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
              std::optional<DType> dtype) {
  const Tensor y = matmul(x, weight.transpose(), {.dtype = dtype});
  return bias ? y + bias : y;
}

Tensor self_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::uint64_t batch,
                      const HeadOptions& options, const Tensor& mask) {
  const std::uint64_t length = q.shape()[0] / batch;
  const std::uint64_t size = q.shape()[1] / options.heads;
  const auto split = [&](const Tensor& x, std::uint64_t heads, bool turns) {
    const Tensor parts = x.reshape({batch, length, heads, size});
    return (turns ? rope(parts, {.base = options.rope_base}) : parts).permute({0, 2, 1, 3});
  };
  const bool turns = options.rope_base > 0;
  const Tensor mixed = attention(split(q, options.heads, turns), split(k, options.kv_heads, turns),
                                 split(v, options.kv_heads, false),
                                 {.causal = options.causal, .window = options.window}, mask);
  return mixed.permute({0, 2, 1, 3}).reshape({batch * length, options.heads * size});
}

Tensor gated_unit(const Tensor& x, const Tensor& gate, const Tensor& up) {
  return map("swiglu", linear(x, gate), linear(x, up));
}

}  // namespace weft::nn
