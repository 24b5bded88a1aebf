#include <cmath>
#include <vector>

#include "describe/attributes/adam.hpp"
#include "describe/attributes/clip.hpp"
#include "graph/called.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft {

namespace kinds = graph::kinds;

namespace {

/// Numbers in a row, where the first may come from the device: they are inputs of a step, so that
/// it can be replayed.
Tensor row_of(In weights, const Tensor& first, const std::vector<double>& rest) {
  const Device device = weights.tensor.device();
  const auto row = [&](double head, const std::vector<double>& tail) {
    std::vector<float> values{static_cast<float>(head)};
    values.insert(values.end(), tail.begin(), tail.end());
    return device.tensor({values.size()}, values);
  };
  return row(1, std::vector<double>(rest.size(), 0)) * first + row(0, rest);
}

Tensor rate_of(In weights, double lr, const Tensor& learning_rate) {
  return learning_rate ? learning_rate : weights.tensor.device().full({1}, lr);
}

/// rate, beta1, beta2, eps, decay, 1 / (1 - beta1^step) and 1 / (1 - beta2^step), as the kernel
/// takes them.
Tensor adamw_numbers(In weights, const Tensor& step, const AdamWOptions& o) {
  const Tensor plain = row_of(weights, rate_of(weights, o.lr, o.learning_rate),
                              {o.beta1, o.beta2, o.eps, o.weight_decay, 1, 1});
  // One expression for all seven: a power of what does not depend on the step is 0.
  const double never = -1e4;
  const std::vector<double> logs{
      never, never, never, never, never, std::log(o.beta1), std::log(o.beta2)};
  const Tensor exponents =
      weights.tensor.device().tensor({7}, std::vector<float>(logs.begin(), logs.end()));
  return plain / -map("expm1", exponents * step);
}

}  // namespace

AdamWStep adamw(In weights, const Tensor& gradients, const Tensor& m, const Tensor& v,
                const Tensor& step, const AdamWOptions& options) {
  const graph::Called called("adamw", weights.where);
  const graph::AdamAttributes attributes{options.coupled, options.working.has_value(),
                                         options.working.value_or(DType::f16)};
  const auto node = graph::make_node(
      kinds::adamw, attributes,
      {weights.tensor, gradients, m, v, adamw_numbers(weights, step, options), options.scale},
      weights.where);
  const auto output = [&](std::uint32_t i) { return Access::tensor({node, i}); };
  return {output(0), output(1), output(2), options.working ? output(3) : Tensor()};
}

SgdStep sgd(In weights, const Tensor& gradients, const Tensor& velocity,
            const SgdOptions& options) {
  const graph::Called called("sgd", weights.where);
  const graph::AdamAttributes attributes{true, options.working.has_value(),
                                         options.working.value_or(DType::f16)};
  std::vector<double> rest{options.weight_decay};
  if (velocity) rest.push_back(options.momentum);
  const Tensor numbers = row_of(weights, rate_of(weights, options.lr, options.learning_rate), rest);
  const auto node = graph::make_node(velocity ? kinds::sgd_momentum : kinds::sgd, attributes,
                                     {weights.tensor, gradients, velocity, numbers, options.scale},
                                     weights.where);
  const auto output = [&](std::uint32_t i) { return Access::tensor({node, i}); };
  return {output(0), velocity ? output(1) : Tensor(),
          options.working ? output(velocity ? 2 : 1) : Tensor()};
}

Clip clip_by_global_norm(const std::vector<Tensor>& gradients, float max_norm,
                         const Tensor& loss_scale, Where where) {
  std::vector<Tensor> inputs = gradients;
  inputs.push_back(loss_scale);
  const auto node =
      graph::make_node(kinds::clip_by_global_norm, graph::ClipAttributes{max_norm}, inputs, where);
  return {Access::tensor({node, 0}), Access::tensor({node, 1})};
}

}  // namespace weft
