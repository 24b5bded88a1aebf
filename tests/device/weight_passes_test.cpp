// What passes make of products with quantized weights, of the norms before them and of the rows
// behind them: fewer launches, and the same results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "../unit/file_fixture.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

Tensor wave(const Shape& shape, double phase) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return map("sin", api_device().arange(count, phase, 0.7)).reshape(shape);
}

Tensor quantized(std::uint64_t rows, std::uint64_t columns, double phase,
                 DType type = DType::q4_0) {
  const Tensor out = wave({rows, columns}, phase).to(type);
  out.eval();
  return out;
}

/// Weights of one block of a model, as a GGUF file gives them: in one buffer.
std::map<std::string, Tensor> block(const std::map<std::string, Tensor>& weights) {
  const TemporaryFolder folder;
  NamedTensors contents;
  for (const auto& [name, tensor] : weights) {
    contents.tensors.emplace("blk.0." + name + ".weight", tensor);
  }
  save(folder / "block.gguf", contents);
  const NamedTensors loaded = load(api_device(), folder / "block.gguf");
  std::map<std::string, Tensor> out;
  for (const auto& [name, tensor] : weights) {
    out.emplace(name, loaded.tensors.at("blk.0." + name + ".weight"));
  }
  return out;
}

void near(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), wanted[i].shape());
    const auto a = got[i].to_vector();
    const auto b = wanted[i].to_vector();
    double largest = 1;
    for (const float value : b) largest = std::max(largest, std::abs(double{value}));
    for (std::size_t k = 0; k < a.size(); ++k) {
      ASSERT_NEAR(a[k], b[k], tolerance * largest) << "result " << i << " at " << k;
    }
  }
}

/// The launches with all passes and without any. Results are the same in both, lazily, and in f32.
struct Launches {
  std::size_t with = 0;
  std::size_t without = 0;
  bool operator==(const Launches&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Launches& launches) {
  return out << launches.with << " with passes, " << launches.without << " without";
}

Launches launches_of(const Function& function, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& wanted, double tolerance = 1e-4) {
  const Compiled full = compile(function);
  const Compiled plain = compile(function, {.without = "all"});
  near(full(inputs), wanted, tolerance);
  near(plain(inputs), wanted, tolerance);
  near(function(inputs).values, wanted, tolerance);
  return {full.report().dispatches, plain.report().dispatches};
}

Tensor floats(const Tensor& weights) { return weights.to(DType::f32); }

class DeviceWeightPasses : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Rows, DeviceWeightPasses, testing::Values(1, 3));

TEST_P(DeviceWeightPasses, QueriesKeysAndValuesAreOneLaunch) {
  const auto w = block(
      {{"q", quantized(64, 64, 0)}, {"k", quantized(32, 64, 1)}, {"v", quantized(32, 64, 2)}});
  const Tensor x = wave({1, GetParam(), 64}, 3);
  const auto with = [&](const auto& product) -> std::vector<Tensor> {
    return {softmax(product("q")), softmax(product("k")), softmax(product("v"))};
  };
  const Launches launches = launches_of(
      [&](const std::vector<Tensor>& in) -> Outputs {
        return Outputs(with([&](const char* name) { return linear(in[0], w.at(name)); }));
      },
      {x}, with([&](const char* name) { return linear(x, floats(w.at(name))); }));
  EXPECT_EQ(launches, (Launches{4, 6}));
}

TEST_P(DeviceWeightPasses, WeightsOfSeveralBuffersStayApart) {
  const Tensor a = quantized(64, 64, 0);
  const Tensor b = quantized(32, 64, 1);
  const Tensor x = wave({GetParam(), 64}, 3);
  const Launches launches = launches_of(
      [&](const std::vector<Tensor>& in) -> Outputs {
        return {softmax(linear(in[0], a)), softmax(linear(in[0], b))};
      },
      {x}, {softmax(linear(x, floats(a))), softmax(linear(x, floats(b)))});
  EXPECT_EQ(launches, (Launches{4, 4}));
}

TEST_P(DeviceWeightPasses, RowsOfOneTensorAreJoinedToo) {
  const Tensor all = quantized(96, 64, 0);
  const Tensor x = wave({GetParam(), 64}, 3);
  const auto with = [](const Tensor& rows, const Tensor& weights) -> std::vector<Tensor> {
    return {softmax(linear(rows, weights.slice(0, 0, 64))),
            softmax(linear(rows, weights.slice(0, 64, 32)))};
  };
  const Launches launches = launches_of(
      [&](const std::vector<Tensor>& in) -> Outputs { return Outputs(with(in[0], all)); }, {x},
      with(x, floats(all)));
  EXPECT_EQ(launches, (Launches{3, 4}));
}

TEST_P(DeviceWeightPasses, GatedUnitsAreOneLaunch) {
  const auto w = block({{"ffn_gate", quantized(96, 64, 0)}, {"ffn_up", quantized(96, 64, 1)}});
  const Tensor x = wave({GetParam(), 64}, 3);
  const auto named = [](const Tensor& in, const Tensor& gate, const Tensor& up) {
    return swiglu(linear(in, gate), linear(in, up));
  };
  const auto written = [](const Tensor& in, const Tensor& gate, const Tensor& up) {
    return linear(in, up) * silu(linear(in, gate));
  };
  const Tensor wanted = named(x, floats(w.at("ffn_gate")), floats(w.at("ffn_up")));
  EXPECT_EQ(launches_of([&](const std::vector<Tensor>& in)
                            -> Outputs { return named(in[0], w.at("ffn_gate"), w.at("ffn_up")); },
                        {x}, {wanted}),
            (Launches{1, 3}));
  EXPECT_EQ(launches_of([&](const std::vector<Tensor>& in)
                            -> Outputs { return written(in[0], w.at("ffn_gate"), w.at("ffn_up")); },
                        {x}, {wanted}),
            (Launches{1, 4}));
}

