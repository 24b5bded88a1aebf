// The steps of recurrent layers, in double.
#include <algorithm>
#include <cmath>

#include "describe/attributes/recurrent_steps.hpp"
#include "double_graph.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"

namespace weft::test {
namespace {

using ops::recurrent_steps::Cell;

double squashed(double x) { return 1 / (1 + std::exp(-x)); }

/// What one unit makes of its sums (those of all gates, without and with the products) and of what
/// was before.
double unit_of(Cell cell, const double* sum, const double* product, double before, double& memory,
               double* gate, double& saved) {
  if (cell == Cell::lstm) {
    for (const int k : {0, 1, 3}) gate[k] = squashed(sum[k] + product[k]);
    gate[2] = std::tanh(sum[2] + product[2]);
    memory = saved = gate[1] * memory + gate[0] * gate[2];
    return gate[3] * std::tanh(memory);
  }
  if (cell == Cell::gru) {
    for (const int k : {0, 1}) gate[k] = squashed(sum[k] + product[k]);
    saved = product[2];
    gate[2] = std::tanh(sum[2] + gate[0] * saved);
    return (1 - gate[1]) * gate[2] + gate[1] * before;
  }
  gate[0] =
      cell == Cell::tanh ? std::tanh(sum[0] + product[0]) : std::max(sum[0] + product[0], 0.0);
  return gate[0];
}

/// Inputs: sums, recurrent, state, memory, bias, lengths. Outputs: states, gates, and what is
/// saved.
void recurrent_steps(const graph::Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = graph::as<graph::RecurrentStepsAttributes>(attributes);
  const auto cell = static_cast<Cell>(a.cell);
  const std::uint64_t gates = ops::recurrent_steps::gates_of(cell);
  const Shape& shape = out[0].shape;  // directions, tokens, batch, hidden
  const std::uint64_t hidden = shape[3];
  for (ops::Index i(Shape{shape[0], shape[2]}); !i.done(); i.next()) {
    std::vector<double> h(hidden);
    std::vector<double> c(hidden);
    for (std::uint64_t u = 0; u < hidden; ++u) {
      if (in[2].given()) h[u] = in[2][{i[0], i[1], u}];
      if (in[3].given()) c[u] = in[3][{i[0], i[1], u}];
    }
    for (std::uint64_t step = 0; step < shape[1]; ++step) {
      const std::uint64_t t = a.reverse || i[0] == 1 ? shape[1] - 1 - step : step;
      const bool ended = in[5].given() && static_cast<double>(t) >= in[5].v[i[1]];
      std::vector<double> next = h;
      for (std::uint64_t u = 0; u < hidden; ++u) {
        double sum[4] = {};
        double product[4] = {};
        double gate[4] = {};
        double saved = ended && cell == Cell::lstm ? c[u] : 0;
        for (std::uint64_t g = 0; g < gates; ++g) {
          sum[g] = in[0][{i[0], t, i[1], g * hidden + u}];
          for (std::uint64_t k = 0; k < hidden; ++k) {
            product[g] += in[1][{i[0], g * hidden + u, k}] * h[k];
          }
        }
        if (in[4].given()) product[2] += in[4][{i[0], u}];
        if (!ended) next[u] = unit_of(cell, sum, product, h[u], c[u], gate, saved);
        out[0][{i[0], t, i[1], u}] = next[u];
        for (std::uint64_t g = 0; g < gates; ++g) {
          out[1][{i[0], t, i[1], g * hidden + u}] = gate[g];
        }
        if (out.size() > 2) out[2][{i[0], t, i[1], u}] = saved;
      }
      h = next;
    }
  }
}

/// What one unit sends to its sums (those of a gru in the order n, r, z and the product for n);
/// `dh` becomes what the state before gets besides products, `dc` what the memory before gets.
void unit_back(Cell cell, const double* gate, double before, double saved, double& dh, double& dc,
               double* d) {
  if (cell == Cell::lstm) {
    const double t = std::tanh(gate[1] * before + gate[0] * gate[2]);
    dc += dh * gate[3] * (1 - t * t);
    d[0] = dc * gate[2] * gate[0] * (1 - gate[0]);
    d[1] = dc * before * gate[1] * (1 - gate[1]);
    d[2] = dc * gate[0] * (1 - gate[2] * gate[2]);
    d[3] = dh * t * gate[3] * (1 - gate[3]);
    dc *= gate[1];
    dh = 0;
  } else if (cell == Cell::gru) {
    d[0] = dh * (1 - gate[1]) * (1 - gate[2] * gate[2]);
    d[1] = d[0] * saved * gate[0] * (1 - gate[0]);
    d[2] = dh * (before - gate[2]) * gate[1] * (1 - gate[1]);
    d[3] = d[0] * gate[0];
    dh *= gate[1];
  } else {
    d[0] = cell == Cell::tanh ? dh * (1 - gate[0] * gate[0]) : (gate[0] > 0 ? dh : 0);
    dh = 0;
  }
}

/// Inputs: recurrent, gates, saved, states, state, memory, lengths, dstates, dsaved. Outputs:
/// dsums, dstart.
void recurrent_steps_back(const graph::Attributes& attributes, const Hosts& in, Hosts& out) {
  const auto& a = graph::as<graph::RecurrentStepsAttributes>(attributes);
  const auto cell = static_cast<Cell>(a.cell);
  const bool lstm = cell == Cell::lstm;
  const std::uint64_t gates = ops::recurrent_steps::gates_of(cell);
  const std::uint64_t sums = cell == Cell::gru ? 4 : gates;
  const std::uint64_t skipped = cell == Cell::gru ? 1 : 0;  // sums that take no part in products
  const Shape& shape = in[3].shape;                         // directions, tokens, batch, hidden
  const std::uint64_t hidden = shape[3];
  for (ops::Index i(Shape{shape[0], shape[2]}); !i.done(); i.next()) {
    std::vector<double> dh(hidden);
    std::vector<double> dc(hidden);
    for (std::uint64_t step = shape[1]; step-- > 0;) {
      const bool back = a.reverse || i[0] == 1;
      const std::uint64_t t = back ? shape[1] - 1 - step : step;
      const std::uint64_t earlier = back ? t + 1 : t - 1;
      const bool ended = in[6].given() && static_cast<double>(t) >= in[6].v[i[1]];
      std::vector<double> products(hidden);
      for (std::uint64_t u = 0; u < hidden; ++u) {
        if (in[7].given()) dh[u] += in[7][{i[0], t, i[1], u}];
        if (in[8].given()) dc[u] += in[8][{i[0], t, i[1], u}];
        const Host& first = in[lstm ? 5 : 4];
        double before = first.given() ? first[{i[0], i[1], u}] : 0;
        if (step > 0) before = in[lstm ? 2 : 3][{i[0], earlier, i[1], u}];
        double gate[4] = {};
        double d[4] = {};
        for (std::uint64_t g = 0; g < gates; ++g) gate[g] = in[1][{i[0], t, i[1], g * hidden + u}];
        const double saved = in[2].given() ? in[2][{i[0], t, i[1], u}] : 0;
        if (!ended) unit_back(cell, gate, before, saved, dh[u], dc[u], d);
        for (std::uint64_t g = 0; g < sums; ++g) {
          out[0][{i[0], t, i[1], g * hidden + u}] = d[g];
          if (g < skipped) continue;
          for (std::uint64_t k = 0; k < hidden; ++k) {
            products[k] += d[g] * in[0][{i[0], (g - skipped) * hidden + u, k}];
          }
        }
      }
      for (std::uint64_t u = 0; u < hidden; ++u) dh[u] += products[u];
    }
    for (std::uint64_t u = 0; u < hidden; ++u) {
      out[1][{0, i[0], i[1], u}] = dh[u];
      if (lstm) out[1][{1, i[0], i[1], u}] = dc[u];
    }
  }
}

}  // namespace

void add_recurrent_kinds(std::map<const graph::Rule*, Compute>& table) {
  table[&graph::kinds::recurrent_steps] = recurrent_steps;
  table[&graph::kinds::recurrent_steps_back] = recurrent_steps_back;
}

}  // namespace weft::test
