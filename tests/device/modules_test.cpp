// The public modules, optimizers and data loader (weft/nn.hpp, weft/optim.hpp, weft/data.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "shared.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

struct Net : nn::Layer {
  explicit Net(nn::Init init)
      : first(init, 1, 4, 3, {.padding = 1}), norm(init, 4), drop(0.25F), out(init, 4 * 4 * 4, 3) {
    add("first", first);
    add("norm", norm);
    add("drop", drop);
    add("out", out);
  }
  Tensor forward(const Tensor& x) override {
    const Tensor a = max_pool(relu(norm(first(x))), {2, 2});
    return out(drop(a.reshape({x.shape()[0], 64})));
  }
  nn::Conv2d first;
  nn::BatchNorm norm;
  nn::Dropout drop;
  nn::Linear out;
};

/// Pictures of 8 x 8 whose brightest third (left, middle, right) is the label.
std::vector<data::Column> pictures(std::uint64_t count) {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i * 7 % 3);
    for (int p = 0; p < 64; ++p) {
      const double noise = std::sin(static_cast<double>(i * 64 + p) * 12.9898) * 0.3;
      values.push_back(static_cast<float>((p % 8) * 3 / 8 == label ? 1 + noise : noise));
    }
    labels.push_back(label);
  }
  return {data::column({1, 8, 8}, values), data::column({}, labels)};
}

double train(Net& net, const optim::Optimizer& optimizer, double lr,
             optim::StepOptions options = {}) {
  const data::Loader loader(test::api_device(), pictures(48), {.batch = 16});
  optim::Step step(
      net, optimizer,
      [&](const std::vector<Tensor>& batch) { return cross_entropy(net(batch[0]), batch[1]); },
      options);
  double loss = 0;
  for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
    for (const std::vector<Tensor>& batch : loader.epoch(epoch)) loss = step(batch, lr).item();
  }
  return loss;
}

TEST(DeviceModules, EveryOptimizerLearns) {
  const Device device = test::api_device();
  for (int rule = 0; rule < 4; ++rule) {
    Net net(nn::Init(device, 3));
    double loss = 9;
    if (rule == 0) loss = train(net, optim::SGD(net, {.momentum = 0.9}), 0.05);
    if (rule == 1) loss = train(net, optim::Adam(net), 0.01);
    if (rule == 2) loss = train(net, optim::AdamW(net), 0.01, {.clip = 1});
    if (rule == 3) loss = train(net, optim::Lion(net), 0.002);
    EXPECT_LT(loss, 0.4) << "rule " << rule;
  }
}

TEST(DeviceModules, NamesAreNestedAndTheSameSeedGivesTheSameModel) {
  const Device device = test::api_device();
  Net a(nn::Init(device, 5));
  Net b(nn::Init(device, 5));
  std::set<std::string> names;
  for (const nn::Named& each : a.state()) names.insert(each.name);
  EXPECT_EQ(names, (std::set<std::string>{"first.weight", "first.bias", "norm.weight", "norm.bias",
                                          "norm.running_mean", "norm.running_var", "out.weight",
                                          "out.bias"}));
  EXPECT_EQ(a.parameters().size(), 6U);
  EXPECT_EQ(a.parameter_count(), 4U * 9 + 4 + 4 + 4 + 64 * 3 + 3);
  for (std::size_t i = 0; i < a.state().size(); ++i) {
    EXPECT_EQ(a.state()[i].tensor.to_vector(), b.state()[i].tensor.to_vector());
  }
}

