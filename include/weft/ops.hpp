#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// An elementwise function by its name in docs/ops.md ("gelu", "add", "where", …) of inputs that broadcast against
/// each other; the result has the type of the first input (of the second for "where").
Tensor map(std::string_view function, std::span<const Tensor> inputs,
           std::array<double, 4> scalars = {});

/// The same for one, two or three inputs.
Tensor map(std::string_view function, const Tensor& a, std::array<double, 4> scalars = {});
Tensor map(std::string_view function, const Tensor& a, const Tensor& b,
           std::array<double, 4> scalars = {});

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);

/// A reduction by name ("sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm", …) over some dimensions, or
/// over all of them when none are named. argmax and argmin give i32.
Tensor reduce(std::string_view function, const Tensor& x, std::span<const std::uint32_t> dims = {},
              bool keep_dims = false);
Tensor sum(const Tensor& x, const std::vector<std::uint32_t>& dims = {}, bool keep_dims = false);
Tensor mean(const Tensor& x, const std::vector<std::uint32_t>& dims = {}, bool keep_dims = false);
Tensor max(const Tensor& x, const std::vector<std::uint32_t>& dims = {}, bool keep_dims = false);
Tensor min(const Tensor& x, const std::vector<std::uint32_t>& dims = {}, bool keep_dims = false);

/// Running sums along a dimension.
Tensor cumsum(const Tensor& x, std::uint32_t dim);

/// Softmax along the last dimension, and its logarithm.
Tensor softmax(const Tensor& x, float scale = 1);
Tensor log_softmax(const Tensor& x);

/// Normalisations along the last dimension; weight and bias may be left empty.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  float eps = 1e-5F);
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, float eps = 1e-5F);

/// The matrix product of the last two dimensions; the others are batches that broadcast. The result has the type of
/// `a`, sums are f32.
Tensor matmul(const Tensor& a, const Tensor& b);

/// Tensors one after the other along a dimension.
Tensor concat(std::span<const Tensor> tensors, std::uint32_t dim);

}  // namespace weft
