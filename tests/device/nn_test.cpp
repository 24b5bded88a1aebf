#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../unit/file_fixture.hpp"
#include "nn/checkpoint.hpp"
#include "nn/export.hpp"
#include "nn/import.hpp"
#include "nn/random.hpp"
#include "nn/trainer.hpp"
#include "weft/weft.hpp"

namespace weft::nn {
namespace {

TrainerConfig tiny(DType dtype = DType::f32) {
  TrainerConfig config;
  config.model = {.vocabulary = 260,
                  .layers = 2,
                  .width = 32,
                  .heads = 4,
                  .kv_heads = 2,
                  .hidden = 48,
                  .context = 12};
  config.batch = 4;
  config.dtype = dtype;
  return config;
}

std::vector<std::uint32_t> some_tokens(std::size_t count, std::uint64_t period) {
  std::vector<std::uint32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<std::uint32_t>(i * 7 % period) + 1;
  return tokens;
}

/// The losses of steps first … last - 1.
std::vector<float> train(Trainer& trainer, std::uint64_t first, std::uint64_t last) {
  const auto tokens = some_tokens(600, 31);
  Windows windows(tokens, trainer.config().model.context, 3);
  std::vector<float> losses;
  for (std::uint64_t step = first; step < last; ++step) {
    std::vector<Batch> batches;
    for (std::uint64_t i = 0; i < trainer.config().accumulate; ++i) {
      const std::uint64_t number = step * trainer.config().accumulate + i;
      batches.push_back(windows.batch(number * trainer.config().batch, trainer.config().batch));
    }
    losses.push_back(trainer.step(batches, 1e-2).item());
  }
  return losses;
}

class NnTraining : public testing::TestWithParam<DType> {};

TEST_P(NnTraining, LearnsAPattern) {
  Trainer trainer(Device(), tiny(GetParam()));
  const auto losses = train(trainer, 0, 30);
  EXPECT_NEAR(losses.front(), std::log(260), 0.3);
  EXPECT_LT(losses.back(), 1.0F);
  const CompileReport report = trainer.report();
  EXPECT_LE(static_cast<double>(report.arena_bytes), 1.1 * static_cast<double>(report.bound_bytes));
}

INSTANTIATE_TEST_SUITE_P(Types, NnTraining, testing::Values(DType::f32, DType::f16, DType::bf16),
                         [](const auto& row) { return std::string(name(row.param)); });

TEST(NnTraining, GoesOnFromACheckpointAsIfNothingHappened) {
  const TemporaryFolder folder;
  Trainer whole(Device(), tiny(DType::f16));
  const auto expected = train(whole, 0, 8);
  Trainer first(Device(), tiny(DType::f16));
  (void)train(first, 0, 5);
  const auto tokenizer = Tokenizer::train("the whale the whale the whale", 260);
  ASSERT_TRUE(tokenizer);
  const Progress progress{.settings = "s", .step = 5, .seconds = 1.5, .training = {{1, 2.0F}}};
  save_checkpoint(folder / "c.gguf", progress, *tokenizer, first);
  const CheckpointHead head = load_checkpoint_head(folder / "c.gguf");
  EXPECT_EQ(head.progress.step, 5U);
  EXPECT_EQ(head.progress.training, progress.training);
  EXPECT_EQ(head.tokenizer.size(), tokenizer->size());
  auto config = tiny(DType::f16);
  config.seed = 99;  // what it starts with is replaced
  Trainer second(Device(), config);
  load_checkpoint(folder / "c.gguf", second);
  const auto rest = train(second, 5, 8);
  EXPECT_EQ(rest, std::vector(expected.begin() + 5, expected.end()));
  for (std::size_t i = 0; i < whole.state().size(); ++i) {
    EXPECT_EQ(whole.state()[i].second.to_vector(), second.state()[i].second.to_vector())
        << whole.state()[i].first;
  }
}

TEST(NnTraining, AStepThatOverflowsChangesNothingButTheLossScale) {
  Trainer trainer(Device(), tiny(DType::f16));
  (void)train(trainer, 0, 1);
  trainer.restore("scale.value", std::vector{0x1p24F});  // more than f16 gradients can hold
  const auto values = [&] {
    std::map<std::string, std::vector<float>> out;
    for (const auto& [name, tensor] : trainer.state()) out[name] = tensor.to_vector();
    return out;
  };
  auto before = values();
  const auto losses = train(trainer, 1, 2);
  EXPECT_TRUE(std::isfinite(losses.front()));
  auto after = values();
  EXPECT_EQ(after.at("scale.value"), std::vector{0x1p23F});
  for (auto* state : {&before, &after}) {
    EXPECT_EQ(state->erase("scale.value"), 1U);
    EXPECT_EQ(state->erase("scale.good"), 1U);
  }
  EXPECT_EQ(before, after);
  trainer.restore("scale.value", std::vector{0x1p16F});
  (void)train(trainer, 2, 3);
  EXPECT_NE(values().at("model.blocks.0.up.weight"), before.at("model.blocks.0.up.weight"));
}

TEST(NnTraining, SeveralBatchesEqualALargeOne) {
  auto config = tiny();
  Trainer large(Device(), config);
  config.batch = 2;
  config.accumulate = 2;
  Trainer small(Device(), config);
  const auto expected = train(large, 0, 4);
  const auto got = train(small, 0, 4);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4);
}

TEST(NnTraining, ReplicasLearnAsOne) {
  auto config = tiny();
  config.batch = 2;
  config.accumulate = 2;
  Trainer whole(Device(), config);
  const auto expected = train(whole, 0, 2);
  // Two trainers side by side; what one of them has is handed to the other by this table, in the
  // order of their ranks.
  config.accumulate = 1;
  config.replicas = 2;
  std::vector<std::vector<float>> first;
  std::size_t next = 0;
  const auto tokens = some_tokens(600, 31);
  const auto sum_first = [&](std::span<float> values) {
    first.emplace_back(values.begin(), values.end());
  };
  const auto sum_second = [&](std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first[next][i] + values[i];
    ++next;
  };
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    config.rank = rank;
    config.sum_over_replicas =
        rank == 0 ? std::function<void(std::span<float>)>(sum_first) : sum_second;
    Windows windows(tokens, config.model.context, 3);
    Trainer trainer(Device(), config);
    const std::vector<Batch> batch{windows.batch(rank * 2, 2)};
    const float loss = trainer.step(batch, 1e-2).item();
    if (rank == 1) {
      EXPECT_EQ(loss, expected[0]);
    }
  }
  EXPECT_EQ(next, 1U);  // everything at once
}

