// Segments of rows, and linear algebra of small matrices, in double.
#include <algorithm>
#include <cmath>
#include <utility>

#include "describe/attributes/nearest.hpp"
#include "describe/attributes/searchsorted.hpp"
#include "describe/attributes/segment.hpp"
#include "double_graph.hpp"
#include "graph/kinds.hpp"
#include "ops/nearest/nearest.hpp"
#include "ops/segments/segments.hpp"

namespace weft::test {
namespace {

using graph::as;
using graph::Attributes;
namespace kinds = graph::kinds;

void searchsorted(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const bool right = as<graph::SearchsortedAttributes>(attributes).right;
  const std::size_t n = in[0].back();
  const std::size_t m = in[1].back();
  for (std::size_t i = 0; i < in[1].v.size(); ++i) {
    const double* row = in[0].v.data() + (in[0].shape.size() > 1 ? i / m * n : 0);
    out[0].v[i] = static_cast<double>(std::count_if(row, row + n, [&](double element) {
      return right ? element <= in[1].v[i] : element < in[1].v[i];
    }));
  }
}

/// Inputs: queries, points. Outputs: distances and indices of the nearest, or the distances of all.
void nearest(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto metric =
      static_cast<ops::nearest::Metric>(as<graph::NearestAttributes>(attributes).metric);
  const bool apart = metric == ops::nearest::Metric::euclidean;
  const std::size_t size = in[0].back();
  const std::size_t k = out[0].back();
  for (std::size_t i = 0; i < in[0].shape[0]; ++i) {
    std::vector<std::pair<double, std::size_t>> scores;
    for (std::size_t j = 0; j < in[1].shape[0]; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < size; ++c) {
        const double a = in[0].v[i * size + c];
        const double b = in[1].v[j * size + c];
        sum += apart ? (a - b) * (a - b) : -a * b;
      }
      scores.emplace_back(sum, j);
    }
    if (out.size() > 1) std::ranges::sort(scores);
    for (std::size_t r = 0; r < k; ++r) {
      const double score = scores[r].first;
      out[0].v[i * k + r] = apart                                    ? std::sqrt(score)
                            : metric == ops::nearest::Metric::cosine ? 1 + score
                                                                     : -score;
      if (out.size() > 1) out[1].v[i * k + r] = static_cast<double>(scores[r].second);
    }
  }
}

void segment_reduce(const Attributes& attributes, const Hosts& in, Hosts& out) {
  using ops::segments::Function;
  const auto function = static_cast<Function>(as<graph::SegmentAttributes>(attributes).function);
  const std::size_t columns = in[3].back();
  for (std::size_t s = 0; s + 1 < in[0].v.size(); ++s) {
    const auto first = static_cast<std::size_t>(in[0].v[s]);
    const auto end = static_cast<std::size_t>(in[0].v[s + 1]);
    for (std::size_t c = 0; c < columns; ++c) {
      double y = 0;
      for (std::size_t i = first; i < end; ++i) {
        double v = in[3].v[static_cast<std::size_t>(in[1].v[i]) * columns + c];
        if (in[2].given()) v *= in[2].v[i];
        const bool start = i == first;
        switch (function) {
          case Function::max: y = start ? v : std::max(y, v); break;
          case Function::min: y = start ? v : std::min(y, v); break;
          default: y += v;
        }
      }
      if (function == Function::mean && end > first) y /= static_cast<double>(end - first);
      out[0].v[s * columns + c] = y;
    }
  }
}

/// Elimination with pivots: b becomes the solution, and the determinant is given back.
double eliminate(std::vector<double> a, std::size_t n, double* b, std::size_t k) {
  double det = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c; i < n; ++i) {
      if (std::abs(a[i * n + c]) > std::abs(a[pivot * n + c])) pivot = i;
    }
    for (std::size_t j = 0; pivot != c && j < n; ++j) std::swap(a[c * n + j], a[pivot * n + j]);
    for (std::size_t j = 0; pivot != c && j < k; ++j) std::swap(b[c * k + j], b[pivot * k + j]);
    det *= pivot == c ? a[c * n + c] : -a[c * n + c];
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const double factor = a[i * n + c] / a[c * n + c];
      for (std::size_t j = c; j < n; ++j) a[i * n + j] -= factor * a[c * n + j];
      for (std::size_t j = 0; j < k; ++j) b[i * k + j] -= factor * b[c * k + j];
    }
  }
  for (std::size_t i = 0; i < n * k; ++i) b[i] /= a[i / k * n + i / k];
  return det;
}

std::vector<double> matrix(const Host& a, std::size_t number) {
  const std::size_t size = a.back() * a.back();
  const auto first =
      a.v.begin() + static_cast<std::ptrdiff_t>(a.v.size() == size ? 0 : number * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

void solve(const Attributes&, const Hosts& in, Hosts& out) {
  const std::size_t n = in[0].back();
  const std::size_t k = in[1].back();
  for (std::size_t i = 0; i < out[0].v.size(); ++i) out[0].v[i] = in[1].v[i % in[1].v.size()];
  for (std::size_t s = 0; s < out[0].v.size() / (n * k); ++s) {
    eliminate(matrix(in[0], s), n, &out[0].v[s * n * k], k);
  }
}

void det(const Attributes&, const Hosts& in, Hosts& out) {
  for (std::size_t s = 0; s < out[0].v.size(); ++s) {
    const double det = eliminate(matrix(in[0], s), in[0].back(), nullptr, 0);
    out[0].v[s] = det;
    out[1].v[s] = det == 0 ? 0 : std::copysign(1, det);
    out[2].v[s] = std::log(std::abs(det));
  }
}

void cholesky(const Attributes&, const Hosts& in, Hosts& out) {
  const std::size_t n = in[0].back();
  for (std::size_t s = 0; s < in[0].v.size() / (n * n); ++s) {
    const double* a = &in[0].v[s * n * n];
    double* y = &out[0].v[s * n * n];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = a[i * n + j];
        for (std::size_t k = 0; k < j; ++k) sum -= y[i * n + k] * y[j * n + k];
        y[i * n + j] = i == j ? std::sqrt(sum) : sum / y[j * n + j];
      }
    }
  }
}

/// Inputs: starts, columns, and the rows of both matrices.
void sampled_matmul(const Attributes&, const Hosts& in, Hosts& out) {
  const std::size_t size = in[2].back();
  for (std::size_t r = 0; r + 1 < in[0].v.size(); ++r) {
    for (auto i = static_cast<std::size_t>(in[0].v[r]);
         i < static_cast<std::size_t>(in[0].v[r + 1]); ++i) {
      const auto column = static_cast<std::size_t>(in[1].v[i]);
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k)
        sum += in[2].v[r * size + k] * in[3].v[column * size + k];
      out[0].v[i] = sum;
    }
  }
}

}  // namespace

void add_algebra_kinds(std::map<const graph::Rule*, Compute>& table) {
  table[&kinds::searchsorted] = test::searchsorted;
  table[&kinds::nearest] = test::nearest;
  table[&kinds::segment_reduce] = test::segment_reduce;
  table[&kinds::sampled_matmul] = test::sampled_matmul;
  table[&kinds::solve] = test::solve;
  table[&kinds::det] = test::det;
  table[&kinds::cholesky] = test::cholesky;
}

}  // namespace weft::test
