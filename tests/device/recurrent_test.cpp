// Recurrent layers against loops in double, and the modules that are made of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

using Values = std::vector<double>;

/// A layer with everything that it can be given; sizes are odd on purpose.
struct Layout {
  std::string cell = "lstm";
  std::uint64_t tokens = 5, batch = 3, inputs = 7, hidden = 5, size = 5;
  Direction direction = Direction::forward;
  bool biased = true, started = true, peeped = false, coupled = false, before_reset = true;
  double clip = 0;
  std::vector<std::int32_t> lengths = {};
  std::string activation = "tanh";
  DType dtype = DType::f32;
  double tolerance = 2e-6;

  [[nodiscard]] std::uint64_t gates() const { return cell == "lstm" ? 4 : (cell == "gru" ? 3 : 1); }
  [[nodiscard]] std::uint64_t directions() const { return direction == Direction::both ? 2 : 1; }
};

/// A tensor and its elements as they are in its type.
struct Pair {
  Tensor tensor;
  Values v;
};

Pair some(const Shape& shape, double phase, DType dtype) {
  std::uint64_t count = 1;
  for (const auto n : shape) count *= n;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(0.8 * std::sin(phase + 1.7 * static_cast<double>(i * i % 97)));
  }
  const Tensor tensor = api_device().tensor(shape, values).to(dtype);
  const std::vector<float> kept = tensor.to_vector();
  return {tensor, {kept.begin(), kept.end()}};
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

struct Host {
  Values y, state, cell;
};

struct Given {
  Pair x, w, r, bias, recurrent_bias, state, cell, peepholes, projection;
};

Given given_for(const Layout& s) {
  const std::uint64_t d = s.directions();
  const std::uint64_t rows = s.gates() * s.hidden;
  return {some({s.tokens, s.batch, s.inputs}, 0.1, s.dtype),
          some({d, rows, s.inputs}, 0.2, s.dtype),
          some({d, rows, s.size}, 0.3, s.dtype),
          some({d, rows}, 0.4, s.dtype),
          some({d, rows}, 0.5, s.dtype),
          some({d, s.batch, s.size}, 0.6, s.dtype),
          some({d, s.batch, s.hidden}, 0.7, s.dtype),
          some({d, 3 * s.hidden}, 0.8, s.dtype),
          some({d, s.size, s.hidden}, 0.9, s.dtype)};
}

/// One token of one sequence: h and c become the next ones.
void step(const Layout& s, const Given& g, std::uint64_t d, const double* x, double* h, double* c) {
  const std::uint64_t H = s.hidden;
  const auto clipped = [&](double v) { return s.clip > 0 ? std::clamp(v, -s.clip, s.clip) : v; };
  Values in(s.gates() * H);
  Values across(in.size());
  for (std::size_t k = 0; k < in.size(); ++k) {
    const std::size_t row = d * in.size() + k;
    in[k] = s.biased ? g.bias.v[row] : 0;
    across[k] = s.biased ? g.recurrent_bias.v[row] : 0;
    for (std::size_t j = 0; j < s.inputs; ++j) in[k] += g.w.v[row * s.inputs + j] * x[j];
    for (std::size_t j = 0; j < s.size; ++j) across[k] += g.r.v[row * s.size + j] * h[j];
  }
  Values made(H);
  for (std::size_t k = 0; k < H; ++k) {
    const auto sum = [&](std::size_t gate) { return in[gate * H + k] + across[gate * H + k]; };
    if (s.cell == "lstm") {
      const auto peep = [&](std::size_t which) {
        return s.peeped ? g.peepholes.v[(d * 3 + which) * H + k] : 0;
      };
      const double i = sigmoid_of(clipped(sum(0) + peep(0) * c[k]));
      const double f = s.coupled ? 1 - i : sigmoid_of(clipped(sum(1) + peep(1) * c[k]));
      c[k] = f * c[k] + i * std::tanh(clipped(sum(2)));
      made[k] = sigmoid_of(clipped(sum(3) + peep(2) * c[k])) * std::tanh(c[k]);
    } else if (s.cell == "gru") {
      const double r = sigmoid_of(clipped(sum(0)));
      const double z = sigmoid_of(clipped(sum(1)));
      double of_state = r * across[2 * H + k];
      if (!s.before_reset) {
        const std::size_t row = (d * 3 + 2) * H + k;
        of_state = s.biased ? g.recurrent_bias.v[row] : 0;
        for (std::size_t j = 0; j < H; ++j) {
          double rj = in[j] + across[j];
          of_state += g.r.v[row * H + j] * sigmoid_of(clipped(rj)) * h[j];
        }
      }
      const double n = std::tanh(clipped(in[2 * H + k] + of_state));
      made[k] = (1 - z) * n + z * h[k];
    } else {
      const double v = clipped(sum(0));
      made[k] = s.activation == "relu" ? std::max(v, 0.0) : std::tanh(v);
    }
  }
  if (s.size == H) {
    std::ranges::copy(made, h);
    return;
  }
  for (std::size_t k = 0; k < s.size; ++k) {
    h[k] = 0;
    for (std::size_t j = 0; j < H; ++j) h[k] += g.projection.v[(d * s.size + k) * H + j] * made[j];
  }
}

