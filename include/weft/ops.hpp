#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/tensor.hpp"

namespace weft {

/// A tensor as an argument, together with the line on which it was passed: errors name that line.
struct In {
  In(const Tensor& value, Where place = Where::current())  // NOLINT: made where a tensor is passed
      : tensor(value), where(place) {}
  const Tensor& tensor;
  Where where;
};

/// Dimensions of a tensor by their numbers, outermost first.
using Dims = std::vector<std::uint32_t>;

/// An elementwise function by its name in docs/ops.md ("gelu", "add", "where", …) of inputs that broadcast against
/// each other; the result has the type of the first input (of the second for "where").
Tensor map(std::string_view function, const std::vector<Tensor>& inputs,
           std::array<double, 4> scalars = {}, Where where = Where::current());

/// The same for one, two or three inputs.
Tensor map(std::string_view function, In a, std::array<double, 4> scalars = {});
Tensor map(std::string_view function, In a, const Tensor& b, std::array<double, 4> scalars = {});

Tensor operator+(const Tensor& a, In b);
Tensor operator-(const Tensor& a, In b);
Tensor operator*(const Tensor& a, In b);
Tensor operator/(const Tensor& a, In b);
Tensor operator-(In a);
Tensor operator+(In a, double b);
Tensor operator-(In a, double b);
Tensor operator*(In a, double b);
Tensor operator/(In a, double b);
Tensor operator+(double a, In b);
Tensor operator-(double a, In b);
Tensor operator*(double a, In b);

/// Elementwise functions that models use most; map() has the others.
Tensor exp(In x);
Tensor log(In x);
Tensor sqrt(In x);
Tensor tanh(In x);
Tensor sigmoid(In x);
Tensor relu(In x);
Tensor gelu(In x);
Tensor silu(In x);
/// `a` where the condition is not 0, else `b`.
Tensor where(In condition, const Tensor& a, const Tensor& b);

/// A reduction by name ("sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm", …) over some dimensions, or
/// over all of them when none are named. argmax and argmin give i32.
Tensor reduce(std::string_view function, In x, const Dims& dims = {}, bool keep_dims = false);
Tensor sum(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor mean(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor max(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor min(In x, const Dims& dims = {}, bool keep_dims = false);

/// Running sums along a dimension; `exclusive` leaves out the element itself, `reverse` starts from the end.
Tensor cumsum(In x, std::uint32_t dim, bool exclusive = false, bool reverse = false);

/// Softmax along the last dimension, and its logarithm.
Tensor softmax(In x, float scale = 1);
Tensor log_softmax(In x);

/// Normalisations along the last dimension; weight and bias may be left empty.
Tensor layer_norm(In x, const Tensor& weight = {}, const Tensor& bias = {}, float eps = 1e-5F);
Tensor rms_norm(In x, const Tensor& weight = {}, float eps = 1e-5F);

/// Choices for a matrix product.
struct MatmulOptions {
  std::optional<DType> dtype;  ///< Of the result; else that of `a`.
  bool allow_f16 = false;      ///< f32 and bf16 inputs may be rounded to f16, for matrix units.
};

/// The matrix product of the last two dimensions; the others are batches that broadcast. Sums are f32.
Tensor matmul(In a, const Tensor& b, const MatmulOptions& options = {});

/// Tensors one after the other along a dimension.
Tensor concat(const std::vector<Tensor>& tensors, std::uint32_t dim,
              Where where = Where::current());

/// `x` with elements of `value` before and after it along each dimension.
Tensor pad(In x, const Shape& low, const Shape& high, double value = 0);

/// Rows of a table [N, C] by i32 indices […, R]: the result is […, R, C]. An index outside the table gives zeros.
Tensor embedding(In table, const Tensor& indices);

/// y[i, j, k] = x[i, index[i, j, k], k] for dim 1, and so on; an index outside of `x` gives 0.
Tensor gather(In x, const Tensor& index, std::uint32_t dim);

/// `x` with x[i, index[i, j, k], k] += source[i, j, k] for dim 1, and so on.
Tensor scatter_add(In x, const Tensor& index, const Tensor& source, std::uint32_t dim);

/// The mean over all positions of -log(softmax(logits)[label]): logits are […, classes], labels […] of i32. Positions
/// with a negative label count for nothing.
Tensor cross_entropy(In logits, const Tensor& labels);

/// Choices for attention().
struct AttentionOptions {
  float scale = 0;  ///< Of the products of queries and keys; 0: 1 / sqrt(size).
  bool causal =
      false;  ///< A query sees no key behind its own position; the queries are the last positions.
  std::uint64_t window =
      0;  ///< With a value > 0 only so many positions up to the query's own are seen.
  float soft_cap =
      0;  ///< With a value > 0 scaled products become soft_cap * tanh(product / soft_cap).
};

/// softmax(scale * q·kᵀ + mask)·v without the matrix of products in memory, forward and backward. q is [batch, heads,
/// queries, size], k and v are [batch, key heads, keys, size]; heads of q share a head of k in groups. The mask may be
/// left empty; it broadcasts over batches and heads ([1 or batch, 1 or heads, queries, keys]) and gets no gradient.
Tensor attention(In q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {},
                 const Tensor& mask = {});

/// Choices for rope().
struct RopeOptions {
  bool halves =
      true;  ///< Elements i and i + dims/2 turn together; else neighbours, as in Llama's own code.
  std::uint32_t dims = 0;  ///< Elements of a head that turn; 0: all.
  std::int32_t first = 0;  ///< Position of the first token, where none are given.
  float base = 10000;
};

/// Rotary position embedding of x [batch, tokens, heads, size]: pairs of elements turn by angles that grow with the
/// position, which is i32 [tokens] or, left empty, the number of the token.
Tensor rope(In x, const RopeOptions& options = {}, const Tensor& positions = {});

/// x / (1 - rate) where an element is kept, 0 where it is dropped. The choice follows from `seed` (two u32), `stream`
/// and the element's place alone.
Tensor dropout(In x, float rate, const Tensor& seed, std::uint32_t stream = 0);

/// What a step of an optimizer gives: the next values of its variables.
struct AdamStep {
  Tensor weights;
  Tensor m;
  Tensor v;
  Tensor working;  ///< The new weights in a 16-bit type, where that was asked for.
};

/// Choices for adamw().
struct AdamOptions {
  Tensor
      scale;  ///< One f32 that gradients are multiplied by; a step whose scale is not finite does nothing.
  std::optional<DType> working;  ///< Also give the new weights in this 16-bit type.
  bool coupled = false;          ///< Adam as first published: decay is added to the gradients.
};

/// One step of AdamW for f32 weights and moments of one shape. `numbers` are seven f32: rate, beta1, beta2, eps, decay,
/// 1 / (1 - beta1^step) and 1 / (1 - beta2^step). As updates of variables the results are computed in place.
AdamStep adamw(In weights, const Tensor& gradients, const Tensor& m, const Tensor& v,
               const Tensor& numbers, const AdamOptions& options = {});

/// What brings gradients together to a norm of at most `max_norm` (0: as they are), and that norm.
struct Clip {
  Tensor scale;  ///< One f32, for AdamOptions::scale; not finite when a gradient is not.
  Tensor norm;   ///< One f32.
};
Clip clip_by_norm(const std::vector<Tensor>& gradients, float max_norm,
                  const Tensor& loss_scale = {}, Where where = Where::current());

}  // namespace weft
