// Derivatives against central differences of the same expression, which is computed on the host in
// double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "describe/table.hpp"
#include "double_graph.hpp"
#include "grad_rows.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"
#include "ops/map/functions.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

std::vector<float> random_values(ops::Random& random, const Leaf& leaf) {
  std::vector<float> out(Host::count(leaf.shape));
  for (float& v : out) v = static_cast<float>(random.uniform(leaf.low, leaf.high));
  return out;
}

double weighted(const std::vector<double>& values, const std::vector<float>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * double{weights[i]};
  return sum;
}

/// Checks the values of an expression, and the derivative of sum(weights * f(inputs)) by every
/// element of every input.
void check(const GradRow& row) {
  constexpr double shift = 1e-5;
  ops::Random random(7);
  std::vector<std::vector<double>> values;
  std::vector<Tensor> inputs;
  for (const Leaf& leaf : row.leaves) {
    const std::vector<float> drawn = random_values(random, leaf);
    values.emplace_back(drawn.begin(), drawn.end());
    inputs.push_back(variable(api_device().tensor(leaf.shape, drawn)));
  }
  const Tensor y = row.f(inputs);
  const std::vector<float> weights = random_values(random, {y.shape()});
  const std::vector<Tensor> found = grad(y, api_device().tensor(y.shape(), weights), inputs);
  // Everything on the host first: computed tensors forget what they were made from.
  const DoubleGraph graph(y, inputs);
  const std::vector<double> expected_y = graph.run(values);
  std::vector<std::vector<double>> expected;
  for (std::vector<double>& of_input : values) {
    auto& differences = expected.emplace_back();
    for (double& element : of_input) {
      const double at = element;
      element = at + shift;
      const double above = weighted(graph.run(values), weights);
      element = at - shift;
      differences.push_back((above - weighted(graph.run(values), weights)) / (2 * shift));
      element = at;
    }
  }
  const auto near = [&](double got, double wanted) {
    return std::abs(got - wanted) <= row.tolerance * (1 + std::abs(wanted));
  };
  const std::vector<float> got_y = y.to_vector();
  ASSERT_EQ(got_y.size(), expected_y.size());
  for (std::size_t i = 0; i < got_y.size(); ++i) {
    EXPECT_PRED2(near, got_y[i], expected_y[i]) << "value, element " << i;
  }
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    ASSERT_EQ(found[which].shape(), row.leaves[which].shape);
    const std::vector<float> got = found[which].to_vector();
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_PRED2(near, got[i], expected[which][i]) << "input " << which << ", element " << i;
    }
  }
}

class DeviceGradRow : public testing::TestWithParam<GradRow> {};

TEST_P(DeviceGradRow, MatchesDifferences) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, DeviceGradRow, testing::ValuesIn(grad_rows()),
                         [](const auto& which) { return which.param.name; });

/// Kinds that can be differentiated are all among the rows above.
TEST(DeviceGrad, EveryKindHasARow) {
  std::set<const graph::Rule*> seen;
  for (const GradRow& row : grad_rows()) {
    std::vector<Tensor> inputs;
    for (const Leaf& leaf : row.leaves)
      inputs.push_back(variable(api_device().full(leaf.shape, 1)));
    seen.merge(std::set(DoubleGraph(row.f(inputs), inputs).kinds()));
  }
  for (const graph::Rule* rule : graph::kinds::all()) {
    EXPECT_TRUE(rule->gradient == nullptr || seen.contains(rule))
        << rule->name << " has a gradient that no row of grad_rows() checks";
  }
}

class DeviceGradMap : public testing::TestWithParam<std::string> {};

TEST_P(DeviceGradMap, MatchesDifferences) {
  const ops::map::Function& function = *ops::map::find_function(GetParam());
  // Away from poles, where differences say little.
  const double low =
      function.low > 0 ? std::max(0.6, function.low * 1.2) : std::max(function.low, -3.0);
  const Leaf leaf{{5}, low, std::min(function.high, 3.0)};
  check(
      {.name = GetParam(),
       .leaves = std::vector<Leaf>(function.inputs, leaf),
       .f =
           [&](const std::vector<Tensor>& in) { return map(function.name, in, function.defaults); },
       .tolerance = std::max(1e-4, function.epsilons * 5e-7)});
}

