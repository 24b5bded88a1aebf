#include "weft/random.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "graph/attributes/random.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "ops/random/threefry.hpp"

namespace weft::random {
namespace {

using ops::random::Distribution;
using ops::random::Function;

Tensor draw(In key, const graph::RandomAttributes& attributes, const Tensor& weights = {}) {
  return graph::make(graph::kinds::random, attributes, {key.tensor, weights}, key.where);
}

/// The first whole number of a type and the one behind its last; none for types of others.
std::optional<std::pair<std::int64_t, std::int64_t>> limits_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return {{-128, 128}};
    case DType::u8: return {{0, 256}};
    case DType::i16: return {{-32768, 32768}};
    case DType::i64:  // as many as can be drawn
    case DType::i32: return {{-0x80000000LL, 0x80000000LL}};
    case DType::u32: return {{0, 0x100000000LL}};
    default: return std::nullopt;
  }
}

}  // namespace

Key::Key(std::uint64_t seed)
    : words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)} {}

Key Key::child(std::uint64_t index) const {
  Key out;
  out.words = ops::random::threefry(
      words, {static_cast<std::uint32_t>(index),
              static_cast<std::uint32_t>(index >> 32U) ^ ops::random::split_domain});
  return out;
}

std::vector<Key> Key::split(std::uint64_t count) const {
  std::vector<Key> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(child(i));
  return out;
}

Key Key::fold_in(std::uint32_t data) const {
  Key out;
  out.words = ops::random::threefry(words, {data, ops::random::fold_domain});
  return out;
}

Tensor Key::on(const Device& device) const {
  return device.tensor({2}, std::vector(words.begin(), words.end()));
}

Tensor key(const Device& device, std::uint64_t seed) { return Key(seed).on(device); }

Tensor split(In key, std::uint64_t count) {
  const graph::Called called("split", key.where);
  return draw(key, {.dtype = DType::u32, .shape = {count, 2}, .domain = ops::random::split_domain});
}

Tensor fold_in(In key, std::uint32_t data) {
  const graph::Called called("fold_in", key.where);
  return draw(key, {.dtype = DType::u32,
                    .shape = {2},
                    .first = 2 * std::uint64_t{data},
                    .domain = ops::random::fold_domain});
}

Tensor bits(In key, const Shape& shape) {
  const graph::Called called("bits", key.where);
  return draw(key, {.dtype = DType::u32, .shape = shape});
}

Tensor uniform(In key, const Shape& shape, const UniformOptions& options) {
  const graph::Called called("uniform", key.where);
  const Distribution distribution{
      .function = Function::uniform, .low = options.low, .high = options.high};
  return draw(key, {.distribution = distribution, .dtype = options.dtype, .shape = shape});
}

Tensor normal(In key, const Shape& shape, const NormalOptions& options) {
  const graph::Called called("normal", key.where);
  const Distribution distribution{
      .function = Function::normal, .mean = options.mean, .std = options.std};
  return draw(key, {.distribution = distribution, .dtype = options.dtype, .shape = shape});
}

Tensor truncated_normal(In key, const Shape& shape, const TruncatedNormalOptions& options) {
  const graph::Called called("truncated_normal", key.where);
  const Distribution distribution{.function = Function::truncated_normal,
                                  .low = options.low,
                                  .high = options.high,
                                  .mean = options.mean,
                                  .std = options.std};
  return draw(key, {.distribution = distribution, .dtype = options.dtype, .shape = shape});
}

Tensor randint(In key, const Shape& shape, std::int64_t low, std::int64_t high, DType dtype) {
  const graph::Called called("randint", key.where);
  const auto limits = limits_of(dtype);
  if (!limits) {
    refuse("randint", key.where,
           formatted("randint gives whole numbers; it was asked for {}.", name(dtype)));
  }
  if (low >= high || low < limits->first || high > limits->second) {
    refuse("randint", key.where,
           formatted("randint of {} needs low < high, from {} to {}; they are {} and {}.",
                     name(dtype), limits->first, limits->second, low, high));
  }
  const Distribution distribution{.function = Function::randint,
                                  .low = static_cast<double>(low),
                                  .high = static_cast<double>(high)};
  const DType drawn = dtype == DType::u32 ? DType::u32 : DType::i32;
  return draw(key, {.distribution = distribution, .dtype = drawn, .shape = shape})
      .to(dtype, key.where);
}

Tensor bernoulli(In key, const Shape& shape, double probability) {
  const graph::Called called("bernoulli", key.where);
  if (!(probability >= 0) || probability > 1) {
    refuse("bernoulli", key.where,
           formatted("bernoulli needs a probability from 0 to 1; it is {}.", probability));
  }
  return less(In(uniform(key, shape), key.where),
              key.tensor.device().full({}, probability, DType::f32, key.where));
}

