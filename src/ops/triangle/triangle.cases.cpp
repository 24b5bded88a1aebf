#include "ops/triangle/triangle.hpp"

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::triangle {
namespace {

using Shape = std::vector<std::uint64_t>;

/// A has 1/n to about 1 on its diagonal and small elements elsewhere, so that errors do not grow.
Case solve_case(const std::string& label, const Shape& batch, std::uint64_t n, std::uint64_t k,
                bool upper = false, TensorSpec a = {}, TensorSpec b = {}, TensorSpec x = {}) {
  Case test;
  test.name = label;
  test.epsilons = 256;
  Shape square = batch;
  square.insert(square.end(), {n, n});
  Shape wide = batch;
  wide.insert(wide.end(), {n, k});
  if (a.shape.empty()) a.shape = square;
  a.low = 0.5 / static_cast<double>(n);
  a.high = 1.0 / static_cast<double>(n);
  b.shape = x.shape = wide;
  x.output = true;
  test.scale = static_cast<double>(n);
  test.tensors = {std::move(a), std::move(b), std::move(x)};
  test.plan = [upper](std::span<const View> v, const Caps& caps) {
    return plan({.a = v[0], .b = v[1], .x = v[2], .upper = upper}, caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    const std::size_t systems = t[2].values.size() / std::max<std::size_t>(n * k, 1);
    for (std::size_t s = 0; s < systems; ++s) {
      const double* left = t[0].values.data() + (t[0].shape == square ? s * n * n : 0);
      for (std::size_t column = 0; column < k; ++column) {
        for (std::size_t step = 0; step < n; ++step) {
          const std::size_t i = upper ? n - 1 - step : step;
          double sum = t[1].values[(s * n + i) * k + column];
          for (std::size_t before = 0; before < step; ++before) {
            const std::size_t j = upper ? n - 1 - before : before;
            sum -= left[i * n + j] * t[2].values[(s * n + j) * k + column];
          }
          t[2].values[(s * n + i) * k + column] = sum / left[i * n + i];
        }
      }
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const std::uint64_t n : {1, 2, 15, 16, 17, 33}) {
    out.push_back(solve_case(formatted("n{}", n), {2}, n, 5));
    out.push_back(solve_case(formatted("upper_n{}", n), {}, n, 70, true));
  }
  out.push_back(solve_case("batched", {2, 3}, 20, 64));
  out.push_back(solve_case("shared_matrix", {2, 3}, 20, 9, false, {.shape = {20, 20}}));
  out.push_back(solve_case("permuted", {3}, 18, 9, false, {.order = {0, 2, 1}, .pad = 1},
                           {.order = {2, 0, 1}}, {.order = {0, 2, 1}, .offset = 1}));
  out.push_back(solve_case("in_place", {3}, 18, 9, true, {}, {}, {.same_as = 1}));
  out.push_back(solve_case("empty", {0}, 18, 9));
  out.push_back(solve_case("no_columns", {2}, 18, 0));
  out.push_back(solve_case("large", {3}, 40, 3000));
  for (int i = 0; i < 3; ++i) {
    out.push_back(solve_case(formatted("random{}", i), {random.between(1, 3)},
                             random.between(1, 50), random.between(1, 80),
                             random.between(0, 1) == 1));
  }
  Case bench = solve_case("bench_32x64x64_64_f32", {32}, 64, 64);
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"triangle", "The solution of systems of equations with a triangular matrix", "f32",
          cases};
}

}  // namespace weft::ops::triangle
