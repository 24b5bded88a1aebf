#include "ops/attention/attention.hpp"

#include <cmath>

#include "capi/arrays.hpp"

using namespace weft;
using namespace weft::capi;

weft_status weft_attention(const weft_array* q, const weft_array* k, const weft_array* v,
                           const weft_array* mask, const weft_attention_options* options,
                           const weft_array* y) {
  return call(__func__, [&] {
    Arrays arrays;
    ops::attention::Args args;
    args.q = arrays.input(q, "q");
    args.k = arrays.input(k, "k");
    args.v = arrays.input(v, "v");
    if (mask != nullptr) args.mask = arrays.input(mask, "mask");
    args.y = arrays.output(y, "y");
    if (args.q.rank != 4) {
      raise(ErrorCode::invalid_argument,
            "`q` ({}) needs the dimensions [batch, heads, queries, size].", ops::describe(args.q));
    }
    const weft_attention_options given = options != nullptr ? *options : weft_attention_options{};
    if (given.window < 0) {
      raise(ErrorCode::invalid_argument, "The window is {} positions; it cannot be negative.",
            given.window);
    }
    const auto size = static_cast<float>(args.q.shape[3]);
    args.rules = {.scale = given.scale != 0 ? given.scale
                           : size > 0       ? 1 / std::sqrt(size)
                                            : 1,
                  .soft_cap = given.soft_cap,
                  .max_bias = given.max_bias,
                  .causal = given.causal,
                  .window = static_cast<std::uint64_t>(given.window)};
    arrays.run(ops::attention::plan(args, arrays.caps()));
  });
}
