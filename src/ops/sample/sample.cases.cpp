#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/random/host.hpp"
#include "ops/sample/sample.hpp"

namespace weft::ops::sample {
namespace {

struct Options {
  std::uint64_t batch = 3;
  std::uint64_t vocabulary = 1000;
  std::uint64_t previous = 0;
  DType dtype = DType::f32;
  float penalty = 1;
  float temperature = 1;
  std::uint64_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  double spread = 6;  // of the logits
  std::uint64_t parts = 0;
};

/// The logits of a row as they count.
std::vector<float> row_of(const Options& o, std::span<const HostTensor> t, std::size_t row) {
  std::vector<float> x(o.vocabulary);
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[j] = static_cast<float>(t[0].values[row * o.vocabulary + j]);
  }
  const std::vector<float> given = x;
  for (std::size_t i = 0; i < o.previous; ++i) {
    const double token = t[2].values[row * o.previous + i];
    if (token < 0 || token >= static_cast<double>(o.vocabulary)) continue;
    const auto j = static_cast<std::size_t>(token);
    x[j] = given[j] > 0 ? given[j] / o.penalty : given[j] * o.penalty;
  }
  if (o.temperature > 0) {
    for (float& v : x) v /= o.temperature;
  }
  return x;
}

/// The smallest logit that stays.
float threshold_of(const Options& o, const std::vector<float>& x) {
  std::vector<float> sorted = x;
  std::ranges::sort(sorted, std::ranges::greater{});
  if (o.top_k > 0 && o.top_k < sorted.size()) sorted.resize(o.top_k);
  float out = sorted.back();
  double total = 0;
  for (const float v : sorted) total += std::exp(double{v} - sorted[0]);
  double before = 0;
  for (const float v : sorted) {
    if (before >= double{o.top_p} * total) break;
    out = v;
    before += std::exp(double{v} - sorted[0]);
  }
  return o.min_p > 0 ? std::max(out, sorted[0] + std::log(o.min_p)) : out;
}

void reference(const Options& o, std::span<HostTensor> t) {
  const random::Pair key{static_cast<std::uint32_t>(t[1].values[0]),
                         static_cast<std::uint32_t>(t[1].values[1])};
  const random::Numbers numbers =
      random::numbers_of({.function = random::Function::gumbel}, DType::f32);
  for (std::size_t row = 0; row < o.batch; ++row) {
    const std::vector<float> x = row_of(o, t, row);
    const float least =
        o.temperature > 0 ? threshold_of(o, x) : -std::numeric_limits<float>::infinity();
    std::size_t best = x.size();
    float most = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] < least) continue;
      float score = x[j];
      if (o.temperature > 0) {
        const std::uint64_t n = row * o.vocabulary + j;
        const random::Pair block = random::block_of(key, n, 0, random::Function::gumbel);
        score += random::draw_float(random::Function::gumbel, numbers, block[0]);
      }
      if (best < x.size() && !(score > most)) continue;
      best = j;
      most = score;
    }
    t[3].values[row] = static_cast<double>(best);
  }
}

