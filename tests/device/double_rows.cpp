// Kinds that work along dimensions, in double.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>

#include "describe/attributes/cross_entropy.hpp"
#include "describe/attributes/cumsum.hpp"
#include "describe/attributes/fourier.hpp"
#include "describe/attributes/norm.hpp"
#include "describe/attributes/softmax.hpp"
#include "describe/attributes/sort.hpp"
#include "double_graph.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"

namespace weft::test {
namespace {

using graph::as;
using graph::Attributes;
using ops::Index;
using ops::norm::Kind;
using Row = std::span<double>;
using ConstRow = std::span<const double>;

/// Calls f with each row (along the last dimension) of two tensors of as many rows, and its number.
void each(const Host& x, Host& y, const auto& f) {
  const std::size_t n = x.back();
  const std::size_t m = y.back();
  for (std::size_t r = 0; n > 0 && r < x.v.size() / n; ++r) {
    f(ConstRow(x.v).subspan(r * n, n), Row(y.v).subspan(r * m, m), r);
  }
}

double dot(ConstRow a, ConstRow b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double total(ConstRow a) { return std::accumulate(a.begin(), a.end(), 0.0); }

void reduce(const Attributes& attributes, const Hosts& in, Hosts& out) {
  using ops::reduce::Function;
  const auto& a = as<graph::ReduceAttributes>(attributes);
  const Host& x = in[0];
  Shape kept = x.shape;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if ((a.axes >> i & 1U) != 0) kept[i] = 1;
  }
  Host y(kept);
  std::vector<std::vector<double>> rows(y.v.size());
  for (Index i(x.shape); !i.done(); i.next()) rows[y.place(i.values())].push_back(x.at(i.values()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<double>& row = rows[r];
    double& to = out[0].v[r];
    const double n = double(row.size());
    switch (a.function) {
      case Function::sum: to = total(row); break;
      case Function::mean: to = total(row) / n; break;
      case Function::max: to = std::ranges::max(row); break;
      case Function::min: to = std::ranges::min(row); break;
      case Function::prod:
        to = std::accumulate(row.begin(), row.end(), 1.0, std::multiplies());
        break;
      case Function::norm: to = std::sqrt(dot(row, row)); break;
      case Function::sum_squares: to = dot(row, row); break;
      case Function::argmax: to = double(std::ranges::max_element(row) - row.begin()); break;
      case Function::argmin: to = double(std::ranges::min_element(row) - row.begin()); break;
      case Function::any: to = std::ranges::any_of(row, [](double v) { return v != 0; }); break;
      case Function::all: to = std::ranges::all_of(row, [](double v) { return v != 0; }); break;
    }
  }
}

double joined(ops::cumsum::Function function, double a, double b) {
  using ops::cumsum::Function;
  switch (function) {
    case Function::sum: return a + b;
    case Function::prod: return a * b;
    case Function::max: return std::max(a, b);
    case Function::min: return std::min(a, b);
    case Function::logsumexp: return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
  return 0;
}

void cumsum(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::CumsumAttributes>(attributes);
  const std::uint64_t n = in[0].shape[a.axis];
  for (Index i(in[0].shape); !i.done(); i.next()) {
    std::vector<std::uint64_t> at(i.values().begin(), i.values().end());
    bool first = true;
    double& y = out[0].v[out[0].place(at)];
    for (std::uint64_t k = a.reverse ? n - 1 : 0; k < n; k += a.reverse ? -1ULL : 1) {
      at[a.axis] = k;
      if (k == i[a.axis] && a.exclusive) break;
      y = first ? in[0].at(at) : joined(a.function, y, in[0].at(at));
      first = false;
      if (k == i[a.axis]) break;
    }
  }
}

void fft(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::FourierAttributes>(attributes);
  const std::size_t n = in[0].back(1);
  for (std::size_t row = 0; row < in[0].v.size(); row += 2 * n) {
    for (std::size_t k = 0; k < n; ++k) {
      std::complex<double> sum;
      for (std::size_t j = 0; j < n; ++j) {
        const double angle = 2 * std::numbers::pi * double(j * k % n) / double(n);
        sum += std::complex(in[0].v[row + 2 * j], in[0].v[row + 2 * j + 1]) *
               std::polar(double{a.scale}, a.inverse ? angle : -angle);
      }
      out[0].v[row + 2 * k] = sum.real();
      out[0].v[row + 2 * k + 1] = sum.imag();
    }
  }
}

void sort(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::SortAttributes>(attributes);
  each(in[0], out[0], [&](ConstRow x, Row y, std::size_t r) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0UZ);
    std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
      return a.descending ? x[i] > x[j] : x[i] < x[j];
    });
    for (std::size_t k = 0; k < y.size(); ++k) {
      y[k] = x[order[k]];
      out[1].v[r * y.size() + k] = double(order[k]);
    }
  });
}