Host reference(const Layout& s, const Given& g) {
  const std::uint64_t directions = s.directions();
  Host out{Values(s.tokens * s.batch * directions * s.size),
           s.started ? g.state.v : Values(g.state.v.size()),
           s.started ? g.cell.v : Values(g.cell.v.size())};
  for (std::uint64_t d = 0; d < directions; ++d) {
    const bool back = s.direction == Direction::reverse || d == 1;
    for (std::uint64_t b = 0; b < s.batch; ++b) {
      const std::uint64_t length =
          s.lengths.empty() ? s.tokens : static_cast<std::uint64_t>(s.lengths[b]);
      for (std::uint64_t i = 0; i < length; ++i) {
        const std::uint64_t t = back ? length - 1 - i : i;
        double* h = &out.state[(d * s.batch + b) * s.size];
        step(s, g, d, &g.x.v[(t * s.batch + b) * s.inputs], h,
             &out.cell[(d * s.batch + b) * s.hidden]);
        std::copy_n(h, s.size, &out.y[((t * s.batch + b) * directions + d) * s.size]);
      }
    }
  }
  return out;
}

Recurrent run(const Layout& s, const Given& g) {
  const auto if_ = [](bool yes, const Tensor& t) { return yes ? t : Tensor(); };
  const Tensor lengths =
      s.lengths.empty() ? Tensor() : api_device().tensor({s.lengths.size()}, s.lengths);
  const Tensor bias = if_(s.biased, g.bias.tensor);
  const Tensor recurrent_bias = if_(s.biased, g.recurrent_bias.tensor);
  const Tensor state = if_(s.started, g.state.tensor);
  if (s.cell == "lstm") {
    return lstm(g.x.tensor, g.w.tensor, g.r.tensor,
                {.bias = bias,
                 .recurrent_bias = recurrent_bias,
                 .state = state,
                 .cell = if_(s.started, g.cell.tensor),
                 .lengths = lengths,
                 .peepholes = if_(s.peeped, g.peepholes.tensor),
                 .projection = if_(s.size != s.hidden, g.projection.tensor),
                 .direction = s.direction,
                 .clip = s.clip,
                 .coupled = s.coupled});
  }
  if (s.cell == "gru") {
    return gru(g.x.tensor, g.w.tensor, g.r.tensor,
               {.bias = bias,
                .recurrent_bias = recurrent_bias,
                .state = state,
                .lengths = lengths,
                .direction = s.direction,
                .clip = s.clip,
                .linear_before_reset = s.before_reset});
  }
  return rnn(g.x.tensor, g.w.tensor, g.r.tensor,
             {.bias = bias,
              .recurrent_bias = recurrent_bias,
              .state = state,
              .lengths = lengths,
              .direction = s.direction,
              .clip = s.clip,
              .activation = s.activation});
}

void compare(const std::string& what, const Tensor& got, const Values& wanted, double tolerance) {
  const std::vector<float> values = got.to_vector();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], wanted[i], tolerance) << what << ", element " << i;
  }
}

void check(const std::string& label, const Layout& s) {
  SCOPED_TRACE(label);
  const Given g = given_for(s);
  const Host wanted = reference(s, g);
  const Recurrent got = run(s, g);
  EXPECT_EQ(got.y.shape(), (Shape{s.tokens, s.batch, s.directions() * s.size}));
  EXPECT_EQ(got.y.dtype(), s.dtype);
  compare("y", got.y, wanted.y, s.tolerance);
  compare("state", got.state, wanted.state, s.tolerance);
  EXPECT_EQ(static_cast<bool>(got.cell), s.cell == "lstm");
  if (got.cell) compare("cell", got.cell, wanted.cell, s.tolerance);
}