Case sample_case(const std::string& label, const Options& o, TensorSpec logits = {}) {
  Case test;
  test.name = label;
  logits.dtype = o.dtype;
  logits.shape = {o.batch, o.vocabulary};
  logits.low = -o.spread;
  logits.high = o.spread;
  test.tensors = {std::move(logits),
                  {.dtype = DType::u32, .shape = {2}, .low = 0, .high = 4e9},
                  {.dtype = DType::i32,
                   .shape = {o.batch, o.previous},
                   .low = -1,
                   .high = static_cast<double>(o.vocabulary)},
                  {.dtype = DType::i32, .shape = {o.batch}, .output = true}};
  test.plan = [o](std::span<const View> v, const Caps& caps) {
    Args args{.logits = v[0],
              .key = v[1],
              .y = v[3],
              .penalty = o.penalty,
              .temperature = o.temperature,
              .top_k = o.top_k,
              .top_p = o.top_p,
              .min_p = o.min_p,
              .parts = o.parts};
    if (o.previous > 0) args.previous = v[2];
    return plan(args, caps);
  };
  test.reference = [o](std::span<HostTensor> t) { reference(o, t); };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const std::string label(name(type));
    out.push_back(sample_case(label + "_plain", {.dtype = type}));
    out.push_back(sample_case(label + "_greedy", {.dtype = type, .temperature = 0}));
    out.push_back(sample_case(label + "_all", {.vocabulary = 5003,
                                               .previous = 40,
                                               .dtype = type,
                                               .penalty = 1.3F,
                                               .temperature = 0.8F,
                                               .top_k = 60,
                                               .top_p = 0.9F,
                                               .min_p = 0.01F}));
  }
  out.push_back(sample_case("top_k", {.batch = 7, .top_k = 3}));
  out.push_back(sample_case("top_k_1", {.top_k = 1}));
  out.push_back(sample_case("top_k_of_equals", {.dtype = DType::bf16, .top_k = 5, .spread = 0.1}));
  out.push_back(sample_case("top_k_of_all", {.top_k = 1000}));
  out.push_back(sample_case("top_p", {.batch = 7, .top_p = 0.7F}));
  out.push_back(sample_case("top_p_of_one", {.top_p = 1e-9F}));
  out.push_back(
      sample_case("top_p_of_equals", {.dtype = DType::bf16, .top_p = 0.5F, .spread = 0.1}));
  out.push_back(sample_case("both_of_equals",
                            {.dtype = DType::bf16, .top_k = 50, .top_p = 0.8F, .spread = 0.1}));
  out.push_back(sample_case("min_p", {.batch = 7, .min_p = 0.1F}));
  out.push_back(sample_case("min_p_1", {.min_p = 1}));
  out.push_back(sample_case("greedy_penalty", {.previous = 900, .penalty = 2, .temperature = 0}));
  out.push_back(sample_case("reward", {.previous = 9, .penalty = 0.5F, .temperature = 1.7F}));
  out.push_back(sample_case("one_token", {.vocabulary = 1, .top_k = 1, .top_p = 0.5F}));
  out.push_back(sample_case("no_rows", {.batch = 0}));
  out.push_back(sample_case("many_rows", {.batch = 300, .vocabulary = 33, .top_p = 0.6F}));
  out.push_back(
      sample_case("large", {.batch = 9, .vocabulary = 50257, .top_k = 40, .top_p = 0.95F}));
  out.push_back(sample_case("strided", {.top_k = 9}, {.order = {1, 0}, .offset = 3}));
  out.push_back(sample_case("stepped_f16", {.dtype = DType::f16, .top_p = 0.4F},
                            {.pad = 5, .step = 2, .offset = 1}));
  out.push_back(sample_case("masked", {.top_k = 900, .top_p = 0.99F}, {.fill = Fill::masked}));
  out.push_back(sample_case("random", {.batch = random.between(1, 9),
                                       .vocabulary = random.between(1, 3000),
                                       .previous = random.between(0, 30),
                                       .penalty = 1.2F,
                                       .temperature = 0.7F,
                                       .top_k = random.between(0, 50),
                                       .top_p = 0.8F}));
  // Several workgroups for each row, as devices with many processors have them.
  for (const DType type : {DType::f32, DType::f16}) {
    out.push_back(sample_case(formatted("split_{}", name(type)), {.vocabulary = 5003,
                                                                  .previous = 40,
                                                                  .dtype = type,
                                                                  .penalty = 1.3F,
                                                                  .temperature = 0.8F,
                                                                  .top_k = 60,
                                                                  .top_p = 0.9F,
                                                                  .min_p = 0.01F,
                                                                  .parts = 7}));
  }
  const Options apart{.vocabulary = 3001, .parts = 5};
  const auto split = [&](const std::string& label, auto change, TensorSpec logits = {}) {
    Options o = apart;
    change(o);
    out.push_back(sample_case("split_" + label, o, std::move(logits)));
  };
  split("plain", [](Options&) {});
  split("greedy", [](Options& o) { o.temperature = 0; });
  split("greedy_penalty", [](Options& o) {
    o.temperature = 0;
    o.previous = 900;
    o.penalty = 2;
  });
  split("top_k", [](Options& o) { o.top_k = 11; });
  split("top_k_of_equals", [](Options& o) {
    o.dtype = DType::bf16;
    o.top_k = 50;
    o.spread = 0.1;
  });
  split("top_p", [](Options& o) { o.top_p = 0.7F; });
  split("top_p_of_one", [](Options& o) { o.top_p = 1e-9F; });
  split("both_of_equals", [](Options& o) {
    o.dtype = DType::bf16;
    o.top_k = 50;
    o.top_p = 0.8F;
    o.spread = 0.1;
  });
  split("min_p", [](Options& o) { o.min_p = 0.1F; });
  split("masked",
        [](Options& o) {
          o.top_k = 900;
          o.top_p = 0.99F;
        },
        {.fill = Fill::masked});
  split("strided", [](Options& o) { o.top_k = 9; }, {.order = {1, 0}, .offset = 3});
  split("large", [](Options& o) {
    o.vocabulary = 50257;
    o.top_k = 40;
    o.top_p = 0.95F;
    o.parts = 256;
  });
  Case bench = sample_case("bench_1x128256", {.batch = 1,
                                              .vocabulary = 128256,
                                              .temperature = 0.8F,
                                              .top_k = 40,
                                              .top_p = 0.95F,
                                              .min_p = 0.05F});
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"sample",
          "A token for each row of logits: penalty, temperature, top-k, top-p, min-p and a "
          "categorical draw, in one launch or with several workgroups for each row",
          "f32 f16 bf16 (tokens i32)", cases};
}

}  // namespace weft::ops::sample
