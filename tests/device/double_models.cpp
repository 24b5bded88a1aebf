// Kinds that are parts of models, in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "describe/attributes/attention.hpp"
#include "describe/attributes/conv_ssm.hpp"
#include "describe/attributes/hyper.hpp"
#include "describe/attributes/recurrence.hpp"
#include "describe/attributes/rope.hpp"
#include "describe/attributes/router.hpp"
#include "describe/attributes/sinusoid.hpp"
#include "double_graph.hpp"
#include "graph/autodiff.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"

namespace weft::test {
namespace {

using graph::as;
using graph::Attributes;
using ops::Index;

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One query's products with all keys, what they become, and its shares of the values.
struct QueryRow {
  std::vector<double> slope;  ///< d logit / d product.
  std::vector<double> share;
  double lse = 0;
};

QueryRow row_of(const graph::AttentionAttributes& a, const Hosts& in, const Index& i,
                std::uint64_t kb, std::uint64_t kh) {
  const Host& q = in[0];
  const Host& k = in[1];
  const std::uint64_t keys = k.shape[2];
  const auto bias = graph::alibi_slopes(q.shape[1], a.max_bias);
  QueryRow row{std::vector<double>(keys), std::vector<double>(keys), 0};
  std::vector<double> z(keys, -std::numeric_limits<double>::infinity());
  double sum = in[4].given() ? std::exp(in[4].v[i[1]]) : 0;
  for (std::uint64_t j = 0; j < keys; ++j) {
    const auto behind =
        static_cast<std::int64_t>(i[2] + keys - q.shape[2]) - static_cast<std::int64_t>(j);
    if (a.causal && behind < 0) continue;
    if (a.window > 0 && behind >= static_cast<std::int64_t>(a.window)) continue;
    double product = 0;
    for (std::uint64_t d = 0; d < q.shape[3]; ++d)
      product += q[{i[0], i[1], i[2], d}] * k[{kb, kh, j, d}];
    z[j] = product * double{a.scale};
    row.slope[j] = double{a.scale};
    if (a.soft_cap > 0) {
      const double t = std::tanh(z[j] / double{a.soft_cap});
      row.slope[j] *= 1 - t * t;
      z[j] = double{a.soft_cap} * t;
    }
    if (in[3].given()) {
      const Shape& m = in[3].shape;
      z[j] += double{bias[i[1]]} * in[3][{i[0] % m[0], i[1] % m[1], i[2], j}];
    }
    sum += std::exp(z[j]);
  }
  row.lse = std::log(sum);
  for (std::uint64_t j = 0; j < keys; ++j) row.share[j] = std::exp(z[j] - row.lse);
  return row;
}

/// Calls f(query, batch of k, head of k, its row).
void each_query(const graph::AttentionAttributes& a, const Hosts& in, const auto& f) {
  const Shape& q = in[0].shape;
  const Shape& k = in[1].shape;
  for (Index i(Shape{q[0], q[1], q[2]}); !i.done(); i.next()) {
    const std::uint64_t kb = i[0] / (q[0] / k[0]);
    const std::uint64_t kh = i[1] / (q[1] / k[1]);
    f(i, kb, kh, row_of(a, in, i, kb, kh));
  }
}

void attention(const Attributes& attributes, const Hosts& in, Hosts& out) {
  each_query(as<graph::AttentionAttributes>(attributes), in,
             [&](const Index& i, std::uint64_t kb, std::uint64_t kh, const QueryRow& row) {
               out[1][{i[0], i[1], i[2]}] = row.lse;
               for (std::uint64_t j = 0; j < row.share.size(); ++j) {
                 for (std::uint64_t d = 0; d < in[2].shape[3]; ++d) {
                   out[0][{i[0], i[1], i[2], d}] += row.share[j] * in[2][{kb, kh, j, d}];
                 }
               }
             });
}

void attention_back(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const Host& dy = in[7];
  each_query(as<graph::AttentionAttributes>(attributes), in,
             [&](const Index& i, std::uint64_t kb, std::uint64_t kh, const QueryRow& row) {
               const std::uint64_t keys = row.share.size();
               std::vector<double> pull(keys);
               double delta = 0;
               for (std::uint64_t j = 0; j < keys; ++j) {
                 for (std::uint64_t d = 0; d < in[2].shape[3]; ++d) {
                   const double g = dy[{i[0], i[1], i[2], d}];
                   pull[j] += g * in[2][{kb, kh, j, d}];
                   out[2][{kb, kh, j, d}] += g * row.share[j];
                 }
                 delta += pull[j] * row.share[j];
               }
               for (std::uint64_t j = 0; j < keys; ++j) {
                 const double ds = row.share[j] * (pull[j] - delta) * row.slope[j];
                 for (std::uint64_t d = 0; d < in[0].shape[3]; ++d) {
                   out[0][{i[0], i[1], i[2], d}] += ds * in[1][{kb, kh, j, d}];
                   out[1][{kb, kh, j, d}] += ds * in[0][{i[0], i[1], i[2], d}];
                 }
               }
             });
}

void rope(const Attributes& attributes, const Hosts& in, Hosts& out) {
  using ops::rope::Mode;
  const auto& a = as<graph::RopeAttributes>(attributes);
  if ((a.mode != Mode::interleaved && a.mode != Mode::halves) || a.extrapolation != 0) {
    throw std::runtime_error("no host version of this mode of rope");
  }
  out[0].v = in[0].v;
  const Shape& x = in[0].shape;
  for (Index i(Shape{x[0], x[1], x[2], a.dims / 2}); !i.done(); i.next()) {
    const double position = in[1].given() ? in[1].v[i[1]] : double(i[1]) + a.first;
    const double factor = in[2].given() ? in[2].v[i[3]] : 1;
    const double angle = position * double{a.scale} / factor *
                         std::pow(double{a.base}, -2.0 * double(i[3]) / a.dims);
    const double c = std::cos(angle) * double{a.magnitude};
    const double s = std::sin(angle) * double{a.magnitude} * (a.backward ? -1 : 1);
    const bool pairs = a.mode == Mode::interleaved;
    const std::uint64_t first = a.offset + (pairs ? 2 * i[3] : i[3]);
    const std::uint64_t second = first + (pairs ? 1 : a.dims / 2);
    const double u = in[0][{i[0], i[1], i[2], first}];
    const double v = in[0][{i[0], i[1], i[2], second}];
    out[0][{i[0], i[1], i[2], first}] = u * c - v * s;
    out[0][{i[0], i[1], i[2], second}] = u * s + v * c;
  }
}

void sinusoid(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::SinusoidAttributes>(attributes);
  const std::uint64_t half = a.size / 2;
  for (Index i(Shape{in[0].shape[0], half}); !i.done(); i.next()) {
    const double angle = in[0].v[i[0]] * std::pow(a.period, -double(i[1]) / double(half));
    out[0][{i[0], i[1]}] = std::cos(angle);
    out[0][{i[0], i[1] + half}] = std::sin(angle);
  }
}

void ssm_conv(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const bool silu = as<graph::ConvSsmAttributes>(attributes).silu;
  for (Index i(out[0].shape); !i.done(); i.next()) {
    double sum = in[2].given() ? in[2].v[i[2]] : 0;
    for (std::uint64_t t = 0; t < in[1].shape[1]; ++t) {
      sum += in[0][{i[0], i[2], i[1] + t}] * in[1][{i[2], t}];
    }
    out[0].v[out[0].place(i.values())] = silu ? sum * sigmoid(sum) : sum;
  }
}

/// One token of a recurrence for one row (value) of the state of a head.
struct Token {
  const graph::RecurrenceAttributes& a;
  const Hosts& in;
  std::uint64_t sequence, token, head, value;

