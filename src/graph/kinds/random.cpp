#include "ops/random/random.hpp"

#include "graph/attributes/random.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {

// random: key (two u32), weights (optional)

Result<std::vector<Type>> infer_random(const Signature& s) {
  const auto& a = as<RandomAttributes>(s.attributes);
  if (const Type& key = s.inputs[0]; key.dtype != DType::u32 || key.count() != 2) {
    return fail(ErrorCode::invalid_argument, "{} needs a key of two u32; it was given {}.",
                called_or(name(a.distribution.function)), describe(key));
  }
  if (const Status ok = ops::random::check(a.distribution, a.dtype); !ok) {
    return std::unexpected(ok.error());
  }
  return one(a.dtype, a.shape);
}

Result<ops::Plan> lower_random(const LowerArgs& l) {
  const auto& a = as<RandomAttributes>(l.attributes);
  return ops::random::plan({.key = l.inputs[0],
                            .y = l.outputs[0],
                            .distribution = a.distribution,
                            .first = a.first,
                            .domain = a.domain,
                            .weights = l.inputs[1]},
                           l.caps);
}

}  // namespace

const Rule random{.name = "random", .infer = infer_random, .lower = lower_random};

}  // namespace weft::graph::kinds
