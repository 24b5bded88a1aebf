#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/device.hpp"
#include "weft/ops.hpp"

/// Random numbers. Everything follows from a key: the same key, shape, type and numbers give the
/// same bits on every device and in every language. There is no state in the library: who wants
/// other numbers takes another key, and Generator does that for those who like to have it done.
namespace weft::random {

/// What random numbers follow from: two u32. A plain value; on() makes the tensor that the
/// functions below take.
struct Key {
  std::array<std::uint32_t, 2> words{};

  Key() = default;
  /// The key of a seed: its lower and its upper half.
  explicit Key(std::uint64_t seed);
  Key(std::uint32_t low, std::uint32_t high) : words{low, high} {}

  /// Keys that have nothing to do with this one or with each other.
  [[nodiscard]] std::vector<Key> split(std::uint64_t count = 2) const;
  /// The key number `index` of split(), by itself.
  [[nodiscard]] Key child(std::uint64_t index) const;
  /// The key that belongs to this one and a number, such as that of a layer or a step.
  [[nodiscard]] Key fold_in(std::uint32_t data) const;
  /// The key as a tensor: u32[2].
  [[nodiscard]] Tensor on(const Device& device) const;
  bool operator==(const Key&) const = default;
};

// Functions of keys that lie on a device (u32[2]; a row of split() will do): a compiled function
// takes its key as an input and gives other numbers at each call.

/// The key of a seed as a tensor.
Tensor key(const Device& device, std::uint64_t seed);
/// Keys as rows: u32[count, 2]. Row i is what Key::child(i) is on the host.
Tensor split(In key, std::uint64_t count = 2);
/// What Key::fold_in() is on the host.
Tensor fold_in(In key, std::uint32_t data);

/// Random bits: u32.
Tensor bits(In key, const Shape& shape);

/// Choices for uniform().
struct UniformOptions {
  double low = 0;
  double high = 1;
  DType dtype = DType::f32;  ///< f32, f16 or bf16.
};
/// Numbers from low up to high, which is never reached.
Tensor uniform(In key, const Shape& shape, const UniformOptions& options = {});

/// Choices for normal().
struct NormalOptions {
  double mean = 0;
  double std = 1;            ///< The standard deviation.
  DType dtype = DType::f32;  ///< f32, f16 or bf16.
};
/// Normal numbers. The largest that there are lie 6.34 standard deviations from the mean.
Tensor normal(In key, const Shape& shape, const NormalOptions& options = {});

/// Choices for truncated_normal().
struct TruncatedNormalOptions {
  double low = -2;  ///< In standard deviations.
  double high = 2;
  double mean = 0;
  double std = 1;
  DType dtype = DType::f32;  ///< f32, f16 or bf16.
};
/// mean + std · z, with normal numbers z between low and high.
Tensor truncated_normal(In key, const Shape& shape, const TruncatedNormalOptions& options = {});

/// Whole numbers from low up to high, which is left out. Of i64 there are those that an i32 can
/// hold.
Tensor randint(In key, const Shape& shape, std::int64_t low, std::int64_t high,
               DType dtype = DType::i32);

/// True with a probability: one for all elements, or a tensor with one for each.
Tensor bernoulli(In key, const Shape& shape, double probability = 0.5);
Tensor bernoulli(In key, const Tensor& probability);

/// -log(-log(u)) of uniform numbers u, of f32: what is added to logits for their largest to be a
/// draw.
Tensor gumbel(In key, const Shape& shape);

/// The numbers 0 … count - 1 in random order: i32[count].
Tensor permutation(In key, std::uint64_t count);
/// A tensor with the places along one axis in random order.
Tensor permutation(In key, const Tensor& x, int axis = 0);

/// Indices (i32) along an axis, which is gone in the result, with probabilities softmax(logits).
Tensor categorical(In key, const Tensor& logits, int axis = -1);

/// `count` indices (i32) for each row of weights […, classes], with probabilities that are in
/// proportion to the weights: the result is […, count]. Without replacement no index comes twice,
/// and those of weight 0 come last.
Tensor multinomial(In key, const Tensor& weights, std::uint64_t count, bool replacement = false);

/// Random numbers with a state, for code that is written with one: each call takes the next key.
/// Inside of a compiled function it would give the same numbers at each call; pass a key there. Not
/// for several threads at once.
class Generator {
 public:
  explicit Generator(const Device& device, std::uint64_t seed = 0);
  /// Starts anew from a seed.
  void manual_seed(std::uint64_t seed);
  /// The next key.
  [[nodiscard]] Key next();
  /// The same as a tensor.
  [[nodiscard]] Tensor next_key();

  /// What comes next is the same for two generators of one state.
  struct State {
    Key key;
    std::uint64_t drawn = 0;
    bool operator==(const State&) const = default;
  };
  [[nodiscard]] const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

  [[nodiscard]] Tensor uniform(const Shape& shape, const UniformOptions& options = {},
                               Where where = Where::current());
  [[nodiscard]] Tensor normal(const Shape& shape, const NormalOptions& options = {},
                              Where where = Where::current());
  [[nodiscard]] Tensor truncated_normal(const Shape& shape,
                                        const TruncatedNormalOptions& options = {},
                                        Where where = Where::current());
  [[nodiscard]] Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high,
                               DType dtype = DType::i32, Where where = Where::current());
  [[nodiscard]] Tensor bernoulli(const Shape& shape, double probability = 0.5,
                                 Where where = Where::current());
  [[nodiscard]] Tensor permutation(std::uint64_t count, Where where = Where::current());

 private:
  Device device_;
  State state_;
};

}  // namespace weft::random
