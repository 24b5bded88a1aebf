// Derivatives against differences: the loss is a weighted sum of an expression, evaluated in f32 at shifted inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "ops/case.hpp"
#include "ops/map/functions.hpp"

namespace weft::test {
namespace {

const Device& api_device() {
  static const Device device;
  return device;
}

struct Leaf {
  Shape shape;
  double low = -1;
  double high = 1;
};

using Expression = std::function<Tensor(const std::vector<Tensor>&)>;

std::vector<float> random_values(ops::Random& random, const Leaf& leaf) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : leaf.shape) count *= extent;
  std::vector<float> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    out.push_back(static_cast<float>(random.uniform(leaf.low, leaf.high)));
  }
  return out;
}

/// Checks the derivative of sum(weights * f(inputs)) by every element of every input. All shifted inputs are evaluated
/// one after the other, so keep them small.
void check(const std::vector<Leaf>& leaves, const Expression& f, double tolerance = 2e-3,
           double shift = 1e-2) {
  ops::Random random(7);
  std::vector<std::vector<float>> values;
  std::vector<Tensor> inputs;
  for (const Leaf& leaf : leaves) {
    values.push_back(random_values(random, leaf));
    inputs.push_back(api_device().tensor(leaf.shape, values.back()));
  }
  const Tensor y = f(inputs);
  const std::vector<float> weights = random_values(random, {y.shape()});
  const std::vector<Tensor> found = grad(y, api_device().tensor(y.shape(), weights), inputs);
  const auto loss = [&](std::size_t which, std::size_t element, double by) {
    std::vector<float> shifted = values[which];
    shifted[element] += static_cast<float>(by);
    std::vector<Tensor> moved = inputs;
    moved[which] = api_device().tensor(leaves[which].shape, shifted);
    const std::vector<float> out = f(moved).to_vector();
    double total = 0;
    for (std::size_t i = 0; i < out.size(); ++i) total += double{out[i]} * double{weights[i]};
    return total / (double{shifted[element]} - double{values[which][element]});
  };
  for (std::size_t which = 0; which < leaves.size(); ++which) {
    const std::vector<float> got = found[which].to_vector();
    ASSERT_EQ(found[which].shape(), leaves[which].shape);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double expected = (loss(which, i, shift) + loss(which, i, -shift)) / 2;
      EXPECT_NEAR(got[i], expected, tolerance * (1 + std::abs(expected)))
          << "input " << which << ", element " << i;
    }
  }
}

class DeviceGradMap : public testing::TestWithParam<std::string> {};

TEST_P(DeviceGradMap, MatchesDifferences) {
  const ops::map::Function& function = *ops::map::find_function(GetParam());
  // Away from poles, where differences say little.
  const double low = function.low > 0 ? 0.6 : std::max(function.low, -3.0);
  const Leaf leaf{{5}, low, std::min(function.high, 3.0)};
  check(
      std::vector<Leaf>(function.inputs, leaf),
      [&](const std::vector<Tensor>& in) { return map(function.name, in, function.defaults); },
      5e-3);
}

std::vector<std::string> smooth_functions() {
  std::vector<std::string> out;
  for (const ops::map::Function& function : ops::map::functions()) {
    const bool steps = function.name == "sign" || function.name == "step" ||
                       function.name == "floor" || function.name == "ceil" ||
                       function.name.starts_with("round") || function.name == "trunc" ||
                       function.name == "mod" || function.name == "swiglu_oai_back_up" ||
                       function.name == "where" || function.inputs == 0 ||
                       (function.inputs == 2 && function.name.size() == 2);
    if (!steps) out.emplace_back(function.name);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceGradMap, testing::ValuesIn(smooth_functions()),
                         [](const auto& which) { return which.param; });

TEST(DeviceGrad, MapsBroadcastAndCompose) {
  check({{{2, 3}}, {{3}}, {{2, 1}}}, [](const std::vector<Tensor>& in) {
    return tanh(in[0] * in[1] + in[2]) / (2.0 + in[1] * in[1]);
  });
  check({{{4}, -1, 1}, {{4}}, {{1}}}, [](const std::vector<Tensor>& in) {
    return where(map("gt", in[0].detach(), in[1].detach()), in[1] * 2, in[2]);
  });
}

TEST(DeviceGrad, Reductions) {
  for (const char* function : {"sum", "mean", "max", "min", "prod", "norm", "sum_squares"}) {
    SCOPED_TRACE(function);
    check(
        {{{2, 3, 2}, 0.5, 2}},
        [&](const std::vector<Tensor>& in) { return reduce(function, in[0], {0, 2}); }, 1e-2);
    check(
        {{{2, 3}, 0.5, 2}},
        [&](const std::vector<Tensor>& in) { return reduce(function, in[0], {1}, true); }, 1e-2);
  }
  check({{{3, 4}}}, [](const std::vector<Tensor>& in) { return cumsum(in[0], 1); });
  check({{{3, 4}}}, [](const std::vector<Tensor>& in) { return cumsum(in[0], 0, true, true); });
}

TEST(DeviceGrad, SoftmaxesAndNorms) {
  check({{{2, 5}, -2, 2}}, [](const std::vector<Tensor>& in) { return softmax(in[0], 0.5F); });
  check({{{2, 5}, -2, 2}}, [](const std::vector<Tensor>& in) { return log_softmax(in[0]); });
  check(
      {{{2, 6}}, {{6}}, {{6}}},
      [](const std::vector<Tensor>& in) { return layer_norm(in[0], in[1], in[2]); }, 5e-3);
  check(
      {{{2, 2, 6}}, {{6}}}, [](const std::vector<Tensor>& in) { return rms_norm(in[0], in[1]); },
      5e-3);
  check({{{2, 6}}}, [](const std::vector<Tensor>& in) { return layer_norm(in[0]); }, 1e-2);
}

TEST(DeviceGrad, Products) {
  const Expression f = [](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); };
  check({{{3, 4}}, {{4, 2}}}, f);
  check({{{2, 3, 4}}, {{4, 2}}}, f);
  check({{{2, 3, 4}}, {{2, 4, 2}}}, f);
  check({{{2, 1, 3, 4}}, {{3, 4, 2}}}, f);
  check({{{3, 4}}, {{3, 2}}},
        [](const std::vector<Tensor>& in) { return matmul(in[0].transpose(), in[1]); });
}

