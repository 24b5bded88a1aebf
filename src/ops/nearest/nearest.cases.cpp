#include "ops/nearest/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::nearest {
namespace {

void nearest_host(Metric metric, std::span<HostTensor> t) {
  const std::size_t size = t[0].shape[1];
  const std::size_t points = t[1].shape[0];
  const std::size_t k = t[2].shape[1];
  std::vector<double> scores(points);
  std::vector<std::size_t> order(points);
  for (std::size_t i = 0; i < t[0].shape[0]; ++i) {
    for (std::size_t j = 0; j < points; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < size; ++c) {
        const double a = t[0].values[i * size + c];
        const double b = t[1].values[j * size + c];
        sum += metric == Metric::euclidean ? (a - b) * (a - b) : -a * b;
      }
      scores[j] = sum;
    }
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t j) { return scores[j]; });
    for (std::size_t r = 0; r < k; ++r) {
      const double score = scores[order[r]];
      t[2].values[i * k + r] = metric == Metric::euclidean ? std::sqrt(score)
                               : metric == Metric::cosine  ? 1 + score
                                                           : -score;
      t[3].values[i * k + r] = static_cast<double>(order[r]);
    }
  }
}

/// Whole numbers, so that sums are exact and many points are equally far away.
Case nearest_case(const std::string& label, Metric metric, std::uint64_t queries,
                  std::uint64_t points, std::uint64_t size, std::uint64_t k, TensorSpec q = {},
                  TensorSpec x = {}, TensorSpec d = {}, TensorSpec at = {}) {
  Case test;
  test.name = label;
  q.shape = {queries, size};
  x.shape = {points, size};
  for (TensorSpec* in : {&q, &x}) {
    in->fill = Fill::integers;
    in->low = -3;
    in->high = 3;
  }
  d.shape = at.shape = {queries, k};
  at.dtype = DType::i32;
  d.output = at.output = true;
  test.tensors = {std::move(q), std::move(x), std::move(d), std::move(at)};
  test.plan = [metric](std::span<const View> v, const Caps& caps) {
    return plan(
        {.queries = v[0], .points = v[1], .distances = v[2], .indices = v[3], .metric = metric},
        caps);
  };
  test.reference = [metric](std::span<HostTensor> t) { nearest_host(metric, t); };
  return test;
}

/// Distances of all points; `size_of_numbers` makes squares too large or too small for f32.
Case distance_case(const std::string& label, std::uint64_t queries, std::uint64_t points,
                   std::uint64_t size, double size_of_numbers = 1, TensorSpec q = {},
                   TensorSpec x = {}, TensorSpec y = {}) {
  Case test;
  test.name = "distances_" + label;
  q.shape = {queries, size};
  x.shape = {points, size};
  for (TensorSpec* in : {&q, &x}) {
    in->low = -size_of_numbers;
    in->high = size_of_numbers;
  }
  y.shape = {queries, points};
  y.output = true;
  test.epsilons = 16;
  test.scale = size_of_numbers;
  test.tensors = {std::move(q), std::move(x), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(DistanceArgs{.queries = v[0], .points = v[1], .y = v[2]}, caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::size_t columns = t[2].shape[1];
    const std::size_t width = t[0].shape[1];
    for (std::size_t i = 0; i < t[2].values.size(); ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < width; ++c) {
        const double apart =
            t[0].values[i / columns * width + c] - t[1].values[i % columns * width + c];
        sum += apart * apart;
      }
      t[2].values[i] = std::sqrt(sum);
    }
  };
  return test;
}