TEST_P(DeviceWeightPasses, ABiasAndAFunctionBelongToTheProduct) {
  const Tensor w = quantized(48, 64, 0);
  const Tensor x = wave({GetParam(), 64}, 3);
  const Tensor bias = wave({48}, 4);
  const Launches launches = launches_of(
      [&](const std::vector<Tensor>& in) -> Outputs { return relu(linear(in[0], w, in[1])); },
      {x, bias}, {relu(linear(x, floats(w), bias))});
  EXPECT_EQ(launches, (Launches{1, 3}));
}

TEST_P(DeviceWeightPasses, AResidualIsAddedByTheNormThatReadsIt) {
  const Tensor w = quantized(64, 64, 0);
  const Tensor x = wave({GetParam(), 64}, 3);
  const Tensor weight = wave({64}, 4);
  const auto with = [&](const std::vector<Tensor>& in,
                        const Tensor& weights) -> std::vector<Tensor> {
    const Tensor sum = in[0] + linear(cumsum(in[0], 1), weights);
    return {sum, softmax(rms_norm(sum, in[1]))};
  };
  const Launches launches =
      launches_of([&](const std::vector<Tensor>& in) -> Outputs { return Outputs(with(in, w)); },
                  {x, weight}, with({x, weight}, floats(w)));
  EXPECT_EQ(launches, (Launches{4, 5}));
}

/// Results of x in 8 bits differ from those of floats, and hardly from one another.
TEST_P(DeviceWeightPasses, XIsPackedOnce) {
  const Tensor a = quantized(128, 512, 0, DType::q8_0);
  const Tensor b = quantized(96, 512, 1, DType::q8_0);
  const Tensor x = wave({GetParam(), 512}, 3);
  const LinearOptions q8{.allow_q8 = true};
  const auto of = [&](const Tensor& rows) -> std::vector<Tensor> {
    return {softmax(linear(rows, a, {}, q8) * 0.01), softmax(linear(rows, b, {}, q8) * 0.01)};
  };
  const auto floats_of = [&](const Tensor& rows) -> std::vector<Tensor> {
    return {softmax(linear(rows, floats(a)) * 0.01), softmax(linear(rows, floats(b)) * 0.01)};
  };
  const Function direct = [&](const std::vector<Tensor>& in) -> Outputs {
    return Outputs(of(in[0]));
  };
  const Function normed = [&](const std::vector<Tensor>& in) -> Outputs {
    return Outputs(of(rms_norm(in[0])));
  };
  EXPECT_LT(launches_of(direct, {x}, floats_of(x), 2e-3).with, 8U);
  EXPECT_LT(launches_of(normed, {x}, floats_of(rms_norm(x)), 2e-3).with, 8U);
  const Compiled packed = compile(direct);
  (void)packed({x});
  EXPECT_NE(packed.text().find("= pack "), std::string::npos) << packed.text();
  const Compiled by_norm = compile(normed);
  (void)by_norm({x});
  EXPECT_EQ(by_norm.text().find("= pack "), std::string::npos) << by_norm.text();
  EXPECT_NE(by_norm.text().find("residual_norm"), std::string::npos) << by_norm.text();
}

TEST(DeviceWeightPasses, GatedUnitsPackTheirResult) {
  const auto w = block({{"ffn_gate", quantized(256, 256, 0, DType::q8_0)},
                        {"ffn_up", quantized(256, 256, 1, DType::q8_0)}});
  const Tensor down = quantized(64, 256, 2, DType::q8_0);
  const Tensor x = wave({1, 256}, 3);
  const LinearOptions q8{.allow_q8 = true};
  const Function function = [&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor inner =
        swiglu(linear(in[0], w.at("ffn_gate"), {}, q8), linear(in[0], w.at("ffn_up"), {}, q8));
    return linear(inner, down, {}, q8);
  };
  const Tensor wanted = linear(
      swiglu(linear(x, floats(w.at("ffn_gate"))), linear(x, floats(w.at("ffn_up")))), floats(down));
  (void)launches_of(function, {x}, {wanted}, 0.05);
  const Compiled full = compile(function);
  (void)full({x});
  EXPECT_EQ(full.text().find("= pack "), std::string::npos) << full.text();
  EXPECT_NE(full.text().find("u32["), std::string::npos) << full.text();
}

TEST(DeviceWeightPasses, TurnedKeysGoRightIntoTheCache) {
  const Tensor keys = wave({1, 3, 2, 8}, 0);
  const Tensor table = wave({10, 16}, 1);
  const Tensor rows = api_device().tensor({3}, std::vector<std::int32_t>{7, 2, 9});
  const Function function = [](const std::vector<Tensor>& in) -> Outputs {
    return index_copy(in[0], in[1], rope(in[2], {.first = 5}).reshape({3, 16}));
  };
  const Tensor turned = rope(keys, {.first = 5}).reshape({3, 16});
  turned.eval();
  const Tensor wanted = index_copy(table, rows, turned);
  wanted.eval();
  EXPECT_EQ(launches_of(function, {table, rows, keys}, {wanted}), (Launches{2, 3}));
  // In a variable's own memory there is nothing to copy.
  const Tensor cache = variable(table * 1);
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    return {{sum(in[1])},
            {{cache, index_copy(cache, in[0], rope(in[1], {.first = 5}).reshape({3, 16}))}}};
  });
  (void)step({rows, keys});
  near({cache}, {wanted}, 1e-5);
  EXPECT_EQ(step.report().dispatches, 2U) << step.text();
}

}  // namespace
}  // namespace weft::test