void softmax(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::SoftmaxAttributes>(attributes);
  const Shape& shape = in[0].shape;
  const std::uint64_t heads = shape.size() < 3 ? 1 : shape[shape.size() - 3];
  const std::uint64_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const auto slopes = graph::alibi_slopes(heads, a.max_bias);
  Index place{std::span(shape).first(shape.size() - 1)};
  each(in[0], out[0], [&](ConstRow x, Row y, std::size_t r) {
    const std::size_t head = r / rows % heads;
    std::vector<double> z(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
      z[j] = x[j] * double{a.scale};
      if (in.size() < 2 || !in[1].given()) continue;
      std::size_t at = 0;  // the mask repeats as a whole
      const std::size_t skip = shape.size() - in[1].shape.size();
      for (std::size_t d = 0; d + 1 < in[1].shape.size(); ++d) {
        at = at * in[1].shape[d] + place[d + skip] % in[1].shape[d];
      }
      z[j] += double{slopes[head]} * in[1].v[at * x.size() + j];
    }
    const bool sunk = in.size() > 2 && in[2].given();
    const double top = std::ranges::max(z);
    double sum = sunk ? std::exp(in[2].v[head] - top) : 0;
    for (const double v : z) sum += std::exp(v - top);
    for (std::size_t j = 0; j < y.size(); ++j) {
      y[j] = a.log ? z[j] - top - std::log(sum) : std::exp(z[j] - top) / sum;
    }
    place.next();
  });
}

void softmax_back(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::SoftmaxAttributes>(attributes);
  each(in[0], out[0], [&](ConstRow y, Row dx, std::size_t r) {
    const ConstRow dy = ConstRow(in[1].v).subspan(r * y.size(), y.size());
    const double sum = a.log ? total(dy) : dot(dy, y);
    for (std::size_t j = 0; j < y.size(); ++j) {
      dx[j] = double{a.scale} * (a.log ? dy[j] - std::exp(y[j]) * sum : y[j] * (dy[j] - sum));
    }
  });
}

/// The rows that are normalised together, [rows, n], and 1 / their length (group: their channels
/// lie one after the other).
struct Normal {
  std::size_t n;
  std::vector<double> unit;
  std::vector<double> scale;
};

Normal normalise(const graph::NormAttributes& a, const Host& x) {
  Normal out;
  out.n = a.kind == Kind::group ? x.v.size() / (x.shape[0] * a.groups) : x.back();
  out.unit = x.v;
  for (std::size_t r = 0; r < x.v.size() / out.n; ++r) {
    const Row row = Row(out.unit).subspan(r * out.n, out.n);
    const bool centred = a.kind == Kind::layer || a.kind == Kind::group;
    const double mean = centred ? total(row) / double(out.n) : 0;
    for (double& v : row) v -= mean;
    const double squares = dot(row, row);
    out.scale.push_back(a.kind == Kind::l2
                            ? 1 / std::max(std::sqrt(squares), double{a.eps})
                            : 1 / std::sqrt(squares / double(out.n) + double{a.eps}));
    for (double& v : row) v *= out.scale.back();
  }
  return out;
}

/// The index of an element of x in a weight: [channels] for groups, else what broadcasts.
std::size_t weight_place(const graph::NormAttributes& a, const Host& weight, const Index& i) {
  return a.kind == Kind::group ? i[1] : weight.place(i.values());
}

void norm(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::NormAttributes>(attributes);
  const Normal normal = normalise(a, in[0]);
  std::size_t n = 0;
  for (Index i(in[0].shape); !i.done(); i.next(), ++n) {
    double y = normal.unit[n];
    if (in[1].given()) y *= in[1].v[weight_place(a, in[1], i)];
    if (in[2].given()) y += in[2].v[weight_place(a, in[2], i)];
    out[0].v[n] = y;
  }
}

