#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/elementwise.hpp"  // IWYU pragma: export
#include "weft/in.hpp"           // IWYU pragma: export
#include "weft/nodes.hpp"        // IWYU pragma: export
#include "weft/options.hpp"      // IWYU pragma: export

namespace weft {

/// An elementwise function by its name in docs/ops.md ("gelu", "add", "where", …) of inputs that
/// broadcast against each other; the result has the type that holds the values of all of them
/// (docs/types.md), or is boolean.
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
Tensor operator/(double a, In b);

/// Elementwise comparisons, remainder(), and the bits of integers and booleans: what less(),
/// bitwise_and() and so on do, for tensors and for numbers.
Comparison operator==(In a, const Operand& b);
Comparison operator!=(In a, const Operand& b);
Comparison operator<(In a, const Operand& b);
Comparison operator<=(In a, const Operand& b);
Comparison operator>(In a, const Operand& b);
Comparison operator>=(In a, const Operand& b);
Comparison operator==(double a, In b);
Comparison operator!=(double a, In b);
Comparison operator<(double a, In b);
Comparison operator<=(double a, In b);
Comparison operator>(double a, In b);
Comparison operator>=(double a, In b);
Tensor operator%(In a, const Operand& b);
Tensor operator%(double a, In b);
Tensor operator&(In a, const Operand& b);
Tensor operator|(In a, const Operand& b);
Tensor operator^(In a, const Operand& b);
Tensor operator~(In x);

/// x times the share of the normal distribution below x, and that of `a` times `b`. The other
/// elementwise functions are in weft/elementwise.hpp.
Tensor gelu(In x, const GeluOptions& options = {});
Tensor geglu(In a, const Tensor& b, const GeluOptions& options = {});

/// A reduction by name ("sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm", …) over
/// some dimensions, or over all of them when none are named. argmax and argmin give i32, mean and
/// norm of integers f32.
Tensor reduce(std::string_view function, In x, const Dims& dims = {}, bool keep_dims = false);

/// Running sums along a dimension; `exclusive` leaves out the element itself, `reverse` starts from
/// the end.
Tensor cumsum(In x, int axis, bool exclusive = false, bool reverse = false);

/// Running products, maxima, minima and log(Σ exp(x)) along a dimension; `reverse` starts from the
/// end. The gradient of cumprod needs elements other than 0; that of an extreme goes to the last of
/// equals.
Tensor cumprod(In x, int axis, bool reverse = false);
Tensor cummax(In x, int axis, bool reverse = false);
Tensor cummin(In x, int axis, bool reverse = false);
Tensor logcumsumexp(In x, int axis, bool reverse = false);

/// The discrete Fourier transform of complex numbers […, n, 2] for any n, computed in f32, and its
/// inverse, which divides by n. The fastest lengths have no prime factors above 13. Axes count the
/// dimensions of complex numbers: the one of extent 2 (real and imaginary parts) is none of them.
Tensor fft(In x, int axis = -1);
Tensor ifft(In x, int axis = -1);
/// The first n / 2 + 1 elements of the transform of real numbers […, n]: […, n / 2 + 1, 2]; the
/// others mirror them.
Tensor rfft(In x, int axis = -1);
/// The n real numbers whose rfft() is x […, n / 2 + 1, 2].
Tensor irfft(In x, std::uint64_t n, int axis = -1);

/// exp(x) over its sum along an axis, and the logarithm of that. A mask, sinks and ALiBi need the
/// last axis.
Tensor softmax(In x, int axis = -1, const SoftmaxOptions& options = {});
Tensor log_softmax(In x, int axis = -1, const SoftmaxOptions& options = {});
Tensor softmax(In x, double) = delete;  // an axis is a whole number; the scale is an option

/// Normalisations along an axis; weight and bias have its extent (along the last axis they may have
/// more dimensions), or are left empty.
Tensor layer_norm(In x, const Tensor& weight = {}, const Tensor& bias = {}, float eps = 1e-5F,
                  int axis = -1);
Tensor rms_norm(In x, const Tensor& weight = {}, float eps = 1e-5F, int axis = -1);
/// x / max(its length, eps) along an axis.
Tensor normalize(In x, int axis = -1, float eps = 1e-12F);
Tensor normalize(In x, double) = delete;  // an axis is a whole number; eps comes after it
/// As layer_norm, over each of `groups` groups of neighbouring channels of [batch, channels, …] and
/// all dimensions but the first; weight and bias are [channels]. The channels may lie along any
/// other axis but 0.
Tensor group_norm(In x, std::uint64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  float eps = 1e-5F, int axis = 1);

/// The matrix product of the last two dimensions; the others are batches that broadcast. A vector
/// is a row on the left and a column on the right. Sums are f32.
Tensor matmul(In a, const Tensor& b, const MatmulOptions& options = {});

/// x […, N, K] times the rows of a weight […, M, K], which may be of a quantized type, plus a bias
/// [M] where there is one: […, N, M] in the type of x. No gradient flows to quantized weights.
Tensor linear(In x, const Tensor& weight, const Tensor& bias = {},
              const LinearOptions& options = {});

/// Each row of x [T, U or 1, K] times the rows of one of several matrices [E, M, K], also
/// quantized, which ids (i32 [T, U]) choose: [T, U, M] of f32. Rows whose id is no matrix become 0.
Tensor grouped_linear(In x, const Tensor& weight, const Tensor& ids,
                      const LinearOptions& options = {});

/// Tensors one after the other along a dimension, in the type that holds the values of all.
Tensor concat(const std::vector<Tensor>& tensors, int axis, Where where = Where::current());

/// `x` with elements of `value` before and after it along each dimension.
Tensor pad(In x, const Shape& low, const Shape& high, double value = 0);

/// `x` with elements beyond its extents before and after it along each dimension.
Tensor pad(In x, const Shape& low, const Shape& high, Edge edge);

/// `x` moved by so many places along each dimension; what leaves at one end comes in at the other.
Tensor roll(In x, const std::vector<std::int64_t>& places);

/// `x` as a whole repeated so often along each dimension, counted from the end.
Tensor tile(In x, const std::vector<std::uint64_t>& times);

/// What lies on and below a diagonal, and on and above it; 0 is the main diagonal, 1 the one above
/// it.
Tensor tril(In x, std::int64_t diagonal = 0);
Tensor triu(In x, std::int64_t diagonal = 0);

/// Elements in order, and where they came from.
struct Sorted {
  Tensor values;
  Tensor indices;  ///< i32.
};

/// Sorts along an axis. Equal elements keep their order; NaN is larger than every number.
Sorted sort(In x, int axis = -1, bool descending = false);
/// The indices of sort().
Tensor argsort(In x, int axis = -1, bool descending = false);
/// The first `count` of sort(): the largest, or the smallest elements.
Sorted top_k(In x, std::uint64_t count, int axis = -1, bool largest = true);
Sorted sort(In x, bool) = delete;                  // the axis comes first
Tensor argsort(In x, bool) = delete;               // the axis comes first
Sorted top_k(In x, std::uint64_t, bool) = delete;  // the axis comes first

/// Rows of a table [N, C] by integer indices […, R]: the result is […, R, C]. An index outside
/// the table gives zeros.
Tensor embedding(In table, const Tensor& indices);

/// A table [N, C] with table[indices[r]] = source[r] for rows [R, C]. Where an index appears twice,
/// each element comes from one of the two; an index outside the table changes nothing.
Tensor index_copy(In table, const Tensor& indices, const Tensor& source);

/// y[i, j, k] = x[i, index[i, j, k], k] for axis 1, and so on; an index outside of `x` gives 0.
Tensor gather(In x, const Tensor& index, int axis);

/// `x` with x[i, index[i, j, k], k] += source[i, j, k] for axis 1, and so on.
Tensor scatter_add(In x, const Tensor& index, const Tensor& source, int axis);

/// The mean over all positions of -log(softmax(logits)[label]): logits are […, classes], labels […]
/// of integers. Positions with a negative label count for nothing.
Tensor cross_entropy(In logits, const Tensor& labels);

/// The same with choices. The labels may also be probabilities, floats of the shape of the logits
/// that add up to 1 in each row: the loss of a row is then sum(p * (log(sum(exp(x))) - x)).
Tensor cross_entropy(In logits, const Tensor& labels, const CrossEntropyOptions& options);

/// softmax(scale * q·kᵀ + mask)·v without the matrix of products in memory, forward and backward. q
/// is [batch, heads, queries, size], k and v are [batch, key heads, keys, size]; heads of q share a
/// head of k in groups. The mask is [queries, keys], also with heads, or heads and batches in front
/// (1: it repeats), or empty. Its gradient, and second derivatives, need the matrix of products in
/// memory.
Tensor attention(In q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {},
                 const Tensor& mask = {});

/// Rotary position embedding of x [batch, tokens, heads, size]: pairs of elements turn by angles
/// that grow with the position, which is i32 [tokens] (with sections [4, tokens]) or, left empty,
/// the number of the token.
Tensor rope(In x, const RopeOptions& options = {}, const Tensor& positions = {});

/// What a step of AdamW gives: the next values of its variables.
struct AdamWStep {
  Tensor weights;
  Tensor m;
  Tensor v;
  Tensor working;  ///< The new weights in a 16-bit type, where that was asked for.
};

/// One step of AdamW for f32 weights and moments of one shape. `step` is one f32, the number of
/// this step: 1, 2, …. As updates of variables the results are computed in place.
AdamWStep adamw(In weights, const Tensor& gradients, const Tensor& m, const Tensor& v,
                const Tensor& step, const AdamWOptions& options = {});

/// What a step of gradient descent gives.
struct SgdStep {
  Tensor weights;
  Tensor velocity;  ///< Where there was one.
  Tensor working;   ///< The new weights in a 16-bit type, where that was asked for.
};

/// One step of gradient descent for f32 weights: with g = gradients + weight_decay * weights and
/// velocity = momentum * velocity
/// + g, weights - lr * velocity. Without a velocity (left empty) there is no momentum, and it is
/// weights - lr * g.
SgdStep sgd(In weights, const Tensor& gradients, const Tensor& velocity = {},
            const SgdOptions& options = {});

/// What brings gradients together to a norm of at most `max_norm` (0: as they are), and that norm.
struct Clip {
  Tensor scale;  ///< One f32, for AdamWOptions::scale; not finite when a gradient is not.
  Tensor norm;   ///< One f32.
};
Clip clip_by_global_norm(const std::vector<Tensor>& gradients, float max_norm,
                         const Tensor& loss_scale = {}, Where where = Where::current());

}  // namespace weft