TEST(DeviceRecurrent, MatchesLoopsInDouble) {
  for (const std::string cell : {"lstm", "gru", "rnn"}) {
    check(cell, {.cell = cell});
    check(cell + " reverse", {.cell = cell, .direction = Direction::reverse});
    check(cell + " both, plain",
          {.cell = cell, .direction = Direction::both, .biased = false, .started = false});
    check(cell + " lengths", {.cell = cell, .direction = Direction::both, .lengths = {5, 0, 3}});
    check(cell + " clip", {.cell = cell, .clip = 0.3});
    check(cell + " one",
          {.cell = cell, .tokens = 1, .batch = 1, .inputs = 1, .hidden = 1, .size = 1});
    check(cell + " no tokens", {.cell = cell, .tokens = 0});
    check(cell + " f16", {.cell = cell, .dtype = DType::f16, .tolerance = 4e-3});
    check(cell + " bf16", {.cell = cell, .dtype = DType::bf16, .tolerance = 3e-2});
  }
  check("lstm peepholes", {.direction = Direction::both, .peeped = true});
  check("lstm coupled", {.peeped = true, .coupled = true, .clip = 0.7});
  check("lstm projection", {.size = 3, .direction = Direction::both, .lengths = {2, 5, 4}});
  check("gru reset first", {.cell = "gru", .direction = Direction::both, .before_reset = false});
  check("gru reset first, lengths",
        {.cell = "gru", .before_reset = false, .clip = 0.5, .lengths = {1, 2, 3}});
  check("rnn relu", {.cell = "rnn", .direction = Direction::reverse, .activation = "relu"});
  for (const std::string cell : {"lstm", "gru", "rnn"}) {
    check(cell + " in f16", {.cell = cell,
                             .tokens = 6,
                             .batch = 9,
                             .inputs = 12,
                             .hidden = 36,
                             .size = 36,
                             .direction = Direction::both,
                             .lengths = {6, 0, 3, 1, 5, 6, 2, 4, 6},
                             .dtype = DType::f16,
                             .tolerance = 8e-3});
  }
  check("lstm larger",
        {.tokens = 3, .batch = 33, .inputs = 65, .hidden = 67, .size = 67, .tolerance = 2e-5});
}

TEST(DeviceRecurrent, WorksOnViewsAndWithoutSequences) {
  const Layout s{.tokens = 4, .batch = 3};
  const Given g = given_for(s);
  const Host wanted = reference(s, g);
  const auto turned = [](const Tensor& t) {
    const Tensor dense = t.permute({2, 1, 0});
    return (dense + 0).permute({2, 1, 0});
  };
  const Recurrent got = lstm(turned(g.x.tensor), turned(g.w.tensor), turned(g.r.tensor),
                             {.bias = g.bias.tensor,
                              .recurrent_bias = g.recurrent_bias.tensor,
                              .state = turned(g.state.tensor),
                              .cell = turned(g.cell.tensor)});
  compare("y", got.y, wanted.y, 2e-6);
  const Recurrent none = gru(api_device().full({4, 0, 2}, 0), api_device().full({1, 9, 2}, 1),
                             api_device().full({1, 9, 3}, 1));
  EXPECT_EQ(none.y.shape(), (Shape{4, 0, 3}));
  EXPECT_TRUE(none.y.to_vector().empty());
}

TEST(DeviceRecurrent, SaysWhatDoesNotFit) {
  const Device& device = api_device();
  const Tensor x = device.full({2, 3, 4}, 0);
  const Tensor w = device.full({1, 20, 4}, 0);
  const Tensor r = device.full({1, 20, 5}, 0);
  const auto message = [](const auto& call) -> std::string {
    try {
      (void)call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([&] { return lstm(x, w, r.to(DType::f16)); }).find("lstm needs x"),
            std::string::npos);
  EXPECT_NE(message([&] {
              return lstm(x, w, r, {.direction = Direction::both});
            }).find("[2, 4 hidden, inputs]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              return lstm(x, w, r, {.bias = device.full({20}, 0)});
            }).find("lstm needs its bias to be f32[1,20]; it is f32[20]"),
            std::string::npos);
  EXPECT_NE(message([&] { return gru(x, w, r); }).find("gru needs x"), std::string::npos);
  EXPECT_NE(message([&] { return rnn(x, w, r, {.activation = "sin"}); }).find("\"sin\""),
            std::string::npos);
  EXPECT_NE(message([&] {
              return lstm(x, w, r, {.lengths = device.full({3}, 1)});
            }).find("lengths i32[3]"),
            std::string::npos);
  EXPECT_NE(message([&] { return lstm(x, w, r, {.clip = -1}); }).find("it is -1"),
            std::string::npos);
}