  [[nodiscard]] double key(std::size_t input, std::uint64_t i) const {
    const std::uint64_t heads = in[2].shape[2];
    const std::uint64_t own = in[input].shape[2];
    const std::uint64_t h = a.interleaved ? head / (heads / own) : head % own;
    return in[input][{sequence, token, h, i}];
  }
  [[nodiscard]] double decay(std::uint64_t i) const {
    return a.kind == ops::recurrence::Kind::selective_scan ? in[3][{head, i}]
                                                           : in[3][{sequence, token, head, i}];
  }

  double step(std::vector<double>& s) const {
    using ops::recurrence::Kind;
    const double v = in[2][{sequence, token, head, value}];
    const double number = in[7].given() ? in[7][{sequence, token, head}] : 0;
    double y = 0;
    double read = 0;
    for (std::uint64_t i = 0; i < s.size(); ++i) {
      if (a.kind == Kind::rwkv6) y += (s[i] + key(1, i) * v * in[6][{head, i}]) * key(0, i);
      if (a.kind == Kind::rwkv7) read += s[i] * key(4, i);
      if (a.kind == Kind::gated_delta_rule) s[i] *= std::exp(decay(i));
      if (a.kind == Kind::gated_delta_rule) read += s[i] * key(1, i);
    }
    for (std::uint64_t i = 0; i < s.size(); ++i) {
      const double k = key(1, i);
      switch (a.kind) {
        case Kind::gated_linear_attention:
        case Kind::rwkv6: s[i] = s[i] * decay(i) + k * v; break;
        case Kind::rwkv7: s[i] = s[i] * decay(i) + k * v + read * key(5, i); break;
        case Kind::gated_delta_rule: s[i] += k * (v - read) * number; break;
        case Kind::selective_scan:
          s[i] = s[i] * std::exp(softplus(number) * decay(i)) + softplus(number) * k * v;
          break;
      }
      if (a.kind != Kind::rwkv6) y += s[i] * key(0, i);
    }
    return a.kind == Kind::gated_linear_attention || a.kind == Kind::gated_delta_rule
               ? y * double{a.scale}
               : y;
  }
};

void recurrence(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::RecurrenceAttributes>(attributes);
  const Shape& v = in[2].shape;
  for (Index i(Shape{v[0], v[2], v[3]}); !i.done(); i.next()) {
    std::vector<double> s(in[0].shape[3]);
    for (std::uint64_t k = 0; k < s.size(); ++k) s[k] = in[8][{i[0], i[1], i[2], k}];
    for (std::uint64_t t = 0; t < v[1]; ++t) {
      out[0][{i[0], t, i[1], i[2]}] = Token{a, in, i[0], t, i[1], i[2]}.step(s);
      const std::uint64_t back = v[1] - 1 - t;
      for (std::uint64_t k = 0; back < a.snapshots && k < s.size(); ++k) {
        out[1][{back, i[0], i[1], i[2], k}] = s[k];
      }
    }
    for (std::uint64_t k = 0; a.snapshots == 0 && k < s.size(); ++k) {
      out[1][{i[0], i[1], i[2], k}] = s[k];
    }
  }
}

void hyper_combine(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = as<graph::HyperAttributes>(attributes);
  Host& m = out[0];
  const double eps = a.eps;
  for (std::uint64_t t = 0; t < in[0].shape[0]; ++t) {
    for (std::uint64_t from = 0; from < 4; ++from) {
      double sum = 0;
      for (std::uint64_t to = 0; to < 4; ++to) {
        const std::uint64_t i = 8 + from * 4 + to;
        m[{t, from, to}] = std::exp(in[0][{t, i}] * in[1].v[2] + in[2].v[i]);
        sum += m[{t, from, to}];
      }
      for (std::uint64_t to = 0; to < 4; ++to) m[{t, from, to}] = m[{t, from, to}] / sum + eps;
    }
    for (std::uint32_t turn = 1; turn < 2 * a.iterations; ++turn) {
      const bool columns = turn % 2 == 1;
      for (std::uint64_t i = 0; i < 4; ++i) {
        double sum = eps;
        const auto at = [&](std::uint64_t j) -> double& {
          return columns ? m[{t, j, i}] : m[{t, i, j}];
        };
        for (std::uint64_t j = 0; j < 4; ++j) sum += at(j);
        for (std::uint64_t j = 0; j < 4; ++j) at(j) /= sum;
      }
    }
  }
}

void hyper_read(const Attributes& attributes, const Hosts& in, Hosts& out) {
  const double scale = as<graph::HyperAttributes>(attributes).scale;
  for (Index i(in[0].shape); !i.done(); i.next()) {
    const double weight = in[1].given() ? in[1][{i[0], i[1]}] : sigmoid(in[2].at(i.values()));
    out[0][{i[0], i[2]}] += scale * weight * in[0].at(i.values());
  }
}

void hyper_write(const Attributes&, const Hosts& in, Hosts& out) {
  for (Index i(out[0].shape); !i.done(); i.next()) {
    double y = in[0][{i[0], i[2]}] * in[2][{i[0], i[1]}];
    if (!in[3].given()) y += in[1].at(i.values());
    for (std::uint64_t from = 0; in[3].given() && from < in[1].shape[1]; ++from) {
      y += in[1][{i[0], from, i[2]}] * in[3][{i[0], from, i[1]}];
    }
    out[0].v[out[0].place(i.values())] = y;
  }
}

void router(const Attributes& attributes, const Hosts& in, Hosts& out) {
  using ops::router::Score;
  const auto& a = as<graph::RouterAttributes>(attributes);
  const std::uint64_t experts = in[0].shape[1];
  for (std::uint64_t t = 0; t < in[0].shape[0]; ++t) {
    std::vector<double> score(experts);
    double total = 0;
    for (std::uint64_t e = 0; e < experts; ++e) total += std::exp(in[0][{t, e}]);
    for (std::uint64_t e = 0; e < experts; ++e) {
      const double x = in[0][{t, e}];
      score[e] = a.score == Score::softmax   ? std::exp(x) / total
                 : a.score == Score::sigmoid ? sigmoid(x)
                 : a.score == Score::logit   ? x
                                             : std::sqrt(softplus(x));
    }
    const auto rank = [&](std::uint64_t e) { return score[e] + (in[1].given() ? in[1].v[e] : 0); };
    std::vector<std::uint64_t> order(experts);
    for (std::uint64_t e = 0; e < experts; ++e) order[e] = e;
    std::ranges::stable_sort(order, [&](auto p, auto q) { return rank(p) > rank(q); });
    double sum = 0;
    for (std::uint64_t k = 0; k < a.count; ++k) {
      double& weight = out[0][{t, k}];
      weight = a.softmax_chosen ? std::exp(score[order[k]]) : score[order[k]];
      out[1][{t, k}] = double(order[k]);
      sum += weight;
    }
    const double divisor = a.softmax_chosen ? sum
                           : a.normalize    ? std::max(sum, double{a.least})
                                            : 1;
    for (std::uint64_t k = 0; k < a.count; ++k) out[0][{t, k}] *= double{a.scale} / divisor;
  }
}

void indexer(const Attributes&, const Hosts& in, Hosts& out) {
  const Shape& q = in[0].shape;
  for (Index i(out[0].shape); !i.done(); i.next()) {
    double y = in[3].given() ? in[3][{i[0] % in[3].shape[0], i[1], i[2]}] : 0;
    for (std::uint64_t h = 0; h < q[2]; ++h) {
      double product = 0;
      for (std::uint64_t d = 0; d < q[3]; ++d)
        product += in[0][{i[0], i[1], h, d}] * in[1][{i[0], i[2], d}];
      y += std::max(product, 0.0) * in[2][{i[0], i[1], h}];
    }
    out[0].v[out[0].place(i.values())] = y;
  }
}

}  // namespace

void add_model_kinds(std::map<const graph::Rule*, Compute>& table) {
  using namespace graph;
  table[&kinds::attention] = test::attention;
  table[&kinds::attention_back] = attention_back;
  table[&kinds::rope] = test::rope;
  table[&kinds::sinusoid] = test::sinusoid;
  table[&kinds::ssm_conv] = test::ssm_conv;
  table[&kinds::recurrence] = test::recurrence;
  table[&kinds::hyper_combine] = test::hyper_combine;
  table[&kinds::hyper_read] = test::hyper_read;
  table[&kinds::hyper_write] = test::hyper_write;
  table[&kinds::index_scores] = indexer;
  table[&kinds::route] = router;
}

}  // namespace weft::test
