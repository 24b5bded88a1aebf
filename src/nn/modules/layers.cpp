#include "weft/nn/layers.hpp"

#include <numeric>
#include <optional>

#include "base/format.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

Linear::Linear(Init& init, std::uint64_t in, std::uint64_t out, bool bias)
    : weight_(parameter("weight", init.fan_in_uniform({out, in}, in))) {
  if (bias) bias_ = parameter("bias", init.fan_in_uniform({out}, in));
}

namespace {

/// x · weightᵀ. A weight of 16 bits stands for one of f32 where a model computes in 16 bits: x is
/// rounded to its type then.
Tensor product(const Tensor& x, const Tensor& weight, std::optional<DType> dtype = {}) {
  const bool rounded = weight.dtype() != DType::f32 && x.dtype() == DType::f32;
  return matmul(rounded ? x.to(weight.dtype()) : x, weight.transpose(), {.dtype = dtype});
}

}  // namespace

Tensor Linear::forward(const Tensor& x) {
  const Tensor y = product(x, now(weight_));
  return bias_ ? y + now(bias_) : y;
}

Tensor Linear::forward(const Tensor& x, DType dtype) const {
  const Tensor y = product(x, now(weight_), dtype);
  return bias_ ? (y + now(bias_)).to(dtype) : y;
}

Embedding::Embedding(Init& init, std::uint64_t count, std::uint64_t width)
    : weight_(parameter("weight", init.normal({count, width}, 0, 1))) {}

Tensor Embedding::forward(const Tensor& indices) {
  const Tensor rows = embedding(now(weight_), indices.reshape({indices.size()}));
  Shape shape = indices.shape();
  shape.push_back(weight_.shape()[1]);
  return rows.reshape(shape);
}

Tensor Embedding::as_linear(const Tensor& x) const { return product(x, now(weight_)); }

Conv::Conv(Init& init, std::uint64_t in, std::uint64_t out,
           const std::vector<std::uint64_t>& kernel, const ConvShape& shape, bool transposed)
    : transposed_(transposed) {
  if (shape.groups == 0 || in % shape.groups != 0 || out % shape.groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                formatted("A convolution from {} to {} channels cannot have {} groups.", in, out,
                          shape.groups));
  }
  const std::size_t rank = kernel.size();
  options_.windows = {.stride = std::vector(rank, shape.stride),
                      .pad = std::vector(rank, shape.padding),
                      .dilation = std::vector(rank, shape.dilation)};
  options_.groups = shape.groups;
  if (transposed) options_.more = std::vector(rank, shape.output_padding);
  Shape extents = transposed ? Shape{in, out / shape.groups} : Shape{out, in / shape.groups};
  extents.insert(extents.end(), kernel.begin(), kernel.end());
  const std::uint64_t fan_in =
      std::accumulate(kernel.begin(), kernel.end(), extents[1], std::multiplies<>());
  weight_ = parameter("weight", init.fan_in_uniform(extents, fan_in));
  if (shape.bias) bias_ = parameter("bias", init.fan_in_uniform({out}, fan_in));
}

Tensor Conv::forward(const Tensor& x) {
  return transposed_ ? conv_transpose(x, now(weight_), options_, now(bias_))
                     : conv(x, now(weight_), options_, now(bias_));
}

Tensor Dropout::forward(const Tensor& x) {
  if (!training() || rate_ == 0) return x;
  if (!key()) {
    throw Error(ErrorCode::invalid_argument,
                "Dropout needs a key while it trains: call set_key() of the model, or eval().");
  }
  return dropout(x, rate_, key(), stream());
}

Tensor Flatten::forward(const Tensor& x) {
  const std::uint64_t rows = x.shape().empty() ? 1 : x.shape()[0];
  return x.reshape({rows, rows == 0 ? 0 : x.size() / rows});
}

void Sequential::append(std::shared_ptr<Layer> layer) {
  add(std::to_string(layers_.size()), *layer);
  layers_.push_back(std::move(layer));
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (const std::shared_ptr<Layer>& layer : layers_) y = layer->forward(y);
  return y;
}

MLP::MLP(Init& init, const std::vector<std::uint64_t>& widths,
         std::function<Tensor(const Tensor&)> activation) {
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    append<Linear>(init, widths[i], widths[i + 1]);
    if (i + 2 < widths.size()) append<Lambda>(activation);
  }
}

}  // namespace weft::nn
