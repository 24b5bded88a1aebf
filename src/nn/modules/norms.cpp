#include "weft/norms.hpp"
#include "weft/nn/layers.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

BatchNorm::BatchNorm(Init& init, std::uint64_t channels, double momentum, double eps)
    : momentum_(momentum),
      eps_(eps),
      weight_(parameter("weight", init.ones({channels}))),
      bias_(parameter("bias", init.zeros({channels}))),
      mean_(buffer("running_mean", init.zeros({channels}))),
      variance_(buffer("running_var", init.ones({channels}))) {}

Tensor BatchNorm::forward(const Tensor& x) {
  const weft::BatchNorm normed =
      batch_norm(x, mean_, variance_, now(weight_), now(bias_),
                 {.training = training(), .momentum = momentum_, .eps = eps_});
  if (training()) {
    update(mean_, normed.running_mean);
    update(variance_, normed.running_var);
  }
  return normed.y;
}

LayerNorm::LayerNorm(Init& init, std::uint64_t width, float eps, bool bias)
    : eps_(eps), weight_(parameter("weight", init.ones({width}))) {
  if (bias) bias_ = parameter("bias", init.zeros({width}));
}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, now(weight_), now(bias_), eps_); }

RMSNorm::RMSNorm(Init& init, std::uint64_t width, float eps)
    : eps_(eps), weight_(parameter("weight", init.ones({width}))) {}

Tensor RMSNorm::forward(const Tensor& x) { return rms_norm(x, now(weight_), eps_); }

GroupNorm::GroupNorm(Init& init, std::uint64_t groups, std::uint64_t channels, float eps)
    : groups_(groups),
      eps_(eps),
      weight_(parameter("weight", init.ones({channels}))),
      bias_(parameter("bias", init.zeros({channels}))) {}

Tensor GroupNorm::forward(const Tensor& x) {
  return group_norm(x, groups_, now(weight_), now(bias_), eps_);
}

}  // namespace weft::nn
