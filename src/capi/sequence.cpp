#include "weft/c/sequence.h"

#include <array>

#include "capi/make.hpp"

namespace weft::capi {
namespace {

void give_two(const Tensor& first, const Tensor& second, weft_tensor& one, weft_tensor& two) {
  std::array<weft_tensor, 2> out{};
  put_all({first, second}, out.data());
  one = out[0];
  two = out[1];
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_ssm_conv(weft_tensor x, weft_tensor weights, weft_tensor bias, bool silu,
                                 weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return ssm_conv({from, nowhere}, tensor_of(weights, "weights"), tensor_or_none(bias, "bias"),
                    silu);
  });
}

weft_status weft_tensor_recurrence(weft_recurrence_kind kind, const weft_recurrence_inputs* inputs,
                                   weft_tensor* y, weft_tensor* state) {
  return call(__func__, [&] {
    result(y, "y");
    result(state, "state");
    const weft_recurrence_inputs given = *required(inputs, "inputs");
    RecurrenceInputs tensors;
    tensors.q = tensor_of(given.q, "q");
    tensors.k = tensor_of(given.k, "k");
    tensors.v = tensor_of(given.v, "v");
    tensors.decay = tensor_of(given.decay, "decay");
    tensors.state = tensor_of(given.state, "state");
    tensors.a = tensor_or_none(given.a, "a");
    tensors.b = tensor_or_none(given.b, "b");
    tensors.bonus = tensor_or_none(given.bonus, "bonus");
    tensors.step = tensor_or_none(given.step, "step");
    const auto lock = lock_values(tensors.q);
    const Recurrence made = recurrence(choice<RecurrenceKind>(kind, WEFT_SSM, "kind"), tensors,
                                       {.scale = given.scale == 0 ? 1 : given.scale,
                                        .interleaved = given.interleaved,
                                        .snapshots = positive(given.snapshots, "snapshots")},
                                       nowhere);
    give_two(made.y, made.state, *y, *state);
  });
}

weft_status weft_tensor_route(weft_tensor logits, int64_t count, const weft_route_options* options,
                              weft_tensor* weights, weft_tensor* ids) {
  return call(__func__, [&] {
    result(weights, "weights");
    result(ids, "ids");
    const Tensor from = tensor_of(logits, "logits");
    const auto lock = lock_values(from);
    const weft_route_options given = options != nullptr ? *options : weft_route_options{};
    const Routed made = route({from, nowhere}, positive(count, "count"),
                              {.score = choice<ExpertScore>(given.score, WEFT_SCORE_LOGIT, "score"),
                               .bias = tensor_or_none(given.bias, "bias"),
                               .softmax_chosen = given.softmax_chosen,
                               .normalize = given.normalize,
                               .least = given.least,
                               .scale = given.scale == 0 ? 1 : given.scale});
    give_two(made.weights, made.ids, *weights, *ids);
  });
}

weft_status weft_tensor_hyper_combine(weft_tensor mixes, weft_tensor scale, weft_tensor base,
                                      uint32_t iterations, float eps, weft_tensor* y) {
  return make(__func__, y, mixes, "mixes", [&](const Tensor& from) {
    return hyper_combine({from, nowhere}, tensor_of(scale, "scale"), tensor_of(base, "base"),
                         iterations == 0 ? 1 : iterations, eps);
  });
}

weft_status weft_tensor_hyper_read(weft_tensor x, weft_tensor weights, float scale,
                                   weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return hyper_read({from, nowhere}, tensor_of(weights, "weights"), scale);
  });
}

weft_status weft_tensor_hyper_write(weft_tensor x, weft_tensor residual, weft_tensor share,
                                    weft_tensor mix, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return hyper_write({from, nowhere}, tensor_of(residual, "residual"), tensor_of(share, "share"),
                       tensor_or_none(mix, "mix"));
  });
}

weft_status weft_tensor_index_scores(weft_tensor q, weft_tensor k, weft_tensor weights,
                                     weft_tensor mask, weft_tensor* y) {
  return make(__func__, y, q, "q", [&](const Tensor& from) {
    return index_scores({from, nowhere}, tensor_of(k, "k"), tensor_of(weights, "weights"),
                        tensor_or_none(mask, "mask"));
  });
}