/// All elementwise functions with a gradient: those that are described with one, and those that are
/// not described (forms of others, and parts of their gradients) and take floats.
std::vector<std::string> smooth_functions() {
  std::vector<std::string> out;
  for (const ops::map::Function& function : ops::map::functions()) {
    const auto* described = std::ranges::find(described_functions, function.name, &Described::map);
    // `where` takes its condition from a tensor: its row is among grad_rows(). The other one has
    // steps at its limits, and no description.
    const bool other = function.name == "where" || function.name == "swiglu_oai_back_up";
    const bool steps =
        described != described_functions.end()
            ? !described->gradient
            : ops::map::gives_boolean(function.name) || ops::map::is_bitwise(function.name);
    if (!other && !steps && function.inputs > 0) out.emplace_back(function.name);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceGradMap, testing::ValuesIn(smooth_functions()),
                         [](const auto& which) { return which.param; });

/// Attention from simpler operations.
Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  const Shape& shape = q.shape();
  const std::uint64_t kv = k.shape()[1];
  const Tensor grouped = q.reshape({shape[0], kv, shape[1] / kv, shape[2], shape[3]});
  const auto shared = [&](const Tensor& t) {
    return t.reshape({t.shape()[0], kv, 1, t.shape()[2], t.shape()[3]});
  };
  const Tensor products =
      matmul(grouped * (1 / std::sqrt(static_cast<double>(shape[3]))), shared(k).transpose());
  return matmul(softmax(mask ? products + mask : products), shared(v))
      .reshape({shape[0], shape[1], shape[2], v.shape()[3]});
}

TEST(DeviceGrad, AttentionEqualsItsExpression) {
  const auto random = [](const Shape& shape, double phase) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    return map("sin", api_device().arange(count, phase, 1.7)).reshape(shape);
  };
  const std::vector<Tensor> in{variable(random({2, 4, 9, 16}, 0)),
                               variable(random({2, 2, 9, 16}, 1)),
                               variable(random({2, 2, 9, 16}, 2))};
  std::vector<float> values(81);
  for (std::size_t i = 0; i < 81; ++i) values[i] = i % 9 <= i / 9 ? 0.0F : -INFINITY;
  const Tensor mask = api_device().tensor({9, 9}, values);
  const Tensor fast = attention(in[0], in[1], in[2], {.causal = true});
  const Tensor masked = attention(in[0], in[1], in[2], {}, mask.reshape({1, 1, 9, 9}));
  const Tensor plain = plain_attention(in[0], in[1], in[2], mask);
  const Tensor weights = random(fast.shape(), 3);
  const auto far = [](const Tensor& a, const Tensor& b) { return max(map("abs", a - b)).item(); };
  EXPECT_LT(far(fast, plain), 1e-5);
  EXPECT_LT(far(masked, plain), 1e-5);
  const auto a = grad(fast, weights, in);
  const auto b = grad(plain, weights, in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_LT(far(a[i], b[i]), 1e-4) << i;
    EXPECT_GT(max(map("abs", b[i])).item(), 0.01F) << i;
  }
}

TEST(DeviceGrad, LossesAndDropouts) {
  const Tensor labels = api_device().tensor({3}, std::vector<std::int32_t>{2, -1, 0});
  const Tensor even = api_device().full({3, 4}, 1);
  EXPECT_NEAR(cross_entropy(even, labels).item(), std::log(4.0F), 1e-6);
  const Tensor seed = api_device().tensor({2}, std::vector<std::uint32_t>{3, 4});
  const std::vector<float> kept = dropout(api_device().full({1000}, 1), 0.25F, seed).to_vector();
  EXPECT_NEAR(static_cast<double>(std::ranges::count(kept, 0.0F)), 250, 60);
}

TEST(DeviceGrad, AShuffleLeadsBackToWhereElementsWere) {
  const Tensor x = variable(api_device().arange(12).reshape({6, 2}));
  const Tensor y = random::permutation(random::Key(3).on(api_device()), x);
  const Tensor weights = sin(api_device().arange(12)).reshape({6, 2});
  const std::vector<float> slope = grad(y, weights, {x})[0].to_vector();
  const std::vector<float> places = y.to_vector();
  const std::vector<float> given = weights.to_vector();
  EXPECT_FALSE(std::ranges::is_sorted(places));
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(slope[static_cast<std::size_t>(places[i])], given[i]) << i;
  }
}

TEST(DeviceGrad, SecondDerivativesAndStops) {
  const Tensor x = variable(api_device().full({}, 2));
  const Tensor first = grad(x * x * x, {x})[0];
  EXPECT_EQ(grad(first, {x})[0].item(), 12.0F);
  EXPECT_EQ(grad(x * x.detach(), {x})[0].item(), 2.0F);
  const Tensor other = api_device().full({2}, 1);
  EXPECT_EQ(grad(x * 2, {other})[0].to_vector(), (std::vector{0.0F, 0.0F}));
  const Tensor read = x * 3;
  EXPECT_EQ(read.item(), 6.0F);
  EXPECT_EQ(grad(read, {x})[0].item(), 3.0F);
  EXPECT_THROW((void)grad(other, {other}), Error);
}

}  // namespace
}  // namespace weft::test
