#include "weft/sampling.hpp"

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "describe/attributes/sample.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/device.hpp"

namespace weft {
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
  const bool greedy = options.temperature == 0;
  if (!greedy) need("sample_tokens", "its key", key, at);
  const bool penalized = previous && previous.size() > 0 && options.penalty != 1;
  return graph::make(graph::kinds::sample_tokens,
                     graph::SampleAttributes{.penalty = static_cast<float>(options.penalty),
                                             .temperature = static_cast<float>(options.temperature),
                                             .top_k = options.top_k,
                                             .top_p = static_cast<float>(options.top_p),
                                             .min_p = static_cast<float>(options.min_p)},
                     {logits.tensor, greedy ? Tensor() : key, penalized ? previous : Tensor()}, at);
}

}  // namespace weft