TEST(DeviceGrad, ViewsAndMoves) {
  check({{{2, 3, 4}}}, [](const std::vector<Tensor>& in) {
    return in[0].permute({2, 0, 1}).reshape({8, 3}).slice(0, 1, 3, 2) * 3;
  });
  check({{{7}}}, [](const std::vector<Tensor>& in) { return in[0].slice(0, 1, 3, 2); });
  check({{{2, 1}}}, [](const std::vector<Tensor>& in) { return in[0].broadcast_to({3, 2, 4}); });
  check({{{2, 3}}, {{2, 1}}},
        [](const std::vector<Tensor>& in) { return concat({in[0], in[1], in[0]}, 1); });
  check({{{2, 3}}}, [](const std::vector<Tensor>& in) { return pad(in[0], {1, 0}, {0, 2}, 9); });
  check(
      {{{2, 3}}},
      [](const std::vector<Tensor>& in) { return in[0].to(DType::f16).to(DType::f32) * in[0]; },
      2e-2, 0.1);
}

TEST(DeviceGrad, Indices) {
  const Tensor rows = api_device().tensor({2, 2}, std::vector<std::int32_t>{1, 0, 1, 3});
  check({{{4, 3}}}, [&](const std::vector<Tensor>& in) { return embedding(in[0], rows); });
  const Tensor index = api_device().tensor({2, 2}, std::vector<std::int32_t>{1, 1, 0, 2});
  check({{{2, 3}}}, [&](const std::vector<Tensor>& in) { return gather(in[0], index, 1); });
  check({{{2, 3}}, {{2, 2}}},
        [&](const std::vector<Tensor>& in) { return scatter_add(in[0], index, in[1], 1); });
}

TEST(DeviceGrad, CrossEntropy) {
  const Tensor labels = api_device().tensor({3}, std::vector<std::int32_t>{2, -1, 0});
  check({{{3, 4}, -2, 2}},
        [&](const std::vector<Tensor>& in) { return cross_entropy(in[0], labels); });
  const Tensor even = api_device().full({3, 4}, 1);
  EXPECT_NEAR(cross_entropy(even, labels).item(), std::log(4.0F), 1e-6);
}

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

TEST(DeviceGrad, Attention) {
  const Expression causal = [](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], {.causal = true});
  };
  check({{{1, 2, 3, 4}}, {{1, 1, 3, 4}}, {{1, 1, 3, 4}}}, causal, 5e-3);
  check(
      {{{2, 2, 2, 4}}, {{2, 2, 3, 4}}, {{2, 2, 3, 4}}},
      [](const std::vector<Tensor>& in) {
        return attention(in[0], in[1], in[2], {.scale = 0.7F, .soft_cap = 2});
      },
      5e-3);
}

TEST(DeviceGrad, AttentionEqualsItsExpression) {
  const auto random = [](const Shape& shape, double phase) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape) count *= extent;
    return map("sin", api_device().arange(count, phase, 1.7)).reshape(shape);
  };
  const std::vector<Tensor> in{random({2, 4, 9, 16}, 0), random({2, 2, 9, 16}, 1),
                               random({2, 2, 9, 16}, 2)};
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
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_LT(far(a[i], b[i]), 1e-4) << i;
}

TEST(DeviceGrad, Rope) {
  check({{{1, 3, 2, 4}}}, [](const std::vector<Tensor>& in) { return rope(in[0]); });
  const Tensor positions = api_device().tensor({3}, std::vector<std::int32_t>{5, 0, 9});
  check({{{2, 3, 1, 6}}}, [&](const std::vector<Tensor>& in) {
    return rope(in[0], {.halves = false, .dims = 4}, positions);
  });
}

TEST(DeviceGrad, Dropout) {
  const Tensor seed = api_device().tensor({2}, std::vector<std::uint32_t>{3, 4});
  check({{{4, 5}}}, [&](const std::vector<Tensor>& in) { return dropout(in[0], 0.4F, seed, 2); });
  const std::vector<float> kept = dropout(api_device().full({1000}, 1), 0.25F, seed).to_vector();
  const auto zeros = std::ranges::count(kept, 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros), 250, 60);
}

TEST(DeviceGrad, SecondDerivativesOfRowKernels) {
  check({{{2, 4}, -2, 2}}, [](const std::vector<Tensor>& in) {
    return grad(softmax(in[0]), map("sin", in[0]), {in[0]})[0];
  });
  check(
      {{{2, 4}}, {{4}}},
      [](const std::vector<Tensor>& in) {
        return grad(layer_norm(in[0], in[1]), map("sqr", in[0]), {in[0]})[0];
      },
      2e-2);
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