void norm_back(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::NormAttributes>(attributes);
  const Normal normal = normalise(a, in[0]);
  std::vector<double> d = in[2].v;
  std::size_t n = 0;
  for (Index i(in[0].shape); !i.done() && in[1].given(); i.next(), ++n) {
    const std::size_t at = weight_place(a, in[1], i);
    out[1].v[at] += d[n] * normal.unit[n];
    out[2].v[at] += d[n];
    d[n] *= in[1].v[at];
  }
  const bool centred = a.kind == Kind::layer || a.kind == Kind::group;
  const double count = a.kind == Kind::l2 ? 1 : double(normal.n);
  for (std::size_t r = 0; r < normal.scale.size(); ++r) {
    const ConstRow u = ConstRow(normal.unit).subspan(r * normal.n, normal.n);
    const ConstRow dr = ConstRow(d).subspan(r * normal.n, normal.n);
    const double along = dot(u, dr) / count;
    const double mean = centred ? total(dr) / count : 0;
    for (std::size_t j = 0; j < normal.n; ++j) {
      out[0].v[r * normal.n + j] = (dr[j] - u[j] * along - mean) * normal.scale[r];
    }
  }
}

/// The loss of each row, its log-sum-exp, and whether it counts.
struct Losses {
  std::vector<double> loss;
  std::vector<double> lse;
  std::vector<double> counts;
};

Losses losses_of(const graph::CrossEntropyAttributes& a, const Hosts& in) {
  Losses out;
  const std::size_t n = in[0].back();
  for (std::size_t r = 0; r < in[0].v.size() / n; ++r) {
    const ConstRow x = ConstRow(in[0].v).subspan(r * n, n);
    double sum = 0;
    for (const double v : x) sum += std::exp(v);
    out.lse.push_back(std::log(sum));
    const double label = in[1].given() ? in[1].v[r] : 0;
    const bool counts =
        !in[1].given() || (label >= 0 && label < double(n) && label != double(a.ignored));
    double loss = counts && in[1].given() ? out.lse.back() - x[static_cast<std::size_t>(label)] : 0;
    for (std::size_t j = 0; j < n && !in[1].given(); ++j) {
      loss += in[2].v[r * n + j] * (out.lse.back() - x[j]);
    }
    out.loss.push_back(loss);
    out.counts.push_back(counts ? 1 : 0);
  }
  return out;
}

using ops::cross_entropy::Reduction;

void cross_entropy(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::CrossEntropyAttributes>(attributes);
  const Losses losses = losses_of(a, in);
  out[1].v = losses.lse;
  if (a.reduction == Reduction::none) {
    out[0].v = losses.loss;
    return;
  }
  out[0].v[0] = total(losses.loss);
  if (a.reduction == Reduction::mean) out[0].v[0] /= std::max(1.0, total(losses.counts));
}

void cross_entropy_back(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::CrossEntropyAttributes>(attributes);
  const Losses losses = losses_of(a, in);
  const double rows = a.reduction == Reduction::mean ? std::max(1.0, total(losses.counts)) : 1;
  each(in[0], out[0], [&](ConstRow x, Row dx, std::size_t r) {
    const double d = in[4].v[in[4].v.size() == 1 ? 0 : r] / rows * losses.counts[r];
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double t =
          in[1].given() ? (in[1].v[r] == double(j) ? 1 : 0) : in[2].v[r * x.size() + j];
      dx[j] = d * (std::exp(x[j] - losses.lse[r]) - t);
    }
  });
}

}  // namespace

void add_row_kinds(std::map<const graph::Rule*, Compute>& table) {
  using namespace graph;
  table[&kinds::reduce] = test::reduce;
  table[&kinds::cumsum] = test::cumsum;
  table[&kinds::fft] = test::fft;
  table[&kinds::sort] = test::sort;
  table[&kinds::softmax] = test::softmax;
  table[&kinds::softmax_back] = softmax_back;
  table[&kinds::norm] = norm;
  table[&kinds::norm_back] = norm_back;
  table[&kinds::cross_entropy] = test::cross_entropy;
  table[&kinds::cross_entropy_back] = cross_entropy_back;
}

}  // namespace weft::test