TEST(DeviceRecurrent, ModulesStackLayersInBothDirections) {
  const Device& device = api_device();
  nn::Init init(device, 3);
  nn::GRU net(init, 4, 3, {.layers = 2, .bidirectional = true, .batch_first = true});
  std::vector<std::string> names;
  std::map<std::string, Tensor> of;
  for (const nn::Named& each : net.parameters()) {
    names.push_back(each.name);
    of[each.name] = each.tensor;
  }
  EXPECT_EQ(names.size(), 16U);
  EXPECT_TRUE(of.contains("weight_ih_l1_reverse"));
  EXPECT_EQ(of["weight_ih_l1"].shape(), (Shape{9, 6}));
  const Pair x = some({5, 2, 4}, 0.2, DType::f32);
  const Tensor start = some({4, 2, 3}, 0.3, DType::f32).tensor;
  const auto layer = [&](const Tensor& in, const std::string& end, int first) {
    const auto pair = [&](const std::string& what) {
      return stack({of[what + end], of[what + end + "_reverse"]});
    };
    return gru(in, pair("weight_ih"), pair("weight_hh"),
               {.bias = pair("bias_ih"),
                .recurrent_bias = pair("bias_hh"),
                .state = start.slice(0, first, 2),
                .direction = Direction::both});
  };
  const Recurrent first = layer(x.tensor, "_l0", 0);
  const Recurrent second = layer(first.y, "_l1", 2);
  const Recurrent got = net.forward(x.tensor.permute({1, 0, 2}), {.state = start});
  EXPECT_EQ(got.y.permute({1, 0, 2}).to_vector(), second.y.to_vector());
  EXPECT_EQ(got.state.to_vector(), concat({first.state, second.state}, 0).to_vector());
}

TEST(DeviceRecurrent, AModuleLearns) {
  const Device& device = api_device();
  nn::Init init(device, 1);
  nn::LSTM net(init, 2, 6, {.layers = 2, .dropout = 0.1F, .projection = 3});
  const Tensor x = some({4, 5, 2}, 0.5, DType::f32).tensor;
  const Tensor wanted = some({4, 5, 3}, 1.5, DType::f32).tensor * 0.2;
  std::vector<Tensor> parameters;
  for (const nn::Named& each : net.parameters()) parameters.push_back(each.tensor);
  EXPECT_THROW((void)net(x), Error);  // dropout without a key
  net.set_key(random::key(device, 5));
  const auto loss = [&] {
    const Tensor apart = net(x) - wanted;
    return mean(apart * apart);
  };
  net.eval();
  const float before = loss().item();
  net.train();
  for (int i = 0; i < 8; ++i) {
    const std::vector<Tensor> slopes = grad(loss(), parameters);
    std::vector<Update> updates;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      updates.push_back({parameters[k], parameters[k] - slopes[k] * 0.5});
    }
    apply(updates);
  }
  net.eval();
  EXPECT_LT(loss().item(), 0.9F * before);
}

TEST(DeviceRecurrent, AStepIsOneLaunchWithAnOddNumberOfUnitsIn16Bits) {
  const std::uint64_t tokens = 24;
  for (const std::string cell : {"lstm", "gru", "rnn"}) {
    const std::uint64_t gates = cell == "lstm" ? 4 : (cell == "gru" ? 3 : 1);
    const std::vector<Tensor> inputs{some({tokens, 4, 6}, 0.1, DType::bf16).tensor,
                                     some({1, gates * 7, 6}, 0.2, DType::bf16).tensor,
                                     some({1, gates * 7, 7}, 0.3, DType::bf16).tensor};
    const auto layer = [&](const std::vector<Tensor>& in) {
      return cell == "lstm"  ? lstm(in[0], in[1], in[2]).y
             : cell == "gru" ? gru(in[0], in[1], in[2]).y
                             : rnn(in[0], in[1], in[2]).y;
    };
    const Compiled plain = compile([&](const std::vector<Tensor>& in) { return layer(in); });
    (void)plain(inputs);
    EXPECT_LE(plain.report().dispatches, tokens + 16) << cell;
    const Compiled both =
        compile([&](const std::vector<Tensor>& in) { return grad(mean(layer(in)), in); });
    const std::vector<Tensor> found = both(inputs);
    EXPECT_LE(both.report().dispatches, 2 * tokens + 50) << cell;
    // The same as by what takes several launches for each token: a clip that nothing reaches.
    const auto slow = [&](const std::vector<Tensor>& in) {
      return cell == "lstm"  ? lstm(in[0], in[1], in[2], {.clip = 1e6}).y
             : cell == "gru" ? gru(in[0], in[1], in[2], {.clip = 1e6}).y
                             : rnn(in[0], in[1], in[2], {.clip = 1e6}).y;
    };
    std::vector<Tensor> leaves;
    for (const Tensor& x : inputs) leaves.push_back(variable(x));
    const std::vector<Tensor> wanted = grad(mean(slow(leaves)), leaves);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::vector<float> a = found[i].to_vector();
      const std::vector<float> b = wanted[i].to_vector();
      const float most =
          std::abs(*std::ranges::max_element(b, {}, [](float v) { return std::abs(v); }));
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 0.03 * most) << cell << i;
    }
  }
}