void add_distances(std::vector<Case>& out, Random& random) {
  const auto add = [&](auto&&... args) { out.push_back(distance_case(args...)); };
  add("small", 5, 7, 3);
  add("tiles", 70, 150, 33);
  add("one", 1, 1, 1);
  add("no_columns", 3, 5, 0);
  add("no_points", 3, 0, 4);
  add("large_numbers", 9, 20, 5, 1e25);
  add("small_numbers", 9, 20, 5, 1e-25);
  for (const DType type : {DType::f16, DType::bf16}) {
    add(formatted("{}", name(type)), 19, 70, 9, 1, TensorSpec{.dtype = type},
        TensorSpec{.dtype = type});
  }
  add("strided", 21, 80, 6, 1, TensorSpec{.order = {1, 0}, .offset = 3},
      TensorSpec{.pad = 3, .step = 2, .offset = 1}, TensorSpec{.order = {1, 0}, .offset = 5});
  add("past_one_binding", 600, 700, 3);  // of 1 MiB, by the result
  add("many_points", 2, 70000, 5);
  add("many_queries", 70000, 2, 5);
  add("random", random.between(1, 90), random.between(1, 200), random.between(1, 40));
  Case bench = distance_case("4096x4096x128", 4096, 4096, 128);
  bench.name = "bench_" + bench.name;
  bench.test = false;
  bench.bench = true;
  bench.reference = {};
  bench.flops = 3.0 * 4096 * 4096 * 128;
  out.push_back(std::move(bench));
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](auto&&... args) { out.push_back(nearest_case(args...)); };
  add("euclidean", Metric::euclidean, 33, 150, 7, 5);
  add("cosine", Metric::cosine, 20, 90, 16, 3);
  add("inner", Metric::inner, 65, 200, 17, 16);
  for (const DType type : {DType::f16, DType::bf16}) {
    add(formatted("euclidean_{}", name(type)), Metric::euclidean, 19, 70, 9, 4,
        TensorSpec{.dtype = type}, TensorSpec{.dtype = type});
  }
  add("mixed_types", Metric::inner, 9, 40, 5, 2, TensorSpec{.dtype = DType::f16});
  add("one_of_one", Metric::euclidean, 1, 1, 1, 1);
  add("nearest_alone", Metric::euclidean, 70, 300, 3, 1);
  add("all_points", Metric::inner, 5, 37, 4, 37);
  add("most", Metric::euclidean, 3, 300, 2, 128);
  add("two_passes", Metric::euclidean, 9, 300, 2, 200);
  add("three_passes_all", Metric::inner, 70, 260, 3, 260);
  add("passes_f16", Metric::cosine, 5, 400, 8, 129, TensorSpec{.dtype = DType::f16},
      TensorSpec{.dtype = DType::f16});
  add("passes_past_one_binding", Metric::inner, 3, 70000, 5, 140);
  add("one_query", Metric::euclidean, 1, 3000, 12, 10);
  add("no_columns", Metric::euclidean, 3, 5, 0, 2);
  add("no_queries", Metric::euclidean, 0, 5, 3, 2);
  add("strided", Metric::euclidean, 21, 80, 6, 3, TensorSpec{.order = {1, 0}, .offset = 3},
      TensorSpec{.pad = 3, .step = 2, .offset = 1}, TensorSpec{.pad = 2},
      TensorSpec{.order = {1, 0}, .offset = 5});
  add("many_points", Metric::inner, 3, 70000, 5, 4);  // past 1 MiB
  add("many_queries", Metric::euclidean, 9000, 20, 33, 2);
  add("random", Metric::cosine, random.between(1, 90), random.between(20, 200),
      random.between(1, 40), random.between(1, 20));
  const auto bench = [&](std::uint64_t rows, std::uint64_t size, std::uint64_t k) {
    Case test = nearest_case(formatted("{}x{}x{}_k{}", rows, rows, size, k), Metric::euclidean,
                             rows, rows, size, k);
    test.test = false;
    test.bench = true;
    test.reference = {};
    test.flops =
        3 * static_cast<double>(rows) * static_cast<double>(rows) * static_cast<double>(size);
    for (TensorSpec& in : std::span(test.tensors).first(2)) in.fill = Fill::uniform;
    out.push_back(std::move(test));
  };
  add_distances(out, random);
  bench(2048, 64, 16);
  bench(100000, 128, 16);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"nearest",
          "The nearest points of each query, exactly: distances by tiles in registers, a list of "
          "the nearest for each query",
          "f32 f16 bf16 (distances f32, indices i32)", cases};
}

}  // namespace weft::ops::nearest