TEST(DeviceModules, BatchNormMeasuresWhileTrainingAndRemembers) {
  const Device device = test::api_device();
  nn::Init init(device);
  nn::BatchNorm norm(init, 2, 0.5);
  const std::vector<float> values{1, 2, 3, 4, 10, 20, 30, 40};
  const Tensor x = device.tensor({1, 2, 4}, values);
  const std::vector<float> y = norm(x).to_vector();
  const double deviation = std::sqrt(1.25 + 1e-5);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[static_cast<std::size_t>(i)],
                (values[static_cast<std::size_t>(i)] - 2.5) / deviation, 1e-4);
  }
  apply(norm.take_updates());
  EXPECT_TRUE(norm.take_updates().empty());
  const std::map<std::string, std::vector<float>> expected{
      {"running_mean", {1.25F, 12.5F}},
      {"running_var", {0.5F + 0.5F * 1.25F * 4 / 3, 0.5F + 0.5F * 125 * 4 / 3}}};
  for (const nn::Named& each : norm.state()) {
    if (!expected.contains(each.name)) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(each.tensor.to_vector()[i], expected.at(each.name)[i], 1e-3) << each.name;
    }
  }
  norm.eval();
  EXPECT_NEAR(norm(x).to_vector()[0], (1 - 1.25) / std::sqrt(0.5 + 0.5 * 1.25 * 4 / 3 + 1e-5),
              1e-4);
  EXPECT_TRUE(norm.take_updates().empty());
}

TEST(DeviceModules, StateGoesThroughAFileAndWrongOnesAreRefused) {
  const Device device = test::api_device();
  Net a(nn::Init(device, 1));
  Net b(nn::Init(device, 2));
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("weft_modules_" + std::to_string(::getpid()) + ".safetensors");
  a.save(file);
  b.load(file);
  std::filesystem::remove(file);
  a.eval();
  b.eval();
  const Tensor x = device.arange(128).reshape({2, 1, 8, 8}) / 100;
  EXPECT_EQ(a(x).to_vector(), b(x).to_vector());

  std::map<std::string, Tensor> state;
  for (const nn::Named& each : a.state()) state[each.name] = each.tensor;
  auto without = state;
  without.erase("out.bias");
  EXPECT_THROW(b.load_state(without), Error);
  auto more = state;
  more["other"] = device.full({1}, 0);
  EXPECT_THROW(b.load_state(more), Error);
  auto wrong = state;
  wrong["out.bias"] = device.full({4}, 0);
  EXPECT_THROW(b.load_state(wrong), Error);
}

TEST(DeviceModules, DropoutNeedsAKeyAndLeavesEvaluationAlone) {
  const Device device = test::api_device();
  nn::Dropout drop(0.5F);
  const Tensor x = device.full({64}, 1);
  EXPECT_THROW((void)drop(x), Error);
  drop.set_key(random::key(device, 1));
  const std::vector<float> kept = drop(x).to_vector();
  const double sum = std::accumulate(kept.begin(), kept.end(), 0.0);
  EXPECT_GT(sum, 20);
  EXPECT_LT(sum, 108);
  for (const float value : kept) EXPECT_TRUE(value == 0 || value == 2);
  drop.eval();
  EXPECT_EQ(drop(x).to_vector(), std::vector<float>(64, 1));
}

TEST(DeviceModules, AttentionGoesOnFromItsCache) {
  const Device device = test::api_device();
  nn::Init init(device, 4);
  nn::TransformerBlock block(
      init, 16, 4,
      {.attention = {.kv_heads = 2, .causal = true, .rope_base = 100}, .gated = true, .rms = true});
  block.eval();
  const Tensor x = random::normal(random::key(device, 9), {2, 5, 16});
  const std::vector<float> whole = block(x).to_vector();
  nn::AttentionCache cache;
  std::vector<float> parts;
  std::vector<Tensor> pieces;
  for (std::int64_t i = 0; i < 5; ++i)
    pieces.push_back(block.forward(x.slice(1, i, 1), {}, &cache));
  const std::vector<float> joined = concat(pieces, 1).to_vector();
  ASSERT_EQ(cache.length(), 5U);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], joined[i], 2e-4);
}

