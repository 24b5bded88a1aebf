// The steps of recurrent layers, in double.
#include <algorithm>
#include <cmath>

#include "double_graph.hpp"
#include "graph/kinds.hpp"
#include "ops/case.hpp"
#include "ops/recurrent_steps/recurrent_steps.hpp"

namespace weft::test {
namespace {

using ops::recurrent_steps::Cell;

double squashed(double x) { return 1 / (1 + std::exp(-x)); }

/// What one unit makes of its sums (those of all gates, without and with the products) and of what was before.
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

/// Inputs: sums, recurrent, state, memory, bias, lengths. Outputs: states, gates, and what is saved.
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

}  // namespace

void add_recurrent_kinds(std::map<const graph::Rule*, Compute>& table) {
  table[&graph::kinds::recurrent_steps] = recurrent_steps;
}

}  // namespace weft::test
