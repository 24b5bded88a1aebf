#include "ops/gauss/gauss.hpp"

#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/map/map.hpp"
#include "ops/stages.hpp"

namespace weft::ops::gauss {
namespace {

using Shape = std::vector<std::uint64_t>;

/// A copy of matrices with n added to the diagonal, so that errors do not grow.
View firm(Stages& stages, const View& a, const Caps& caps) {
  const View copy = stages.scratch(DType::f32, a.extents());
  stages.add(map::plan({.function = "copy", .inputs = {a}, .y = copy}, caps));
  View diagonal = copy;
  diagonal.rank -= 1;
  diagonal.stride[diagonal.rank - 1] = copy.stride[copy.rank - 2] + copy.stride[copy.rank - 1];
  stages.add(map::plan({.function = "scale",
                        .inputs = {diagonal},
                        .y = diagonal,
                        .scalars = {1, static_cast<float>(a.shape[a.rank - 1])}},
                       caps));
  return copy;
}

/// Elimination with pivots, in double: b becomes the solution, and the determinant is given back.
double eliminate(std::vector<double> a, std::size_t n, double* b, std::size_t k) {
  double det = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c; i < n; ++i) {
      if (std::abs(a[i * n + c]) > std::abs(a[pivot * n + c])) pivot = i;
    }
    if (pivot != c) {
      for (std::size_t j = 0; j < n; ++j) std::swap(a[c * n + j], a[pivot * n + j]);
      for (std::size_t j = 0; j < k; ++j) std::swap(b[c * k + j], b[pivot * k + j]);
      det = -det;
    }
    det *= a[c * n + c];
    if (det == 0 && k == 0) return det;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const double factor = a[i * n + c] / a[c * n + c];
      for (std::size_t j = c; j < n; ++j) a[i * n + j] -= factor * a[c * n + j];
      for (std::size_t j = 0; j < k; ++j) b[i * k + j] -= factor * b[c * k + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < k; ++j) b[i * k + j] /= a[i * n + i];
  }
  return det;
}

struct Options {
  Shape batch = {};
  std::uint64_t n = 1;
  std::uint64_t k = 1;
  bool firm = true;     // diagonals that outweigh their rows
  bool turned = false;  // the transpose of a
};

Shape with(Shape batch, std::uint64_t rows, std::uint64_t columns) {
  batch.insert(batch.end(), {rows, columns});
  return batch;
}

/// Matrix number s of `a` as elimination sees it.
std::vector<double> matrix(const HostTensor& a, const Options& o, std::size_t s) {
  std::vector<double> out(o.n * o.n);
  const std::size_t first = a.values.size() == o.n * o.n ? 0 : s * o.n * o.n;
  for (std::size_t i = 0; i < o.n; ++i) {
    for (std::size_t j = 0; j < o.n; ++j) {
      const double shift = o.firm && i == j ? static_cast<double>(o.n) : 0;
      out[o.turned ? j * o.n + i : i * o.n + j] = a.values[first + i * o.n + j] + shift;
    }
  }
  return out;
}

Case solve_case(const std::string& label, const Options& o, TensorSpec a = {}, TensorSpec b = {},
                TensorSpec x = {}) {
  Case test;
  test.name = label;
  test.epsilons = o.firm ? 64 : 4096;
  if (a.shape.empty()) a.shape = with(o.batch, o.n, o.n);
  b.shape = x.shape = with(o.batch, o.n, o.k);
  x.output = true;
  test.tensors = {std::move(a), std::move(b), std::move(x)};
  test.plan = [o](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    Stages stages({v[0], v[1], v[2]});
    const View left = o.firm && !v[0].empty() ? firm(stages, v[0], caps) : v[0];
    stages.add(plan(
        {.a = o.turned ? left.transpose(left.rank - 2, left.rank - 1) : left, .b = v[1], .x = v[2]},
        caps));
    return std::move(stages).finish();
  };
  test.reference = [o](std::span<HostTensor> t) {
    if (t[2].values.empty()) return;
    t[2].values = t[1].values;
    for (std::size_t s = 0; s < t[2].values.size() / (o.n * o.k); ++s) {
      eliminate(matrix(t[0], o, s), o.n, &t[2].values[s * o.n * o.k], o.k);
    }
  };
  return test;
}

Case det_case(const std::string& label, const Options& o, TensorSpec a = {}, TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 512;
  a.shape = with(o.batch, o.n, o.n);
  y.shape = o.batch;
  y.output = true;
  test.tensors = {std::move(a), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan({.a = v[0], .det = v[1]}, caps);
  };
  test.reference = [o](std::span<HostTensor> t) {
    for (std::size_t s = 0; s < t[1].values.size(); ++s) {
      t[1].values[s] = eliminate(matrix(t[0], o, s), o.n, nullptr, 0);
    }
  };
  return test;
}