TEST(DeviceModules, AveragesFollowTheParameters) {
  const Device device = test::api_device();
  nn::Init init(device, 4);
  nn::Linear layer(init, 3, 1, false);
  const std::vector<float> before = layer.parameters()[0].tensor.to_vector();
  const optim::Ema ema(layer, 0.75);
  const optim::SGD sgd(layer);
  optim::Step step(layer, sgd, [&](const std::vector<Tensor>& in) { return sum(layer(in[0])); },
                   {.ema = &ema});
  (void)step({device.full({1, 3}, 1)}, 0.5).item();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(layer.parameters()[0].tensor.to_vector()[i], before[i] - 0.5F);
    EXPECT_FLOAT_EQ(ema.averages()[0].tensor.to_vector()[i], before[i] - 0.125F);
  }
}

TEST(DeviceModules, GroupsHaveRatesAndDecayOfTheirOwn) {
  const Device device = test::api_device();
  nn::Init init(device, 4);
  nn::Linear layer(init, 2, 2);
  const std::vector<nn::Named> all = layer.parameters();
  const std::vector<float> weight = all[0].tensor.to_vector();
  const std::vector<float> bias = all[1].tensor.to_vector();
  const optim::SGD sgd(
      {{.parameters = {all[0]}, .weight_decay = 0.5}, {.parameters = {all[1]}, .lr_scale = 0.1}});
  sgd.apply({device.full({2, 2}, 1), device.full({2}, 1)}, 0.1);
  EXPECT_FLOAT_EQ(all[0].tensor.to_vector()[3], weight[3] - 0.1F * (1 + 0.5F * weight[3]));
  EXPECT_FLOAT_EQ(all[1].tensor.to_vector()[1], bias[1] - 0.01F);
}

TEST(DeviceModules, LoaderGivesEveryExampleOnceInAnOrderOfItsOwn) {
  const Device device = test::api_device();
  std::vector<std::int32_t> numbers(23);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::uint8_t> pairs(46);
  std::iota(pairs.begin(), pairs.end(), std::uint8_t{0});
  for (const std::size_t prefetch : {0, 3}) {
    const data::Loader loader(device, {data::column({}, numbers), data::column({2}, pairs)},
                              {.batch = 5, .seed = 7, .drop_last = false, .prefetch = prefetch});
    EXPECT_EQ(loader.batches(), 5U);
    std::vector<std::vector<std::int32_t>> orders;
    for (const std::uint64_t epoch : {0, 1, 0}) {
      std::vector<std::int32_t> seen;
      for (const std::vector<Tensor>& batch : loader.epoch(epoch)) {
        const std::vector<std::int32_t> ids = batch[0].to_vector<std::int32_t>();
        const std::vector<std::uint8_t> beside = batch[1].to_vector<std::uint8_t>();
        for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(beside[2 * i + 1], 2 * ids[i] + 1);
        seen.insert(seen.end(), ids.begin(), ids.end());
      }
      orders.push_back(seen);
      std::ranges::sort(seen);
      EXPECT_EQ(seen, numbers);
    }
    EXPECT_NE(orders[0], orders[1]);
    EXPECT_EQ(orders[0], orders[2]);
    const auto left_early = loader.epoch(2);  // a thread that nobody waits for ends, too
  }
  EXPECT_THROW(data::Loader(device, {}), Error);
  EXPECT_THROW(data::Loader(device, {data::column({}, numbers), data::column({}, pairs)}), Error);
}

TEST(DeviceModules, SchedulesRiseAndFall) {
  optim::Schedule schedule{.lr = 1, .steps = 110, .warmup = 10, .floor = 0.1};
  EXPECT_DOUBLE_EQ(schedule(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule(9), 1);
  EXPECT_DOUBLE_EQ(schedule(10), 1);
  EXPECT_NEAR(schedule(60), 0.55, 1e-12);
  EXPECT_NEAR(schedule(110), 0.1, 1e-12);
  EXPECT_NEAR(schedule(1000), 0.1, 1e-12);
  schedule.decay = optim::Decay::linear;
  EXPECT_NEAR(schedule(85), 0.1 + 0.9 * 0.25, 1e-12);
  schedule.decay = optim::Decay::constant;
  EXPECT_DOUBLE_EQ(schedule(100), 1);
}

}  // namespace
}  // namespace weft
