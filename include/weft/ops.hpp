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
Tensor operator/(double a, In b);

/// Elementwise functions that models use most; map() has the others.
Tensor exp(In x);
Tensor log(In x);
Tensor sqrt(In x);
Tensor tanh(In x);
Tensor sigmoid(In x);
Tensor relu(In x);
Tensor gelu(In x);
Tensor silu(In x);
Tensor abs(In x);
Tensor sqr(In x);
Tensor rsqrt(In x);
Tensor sin(In x);
Tensor cos(In x);
Tensor erf(In x);
Tensor softplus(In x);
Tensor pow(In x, const Tensor& exponent);
Tensor maximum(In a, const Tensor& b);
Tensor minimum(In a, const Tensor& b);
/// x between `low` and `high`.
Tensor clamp(In x, double low, double high);
/// Gated units: silu, gelu or relu of `a`, times `b`.
Tensor swiglu(In a, const Tensor& b);
Tensor geglu(In a, const Tensor& b);
Tensor reglu(In a, const Tensor& b);
/// 1 where it is so, else 0, in the type of `a`.
Tensor equal(In a, const Tensor& b);
Tensor not_equal(In a, const Tensor& b);
Tensor less(In a, const Tensor& b);
Tensor less_equal(In a, const Tensor& b);
Tensor greater(In a, const Tensor& b);
Tensor greater_equal(In a, const Tensor& b);
/// `a` where the condition is not 0, else `b`.
Tensor where(In condition, const Tensor& a, const Tensor& b);

