// The lazy graph: what is shared, what is updated, and what a compiled function replays.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "graph/node.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

using Floats = std::vector<float>;

TEST(DeviceGraph, ExpressionsRunWhenAskedAndKeepWhatHasAHandle) {
  const Tensor a = api_device().arange(4);
  const Tensor b = a * 2 + 1;
  const Tensor c = b * b;
  EXPECT_EQ(sum(c).item(), 1.0F + 9 + 25 + 49);
  EXPECT_EQ(b.to_vector(), (Floats{1, 3, 5, 7}));
  EXPECT_EQ(c.slice(0, 1, 2, 2).to_vector(), (Floats{9, 49}));
  EXPECT_EQ(a.to_vector(), (Floats{0, 1, 2, 3}));
}

TEST(DeviceGraph, ResultsThatFollowFromConstantsAloneAndAreReadToo) {
  const Tensor three = api_device().full({2}, 1) + api_device().tensor({2}, Floats{2, 2});
  const Compiled f = compile([&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor nine = three * three;
    return {nine, in[0] + nine};
  });
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> y = f({api_device().arange(2)});
    EXPECT_EQ(y[0].to_vector(), (Floats{9, 9}));
    EXPECT_EQ(y[1].to_vector(), (Floats{9, 10}));
  }
}

TEST(DeviceGraph, LongChainsNeitherNestNorLeak) {
  Tensor x = api_device().full({1}, 0);
  for (int i = 0; i < 3000; ++i) x = x + 1;
  EXPECT_EQ(x.item(), 3000.0F);
  Tensor y = api_device().full({1}, 0);
  for (int i = 0; i < 200000; ++i) y = y + 1;  // never asked for
}

