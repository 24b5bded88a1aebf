// Every pass changes what runs, and no result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

namespace weft::test {
namespace {

const Device& api_device() {
  static const Device device;
  return device;
}

Tensor wave(const Shape& shape, double phase, DType dtype = DType::f32) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return map("sin", api_device().arange(count, phase, 0.7)).reshape(shape).to(dtype);
}

struct Model {
  std::string name;
  std::string pass;  ///< The pass that must shorten this model.
  std::vector<Tensor> inputs;
  Function function;
};

std::vector<Model> models() {
  std::vector<Model> out;
  const Tensor table = wave({8, 8}, 1);
  out.push_back(
      {"constants", "fold", {wave({8, 8}, 0)}, [=](const std::vector<Tensor>& in) -> Outputs {
         return in[0] * exp(table * 2).transpose();
       }});
  out.push_back({"twice", "share", {wave({8, 8}, 0)}, [](const std::vector<Tensor>& in) -> Outputs {
                   return sum(exp(in[0])) + mean(exp(in[0])) +
                          sum(exp(in[0]).transpose(), {0}).slice(0, 0, 1);
                 }});
  out.push_back(
      {"turned", "views", {wave({4, 6}, 0)}, [](const std::vector<Tensor>& in) -> Outputs {
         return cumsum(in[0].transpose().transpose().reshape({24}).reshape({2, 12}), 1);
       }});
  out.push_back(
      {"attention",
       "attend",
       {wave({2, 3, 5, 8}, 0), wave({2, 3, 7, 8}, 1), wave({2, 3, 7, 4}, 2), wave({5, 7}, 3)},
       [](const std::vector<Tensor>& in) -> Outputs {
         return matmul(softmax(matmul(in[0] * 0.3, in[1].transpose()) + in[3]), in[2]);
       }});
  out.push_back({"linear",
                 "epilogue",
                 {wave({9, 8}, 0), wave({8, 6}, 1), wave({6}, 2)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   return gelu(matmul(in[0], in[1]) + in[2]);
                 }});
  out.push_back({"chain",
                 "fuse",
                 {wave({6, 7}, 0), wave({7}, 1), wave({6, 1}, 2, DType::f16)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   const Tensor h = tanh(in[0] * in[1] + 0.5) /
                                    (2.0 + in[2].to(DType::f32) * in[2].to(DType::f32));
                   return {h.to(DType::f16), sum(h)};
                 }});
  out.push_back({"norm",
                 "fuse",
                 {wave({6, 8}, 0), wave({8}, 1)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   return silu(rms_norm(in[0], in[1])) * layer_norm(in[0]) + 1;
                 }});
  out.push_back({"training",
                 "fuse",
                 {wave({16, 8}, 0), wave({8, 4}, 1), wave({4}, 2)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   const Tensor loss = mean(map("sqr", silu(matmul(in[0], in[1]) + in[2]) - 0.25));
                   return Outputs(grad(loss, {in[1], in[2]}));
                 }});
  return out;
}

double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(a[i].shape(), b[i].shape());
    EXPECT_EQ(a[i].dtype(), b[i].dtype());
    const auto x = a[i].to_vector();
    const auto y = b[i].to_vector();
    for (std::size_t k = 0; k < x.size(); ++k)
      worst = std::max(worst, std::abs(double{x[k]} - double{y[k]}));
  }
  return worst;
}

TEST(DevicePasses, ResultsStayTheSameAndWorkGetsLess) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    const Compiled plain = compile(model.function, {.without = "all"});
    const Compiled full = compile(model.function);
    const Compiled without = compile(model.function, {.without = model.pass});
    std::vector<std::string> seen;
    const Compiled watched =
        compile(model.function,
                {.on_pass = [&](const PassReport& report) { seen.push_back(report.pass); }});
    const std::vector<Tensor> expected = plain(model.inputs);
    EXPECT_LT(largest_difference(expected, model.function(model.inputs).values), 2e-3);
    EXPECT_LT(largest_difference(expected, full(model.inputs)), 2e-3);
    EXPECT_LT(largest_difference(expected, without(model.inputs)), 2e-3);
    EXPECT_LT(largest_difference(expected, watched(model.inputs)), 2e-3);
    EXPECT_LT(full.report().nodes, without.report().nodes) << full.text() << "\\n"
                                                           << without.text();
    EXPECT_LE(full.report().dispatches, plain.report().dispatches);
    EXPECT_EQ(seen.front(), "trace");
    EXPECT_EQ(seen.back(), "drop");
  }
}

TEST(DevicePasses, UnknownNamesAreErrors) {
  const Compiled f = compile([](const std::vector<Tensor>& in) -> Outputs { return in[0] + 1; },
                             {.without = "fuse,fuze"});
  EXPECT_THROW((void)f({api_device().full({1}, 0)}), Error);
}

}  // namespace
}  // namespace weft::test
