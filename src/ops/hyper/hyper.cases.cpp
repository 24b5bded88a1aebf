#include <array>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/hyper/hyper.hpp"

namespace weft::ops::hyper {
namespace {

using Matrix = std::array<std::array<double, combine_streams>, combine_streams>;

void divide(Matrix& m, double eps, bool columns) {
  for (std::size_t i = 0; i < combine_streams; ++i) {
    double sum = eps;
    for (std::size_t j = 0; j < combine_streams; ++j) sum += columns ? m[j][i] : m[i][j];
    for (std::size_t j = 0; j < combine_streams; ++j) (columns ? m[j][i] : m[i][j]) /= sum;
  }
}

Case combine_case(std::string name, TensorSpec mixes, TensorSpec y, std::uint32_t iterations) {
  constexpr std::uint64_t n = combine_streams;
  Case test;
  test.name = "combine_" + std::move(name);
  mixes.low = -2;
  mixes.high = 2;
  y.shape = {mixes.shape[0], n, n};
  y.output = true;
  test.tensors = {std::move(mixes), {.shape = {3}}, {.shape = {24}}, std::move(y)};
  test.epsilons = 64;
  test.plan = [iterations](std::span<const View> v, const Caps& caps) {
    return plan(CombineArgs{.mixes = v[0],
                            .scale = v[1],
                            .base = v[2],
                            .y = v[3],
                            .eps = 1e-3F,
                            .iterations = iterations},
                caps);
  };
  test.reference = [iterations](std::span<HostTensor> t) {
    const double eps = 1e-3F;
    for (std::uint64_t token = 0; token < t[0].shape[0]; ++token) {
      Matrix m;
      for (std::uint64_t from = 0; from < n; ++from) {
        double sum = 0;
        for (std::uint64_t to = 0; to < n; ++to) {
          const std::uint64_t i = 2 * n + from * n + to;
          m[from][to] = std::exp(t[0].values[token * 24 + i] * t[1].values[2] + t[2].values[i]);
          sum += m[from][to];
        }
        for (double& value : m[from]) value = value / sum + eps;
      }
      divide(m, eps, true);
      for (std::uint32_t i = 1; i < iterations; ++i) {
        divide(m, eps, false);
        divide(m, eps, true);
      }
      for (std::uint64_t i = 0; i < n * n; ++i) t[3].values[token * n * n + i] = m[i / n][i % n];
    }
  };
  return test;
}

Case read_case(std::string name, TensorSpec x, TensorSpec y, bool gated) {
  Case test;
  test.name = formatted("read_{}{}", gated ? "gated_" : "", name);
  TensorSpec weights{.shape = x.shape, .low = gated ? -4.0 : 0.0, .high = gated ? 4.0 : 1.0};
  if (!gated) weights.shape.pop_back();
  y.shape = {x.shape[0], x.shape[2]};
  y.output = true;
  test.tensors = {std::move(x), std::move(weights), std::move(y)};
  test.epsilons = 16;
  test.scale = 2;
  test.plan = [gated](std::span<const View> v, const Caps& caps) {
    ReadArgs args{.x = v[0], .y = v[2], .scale = 0.25F};
    (gated ? args.gates : args.weights) = v[1];
    return plan(args, caps);
  };
  test.reference = [gated](std::span<HostTensor> t) {
    const auto [tokens, streams, width] = std::array{t[0].shape[0], t[0].shape[1], t[0].shape[2]};
    for (std::uint64_t n = 0; n < tokens * width; ++n) {
      double sum = 0;
      for (std::uint64_t s = 0; s < streams; ++s) {
        const std::uint64_t at = (n / width * streams + s) * width + n % width;
        const double w = t[1].values[gated ? at : n / width * streams + s];
        sum += t[0].values[at] * (gated ? 1 / (1 + std::exp(-w)) : w);
      }
      t[2].values[n] = sum * 0.25;
    }
  };
  return test;
}

Case write_case(std::string name, TensorSpec residual, TensorSpec y, bool mixed) {
  Case test;
  test.name = formatted("write_{}{}", mixed ? "mixed_" : "", name);
  const auto [tokens, streams, width] =
      std::array{residual.shape[0], residual.shape[1], residual.shape[2]};
  y.shape = residual.shape;
  y.output = true;
  test.tensors = {
      {.shape = {tokens, width}}, std::move(residual), {.shape = {tokens, streams}}, std::move(y)};
  if (mixed) test.tensors.push_back({.shape = {tokens, streams, streams}});
  test.epsilons = 16;
  test.scale = 2;
  test.plan = [mixed](std::span<const View> v, const Caps& caps) {
    return plan(
        WriteArgs{
            .x = v[0], .residual = v[1], .share = v[2], .mix = mixed ? v[4] : View{}, .y = v[3]},
        caps);
  };
  test.reference = [mixed](std::span<HostTensor> t) {
    const std::uint64_t streams_ = t[1].shape[1];
    const std::uint64_t width_ = t[1].shape[2];
    std::size_t n = 0;
    for (Index i(t[3].shape); !i.done(); i.next(), ++n) {
      double sum = t[0].values[i[0] * width_ + i[2]] * t[2].values[i[0] * streams_ + i[1]];
      if (!mixed) sum += t[1].values[n];
      for (std::uint64_t s = 0; mixed && s < streams_; ++s) {
        sum += t[1].values[(i[0] * streams_ + s) * width_ + i[2]] *
               t[4].values[(i[0] * streams_ + s) * streams_ + i[1]];
      }
      t[3].values[n] = sum;
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  out.push_back(combine_case("1_token", {.shape = {1, 24}}, {}, 1));
  out.push_back(combine_case("257_tokens", {.shape = {257, 24}}, {}, 20));
  out.push_back(combine_case("layouts", {.shape = {9, 24}, .order = {1, 0}, .offset = 1},
                             {.pad = 1, .offset = 3}, 4));
  out.push_back(combine_case("empty", {.shape = {0, 24}}, {}, 1));
  for (const bool flag : {false, true}) {
    for (const auto& [label, x, y] : {std::tuple{"1", TensorSpec{.shape = {1, 4, 1}}, TensorSpec{}},
                                      {"17x4x31", {.shape = {17, 4, 31}}, {}},
                                      {"5x3x128", {.shape = {5, 3, 128}}, {}},
                                      {"layouts",
                                       {.shape = {6, 4, 10}, .order = {1, 2, 0}, .offset = 1},
                                       {.pad = 2, .offset = 2}},
                                      {"empty", {.shape = {3, 4, 0}}, {}},
                                      {"past_one_binding", {.shape = {20, 4, 4096}}, {}}}) {
      out.push_back(read_case(label, x, y, flag));
      out.push_back(write_case(label, x, y, flag));
    }
  }
  Case bench = write_case("bench", {.shape = {512, 4, 4096}}, {}, true);
  bench.name = "bench_hyper_write_512x4x4096";
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"hyper", "Hyper-connections: mixing, reading and writing parallel residual streams",
          "f32", cases};
}

}  // namespace weft::ops::hyper