TEST(DeviceGraph, ReshapesOfViewsCopyOnlyWhenTheyMust) {
  const Tensor m = api_device().arange(24).reshape({2, 3, 4});
  EXPECT_EQ(m.permute({1, 0, 2}).reshape({3, 2, 2, 2}).reshape({3, 8}).slice(0, 1, 1).to_vector(),
            (Floats{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(m.slice(2, 0, 2).reshape({6, 2}).slice(0, 4, 2).to_vector(), (Floats{16, 17, 20, 21}));
  EXPECT_EQ(m.slice(0, 1, 1)
                .reshape({1, 12})
                .broadcast_to({2, 12})
                .reshape({24})
                .slice(0, 11, 2)
                .to_vector(),
            (Floats{23, 12}));
  const Tensor row = api_device().arange(3);
  EXPECT_EQ(row.reshape({3, 1}).broadcast_to({3, 2}).reshape({6}).to_vector(),
            (Floats{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(row.broadcast_to({2, 3}).reshape({2, 3, 1}).reshape({2, 1, 3}).to_vector(),
            (Floats{0, 1, 2, 0, 1, 2}));
}

TEST(DeviceGraph, AConcatenationThatIsAskedForAsAViewKeepsItsMemory) {
  const Tensor a = api_device().arange(6).reshape({1, 2, 3});
  const Tensor parts = concat({a * 2, a * 2 + 1}, 0).reshape({1, 4, 3});
  const Tensor y = concat({parts * 1.0, parts + 100}, 1).permute({0, 2, 1});
  const Tensor z = concat({y * 3, y * 5}, 0);  // what comes later in the same run
  y.eval();
  (void)sum(z).item();
  EXPECT_EQ(y.slice(1, 1, 1).to_vector(), (Floats{2, 8, 3, 9, 102, 108, 103, 109}));
}

TEST(DeviceGraph, ACopyThatAViewNeededLivesAsLongAsTheView) {
  const Tensor x = api_device().arange(6).reshape({2, 3}) + 1;
  const Tensor turned = x.transpose().reshape({2, 3});  // 1 4 2 5 3 6, elements in another order
  Tensor y = turned;
  const Tensor ones = api_device().full({3, 3}, 1);
  for (int i = 0; i < 4; ++i) y = matmul(y, ones);  // memory that the copy must not be given up to
  (void)y.to_vector();
  EXPECT_EQ(turned.to_vector(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(DeviceGraph, VariablesChangeAndOldExpressionsSeeOldValues) {
  const Tensor v = variable(api_device().arange(3));
  const Tensor w = variable(api_device().full({3}, 5));
  const Tensor before = v * 10;
  const Tensor turned = v.reshape({3, 1}).transpose() + 0.5;
  apply({{v, w}, {w, v}});
  EXPECT_EQ(v.to_vector(), (Floats{5, 5, 5}));
  EXPECT_EQ(w.to_vector(), (Floats{0, 1, 2}));
  EXPECT_EQ(before.to_vector(), (Floats{0, 10, 20}));
  EXPECT_EQ(turned.to_vector(), (Floats{0.5, 1.5, 2.5}));
  EXPECT_EQ((v * 10).to_vector(), (Floats{50, 50, 50}));
  EXPECT_THROW(apply({{before, w}}), Error);
  EXPECT_THROW(apply({{v, w.slice(0, 0, 2)}}), Error);
  EXPECT_THROW(apply({{v, w}, {v, w}}), Error);
}

TEST(DeviceGraph, CompiledFunctionsReplayWithNewInputs) {
  int traced = 0;
  const Compiled f = compile([&](const std::vector<Tensor>& in) -> Outputs {
    ++traced;
    const Tensor h = relu(matmul(in[0], in[1]));
    return {h, sum(h, {1}), in[0]};
  });
  const Tensor w = api_device().arange(6).reshape({3, 2}) - 2.5;
  for (int round = 0; round < 3; ++round) {
    const Tensor x = api_device().full({2, 3}, round);
    const std::vector<Tensor> y = f({x, w});
    ASSERT_EQ(y.size(), 3U);
    EXPECT_EQ(y[0].to_vector(), relu(matmul(x, w)).to_vector());
    EXPECT_EQ(y[1].to_vector(), sum(relu(matmul(x, w)), {1}).to_vector());
    EXPECT_EQ(y[2].to_vector(), x.to_vector());
  }
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(f({api_device().full({5, 3}, 1), w.transpose().transpose()})[0].shape(), (Shape{5, 2}));
  EXPECT_EQ(traced, 2);
  EXPECT_EQ(f.report().variants, 2U);
  EXPECT_NE(f.text().find("matmul"), std::string::npos);
  EXPECT_NE(f.dot().find("digraph"), std::string::npos);
}

TEST(DeviceGraph, CompiledUpdatesHappenInPlaceAndAtOnce) {
  const Tensor count = variable(api_device().full({}, 0));
  const Tensor a = variable(api_device().full({4}, 1));
  const Tensor b = variable(api_device().full({4}, 2));
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor next = count + 1;
    // a and b change places, b plus the input; the old a is returned.
    return {{a, next}, {{count, next}, {a, b}, {b, a + in[0]}}};
  });
  const Tensor one = api_device().full({4}, 1);
  for (int round = 0; round < 4; ++round) {
    const float was = a.to_vector()[0];
    const std::vector<Tensor> out = step({one});
    EXPECT_EQ(out[0].to_vector(), Floats(4, was));
    EXPECT_EQ(out[1].item(), static_cast<float>(round + 1));
  }
  EXPECT_EQ(count.item(), 4.0F);
  EXPECT_EQ(a.to_vector(), Floats(4, 3.0F));
  EXPECT_EQ(b.to_vector(), Floats(4, 4.0F));
}

TEST(DeviceGraph, AnUpdateOfAnElementwiseValueNeedsNoMemory) {
  const Tensor p = variable(api_device().full({1000}, 1));
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    return {std::vector<Tensor>{}, {{p, p * 2 + in[0]}}};
  });
  const Tensor one = api_device().full({1000}, 1);
  for (int i = 0; i < 3; ++i) (void)step({one});
  EXPECT_EQ(p.to_vector(), Floats(1000, 15.0F));
  EXPECT_LE(step.report().arena_bytes, 4096U);
}

TEST(DeviceGraph, AMlpLearns) {
  // y = sin(3 x) from 64 points.
  Floats xs;
  Floats ys;
  for (int i = 0; i < 64; ++i) {
    xs.push_back(static_cast<float>(i) / 32 - 1);
    ys.push_back(std::sin(3 * xs.back()));
  }
  Floats w1;
  Floats w2;
  for (int i = 0; i < 32; ++i) {
    w1.push_back(std::sin(static_cast<float>(i * 7 + 1)) * 2);
    w2.push_back(std::cos(static_cast<float>(i * 5 + 2)) / 4);
  }
  const std::vector<Tensor> p{
      variable(api_device().tensor({1, 32}, w1)), variable(api_device().full({32}, 0)),
      variable(api_device().tensor({32, 1}, w2)), variable(api_device().full({1}, 0))};
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor h = tanh(matmul(in[0], p[0]) + p[1]);
    const Tensor loss = mean(map("square", matmul(h, p[2]) + p[3] - in[1]));
    const std::vector<Tensor> g = grad(loss, p);
    std::vector<Update> updates;
    for (std::size_t i = 0; i < p.size(); ++i) updates.push_back({p[i], p[i] - g[i] * 0.1});
    return {{loss}, updates};
  });
  const Tensor x = api_device().tensor({64, 1}, xs);
  const Tensor y = api_device().tensor({64, 1}, ys);
  const float first = step.one({x, y}).item();
  float last = first;
  for (int i = 0; i < 400; ++i) last = step.one({x, y}).item();
  EXPECT_GT(first, 0.1F);
  EXPECT_LT(last, 0.02F);
  const CompileReport report = step.report();
  EXPECT_LE(static_cast<double>(report.arena_bytes), 1.1 * static_cast<double>(report.bound_bytes));
}

TEST(DeviceGraph, AdamStepsHappenInPlace) {
  const Tensor p = variable(api_device().full({1000}, 1));
  const Tensor m = variable(api_device().full({1000}, 0));
  const Tensor v = variable(api_device().full({1000}, 0));
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    const Tensor gradients = p * 2;
    const Clip clip = clip_by_global_norm({gradients}, 1);
    const AdamWStep next = adamw(p, gradients, m, v, in[0],
                                 {.learning_rate = in[1], .beta2 = 0.99, .scale = clip.scale});
    return {{clip.norm}, {{p, next.weights}, {m, next.m}, {v, next.v}}};
  });
  double weight = 1;
  double mean = 0;
  double square = 0;
  for (int i = 1; i <= 3; ++i) {
    const double c1 = 1 / (1 - std::pow(0.9, i));
    const double c2 = 1 / (1 - std::pow(0.99, i));
    const double norm = 2 * weight * std::sqrt(1000.0);
    const Tensor number = api_device().full({1}, i);
    const Tensor rate = api_device().full({1}, 0.1);
    EXPECT_NEAR(step.one({number, rate}).item(), norm, 1e-3 * norm);
    const double g = 2 * weight / norm;
    mean = 0.9 * mean + 0.1 * g;
    square = 0.99 * square + 0.01 * g * g;
    weight = weight * (1 - 0.1 * 0.01) - 0.1 * mean * c1 / (std::sqrt(square * c2) + 1e-8);
    EXPECT_NEAR(p.to_vector()[7], weight, 1e-4);
  }
  EXPECT_NEAR(m.to_vector()[999], mean, 1e-5);
  EXPECT_LE(step.report().arena_bytes, 16384U);  // gradients and partial sums
}

TEST(DeviceGraph, CheckpointsTradeWorkForMemory) {
  const Tensor w = api_device().arange(64, -0.3, 0.01).reshape({8, 8});
  const auto block = [](const std::vector<Tensor>& in) {
    Tensor x = in[0];
    for (int i = 0; i < 4; ++i) x = tanh(matmul(x, in[1]) + 0.1);
    return x;
  };
  const auto model = [&](bool kept) {
    return compile([=](const std::vector<Tensor>& in) -> Outputs {
      Tensor x = in[0];
      for (int i = 0; i < 4; ++i) {
        const std::vector<Tensor> inputs{x, in[1]};
        x = kept ? block(inputs) : checkpoint(block, inputs);
      }
      const Tensor loss = mean(x * x);
      const std::vector<Tensor> g = grad(loss, {in[0], in[1]});
      return {loss, g[0], g[1]};
    });
  };
  const Tensor x = api_device().arange(16384, 0, 0.0001).reshape({2048, 8});
  const Compiled all = model(true);
  const Compiled some = model(false);
  const auto a = all({x, w});
  const auto b = some({x, w});
  EXPECT_EQ(a[0].item(), b[0].item());
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_LT(max(map("abs", a[i] - b[i])).item(), 1e-6F) << i;
  }
  EXPECT_LT(some.report().arena_bytes, all.report().arena_bytes * 3 / 4);
  EXPECT_GT(some.report().dispatches, all.report().dispatches);
}

