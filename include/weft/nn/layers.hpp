#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/image.hpp"
#include "weft/nn/module.hpp"

namespace weft::nn {

/// x · weightᵀ + bias for x […, in]: weight is [out, in], bias [out].
class Linear : public Layer {
 public:
  Linear(Init& init, std::uint64_t in, std::uint64_t out, bool bias = true);
  [[nodiscard]] Tensor forward(const Tensor& x) override;
  /// The same in another type, which the sums (of f32) are rounded to.
  [[nodiscard]] Tensor forward(const Tensor& x, DType dtype) const;

 private:
  Tensor weight_;
  Tensor bias_;
};

/// Rows of a table [count, width] by indices.
class Embedding : public Layer {
 public:
  Embedding(Init& init, std::uint64_t count, std::uint64_t width);
  [[nodiscard]] Tensor forward(const Tensor& indices) override;
  /// x · tableᵀ: logits of the rows, for models that share the table with their output.
  [[nodiscard]] Tensor as_linear(const Tensor& x) const;

 private:
  Tensor weight_;
};

/// How the windows of a convolution lie: the same along each dimension of the image.
struct ConvShape {
  std::uint64_t stride = 1;
  std::uint64_t padding = 0;
  std::uint64_t dilation = 1;
  std::uint64_t groups = 1;
  std::uint64_t output_padding = 0;  ///< Of transposed ones.
  bool bias = true;
};

/// A convolution over images [N, in, spatial…] with as many spatial dimensions as the kernel has
/// extents.
class Conv : public Layer {
 public:
  Conv(Init& init, std::uint64_t in, std::uint64_t out, const std::vector<std::uint64_t>& kernel,
       const ConvShape& shape, bool transposed);
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  ConvOptions options_;
  bool transposed_;
  Tensor weight_;
  Tensor bias_;
};

/// Convolutions of 1, 2 and 3 spatial dimensions with kernels of equal extents, and their
/// transposes.
template <std::size_t Rank, bool Transposed>
class ConvNd : public Conv {
 public:
  ConvNd(Init& init, std::uint64_t in, std::uint64_t out, std::uint64_t kernel,
         const ConvShape& shape = {})
      : Conv(init, in, out, std::vector<std::uint64_t>(Rank, kernel), shape, Transposed) {}
};
using Conv1d = ConvNd<1, false>;
using Conv2d = ConvNd<2, false>;
using Conv3d = ConvNd<3, false>;
using ConvTranspose1d = ConvNd<1, true>;
using ConvTranspose2d = ConvNd<2, true>;
using ConvTranspose3d = ConvNd<3, true>;

/// Each channel of [N, C, …] with mean 0 and variance 1 over everything else, then times weight
/// plus bias. While training, of the batch itself, and running means are kept for later.
class BatchNorm : public Layer {
 public:
  explicit BatchNorm(Init& init, std::uint64_t channels, double momentum = 0.1, double eps = 1e-5);
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  double momentum_;
  double eps_;
  Tensor weight_;
  Tensor bias_;
  Tensor mean_;
  Tensor variance_;
};

/// Normalisations along the last dimension.
class LayerNorm : public Layer {
 public:
  LayerNorm(Init& init, std::uint64_t width, float eps = 1e-5F, bool bias = true);
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  float eps_;
  Tensor weight_;
  Tensor bias_;
};
class RMSNorm : public Layer {
 public:
  RMSNorm(Init& init, std::uint64_t width, float eps = 1e-5F);
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  float eps_;
  Tensor weight_;
};

/// Groups of channels of [N, C, …], each with mean 0 and variance 1.
class GroupNorm : public Layer {
 public:
  GroupNorm(Init& init, std::uint64_t groups, std::uint64_t channels, float eps = 1e-5F);
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  std::uint64_t groups_;
  float eps_;
  Tensor weight_;
  Tensor bias_;
};

/// While training, leaves out elements at random and scales the others up; needs set_key() then.
class Dropout : public Layer {
 public:
  explicit Dropout(float rate) : rate_(rate) {}
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  float rate_;
};

/// Any function of a tensor as a layer: `Lambda([](const Tensor& x) { return relu(x); })`.
class Lambda : public Layer {
 public:
  explicit Lambda(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  [[nodiscard]] Tensor forward(const Tensor& x) override { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

/// [N, …] as [N, the product of the others].
class Flatten : public Layer {
 public:
  [[nodiscard]] Tensor forward(const Tensor& x) override;
};

/// Layers one after the other; their names are "0", "1", ….
class Sequential : public Layer {
 public:
  Sequential() = default;
  /// Adds a layer and gives it back.
  template <class L, class... Arguments>
  L& append(Arguments&&... arguments) {
    auto made = std::make_shared<L>(std::forward<Arguments>(arguments)...);
    L& layer = *made;
    append(std::move(made));
    return layer;
  }
  void append(std::shared_ptr<Layer> layer);
  [[nodiscard]] std::size_t size() const { return layers_.size(); }
  [[nodiscard]] Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

/// Linear layers of these widths with an activation between them.
class MLP : public Sequential {
 public:
  MLP(Init& init, const std::vector<std::uint64_t>& widths,
      std::function<Tensor(const Tensor&)> activation);
};

}  // namespace weft::nn
