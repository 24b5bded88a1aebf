// The examples of docs/graph.md.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>
#include <weft/weft.hpp>

namespace weft::test {
namespace {

TEST(DeviceDocsGraph, Expressions) {
  const Device device;
  const Tensor a = device.arange(6).reshape({2, 3});
  const Tensor b = exp(a * 0.5) + 1;           // nothing has run yet
  const std::vector<float> v = b.to_vector();  // runs what b needs, and waits
  EXPECT_NEAR(v[2], std::exp(1.0F) + 1, 1e-5);
}

TEST(DeviceDocsGraph, Variables) {
  const Device device;
  const Tensor w = variable(device.full({3}, 1));
  const Tensor before = w * 10;
  apply({{w, w + 1}});  // w is 2 now; `before` is still 10
  EXPECT_EQ(w.to_vector(), std::vector(3, 2.0F));
  EXPECT_EQ(before.to_vector(), std::vector(3, 10.0F));
}

TEST(DeviceDocsGraph, Compiled) {
  const Device device;
  const Tensor x = device.arange(12, -1, 0.2).reshape({6, 2});
  const Tensor y = sum(x, {1}, true) * 3;
  const Tensor weights = variable(device.full({2, 1}, 0));
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor loss = mean(map("square", matmul(in[0], weights) - in[1]));
    const Tensor gradient = grad(loss, {weights})[0];
    return {{loss}, {{weights, weights - gradient * 0.1}}};
  });
  float loss = 0;
  for (int i = 0; i < 100; ++i) loss = step.one({x, y}).item();
  EXPECT_LT(loss, 0.01F);
}

TEST(DeviceDocsGraph, Checkpoints) {
  const Device device;
  const Tensor x = device.arange(8).reshape({4, 2});
  const Tensor weights = variable(device.full({2, 3}, 0.1));
  const Tensor h = checkpoint(
      [](const std::vector<Tensor>& in) { return gelu(matmul(in[0], in[1])); }, {x, weights});
  const std::vector<Tensor> gradients = grad(sum(h), {x, weights});
  const std::vector<Tensor> plain = grad(sum(gelu(matmul(x, weights))), {x, weights});
  EXPECT_EQ(gradients[0].to_vector(), plain[0].to_vector());
  EXPECT_EQ(gradients[1].to_vector(), plain[1].to_vector());
}

}  // namespace
}  // namespace weft::test