/// Gradients flow to what a checkpointed function uses without being given it.
TEST(DeviceGraph, CheckpointsSeeWhatFunctionsUse) {
  const Tensor w = variable(api_device().full({2}, 3.0));
  const Tensor b = variable(api_device().full({2}, 0.5));
  const Tensor scaled = w * 2.0;  // used inside, computed outside
  const auto f = [&](const std::vector<Tensor>& in) { return in[0] * scaled * w + b * in[0]; };
  const Tensor x = variable(api_device().arange(2, 1, 1));
  const std::vector<Tensor> by{x, w, b};
  const auto plain = grad(sum(f({x}) * x), by);
  const auto again = grad(sum(checkpoint(f, {x}) * x), by);
  for (std::size_t i = 0; i < by.size(); ++i)
    EXPECT_EQ(plain[i].to_vector(), again[i].to_vector()) << i;
  const auto twice = [&](const std::vector<Tensor>& in) { return in[0] * x; };
  EXPECT_EQ(grad(sum(checkpoint(twice, {x})), {x})[0].to_vector(), (std::vector<float>{2, 4}));
}

TEST(DeviceGraph, FunctionsThatCallThemselvesAreErrors) {
  Compiled f;
  std::string seen;
  f = compile([&](const std::vector<Tensor>& in) -> Outputs { return f(in); },
              {.on_pass = [&](const PassReport&) { seen = f.text(); }});
  EXPECT_THROW((void)f({api_device().full({1}, 0)}), Error);
  f = compile([](const std::vector<Tensor>& in) -> Outputs { return in[0] + 1; },
              {.on_pass = [&](const PassReport& report) { seen = report.pass + f.text(); }});
  EXPECT_EQ(f.one({api_device().full({1}, 0)}).item(), 1);
  EXPECT_EQ(seen, "drop");  // there was no text yet
}