TEST(DeviceRecurrent, InfiniteInputsSaturateAnOddNumberOfUnits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = api_device().tensor({2, 1, 1}, std::vector<float>{infinity, 0.5F});
  const Tensor w = api_device().full({1, 12, 1}, 1, DType::f16);
  const Tensor r = api_device().full({1, 12, 3}, 0.5, DType::f16);
  const std::vector<float> y = lstm(x.to(DType::f16), w, r).y.to_vector();
  EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isfinite(v); }));
  EXPECT_NEAR(y[0], std::tanh(1.0F), 1e-3);
}

TEST(DeviceRecurrent, AStepIsOneLaunch) {
  const std::uint64_t tokens = 24;
  for (const std::string cell : {"lstm", "gru", "rnn"}) {
    const std::uint64_t gates = cell == "lstm" ? 4 : (cell == "gru" ? 3 : 1);
    std::vector<Tensor> inputs{some({tokens, 4, 8}, 0.1, DType::f32).tensor};
    for (int layer = 0; layer < 2; ++layer) {
      inputs.push_back(some({1, gates * 8, 8}, 0.2, DType::f32).tensor);
      inputs.push_back(some({1, gates * 8, 8}, 0.3, DType::f32).tensor);
    }
    const auto layer = [&](const Tensor& x, const Tensor& w, const Tensor& r) {
      return cell == "lstm" ? lstm(x, w, r).y : (cell == "gru" ? gru(x, w, r).y : rnn(x, w, r).y);
    };
    const auto forward = [&](const std::vector<Tensor>& in) {
      return layer(layer(in[0], in[1], in[2]), in[3], in[4]);
    };
    const Compiled plain = compile([&](const std::vector<Tensor>& in) { return forward(in); });
    (void)plain(inputs);
    EXPECT_LE(plain.report().dispatches, 2 * tokens + 6) << cell;
    const Compiled both =
        compile([&](const std::vector<Tensor>& in) { return grad(mean(forward(in)), in); });
    (void)both(inputs);
    EXPECT_LE(both.report().dispatches, 4 * tokens + 40) << cell;
  }
}

/// Two layers, with a launch for each step and, because of a clip that nothing reaches, with steps
/// of several. Only on demand:
/// --gtest_also_run_disabled_tests.
void time_of_two_layers(std::uint64_t tokens, std::uint64_t batch, std::uint64_t size, int turns) {
  const Device& device = api_device();
  std::vector<Tensor> inputs{some({tokens, batch, size}, 0.1, DType::f16).tensor};
  for (int layer = 0; layer < 2; ++layer) {
    inputs.push_back(some({1, 4 * size, size}, 0.2, DType::f16).tensor);
    inputs.push_back(some({1, 4 * size, size}, 0.3, DType::f16).tensor);
  }
  for (const double clip : {0.0, 1e4}) {
    const auto forward = [clip](const std::vector<Tensor>& in) {
      const LstmOptions options{.clip = clip};
      return lstm(lstm(in[0], in[1] * 0.05, in[2] * 0.05, options).y, in[3] * 0.05, in[4] * 0.05,
                  options)
          .y;
    };
    const Compiled plain = compile([&](const std::vector<Tensor>& in) { return forward(in); });
    const Compiled both =
        compile([&](const std::vector<Tensor>& in) { return grad(mean(forward(in)), in); });
    for (const auto& [name, function] :
         {std::pair{"forward", plain}, {"forward and backward", both}}) {
      (void)function(inputs);
      device.synchronize();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < turns; ++i) (void)function(inputs);
      device.synchronize();
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      std::cout << "lstm 2 x " << size << ", batch " << batch << ", " << tokens << " tokens, "
                << (clip > 0 ? "composed, " : "a launch per step, ") << name << ": "
                << time.count() / turns << " ms, " << function.report().dispatches << " launches\n";
    }
  }
}

TEST(DeviceRecurrent, DISABLED_TimeOfTwoLayers) { time_of_two_layers(128, 32, 1024, 10); }
TEST(DeviceRecurrent, DISABLED_TimeOfTwoSmallLayers) { time_of_two_layers(32, 8, 256, 2); }

}  // namespace
}  // namespace weft::test