/// As det_case() with the sign and the logarithm of the size.
Case log_case(const std::string& label, const Options& o, TensorSpec a = {}, TensorSpec sign = {},
              TensorSpec log = {}) {
  Case test = det_case(label, o, std::move(a));
  sign.shape = log.shape = o.batch;
  sign.output = log.output = true;
  test.tensors.push_back(std::move(sign));
  test.tensors.push_back(std::move(log));
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan({.a = v[0], .det = v[1], .sign = v[2], .log = v[3]}, caps);
  };
  test.reference = [o, det = std::move(test.reference)](std::span<HostTensor> t) {
    det(t);
    for (std::size_t s = 0; s < t[1].values.size(); ++s) {
      const double value = t[1].values[s];
      t[2].values[s] = value == 0 ? 0 : std::copysign(1, value);
      t[3].values[s] = std::log(std::abs(value));
    }
  };
  return test;
}

Case cholesky_case(const std::string& label, const Options& o, TensorSpec a = {},
                   TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 64;
  a.shape = y.shape = with(o.batch, o.n, o.n);
  y.output = true;
  test.scale = std::sqrt(static_cast<double>(o.n));
  test.tensors = {std::move(a), std::move(y)};
  test.plan = [](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    Stages stages({v[0], v[1]});
    const View left = v[0].empty() ? v[0] : firm(stages, v[0], caps);
    stages.add(plan(CholeskyArgs{.a = left, .y = v[1]}, caps));
    return std::move(stages).finish();
  };
  test.reference = [o](std::span<HostTensor> t) {
    const std::size_t n = o.n;
    for (std::size_t s = 0; s < t[1].values.size() / std::max<std::size_t>(n * n, 1); ++s) {
      const std::vector<double> left = matrix(t[0], o, s);
      double* factor = &t[1].values[s * n * n];
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double sum = j <= i ? left[i * n + j] : 0;
          for (std::size_t k = 0; k < j && j <= i; ++k)
            sum -= factor[i * n + k] * factor[j * n + k];
          if (j <= i)
            factor[i * n + j] = i == j ? std::sqrt(sum) : sum / factor[j * n + j];
          else
            factor[i * n + j] = 0;
        }
      }
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const std::uint64_t n : {1U, 2U, 3U, 16U, 33U}) {
    out.push_back(solve_case(formatted("n{}", n), {.batch = {2}, .n = n, .k = 5}));
    out.push_back(det_case(formatted("det_n{}", n), {.batch = {3}, .n = n, .firm = false}));
    out.push_back(cholesky_case(formatted("cholesky_n{}", n), {.batch = {3}, .n = n}));
  }
  // Elements of any size everywhere, so that rows change places.
  out.push_back(solve_case("pivots", {.batch = {4}, .n = 5, .k = 3, .firm = false}));
  out.push_back(solve_case("pivots_turned", {.n = 7, .k = 2, .firm = false, .turned = true}));
  out.push_back(solve_case("batched", {.batch = {2, 3}, .n = 8, .k = 1}));
  out.push_back(solve_case("shared_matrix", {.batch = {2, 3}, .n = 9, .k = 4, .firm = false},
                           {.shape = {9, 9}}));
  out.push_back(solve_case("strided", {.batch = {3}, .n = 6, .k = 5, .firm = false},
                           {.order = {0, 2, 1}, .pad = 1}, {.order = {2, 0, 1}},
                           {.order = {0, 2, 1}, .offset = 1}));
  out.push_back(solve_case("in_place", {.batch = {3}, .n = 6, .k = 5}, {}, {}, {.same_as = 1}));
  out.push_back(solve_case("empty", {.batch = {0}, .n = 6, .k = 5}));
  out.push_back(solve_case("no_columns", {.batch = {2}, .n = 6, .k = 0}));
  out.push_back(solve_case("many", {.batch = {9000}, .n = 4, .k = 4}));
  for (const std::uint64_t n : {2U, 5U, 33U}) {
    out.push_back(det_case(formatted("det_zeros_n{}", n), {.batch = {2}, .n = n, .firm = false},
                           {.low = 0, .high = 0}));
  }
  out.push_back(det_case("det_strided", {.batch = {2, 3}, .n = 4, .firm = false},
                         {.order = {3, 0, 1, 2}, .pad = 2},
                         {.order = {1, 0}, .pad = 1, .offset = 3}));
  for (const std::uint64_t n : {1U, 4U, 17U}) {
    out.push_back(log_case(formatted("log_n{}", n), {.batch = {5}, .n = n, .firm = false}));
  }
  out.push_back(
      log_case("log_zeros", {.batch = {2}, .n = 3, .firm = false}, {.low = 0, .high = 0}));
  out.push_back(log_case("log_strided", {.batch = {2, 3}, .n = 4, .firm = false},
                         {.order = {3, 0, 1, 2}, .pad = 2}, {.order = {1, 0}, .pad = 1},
                         {.order = {1, 0}, .offset = 3}));
  out.push_back(cholesky_case("cholesky_strided", {.batch = {5}, .n = 7}, {.order = {1, 2, 0}},
                              {.order = {2, 0, 1}, .pad = 1}));
  out.push_back(cholesky_case("cholesky_empty", {.batch = {0}, .n = 7}));
  out.push_back(solve_case(
      "random",
      {.batch = {random.between(1, 3)}, .n = random.between(1, 40), .k = random.between(1, 40)}));
  Case bench = solve_case("bench_4096x32x32_32_f32", {.batch = {4096}, .n = 32, .k = 32});
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {
      "gauss",
      "Solutions of systems of equations, determinants and Cholesky factors of many small matrices",
      "f32", cases};
}

}  // namespace weft::ops::gauss