/// A reduction by name ("sum", "mean", "max", "min", "prod", "argmax", "argmin", "norm", …) over some dimensions, or
/// over all of them when none are named. argmax and argmin give i32, mean and norm of integers f32.
Tensor reduce(std::string_view function, In x, const Dims& dims = {}, bool keep_dims = false);
Tensor sum(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor mean(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor max(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor min(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor prod(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor argmax(In x, const Dims& dims = {}, bool keep_dims = false);
Tensor argmin(In x, const Dims& dims = {}, bool keep_dims = false);

/// Running sums along a dimension; `exclusive` leaves out the element itself, `reverse` starts from the end.
Tensor cumsum(In x, std::uint32_t dim, bool exclusive = false, bool reverse = false);

/// Running products, maxima, minima and log(Σ exp(x)) along a dimension; `reverse` starts from the end. The gradient of
/// cumprod needs elements other than 0; that of an extreme goes to the last of equals.
Tensor cumprod(In x, std::uint32_t dim, bool reverse = false);
Tensor cummax(In x, std::uint32_t dim, bool reverse = false);
Tensor cummin(In x, std::uint32_t dim, bool reverse = false);
Tensor logcumsumexp(In x, std::uint32_t dim, bool reverse = false);

/// The discrete Fourier transform of complex numbers […, n, 2] of f32 (real and imaginary parts), for any n, and its inverse,
/// which divides by n. The fastest lengths have no other prime factors than 2, 3, 5 and 7.
Tensor fft(In x);
Tensor ifft(In x);
/// The first n / 2 + 1 elements of the transform of real numbers […, n]: […, n / 2 + 1, 2]; the others mirror them.
Tensor rfft(In x);
/// The n real numbers whose rfft() is x […, n / 2 + 1, 2].
Tensor irfft(In x, std::uint64_t n);

/// Softmax along the last dimension, and its logarithm.
Tensor softmax(In x, float scale = 1);
Tensor log_softmax(In x);

/// Choices for softmax() of x […, heads, rows, columns].
struct SoftmaxOptions {
  float scale = 1;  ///< Of x, before the mask is added.
  Tensor
      mask{};  ///< Added to x; dimensions align at the end, and each extent but the last may repeat within that of x.
  Tensor sinks{};      ///< f32 [heads]: a logit per head that takes its share and has no result.
  float max_bias = 0;  ///< ALiBi: with a value > 0 the mask counts less from head to head.
  bool log = false;    ///< Give the logarithm.
};
Tensor softmax(In x, const SoftmaxOptions& options);

/// Normalisations along the last dimension; weight and bias may be left empty.
Tensor layer_norm(In x, const Tensor& weight = {}, const Tensor& bias = {}, float eps = 1e-5F);
Tensor rms_norm(In x, const Tensor& weight = {}, float eps = 1e-5F);
/// x / max(its length, eps) along the last dimension.
Tensor l2_norm(In x, float eps = 1e-12F);
/// As layer_norm, over each of `groups` groups of neighbouring channels of [batch, channels, …] and all that follows; weight
/// and bias are [channels].
Tensor group_norm(In x, std::uint64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  float eps = 1e-5F);

/// Choices for a matrix product.
struct MatmulOptions {
  std::optional<DType> dtype;  ///< Of the result; else that of `a`.
  bool allow_f16 = false;      ///< f32 and bf16 inputs may be rounded to f16, for matrix units.
};

/// The matrix product of the last two dimensions; the others are batches that broadcast. Sums are f32.
Tensor matmul(In a, const Tensor& b, const MatmulOptions& options = {});

/// Choices for products with the rows of quantized weights.
struct RowsOptions {
  bool allow_q8 =
      false;  ///< x may be rounded to 8 bits, in blocks of 32 with a scale, where that is faster.
};

/// x […, N, K] times the rows of weights […, M, K], which may be of a quantized type: […, N, M] in the type of x. No gradient
/// flows to quantized weights.
Tensor matmul_rows(In x, const Tensor& weights, const RowsOptions& options = {});

/// Each row of x [T, U or 1, K] times the rows of one of several matrices [E, M, K], also quantized, which ids (i32 [T, U])
/// choose: [T, U, M] of f32. Rows whose id is no matrix become 0.
Tensor matmul_chosen(In x, const Tensor& weights, const Tensor& ids,
                     const RowsOptions& options = {});

/// X with a · X = b, where a […, n, n] is a triangular matrix of f32: what lies on its other side counts as 0.
Tensor solve_triangular(In a, const Tensor& b, bool upper = false);

/// Tensors one after the other along a dimension.
Tensor concat(const std::vector<Tensor>& tensors, std::uint32_t dim,
              Where where = Where::current());

/// `x` with elements of `value` before and after it along each dimension.
Tensor pad(In x, const Shape& low, const Shape& high, double value = 0);

/// What lies beyond the extents of a tensor.
enum class Edge : std::uint8_t {
  repeat,   ///< The nearest element.
  wrap,     ///< The tensor again.
  reflect,  ///< The tensor mirrored at its first and last elements, which are not repeated.
};

/// `x` with elements beyond its extents before and after it along each dimension.
Tensor pad(In x, const Shape& low, const Shape& high, Edge edge);

/// `x` moved by so many places along each dimension; what leaves at one end comes in at the other.
Tensor roll(In x, const std::vector<std::int64_t>& places);

/// `x` as a whole repeated along each dimension, so often.
Tensor tile(In x, const std::vector<std::uint64_t>& times);

/// What of the matrices […, rows, columns] lies where low <= column - row <= high, and `value` elsewhere.
Tensor band(In x, std::int64_t low, std::int64_t high, double value = 0);
/// What lies on and below a diagonal, and on and above it; 0 is the main diagonal, 1 the one above it.
Tensor tril(In x, std::int64_t diagonal = 0);
Tensor triu(In x, std::int64_t diagonal = 0);

/// Elements in order, and where they came from.
struct Sorted {
  Tensor values;
  Tensor indices;  ///< i32.
};

/// Sorts along the last dimension. Equal elements keep their order; NaN is larger than every number.
Sorted sort(In x, bool descending = false);
/// The indices of sort().
Tensor argsort(In x, bool descending = false);
/// The first `count` of sort(): the largest, or the smallest elements.
Sorted top_k(In x, std::uint64_t count, bool largest = true);

/// Rows of a table [N, C] by i32 or i64 indices […, R]: the result is […, R, C]. An index outside the table gives zeros.
Tensor embedding(In table, const Tensor& indices);

/// A table [N, C] with table[indices[r]] = source[r] for rows [R, C]. Where an index appears twice, each element comes from
/// one of the two; an index outside the table changes nothing.
Tensor set_rows(In table, const Tensor& indices, const Tensor& source);

/// y[i, j, k] = x[i, index[i, j, k], k] for dim 1, and so on; an index outside of `x` gives 0.
Tensor gather(In x, const Tensor& index, std::uint32_t dim);

/// `x` with x[i, index[i, j, k], k] += source[i, j, k] for dim 1, and so on.
Tensor scatter_add(In x, const Tensor& index, const Tensor& source, std::uint32_t dim);

/// The mean over all positions of -log(softmax(logits)[label]): logits are […, classes], labels […] of i32. Positions
/// with a negative label count for nothing.
Tensor cross_entropy(In logits, const Tensor& labels);

/// How the losses of rows become a result.
enum class Reduction : std::uint8_t { none, sum, mean };

/// Choices for cross_entropy().
struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;  ///< The mean is over the rows that count.
  std::int32_t ignored = -1;  ///< Rows with this label count for nothing, as negative ones.
};

/// The same with choices. The labels may also be probabilities, floats of the shape of the logits that add up to 1 in each
/// row: the loss of a row is then sum(p * (log(sum(exp(x))) - x)).
Tensor cross_entropy(In logits, const Tensor& labels, const CrossEntropyOptions& options);

/// Choices for attention().
struct AttentionOptions {
  float scale = 0;  ///< Of the products of queries and keys; 0: 1 / sqrt(size).
  bool causal =
      false;  ///< A query sees no key behind its own position; the queries are the last positions.
  std::uint64_t window =
      0;  ///< With a value > 0 only so many positions up to the query's own are seen.
  float soft_cap =
      0;  ///< With a value > 0 scaled products become soft_cap * tanh(product / soft_cap).
  float max_bias = 0;  ///< ALiBi: with a value > 0 the mask counts less from head to head.
  Tensor
      sinks{};  ///< f32 [heads]: a logit per head that takes its share of the sum and has no value.
};

/// softmax(scale * q·kᵀ + mask)·v without the matrix of products in memory, forward and backward. q is [batch, heads,
/// queries, size], k and v are [batch, key heads, keys, size]; heads of q share a head of k in groups. The mask is
/// [queries, keys], also with heads, or heads and batches in front (1: it repeats), or empty. Its gradient, and second derivatives, need the matrix of products in memory.
Tensor attention(In q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {},
                 const Tensor& mask = {});

/// Which elements of a head turn together, and by which position.
enum class RopeMode : std::uint8_t {
  pairs,        ///< Neighbours, as in Llama's own code.
  halves,       ///< i and i + dims/2, as in GPT-NeoX.
  sections,     ///< Halves; pairs are divided into sections that have positions of their own.
  interleaved,  ///< Halves; pairs take the first three positions in turn.
  vision,       ///< i and i + size/2; sections have positions and frequencies of their own.
};

/// Choices for rope().
struct RopeOptions {
  RopeMode mode = RopeMode::halves;
  std::uint32_t dims = 0;    ///< Elements of a head that turn; 0: all (vision: half of them).
  std::uint32_t offset = 0;  ///< The first element that turns.
  std::int32_t first = 0;    ///< Position of the first token, where none are given.
  float base = 10000;
  std::array<std::uint32_t, 4> sections{};  ///< Pairs of each section, in the modes that have some.
  Tensor factors{};                         ///< f32 [dims/2]: frequencies are divided by these.
  float scale = 1;                          ///< Of all frequencies.
  // YaRN: slow pairs are interpolated, fast ones are not, and magnitudes are corrected.
  float extrapolation = 0;  ///< How much of it; 0: none.
  float magnitude = 1;      ///< Multiplies the result.
  float beta_fast = 32;
  float beta_slow = 1;
  std::uint32_t trained_context = 0;  ///< Positions that the model was trained for.
};

/// Rotary position embedding of x [batch, tokens, heads, size]: pairs of elements turn by angles that grow with the
/// position, which is i32 [tokens] (with sections [4, tokens]) or, left empty, the number of the token.
Tensor rope(In x, const RopeOptions& options = {}, const Tensor& positions = {});

/// Positions [N] as waves [N, size], as diffusion models embed time steps: with h = size / 2 and angle = x · period^(-j / h)
/// element j is its cosine and element h + j its sine.
Tensor sinusoid(In x, std::uint64_t size, double period = 1e4);

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

/// What a step of gradient descent gives.
struct SgdStep {
  Tensor weights;
  Tensor momentum;  ///< Where there was one.
  Tensor working;   ///< The new weights in a 16-bit type, where that was asked for.
};

/// One step of gradient descent for f32 weights: weights * (1 - rate * decay) - rate * direction, where the direction is the
/// gradients, or with `momentum` what that becomes: momentum * factor + gradients. `numbers` are f32: rate, decay and, with
/// momentum, factor. `coupled` of the options has no meaning here.
SgdStep sgd(In weights, const Tensor& gradients, const Tensor& numbers, const Tensor& momentum = {},
            const AdamOptions& options = {});

/// What brings gradients together to a norm of at most `max_norm` (0: as they are), and that norm.
struct Clip {
  Tensor scale;  ///< One f32, for AdamOptions::scale; not finite when a gradient is not.
  Tensor norm;   ///< One f32.
};
Clip clip_by_norm(const std::vector<Tensor>& gradients, float max_norm,
                  const Tensor& loss_scale = {}, Where where = Where::current());

}  // namespace weft