TEST(NnTraining, DropsTheSameInEveryRun) {
  auto config = tiny();
  config.dropout = 0.3;
  const auto tokens = some_tokens(600, 31);
  const auto run = [&](std::uint64_t number) {
    Trainer trainer(Device(), config);
    Windows windows(tokens, config.model.context, 3);
    const std::vector<Batch> batch{windows.batch(0, config.batch)};
    (void)trainer.step(batch, 1e-2, number).item();
    return trainer.step(batch, 1e-2, number + 1).item();
  };
  const float first = run(0);
  EXPECT_EQ(run(0), first);
  EXPECT_NE(run(7), first);
}

TEST(NnTraining, RecomputedLayersLearnTheSameInLessMemory) {
  auto config = tiny(DType::f16);
  config.model.layers = 6;
  config.dropout = 0.1;  // what is dropped must be the same twice
  Trainer plain(Device(), config);
  config.recompute = true;
  Trainer again(Device(), config);
  const auto expected = train(plain, 0, 4);
  const auto got = train(again, 0, 4);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-3);
  EXPECT_LT(again.report().arena_bytes, plain.report().arena_bytes * 8 / 10);
  EXPECT_GT(again.report().dispatches, plain.report().dispatches);
}

TEST(NnTraining, SeesNothingOfTheFuture) {
  const Trainer trainer(Device(), tiny());
  std::vector<std::uint32_t> tokens{5, 9, 200, 31, 7};
  const auto before = trainer.next_logits(std::span(tokens).first(3));
  EXPECT_EQ(before.size(), 260U);
  tokens[3] = 100;
  EXPECT_EQ(trainer.next_logits(std::span(tokens).first(3)), before);
  tokens[0] = 6;
  EXPECT_NE(trainer.next_logits(std::span(tokens).first(3)), before);
}

