// Every pass changes what runs, and no result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

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
                   return cumsum(exp(in[0]), 0) + cumsum(exp(in[0]), 1);
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
  out.push_back({"chain and sum",
                 "fuse",
                 {wave({6, 9}, 0), wave({9}, 1), wave({6, 1}, 2, DType::f16)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   const auto h = [&](double c) {
                     return tanh(in[0] * in[1] + c) / (2.0 + in[2].to(DType::f32));
                   };
                   return {sum(h(0.1), {1}), mean(h(0.2)), max(h(0.3), {0}, true)};
                 }});
  out.push_back({"chain and softmax",
                 "fuse",
                 {wave({6, 8}, 0), wave({8}, 1, DType::f16)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   return {softmax(in[0] * in[1].to(DType::f32) - 0.5),
                           softmax((in[0] - in[1].to(DType::f32)) * 3.0)};
                 }});
  out.push_back({"chain and norm",
                 "fuse",
                 {wave({6, 8}, 0), wave({6, 8}, 1), wave({8}, 2)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   return {rms_norm(in[0] + silu(in[1]), in[2]), layer_norm(in[0] * in[1], in[2]),
                           layer_norm(in[0] - in[1] * 2)};
                 }});
  out.push_back({"types",
                 "retype",
                 {wave({9, 8}, 0, DType::f16), wave({8, 6}, 1, DType::f16)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   const Tensor h = rms_norm(in[0].to(DType::f32)).to(DType::f16);
                   return exp(matmul(h, in[1]).to(DType::f32) * 0.1);
                 }});
  out.push_back({"training",
                 "fuse",
                 {wave({16, 8}, 0), wave({8, 4}, 1), wave({4}, 2)},
                 [](const std::vector<Tensor>& in) -> Outputs {
                   const Tensor loss =
                       mean(map("square", silu(matmul(in[0], in[1]) + in[2]) - 0.25));
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

/// Only what is equal in everything is computed once: these have the same inputs and shapes, and
/// differ in one option each.
TEST(DevicePasses, OperationsThatDifferInOneOptionAreTwo) {
  using In = const std::vector<Tensor>&;
  const auto differ = [](const Tensor& input, const Function& both) {
    const std::vector<Tensor> in{input};
    const Compiled compiled = compile(both);
    const auto got = compiled(in);
    const auto want = compile(both, {.without = "all"})(in);
    EXPECT_EQ(largest_difference(got, want), 0) << compiled.text();
    EXPECT_NE(got[0].to_vector<float>(), got[1].to_vector<float>()) << compiled.text();
  };
  differ(wave({1, 1, 5, 6}, 0), [](In x) -> Outputs {
    return {resize(x[0], 9, 7, {.mode = Interpolation::linear}),
            resize(x[0], 9, 7, {.mode = Interpolation::linear, .align_corners = true})};
  });
  differ(wave({4, 5}, 0), [](In x) -> Outputs {
    return {pad(x[0], {2, 2}, {2, 2}, Edge::reflect), pad(x[0], {2, 2}, {2, 2}, Edge::circular)};
  });
  differ(wave({1, 6, 2, 8}, 0),
         [](In x) -> Outputs { return {rope(x[0]), rope(x[0], {.scale = 0.5F})}; });
}

/// What comes before a reduction, a softmax or a norm is computed inside of its kernel, unless
/// somebody else reads it.
TEST(DevicePasses, ChainsEndInReductionsAndNorms) {
  const std::vector<Tensor> in{wave({6, 64}, 0), wave({64}, 1)};
  const auto launches = [&](const Function& f, std::string_view wanted) {
    const Compiled compiled = compile(f);
    const Compiled plain = compile(f, {.without = "all"});
    EXPECT_LT(largest_difference(compiled(in), plain(in)), 1e-4);
    EXPECT_NE(compiled.text().find(wanted), std::string::npos) << compiled.text();
    return compiled.report().dispatches;
  };
  using In = const std::vector<Tensor>&;
  EXPECT_EQ(launches([](In x) -> Outputs { return sum(exp(x[0] * x[1]), {1}); },
                     "fused mul[0,1], exp[2], then reduce sum over [1] %0 %1"),
            1U);
  EXPECT_EQ(launches([](In x) -> Outputs { return mean(map("square", x[0] - x[1])); },
                     "fused sub[0,1], square[2], then reduce mean over [0,1] %0 %1"),
            1U);
  EXPECT_EQ(launches([](In x) -> Outputs { return softmax(x[0] * x[1]); },
                     "fused mul[0,1], then softmax scale 1 max_bias 0 %0 %1"),
            1U);
  EXPECT_EQ(launches([](In x) -> Outputs { return rms_norm(x[0] + gelu(x[0]), x[1]); },
                     "fused gelu[0], add[0,1], then norm rms eps 1e-05 groups 1 %0 %1 none"),
            1U);
  EXPECT_EQ(launches(
                [](In x) -> Outputs {
                  const Tensor h = x[0] * x[1];
                  return {softmax(h), h};
                },
                "= softmax"),
            2U);
}

/// Parts are computed where a concatenation wants them, unless they are wanted twice or are results
/// themselves.
TEST(DevicePasses, ConcatenationsHaveNothingToCopy) {
  const std::vector<Tensor> in{wave({4, 8}, 0), wave({8, 8}, 1)};
  const auto concatenate = [](bool twice, bool kept) {
    return compile([=](const std::vector<Tensor>& x) -> Outputs {
      const Tensor a = matmul(x[0], x[1]);
      const Tensor b = softmax(x[1]);
      const Tensor c = cumsum(x[0], 1);
      const Tensor all = concat(
          {a.reshape({32}), (twice ? c : b).reshape({twice ? 32U : 64U}), c.reshape({32})}, 0);
      std::vector<Tensor> results{cumsum(all, 0), cumsum(a, 0)};
      if (kept) results.push_back(a);
      return Outputs(results);
    });
  };
  const auto check = [&](bool twice, bool kept, std::size_t copies) {
    const Compiled compiled = concatenate(twice, kept);
    const std::vector<Tensor> got = compiled(in);
    const auto a = matmul(in[0], in[1]);
    const auto c = cumsum(in[0], 1);
    const Tensor middle = twice ? c : softmax(in[1]);
    const Tensor all =
        concat({a.reshape({32}), middle.reshape({middle.size()}), c.reshape({32})}, 0);
    EXPECT_LT(largest_difference({got[0], got[1]}, {cumsum(all, 0), cumsum(a, 0)}), 1e-4);
    if (kept) {
      EXPECT_LT(largest_difference({got[2]}, {a}), 1e-5);
    }
    const std::size_t launches = (twice ? 2U : 3U) + 2U;  // the parts and the two sums
    EXPECT_EQ(compiled.report().dispatches, launches + copies);
  };
  check(false, false, 0);
  check(true, false, 2);  // one part, twice
  check(false, true, 1);  // the result
}

/// The gradients of a small transformer, for tokens [2, 12] and labels of the same shape.
Outputs transformer(const std::vector<Tensor>& in, DType type) {
  const std::uint64_t rows = 24;
  std::vector<Tensor> w;  // 16-bit copies of the weights
  for (std::size_t i = 2; i < in.size(); ++i) w.push_back(in[i].to(type));
  const auto heads = [](const Tensor& x, std::uint64_t count) {
    return rope(x.reshape({2, 12, count, 8})).permute({0, 2, 1, 3});
  };
  Tensor x = embedding(w[0], in[0].reshape({rows})).to(DType::f32);
  for (int layer = 0; layer < 2; ++layer) {
    const Tensor h = rms_norm(x, in[3]).to(type);
    const Tensor q = heads(matmul(h, w[2]), 4);
    const Tensor k = heads(matmul(h, w[3]), 2);
    const Tensor v = matmul(h, w[3]).reshape({2, 12, 2, 8}).permute({0, 2, 1, 3});
    const Tensor mixed = attention(q, k, v, {.causal = true}).permute({0, 2, 1, 3});
    x = x + matmul(mixed.reshape({rows, 32}), w[2]).to(DType::f32);
    const Tensor g = rms_norm(x, in[3]).to(type);
    x = x + matmul(silu(matmul(g, w[4])) * matmul(g, w[4]), w[4].transpose()).to(DType::f32);
  }
  const Tensor loss = cross_entropy(matmul(x.to(type), w[0].transpose()), in[1].reshape({rows}));
  std::vector<Tensor> results = grad(loss, {in.begin() + 2, in.end()});
  results.push_back(loss);
  return results;
}

TEST(DevicePasses, ATransformerTrainsTheSameWithAllOff) {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 24; ++i) {
    tokens.push_back(i * 7 % 11);
    labels.push_back((i + 1) * 7 % 11);
  }
  const std::vector<Tensor> in{api_device().tensor({2, 12}, tokens),
                               api_device().tensor({2, 12}, labels),
                               wave({11, 32}, 0) * 0.3,
                               wave({32}, 1) * 0.1 + 1,
                               wave({32, 32}, 2) * 0.2,
                               wave({32, 16}, 3) * 0.2,
                               wave({32, 48}, 4) * 0.2};
  for (const DType type : {DType::f32, DType::f16}) {
    SCOPED_TRACE(name(type));
    const auto f = [type](const std::vector<Tensor>& given) { return transformer(given, type); };
    const Compiled full = compile(f);
    const Compiled plain = compile(f, {.without = "all"});
    const double far = largest_difference(full(in), plain(in));
    EXPECT_LT(far, type == DType::f32 ? 1e-4 : 1e-2);
    EXPECT_LT(full.report().dispatches, plain.report().dispatches);
    for (const Compiled& one : {full, plain}) {
      EXPECT_LE(static_cast<double>(one.report().arena_bytes),
                1.1 * static_cast<double>(one.report().bound_bytes));
    }
    std::printf("%s: %zu launches instead of %zu, %llu bytes (at least %llu)\n",
                std::string(name(type)).c_str(), full.report().dispatches,
                plain.report().dispatches,
                static_cast<unsigned long long>(full.report().arena_bytes),
                static_cast<unsigned long long>(full.report().bound_bytes));
  }
}

TEST(DevicePasses, UnknownNamesAreErrors) {
  const Compiled f = compile([](const std::vector<Tensor>& in) -> Outputs { return in[0] + 1; },
                             {.without = "fuse,fuze"});
  EXPECT_THROW((void)f({api_device().full({1}, 0)}), Error);
}

}  // namespace
}  // namespace weft::test
