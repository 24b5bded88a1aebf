#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/grad.hpp"
#include "weft/ops.hpp"

// Derivatives, and steps of optimizers: a rate, the number of the step, then weights, gradients and
// states in groups of one size.

namespace weft::onnx {
namespace {

/// The groups of inputs behind the first two.
std::vector<std::vector<Tensor>> groups_of(const Call& c, std::size_t groups) {
  if (c.inputs.size() < 2 || (c.inputs.size() - 2) % groups != 0)
    c.wrong(formatted("{} inputs are not {} groups behind two numbers.", c.inputs.size(), groups));
  const std::size_t each = (c.inputs.size() - 2) / groups;
  std::vector<std::vector<Tensor>> out(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < each; ++i) out[g].push_back(c.t(2 + g * each + i));
  }
  return out;
}

Values joined(const std::vector<std::vector<Tensor>>& groups) {
  Values out;
  for (const auto& group : groups) out.insert(out.end(), group.begin(), group.end());
  return out;
}

Values adagrad(Call& c) {
  const auto in = groups_of(c, 3);
  const Tensor rate = c.t(0) / (c.t(1).to(DType::f32) * c.f("decay_factor", 0) + 1);
  std::vector<std::vector<Tensor>> out(2);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const Tensor g = in[0][i] * c.f("norm_coefficient", 0) + in[1][i];
    out[1].push_back(in[2][i] + square(g));
    out[0].push_back(in[0][i] - rate * g / (sqrt(out[1].back()) + c.f("epsilon", 1e-6)));
  }
  return joined(out);
}

Values adam(Call& c) {
  const auto in = groups_of(c, 4);
  const double alpha = c.f("alpha", 0.9);
  const double beta = c.f("beta", 0.999);
  const Tensor step = c.t(1).to(DType::f32);
  const auto power = [&](double base) { return pow(full_like(step, base), step); };
  const Tensor adjusted = c.t(0) * sqrt(1 - power(beta)) / (1 - power(alpha));
  const Tensor rate = where(greater(step, zeros_like(step)), adjusted, c.t(0));
  std::vector<std::vector<Tensor>> out(3);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const Tensor g = in[0][i] * c.f("norm_coefficient", 0) + in[1][i];
    out[1].push_back(in[2][i] * alpha + g * (1 - alpha));
    out[2].push_back(in[3][i] * beta + square(g) * (1 - beta));
    const Tensor x = in[0][i] - rate * out[1].back() / (sqrt(out[2].back()) + c.f("epsilon", 1e-6));
    out[0].push_back(x * (1 - c.f("norm_coefficient_post", 0)));
  }
  return joined(out);
}

/// The derivatives of a value y that was computed before by values xs that it follows from, at the
/// place where they are.
Values gradient(Call& c) {
  const Attribute* xs = c.attribute("xs");
  const std::string name = c.s("y", "");
  const Value* y = c.scope.find(name);
  if (xs == nullptr || y == nullptr)
    c.refuse(formatted("It needs 'xs', and a value '{}' before it to differentiate.", name));
  std::vector<Tensor> by;
  for (std::size_t i = 0; i < xs->strings.size(); ++i) {
    if (i >= c.node.inputs.size() || c.node.inputs[i] != xs->strings[i])
      c.refuse(formatted("Derivatives by '{}' are computed where that value is, not elsewhere.",
                         xs->strings[i]));
    by.push_back(c.t(i));
  }
  const Tensor of = y->on(c.device());
  const std::vector<Tensor> found = grad(of, ones_like(of), by);
  return {found.begin(), found.end()};
}

Values momentum(Call& c) {
  const auto in = groups_of(c, 3);
  const double alpha = c.f("alpha", 0);
  const Tensor step = c.t(1).to(DType::f32);
  const Tensor beta =
      where(greater(step, zeros_like(step)), full_like(step, c.f("beta", 1)), ones_like(step));
  const bool nesterov = c.s("mode", "standard") == "nesterov";
  std::vector<std::vector<Tensor>> out(2);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const Tensor g = in[0][i] * c.f("norm_coefficient", 0) + in[1][i];
    out[1].push_back(in[2][i] * alpha + beta * g);
    out[0].push_back(in[0][i] - c.t(0) * (nesterov ? g + out[1].back() * alpha : out[1].back()));
  }
  return joined(out);
}

}  // namespace

void add_training(Table& table) {
  table["ai.onnx.preview.training.Gradient"] = gradient;
  table["ai.onnx.preview.training.Adagrad"] = adagrad;
  table["ai.onnx.preview.training.Adam"] = adam;
  table["ai.onnx.preview.training.Momentum"] = momentum;
}

}  // namespace weft::onnx
