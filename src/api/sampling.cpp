#include "weft/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "weft/device.hpp"
#include "weft/random.hpp"

namespace weft {
namespace {

/// Logits below a threshold [batch, 1] count no more.
Tensor from(const Tensor& x, const Tensor& threshold, const Where& at) {
  const Tensor none = x.device().full({}, -std::numeric_limits<double>::infinity(), DType::f32, at);
  return where(In(greater_equal(In(x, at), threshold), at), x, none);
}

/// Logits of tokens that were there before come nearer to 0, or go further below it.
Tensor penalized(const Tensor& x, const SampleOptions& options, const Where& at) {
  const Device device = x.device();
  const Shape& shape = options.previous.shape();
  const Tensor ones = device.full(shape, 1, DType::f32, at);
  const Tensor seen =
      scatter_add(In(device.full(x.shape(), 0, DType::f32, at), at), options.previous, ones, 1);
  const Tensor zero = device.full({}, 0, DType::f32, at);
  const Tensor less_likely = where(In(greater(In(x, at), zero), at), In(x, at) / options.penalty,
                                   In(x, at) * options.penalty);
  return where(In(greater(In(seen, at), zero), at), less_likely, x);
}

}  // namespace

Tensor sample_tokens(In logits, const Tensor& key, const SampleOptions& options) {
  need("sample_tokens", "logits", logits.tensor, logits.where);
  const Where& at = logits.where;
  const Shape& shape = logits.tensor.shape();
  const Tensor& previous = options.previous;
  if (shape.size() != 2 || shape[1] == 0 || !is_float(logits.tensor.dtype()) ||
      (previous && (previous.dtype() != DType::i32 || previous.shape().size() != 2 ||
                    previous.shape()[0] != shape[0]))) {
    refuse("sample_tokens", at,
           formatted("sample_tokens needs logits [batch, vocabulary] of floats and previous tokens "
                     "i32 [batch, n]; it was given {} and {}.",
                     describe(logits.tensor), previous ? describe(previous) : "none"));
  }
  if (!(options.temperature >= 0) || !(options.penalty > 0) || !(options.top_p > 0) ||
      options.top_p > 1 || !(options.min_p >= 0) || options.min_p > 1) {
    refuse(
        "sample_tokens", at,
        formatted("sample_tokens takes a temperature from 0, a penalty above 0, top_p above 0 up "
                  "to 1 and min_p from 0 to 1; they are {}, {}, {} and {}.",
                  options.temperature, options.penalty, options.top_p, options.min_p));
  }
  if (shape[0] == 0) return logits.tensor.device().full({0}, 0, DType::i32, at);
  Tensor x = logits.tensor.to(DType::f32, at);
  if (previous && previous.size() > 0 && options.penalty != 1) x = penalized(x, options, at);
  if (options.temperature == 0) return argmax(In(x, at), {1});
  need("sample_tokens", "its key", key, at);
  if (options.temperature != 1) x = In(x, at) / options.temperature;
  const bool cut = options.top_k > 0 && options.top_k < shape[1];
  if (cut || options.top_p < 1) {
    const std::uint64_t count = cut ? options.top_k : shape[1];
    const Tensor sorted = top_k(In(x, at), count).values;
    const auto last = static_cast<std::int64_t>(count) - 1;
    Tensor threshold = sorted.slice(1, last, 1, 1, at);
    if (options.top_p < 1) {
      // How many are needed: those in front of which less than top_p lies.
      const Tensor before = cumsum(In(softmax(In(sorted, at)), at), 1, true);
      const Tensor share = x.device().full({}, options.top_p, DType::f32, at);
      const Tensor needed =
          sum(In(less(In(before, at), share).to(DType::i32, at), at), {1}, true) - 1.0;
      threshold = gather(In(sorted, at), needed, 1);
    }
    x = from(x, threshold, at);
  }
  if (options.min_p > 0) {
    x = from(x, max(In(x, at), {1}, true) + std::log(options.min_p), at);
  }
  return random::categorical(In(key, at), x, 1);
}

}  // namespace weft