/// One parameter with a working copy under one of the rules.
std::unique_ptr<optim::Optimizer> one_parameter(const std::string& rule, const Tensor& p,
                                                const Tensor& working) {
  std::vector<optim::Group> groups{
      {.parameters = {{"p", p}}, .weight_decay = 0.01, .working = {working}}};
  if (rule == "sgd")
    return std::make_unique<optim::SGD>(groups, optim::SGDOptions{.momentum = 0.9});
  if (rule == "lion") return std::make_unique<optim::Lion>(groups);
  const optim::AdamOptions options{.beta2 = 0.95};
  if (rule == "adam") return std::make_unique<optim::Adam>(groups, options);
  return std::make_unique<optim::AdamW>(groups, options);
}

TEST(NnOptimizer, FollowsItsRulesWithAScaleAndAWorkingCopy) {
  const Device device;
  const std::vector<float> start{1, -2, 3};
  const std::vector<float> gradient{0.5F, 0.25F, -4};
  for (const std::string rule : {"sgd", "adam", "adamw", "lion"}) {
    const Tensor p = variable(device.tensor({3}, start));
    const Tensor g = device.tensor({3}, gradient).to(DType::f16);
    const Tensor rate = device.tensor({1}, std::vector{0.1F});
    const Tensor working = variable(p.to(DType::f16));
    const auto optimizer = one_parameter(rule, p, working);
    std::vector<double> x(start.begin(), start.end());
    std::vector<double> m(3);
    std::vector<double> v(3);
    for (int step = 1; step <= 3; ++step) {
      apply(optimizer->step({g}, rate));
      for (const float factor : {INFINITY, -INFINITY, NAN}) {  // change nothing
        apply(optimizer->step({g}, rate, device.full({1}, factor)));
      }
      const double factor = step == 3 ? 0.5 : 1;
      if (step == 3) apply(optimizer->step({g}, rate, device.full({1}, 0.5)));
      for (int half = 0; half < (step == 3 ? 2 : 1); ++half) {
        const int count = step + half;
        for (std::size_t i = 0; i < 3; ++i) {
          const bool coupled = rule == "sgd" || rule == "adam";
          const double slope = gradient[i] * (half == 1 ? factor : 1) + (coupled ? 0.01 * x[i] : 0);
          if (rule == "sgd") {
            m[i] = 0.9 * m[i] + slope;
            x[i] -= 0.1 * m[i];
            continue;
          }
          if (rule == "lion") {
            const double direction = 0.9 * m[i] + 0.1 * slope;
            m[i] = 0.99 * m[i] + 0.01 * slope;
            x[i] -= 0.1 * ((direction > 0 ? 1 : -1) + 0.01 * x[i]);
            continue;
          }
          m[i] = 0.9 * m[i] + 0.1 * slope;
          v[i] = 0.95 * v[i] + 0.05 * slope * slope;
          const double mean = m[i] / (1 - std::pow(0.9, count));
          const double square = v[i] / (1 - std::pow(0.95, count));
          const double decay = rule == "adamw" ? 0.01 * x[i] : 0;
          x[i] -= 0.1 * (mean / (std::sqrt(square) + 1e-8) + decay);
        }
      }
      const auto got = p.to_vector();
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], x[i], 2e-5) << rule << " " << step;
      EXPECT_EQ(working.to_vector(), p.to(DType::f16).to_vector()) << rule;
    }
  }
  EXPECT_THROW(optim::SGD({{.parameters = {{"p", variable(device.full({2}, 1))}},
                            .working = {device.full({2}, 1), device.full({2}, 1)}}}),
               Error);
}

TEST(NnOptimizer, ScalesTheLoss) {
  const Device device;
  const optim::LossScale scale(device, 1024, 2);
  apply(scale.step(device.full({1}, INFINITY)));
  EXPECT_FLOAT_EQ(scale.value().item(), 512);
  apply(scale.step(device.full({1}, 1)));
  EXPECT_FLOAT_EQ(scale.value().item(), 512);
  apply(scale.step(device.full({1}, 1)));
  EXPECT_FLOAT_EQ(scale.value().item(), 1024);
  apply(scale.step(device.full({1}, 1)));  // counted anew
  EXPECT_FLOAT_EQ(scale.value().item(), 1024);
  apply(scale.step(device.full({1}, NAN)));
  EXPECT_FLOAT_EQ(scale.value().item(), 512);
}

