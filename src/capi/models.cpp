#include <algorithm>
#include <array>

#include "capi/make.hpp"
#include "weft/c/layers.h"
#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

weft_status attend(std::string_view function, weft_tensor q, weft_tensor k, weft_tensor v,
                   weft_tensor mask, weft_tensor sinks, const weft_attention_options* options,
                   weft_tensor* y) noexcept {
  return make(function, y, q, "q", [&](const Tensor& from) {
    const weft_attention_options given = options != nullptr ? *options : weft_attention_options{};
    return attention({from, nowhere}, tensor_of(k, "k"), tensor_of(v, "v"),
                     {.scale = given.scale,
                      .causal = given.causal,
                      .window = positive(given.window, "window"),
                      .soft_cap = given.soft_cap,
                      .max_bias = given.max_bias,
                      .sinks = tensor_or_none(sinks, "sinks")},
                     tensor_or_none(mask, "mask"));
  });
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_softmax_with(weft_tensor x, const weft_softmax_options* options,
                                     weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const weft_softmax_options given = options != nullptr ? *options : weft_softmax_options{};
    return softmax({from, nowhere}, {.scale = given.scale == 0 ? 1 : given.scale,
                                     .mask = tensor_or_none(given.mask, "mask"),
                                     .sinks = tensor_or_none(given.sinks, "sinks"),
                                     .max_bias = given.max_bias,
                                     .log = given.log});
  });
}

weft_status weft_tensor_l2_norm(weft_tensor x, float eps, weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return l2_norm({from, nowhere}, eps); });
}

weft_status weft_tensor_group_norm(weft_tensor x, int64_t groups, weft_tensor weight,
                                   weft_tensor bias, float eps, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return group_norm({from, nowhere}, positive(groups, "groups"), tensor_or_none(weight, "weight"),
                      tensor_or_none(bias, "bias"), eps);
  });
}

weft_status weft_tensor_matmul_with(weft_tensor a, weft_tensor b,
                                    const weft_matmul_options* options, weft_tensor* y) {
  return make(__func__, y, a, "a", [&](const Tensor& from) {
    const weft_matmul_options given = options != nullptr ? *options : weft_matmul_options{};
    MatmulOptions chosen{.dtype = {}, .allow_f16 = given.allow_f16};
    if (given.has_dtype) chosen.dtype = capi::dtype_of(given.dtype, "dtype");
    return matmul({from, nowhere}, tensor_of(b, "b"), chosen);
  });
}

weft_status weft_tensor_matmul_rows(weft_tensor x, weft_tensor weights, bool allow_q8,
                                    weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return matmul_rows({from, nowhere}, tensor_of(weights, "weights"), {.allow_q8 = allow_q8});
  });
}

weft_status weft_tensor_matmul_chosen(weft_tensor x, weft_tensor weights, weft_tensor ids,
                                      bool allow_q8, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return matmul_chosen({from, nowhere}, tensor_of(weights, "weights"), tensor_of(ids, "ids"),
                         {.allow_q8 = allow_q8});
  });
}

weft_status weft_tensor_solve_triangular(weft_tensor a, weft_tensor b, bool upper, weft_tensor* y) {
  return make(__func__, y, a, "a", [&](const Tensor& from) {
    return solve_triangular({from, nowhere}, tensor_of(b, "b"), upper);
  });
}

weft_status weft_tensor_cross_entropy_with(weft_tensor logits, weft_tensor labels,
                                           weft_reduction reduction, int32_t ignored,
                                           weft_tensor* y) {
  return make(__func__, y, logits, "logits", [&](const Tensor& from) {
    constexpr std::array ways{Reduction::mean, Reduction::sum, Reduction::none};
    const auto way = choice<std::size_t>(reduction, WEFT_REDUCTION_NONE, "reduction");
    return cross_entropy({from, nowhere}, tensor_of(labels, "labels"), {ways.at(way), ignored});
  });
}

weft_status weft_tensor_attention(weft_tensor q, weft_tensor k, weft_tensor v, weft_tensor mask,
                                  const weft_attention_options* options, weft_tensor* y) {
  return attend(__func__, q, k, v, mask, nullptr, options, y);
}

weft_status weft_tensor_attention_with(weft_tensor q, weft_tensor k, weft_tensor v,
                                       weft_tensor mask, weft_tensor sinks,
                                       const weft_attention_options* options, weft_tensor* y) {
  return attend(__func__, q, k, v, mask, sinks, options, y);
}

weft_status weft_tensor_sinusoid(weft_tensor x, int64_t size, double period, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return sinusoid({from, nowhere}, positive(size, "size"), period == 0 ? 1e4 : period);
  });
}

weft_status weft_tensor_rope_with(weft_tensor x, weft_tensor positions,
                                  const weft_rope_options* options, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const weft_rope_options given = options != nullptr ? *options : weft_rope_options{};
    const auto value_or = [](float value, float standard) { return value == 0 ? standard : value; };
    constexpr std::array modes{RopeMode::halves, RopeMode::pairs, RopeMode::sections,
                               RopeMode::interleaved, RopeMode::vision};
    RopeOptions chosen{.mode = modes.at(choice<std::size_t>(given.mode, WEFT_ROPE_VISION, "mode")),
                       .dims = given.dims,
                       .offset = given.offset,
                       .first = given.first,
                       .base = value_or(given.base, 10000),
                       .factors = tensor_or_none(given.factors, "factors"),
                       .scale = value_or(given.scale, 1),
                       .extrapolation = given.extrapolation,
                       .magnitude = value_or(given.magnitude, 1),
                       .beta_fast = value_or(given.beta_fast, 32),
                       .beta_slow = value_or(given.beta_slow, 1),
                       .trained_context = given.trained_context};
    std::ranges::copy(given.sections, chosen.sections.begin());
    return rope({from, nowhere}, chosen, tensor_or_none(positions, "positions"));
  });
}
