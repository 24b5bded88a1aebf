#include "ops/sample/sample.hpp"

#include "describe/attributes/sample.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// sample_tokens: logits [batch, vocabulary], key (two u32, or none where the temperature is 0),
// previous i32 [batch, n] (optional) → i32 [batch]

Result<std::vector<Type>> infer_sample_tokens(const Signature& s) {
  const Type& logits = s.inputs[0];
  const Type& key = s.inputs[1];
  const bool greedy = as<SampleAttributes>(s.attributes).temperature == 0;
  if (logits.rank() != 2 ||
      (!greedy && (!key.given || key.dtype != DType::u32 || key.count() != 2))) {
    return fail(ErrorCode::invalid_argument,
                "sample_tokens needs logits [batch, vocabulary] and a key of two u32; it was given "
                "{} and {}.",
                describe(logits), key.given ? describe(key) : "none");
  }
  return one(DType::i32, {logits.shape[0]});
}

Result<ops::Plan> lower_sample_tokens(const LowerArgs& l) {
  const auto& a = as<SampleAttributes>(l.attributes);
  return ops::sample::plan({.logits = l.inputs[0],
                            .key = l.inputs[1],
                            .previous = l.inputs[2],
                            .y = l.outputs[0],
                            .penalty = a.penalty,
                            .temperature = a.temperature,
                            .top_k = a.top_k,
                            .top_p = a.top_p,
                            .min_p = a.min_p},
                           l.caps);
}

}  // namespace

const Rule sample_tokens{
    .name = "sample_tokens", .infer = infer_sample_tokens, .lower = lower_sample_tokens};

}  // namespace weft::graph::kinds