Tensor bernoulli(In key, const Tensor& probability) {
  const graph::Called called("bernoulli", key.where);
  return less(In(uniform(key, probability.shape()), key.where),
              probability.to(DType::f32, key.where));
}

Tensor gumbel(In key, const Shape& shape) {
  const graph::Called called("gumbel", key.where);
  return draw(key, {.distribution = {.function = Function::gumbel}, .shape = shape});
}

Tensor permutation(In key, std::uint64_t count) {
  const graph::Called called("permutation", key.where);
  // Equal bits keep their order, so that a long list needs more bits than one word has: each round
  // sorts by another word, and there are enough of them for 3 log2(count) bits.
  const double digits = 3 * std::log2(static_cast<double>(std::max<std::uint64_t>(count, 1)));
  const std::uint64_t rounds =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(digits / 32)));
  Tensor order;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Tensor words = draw(key, {.dtype = DType::u32,
                                    .shape = {count},
                                    .first = i << 34U,  // apart from those of other rounds
                                    .domain = 0});
    const Tensor sorted = argsort(In(words, key.where));
    order = order ? gather(In(order, key.where), sorted, 0) : sorted;
  }
  return order;
}

Tensor permutation(In key, const Tensor& x, int axis) {
  const graph::Called called("permutation", key.where);
  const std::uint32_t at = axis_in("permutation", axis, x.shape(), key.where);
  const std::uint64_t extent = x.shape()[at];
  if (x.size() == 0) return x;
  const Tensor front = reorder(x, move_order(x.shape().size(), at, 0), key.where);
  const Tensor rows = front.reshape({extent, x.size() / extent}, key.where);
  const Tensor shuffled = embedding(In(rows, key.where), permutation(key, extent));
  return reorder(shuffled.reshape(front.shape(), key.where), move_order(x.shape().size(), 0, at),
                 key.where);
}

Tensor categorical(In key, const Tensor& logits, int axis) {
  const graph::Called called("categorical", key.where);
  const std::uint32_t at = axis_in("categorical", axis, logits.shape(), key.where);
  if (!is_float(logits.dtype())) {
    refuse(
        "categorical", key.where,
        formatted("categorical needs logits of a float type; they are {}.", name(logits.dtype())));
  }
  const Tensor scores =
      logits.to(DType::f32, key.where) + In(gumbel(key, logits.shape()), key.where);
  return argmax(In(scores, key.where), {static_cast<Dims::value_type>(at)});
}

Tensor multinomial(In key, const Tensor& weights, std::uint64_t count, bool replacement) {
  const graph::Called called("multinomial", key.where);
  Shape shape = weights.shape();
  if (shape.empty() || !is_float(weights.dtype()) || shape.back() == 0 ||
      (!replacement && count > shape.back())) {
    refuse(
        "multinomial", key.where,
        formatted("multinomial draws {} indices {} replacement from weights […, classes] of a "
                  "float type, of which there must be {}; {}{} was given.",
                  count, replacement ? "with" : "without", replacement ? "at least one" : "as many",
                  name(weights.dtype()), ops::describe(shape)));
  }
  Tensor wide = weights.to(DType::f32, key.where);
  if (replacement) {
    shape.insert(shape.end() - 1, 1);
    wide = wide.reshape(shape, key.where);
    shape[shape.size() - 2] = count;
    wide = wide.broadcast_to(shape, key.where);
  }
  const Tensor scores =
      draw(key, {.distribution = {.function = Function::gumbel}, .shape = shape}, wide);
  if (!replacement) return top_k(In(scores, key.where), count).indices;
  return argmax(In(scores, key.where), {static_cast<Dims::value_type>(shape.size() - 1)});
}

Generator::Generator(const Device& device, std::uint64_t seed) : device_(device) {
  manual_seed(seed);
}

void Generator::manual_seed(std::uint64_t seed) { state_ = {Key(seed), 0}; }

Key Generator::next() { return state_.key.child(state_.drawn++); }

Tensor Generator::next_key() { return next().on(device_); }

Tensor Generator::uniform(const Shape& shape, const UniformOptions& options, Where where) {
  return random::uniform(In(next_key(), where), shape, options);
}

Tensor Generator::normal(const Shape& shape, const NormalOptions& options, Where where) {
  return random::normal(In(next_key(), where), shape, options);
}

Tensor Generator::truncated_normal(const Shape& shape, const TruncatedNormalOptions& options,
                                   Where where) {
  return random::truncated_normal(In(next_key(), where), shape, options);
}

Tensor Generator::randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype,
                          Where where) {
  return random::randint(In(next_key(), where), shape, low, high, dtype);
}

Tensor Generator::bernoulli(const Shape& shape, double probability, Where where) {
  return random::bernoulli(In(next_key(), where), shape, probability);
}

Tensor Generator::permutation(std::uint64_t count, Where where) {
  return random::permutation(In(next_key(), where), count);
}

}  // namespace weft::random