TEST(NnOptimizer, AStepWithALossScaleLearnsTheSame) {
  const Device device;
  const Tensor x = device.tensor({4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 9});
  const auto train = [&](bool scaled) {
    Init init(device, 5);
    Linear model(init, 2, 1);
    const optim::AdamW adam(model);
    const optim::LossScale scale(device, 4096);
    optim::Step step(model, adam,
                     [&](const std::vector<Tensor>& in) {
                       return mse_loss(model(in[0]), sum(in[0], {1}, true));
                     },
                     {.clip = 1, .loss_scale = scaled ? &scale : nullptr});
    std::vector<float> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(step({x}, 1e-2).item());
    return losses;
  };
  const auto plain = train(false);
  const auto scaled = train(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(scaled[i], plain[i], 1e-4 * plain[0]);
  EXPECT_LT(plain.back(), plain.front());
}

/// The elements of a matrix that is 1 where row and column are the same, for layers that shall
/// change nothing.
std::vector<float> identity(std::size_t size) {
  std::vector<float> values(size * size);
  for (std::size_t i = 0; i < size; ++i) values[i * size + i] = 1;
  return values;
}

TEST(NnLayers, AttentionLooksAtItsWindow) {
  const Device device;
  constexpr std::uint64_t length = 6;
  Init init(device);
  // Two heads of queries share one head of values; equal products give the mean of what is seen.
  MultiheadAttention layer(init, 4, 2, {.kv_heads = 1, .causal = true, .window = 3, .bias = false});
  layer.load_state({{"q_proj.weight", device.full({4, 4}, 0)},
                    {"k_proj.weight", device.full({2, 4}, 1)},
                    {"v_proj.weight", device.full({2, 4}, 0.25)},
                    {"out_proj.weight", device.tensor({4, 4}, identity(4))}});
  const Tensor x = device.arange(2 * length).reshape({2, length, 1}).broadcast_to({2, length, 4});
  const auto y = layer(x).to_vector();
  ASSERT_EQ(y.size(), 2 * length * 4);
  for (std::size_t row = 0; row < 2 * length; ++row) {
    const std::size_t position = row % length;
    const double mean =
        static_cast<double>(row) - static_cast<double>(std::min<std::size_t>(position, 2)) / 2;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[row * 4 + i], mean, 1e-5) << row;
  }
  std::vector<float> mask(length * length, -INFINITY);
  for (std::size_t i = 0; i < length; ++i) mask[i * length] = 0;  // all look at position 0
  const auto masked =
      layer
          .forward(x.slice(1, 0, 3),
                   device.tensor({length, length}, mask).slice(0, 0, 3).slice(1, 0, 3))
          .to_vector();
  for (std::size_t row = 0; row < 6; ++row) {
    EXPECT_NEAR(masked[row * 4 + 1], row < 3 ? 0 : length, 1e-5);
  }
}

TEST(NnLayers, AttentionTurnsByThePosition) {
  // With one head of size 2, products of positions p and s depend on the angle p - s between them.
  const Device device;
  Init init(device);
  MultiheadAttention layer(init, 2, 1, {.causal = false, .rope_base = 100, .bias = false});
  std::map<std::string, Tensor> same;
  for (const Named& each : layer.parameters()) {
    same.emplace(each.name, device.tensor({2, 2}, identity(2)));
  }
  layer.load_state(same);
  const std::vector<float> values{2, 0, 1.5F, -1, 0.5F, 1};
  const auto y = layer(device.tensor({1, 3, 2}, values)).to_vector();
  for (std::size_t p = 0; p < 3; ++p) {
    const auto turned = [&](std::size_t at, std::size_t i) {
      const double angle = static_cast<double>(at);
      const double a = values[at * 2];
      const double b = values[at * 2 + 1];
      return i == 0 ? a * std::cos(angle) - b * std::sin(angle)
                    : a * std::sin(angle) + b * std::cos(angle);
    };
    double sum = 0;
    std::vector<double> mixed(2);
    for (std::size_t s = 0; s < 3; ++s) {
      const double product = turned(p, 0) * turned(s, 0) + turned(p, 1) * turned(s, 1);
      const double weight = std::exp(product / std::sqrt(2.0));
      sum += weight;
      for (std::size_t i = 0; i < 2; ++i) mixed[i] += weight * values[s * 2 + i];
    }
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(y[p * 2 + i], mixed[i] / sum, 1e-5) << p;
  }
}

