#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/recurrent_steps/cases.hpp"

namespace weft::ops::recurrent_steps {
namespace {

/// Places of the tensors of a case. The gates are any numbers: what goes back is a function of
/// them.
enum Place : std::uint8_t {
  recurrent,
  gates,
  saved,
  states,
  state,
  memory,
  lengths,
  dstates,
  dsaved,
  dsums,
  dstart
};

std::uint64_t outputs_of(Cell cell) { return cell == Cell::gru ? 4 : gates_of(cell); }

/// What a unit gives back: `d` gets its derivatives, `dh` and `dc` what is left for the step before
/// it.
void unit_of(Cell cell, const double* gate, double save, double before, double* d,
             std::size_t apart, double& dh, double& dc) {
  switch (cell) {
    case Cell::lstm: {
      const double i = gate[0];
      const double f = gate[apart];
      const double g = gate[2 * apart];
      const double o = gate[3 * apart];
      const double t = std::tanh(f * before + i * g);
      dc += dh * o * (1 - t * t);
      d[0] = dc * g * i * (1 - i);
      d[apart] = dc * before * f * (1 - f);
      d[2 * apart] = dc * i * (1 - g * g);
      d[3 * apart] = dh * t * o * (1 - o);
      dc *= f;
      dh = 0;
      return;
    }
    case Cell::gru: {
      const double r = gate[0];
      const double z = gate[apart];
      const double n = gate[2 * apart];
      const double dn = dh * (1 - z) * (1 - n * n);
      d[0] = dn;
      d[apart] = dn * save * r * (1 - r);
      d[2 * apart] = dh * (before - n) * z * (1 - z);
      d[3 * apart] = dn * r;
      dh *= z;
      return;
    }
    case Cell::tanh: d[0] = dh * (1 - gate[0] * gate[0]); break;
    case Cell::relu: d[0] = gate[0] > 0 ? dh : 0; break;
  }
  dh = 0;
}

void reference(const Options& o, std::span<HostTensor> t) {
  const std::uint64_t gate_count = gates_of(o.cell);
  const std::uint64_t outputs = outputs_of(o.cell);
  const std::uint64_t units = o.hidden;
  const bool gru = o.cell == Cell::gru;
  for (Index i(std::vector{o.directions, o.batch}); !i.done(); i.next()) {
    const std::uint64_t start = (i[0] * o.batch + i[1]) * units;
    std::vector<double> dh(units);
    std::vector<double> dc(units);
    for (std::uint64_t s = o.tokens; s-- > 0;) {
      const bool back = i[0] == 1 || o.reverse;
      const auto row_of = [&](std::uint64_t step) {
        return (i[0] * o.tokens + (back ? o.tokens - 1 - step : step)) * o.batch + i[1];
      };
      const std::uint64_t row = row_of(s);
      const double token = static_cast<double>(back ? o.tokens - 1 - s : s);
      const bool ended = o.lengths && token >= t[lengths].values[i[1]];
      std::vector<double> left(units);
      for (std::uint64_t u = 0; u < units; ++u) {
        if (o.pulled) dh[u] += t[dstates].values[row * units + u];
        if (o.pulled && o.cell == Cell::lstm) dc[u] += t[dsaved].values[row * units + u];
        double* d = &t[dsums].values[row * outputs * units + u];
        if (ended) {
          for (std::uint64_t k = 0; k < outputs; ++k) d[k * units] = 0;
          continue;
        }
        const std::vector<double>& whole = t[gru ? states : saved].values;
        const std::vector<double>& first = t[gru ? state : memory].values;
        const double before = s > 0       ? whole[row_of(s - 1) * units + u]
                              : o.started ? first[start + u]
                                          : 0;
        unit_of(o.cell, &t[gates].values[row * gate_count * units + u],
                t[saved].values[row * units + u], before, d, units, dh[u], dc[u]);
      }
      for (std::uint64_t u = 0; u < units; ++u) {
        for (std::uint64_t k = 0; k < gate_count * units; ++k) {
          left[u] += t[dsums].values[row * outputs * units + (outputs - gate_count) * units + k] *
                     t[recurrent].values[(i[0] * gate_count * units + k) * units + u];
        }
      }
      for (std::uint64_t u = 0; u < units; ++u) dh[u] += left[u];
    }
    for (std::uint64_t u = 0; u < units; ++u) {
      t[dstart].values[start + u] = dh[u];
      if (o.cell == Cell::lstm) {
        t[dstart].values[o.directions * o.batch * units + start + u] = dc[u];
      }
    }
  }
}

Case back_case(const std::string& label, const Options& o) {
  const std::uint64_t gate_count = gates_of(o.cell);
  const bool saves = o.cell == Cell::lstm || o.cell == Cell::gru;
  Case test;
  test.name = "back_" + label;
  test.epsilons = 256;
  test.matrix_epsilons = 40000;  // derivatives in 16 bits
  const std::vector<std::uint64_t> all{o.directions, o.tokens, o.batch, o.hidden};
  const std::vector<std::uint64_t> first{o.directions, o.batch, o.hidden};
  std::vector<std::uint64_t> of_gates = all;
  of_gates[3] *= gate_count;
  std::vector<std::uint64_t> of_sums = all;
  of_sums[3] *= outputs_of(o.cell);
  const double weight = 1 / std::sqrt(static_cast<double>(o.hidden));
  test.tensors = {
      {.dtype = o.dtype,
       .shape = {o.directions, gate_count * o.hidden, o.hidden},
       .low = -weight,
       .high = weight},
      {.shape = of_gates, .low = 0.1, .high = 0.9},
      {.shape = all},
      {.dtype = o.dtype, .shape = all},
      {.dtype = o.dtype, .shape = first},
      {.shape = first},
      {.dtype = DType::i32, .shape = {o.batch}, .low = 0, .high = static_cast<double>(o.tokens)},
      {.dtype = o.dtype, .shape = all},
      {.shape = all},
      {.shape = of_sums, .output = true},
      {.shape = {o.cell == Cell::lstm ? 2ULL : 1ULL, o.directions, o.batch, o.hidden},
       .output = true}};
  if (o.views) {
    test.tensors[recurrent].order = {2, 0, 1};
    test.tensors[gates].order = {3, 1, 0, 2};
    test.tensors[dstates].order = {1, 0, 2, 3};
    test.tensors[lengths].step = 2;
    test.tensors[memory].offset = 1;
  }
  test.plan = [o, saves](std::span<const View> v, const Caps& caps) {
    BackArgs args{.cell = o.cell,
                  .recurrent = v[recurrent],
                  .gates = v[gates],
                  .states = v[states],
                  .dsums = v[dsums],
                  .dstart = v[dstart],
                  .reverse = o.reverse,
                  .product = o.product};
    if (saves) args.saved = v[saved];
    if (o.started) args.state = v[state];
    if (o.started && o.cell == Cell::lstm) args.memory = v[memory];
    if (o.lengths) args.lengths = v[lengths];
    if (o.pulled) args.dstates = v[dstates];
    if (o.pulled && o.cell == Cell::lstm) args.dsaved = v[dsaved];
    return plan(args, caps);
  };
  test.reference = [o](std::span<HostTensor> t) { reference(o, t); };
  return test;
}

}  // namespace

std::vector<Case> back_cases(std::uint64_t seed) {
  Random random(seed + 1);
  std::vector<Case> out;
  for (const Cell cell : {Cell::lstm, Cell::gru, Cell::tanh, Cell::relu}) {
    const std::string label(name(cell));
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      out.push_back(
          back_case(formatted("{}_{}", label, name(type)), {.cell = cell, .dtype = type}));
    }
    out.push_back(back_case(label + "_both", {.cell = cell, .directions = 2, .lengths = true}));
    out.push_back(back_case(label + "_views", {.cell = cell, .lengths = true, .views = true}));
    out.push_back(back_case(label + "_plain", {.cell = cell,
                                               .batch = 5,
                                               .hidden = 7,
                                               .reverse = true,
                                               .started = false,
                                               .pulled = cell == Cell::lstm}));
    out.push_back(back_case(label + "_own", {.cell = cell,
                                             .directions = 2,
                                             .batch = 9,
                                             .hidden = 68,
                                             .lengths = true,
                                             .product = Product::own}));
    out.push_back(back_case(label + "_gemm", {.cell = cell,
                                              .directions = 2,
                                              .batch = 9,
                                              .hidden = 68,
                                              .dtype = DType::f16,
                                              .product = Product::gemm}));
    out.push_back(back_case(label + "_random", {.cell = cell,
                                                .directions = random.between(1, 2),
                                                .tokens = random.between(1, 5),
                                                .batch = random.between(1, 40),
                                                .hidden = random.between(1, 70),
                                                .lengths = random.between(0, 1) == 1}));
  }
  for (const Cell cell : {Cell::lstm, Cell::gru}) {
    Case test = back_case(formatted("{}_matrices", name(cell)), {.cell = cell,
                                                                 .directions = 2,
                                                                 .tokens = 2,
                                                                 .batch = 9,
                                                                 .hidden = 64,
                                                                 .dtype = DType::f16,
                                                                 .lengths = cell != Cell::gru});
    test.plan = [plan = std::move(test.plan)](std::span<const View> views, const Caps& caps) {
      Caps quick = caps;  // of devices whose matrix units are quick, with many processors
      quick.traits.matrix_units = true;
      quick.traits.processors = 1000;
      return plan(views, quick);
    };
    out.push_back(std::move(test));
  }
  out.push_back(back_case("one", {.tokens = 1, .batch = 1, .hidden = 1}));
  out.push_back(back_case("no_tokens", {.tokens = 0}));
  out.push_back(back_case("wide", {.directions = 2, .tokens = 33, .batch = 65, .hidden = 32}));
  Case bench = back_case("bench_lstm_32x1024_f16",
                         {.tokens = 16, .batch = 32, .hidden = 1024, .dtype = DType::f16});
  bench.test = false;
  bench.bench = true;
  bench.reference = nullptr;
  bench.flops = 16.0 * 2 * 32 * 4096 * 1024;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace weft::ops::recurrent_steps