TEST(DeviceGraph, NewBatchSizesNeedFewNewPipelines) {
  const Tensor w = api_device().arange(768, -1, 0.003).reshape({32, 24});
  const Compiled f = compile([&](const std::vector<Tensor>& in) -> Outputs {
    return softmax(layer_norm(silu(matmul(in[0], w)) * 2 + 1));
  });
  const auto pipelines = [] { return Access::data(api_device())->device.cache().compiled; };
  const auto run = [&](std::uint64_t batch) { (void)f({api_device().full({batch, 32}, 1)}); };
  for (std::uint64_t batch = 1; batch <= 40; ++batch) run(batch);
  const std::uint64_t before = pipelines();
  for (std::uint64_t batch = 41; batch <= 56; ++batch) run(batch);
  EXPECT_EQ(pipelines(), before);
  EXPECT_EQ(f.report().built, 56U);
  EXPECT_EQ(f.report().variants, CompileOptions{}.most_variants);
}

TEST(DeviceGraph, NewSequenceLengthsNeedFewNewPipelines) {
  const Compiled f = compile([](const std::vector<Tensor>& in) -> Outputs {
    const Shape& shape = in[0].shape();
    const Tensor q = rope(in[0]).permute({0, 2, 1, 3});
    const Tensor v = in[0].permute({0, 2, 1, 3});
    const Tensor y = attention(q, q, v, {.causal = true}).permute({0, 2, 1, 3});
    return cross_entropy(y.reshape({shape[1], 32}), argmax(in[0].reshape({shape[1], 32}), {1}));
  });
  const auto pipelines = [] { return Access::data(api_device())->device.cache().compiled; };
  const auto run = [&](std::uint64_t tokens) {
    (void)f({sin(api_device().arange(tokens * 32)).reshape({1, tokens, 2, 16})});
  };
  for (std::uint64_t tokens = 1; tokens <= 33; ++tokens) run(tokens);
  for (const std::uint64_t tokens : {64U, 128U, 300U}) run(tokens);  // GPUs have kernels for many.
  const std::uint64_t before = pipelines();
  for (std::uint64_t tokens = 34; tokens <= 300; tokens += 19) run(tokens);
  EXPECT_EQ(pipelines(), before);
}

TEST(DeviceGraph, ShapesThatWereNotUsedForLongMakeWay) {
  const Compiled f = compile(
      [](const std::vector<Tensor>& in) -> Outputs { return exp(cumsum(in[0] * 2, 0) * 0.5) + 1; },
      {.most_variants = 3});
  const auto pipelines = [] { return Access::data(api_device())->device.cache().compiled; };
  const auto memory = [] { return Access::data(api_device())->device.memory().in_use; };
  const auto run = [&](std::uint64_t count) {
    const Tensor x = api_device().full({count}, 0.001);
    EXPECT_NEAR(f({x})[0].to_vector().back(), std::exp(0.001 * static_cast<double>(count)) + 1,
                1e-3);
  };
  for (const std::uint64_t count : {1000U, 1100U, 1200U}) run(count);
  EXPECT_EQ(f.report().built, 3U);
  run(1000);  // now 1100 is the oldest
  EXPECT_EQ(f.report().built, 3U);
  const std::uint64_t before = memory();
  const std::uint64_t compiled = pipelines();
  run(1300);
  EXPECT_EQ(f.report().variants, 3U);
  for (const std::uint64_t count : {1000U, 1200U, 1300U}) run(count);
  EXPECT_EQ(f.report().built, 4U);
  run(1100);  // was forgotten; its pipelines were not
  EXPECT_EQ(f.report().built, 5U);
  for (std::uint64_t count = 1000; count < 1400; count += 20) run(count);
  EXPECT_EQ(f.report().built, 25U);  // each was gone when its turn came
  EXPECT_EQ(f.report().variants, 3U);
  EXPECT_EQ(pipelines(), compiled);
  EXPECT_LT(memory(), before + 16384);
}

}  // namespace
}  // namespace weft::test