TEST(NnExport, QuantizesToTheNearestLevel) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i) - 12.3F;  // largest: 18.7
  const auto bytes = quantize_q8_0(values);
  ASSERT_EQ(bytes.size(), 68U);
  const float step = 18.7F / 127;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto level = static_cast<std::int8_t>(bytes[2 + i]);
    EXPECT_NEAR(static_cast<float>(level) * step, values[i], step * 0.51F);
    EXPECT_EQ(bytes[36 + i], std::byte{0});
  }
}

TEST(NnExport, WritesEveryTensorUnderItsName) {
  const TemporaryFolder folder;
  const LlamaConfig model = tiny().model;
  const ModelValues values = initial_values(model, 1);
  const auto tokenizer = Tokenizer::train("the whale the whale the whale", 260);
  ASSERT_TRUE(tokenizer);
  ASSERT_EQ(tokenizer->size(), 260U);
  export_gguf(folder / "m.gguf", model, values, *tokenizer, "f32", "test");
  const auto file = gguf::File::open(folder / "m.gguf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->tensors().size(), 1 + 2 * 9 + 1);
  EXPECT_EQ(file->get<std::uint32_t>("llama.attention.head_count_kv"), 2U);
  const gguf::TensorView* q = file->tensor("blk.1.attn_q.weight");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->shape, (std::vector<std::uint64_t>{32, 32}));
  // Heads are 8 wide: row 3 of a file is the second half's row 1.
  const auto* rows = reinterpret_cast<const float*>(q->bytes.data());
  const std::vector<float>& trained = values.at(q->name);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(rows[3 * 32 + i], trained[5 * 32 + i]);
    EXPECT_EQ(rows[8 * 32 + i], trained[8 * 32 + i]);
  }
  EXPECT_THROW(export_gguf(folder / "m.gguf", model, values, *tokenizer, "q4_0", "test"), Error);
}

TEST(NnExport, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const LlamaConfig config = tiny().model;
  const ModelValues values = initial_values(config, 1);
  const auto tokenizer = Tokenizer::train("the whale the whale the whale", 260);
  ASSERT_TRUE(tokenizer);
  for (const auto& [type, error] : {std::pair("f32", 0.0F), {"f16", 1e-3F}, {"q8_0", 1e-2F}}) {
    export_gguf(folder / "m.gguf", config, values, *tokenizer, type, "test");
    const Imported back = import_gguf(folder / "m.gguf");
    EXPECT_EQ(back.config, config);
    EXPECT_EQ(back.name, "test");
    EXPECT_EQ(back.tokenizer.encode("the whale"), tokenizer->encode("the whale"));
    ASSERT_EQ(back.values.size(), values.size());
    for (const ParameterInfo& info : parameters_of(config)) {
      const std::vector<float>& was = values.at(info.file);
      const std::vector<float>& is = back.values.at(info.file);
      ASSERT_EQ(is.size(), was.size());
      for (std::size_t i = 0; i < was.size(); ++i) {
        ASSERT_NEAR(is[i], was[i], info.is_matrix() ? error : 0) << type << " " << info.file;
      }
    }
  }
  gguf::Metadata other{{"general.architecture", std::string("gpt2")}};
  const std::vector<float> one(1);
  const gguf::TensorView tensor{"t", {1}, 0, std::as_bytes(std::span(one))};
  ASSERT_TRUE(gguf::write(folder / "other.gguf", other, std::span(&tensor, 1)));
  EXPECT_THROW(import_gguf(folder / "other.gguf"), Error);
}

}  // namespace
}  // namespace weft::nn
