#include <algorithm>
#include <cmath>
#include <format>
#include <numeric>
#include <string>

#include "ops/case.hpp"
#include "ops/router/router.hpp"

namespace weft::ops::router {
namespace {

void softmax(std::span<double> values) {
  const double top = *std::ranges::max_element(values);
  double total = 0;
  for (double& value : values) total += value = std::exp(value - top);
  for (double& value : values) value /= total;
}

double score_of(Score score, double v) {
  if (score == Score::sigmoid) return 1 / (1 + std::exp(-v));
  return score == Score::root_softplus ? std::sqrt(std::log1p(std::exp(v))) : v;
}

/// Tensors: logits, bias if there is one, ids, weights.
void reference(const Args& args, bool bias, std::span<HostTensor> t) {
  HostTensor& ids = t[t.size() - 2];
  HostTensor& weights = t.back();
  const std::size_t experts = t[0].shape[1];
  const std::size_t chosen = ids.shape[1];
  for (std::size_t token = 0; token < ids.shape[0]; ++token) {
    const auto first = t[0].values.begin() + static_cast<std::ptrdiff_t>(token * experts);
    std::vector<double> scores(first, first + static_cast<std::ptrdiff_t>(experts));
    for (double& score : scores) score = score_of(args.score, score);
    if (args.score == Score::softmax) softmax(scores);
    std::vector<double> keys = scores;
    for (std::size_t e = 0; bias && e < experts; ++e) keys[e] += t[1].values[e];
    std::vector<std::size_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
    std::vector<double> picked;
    for (std::size_t k = 0; k < chosen; ++k) picked.push_back(scores[order[k]]);
    if (args.softmax_chosen) softmax(picked);
    const double total = std::accumulate(picked.begin(), picked.end(), 0.0);
    const double divisor = args.normalize ? std::max(total, static_cast<double>(args.least)) : 1.0;
    for (std::size_t k = 0; k < chosen; ++k) {
      ids.values[token * chosen + k] = static_cast<double>(order[k]);
      weights.values[token * chosen + k] = picked[k] / divisor * args.scale;
    }
  }
}

Case make_case(std::string name, std::uint64_t tokens, std::uint64_t experts, std::uint64_t chosen,
               const Args& options, bool bias = false, std::uint64_t pad = 0) {
  Case test;
  test.name = std::move(name);
  test.tensors = {{.shape = {tokens, experts}, .low = -3, .high = 3}};
  if (bias) test.tensors.push_back({.shape = {experts}});
  test.tensors.push_back(
      {.dtype = DType::i32, .shape = {tokens, chosen}, .output = true, .pad = pad});
  test.tensors.push_back({.shape = {tokens, chosen}, .output = true, .offset = pad});
  test.plan = [options, bias](std::span<const View> v, const Caps& caps) {
    Args args = options;
    args.logits = v[0];
    if (bias) args.bias = v[1];
    args.ids = v[v.size() - 2];
    args.weights = v.back();
    return plan(args, caps);
  };
  test.reference = [options, bias](std::span<HostTensor> t) { reference(options, bias, t); };
  test.epsilons = 16;
  return test;
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  out.push_back(make_case("softmax", 5, 8, 2, {}));
  out.push_back(make_case("softmax_normalized", 3, 128, 8, {.normalize = true, .scale = 2.5F}));
  out.push_back(
      make_case("softmax_chosen", 4, 32, 4, {.score = Score::logit, .softmax_chosen = true}));
  out.push_back(make_case("sigmoid_bias", 2, 257, 6,
                          {.score = Score::sigmoid, .normalize = true, .least = 1e-4F}, true));
  out.push_back(
      make_case("least", 2, 9, 3, {.score = Score::logit, .normalize = true, .least = 100}));
  out.push_back(make_case("root_softplus", 3, 31, 31, {.score = Score::root_softplus}));
  out.push_back(make_case("all_of_many", 1, 1024, 1024, {.score = Score::logit}));
  out.push_back(make_case("strange_layout", 3, 40, 5, {}, true, 3));
  out.push_back(make_case("past_one_binding", 700, 500, 2, {}));
  out.push_back(make_case("one", 1, 1, 1, {}));
  out.push_back(make_case("empty", 0, 8, 2, {}));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"router", "The experts of each token and their weights", "f32 (ids i32)", cases};
}

}  // namespace weft::ops::router
