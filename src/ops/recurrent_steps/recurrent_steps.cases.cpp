#include <cmath>

#include "base/format.hpp"
#include "ops/recurrent_steps/cases.hpp"

namespace weft::ops::recurrent_steps {
namespace {

double squashed(double x) { return 1 / (1 + std::exp(-x)); }

/// Places of the tensors of a case.
enum Place : std::uint8_t { sums, recurrent, state, memory, bias, lengths, states, gates, saved };

/// One unit of one sequence in one step: `v` are the products, sums and gates lie `apart` elements
/// from each other.
double unit_of(Cell cell, const double* v, const double* sum, double* gate, double* save,
               std::size_t apart, double before, double old, double bias) {
  switch (cell) {
    case Cell::lstm: {
      gate[0] = squashed(sum[0] + v[0]);
      gate[apart] = squashed(sum[apart] + v[1]);
      gate[2 * apart] = std::tanh(sum[2 * apart] + v[2]);
      gate[3 * apart] = squashed(sum[3 * apart] + v[3]);
      *save = gate[apart] * old + gate[0] * gate[2 * apart];
      return gate[3 * apart] * std::tanh(*save);
    }
    case Cell::gru: {
      *save = v[2] + bias;
      gate[0] = squashed(sum[0] + v[0]);
      gate[apart] = squashed(sum[apart] + v[1]);
      gate[2 * apart] = std::tanh(sum[2 * apart] + gate[0] * *save);
      return gate[2 * apart] + gate[apart] * (before - gate[2 * apart]);
    }
    case Cell::tanh: gate[0] = std::tanh(sum[0] + v[0]); break;
    case Cell::relu: gate[0] = std::max(sum[0] + v[0], 0.0); break;
  }
  return gate[0];
}

void reference(const Options& o, std::span<HostTensor> t) {
  const std::uint64_t gate_count = gates_of(o.cell);
  const std::uint64_t units = o.hidden;
  const bool saves = o.cell == Cell::lstm || o.cell == Cell::gru;
  double none = 0;
  for (Index i(std::vector{o.directions, o.batch}); !i.done(); i.next()) {
    const std::uint64_t start = (i[0] * o.batch + i[1]) * units;
    std::vector<double> h(units);
    std::vector<double> c(units);
    for (std::uint64_t u = 0; u < units && o.started; ++u) {
      h[u] = t[state].values[start + u];
      c[u] = t[memory].values[start + u];
    }
    for (std::uint64_t s = 0; s < o.tokens; ++s) {
      const std::uint64_t token = i[0] == 1 || o.reverse ? o.tokens - 1 - s : s;
      const std::uint64_t row = (i[0] * o.tokens + token) * o.batch + i[1];
      const bool ended = o.lengths && static_cast<double>(token) >= t[lengths].values[i[1]];
      std::vector<double> next = h;
      for (std::uint64_t u = 0; u < units; ++u) {
        double v[4] = {};
        for (std::uint64_t g = 0; g < gate_count; ++g) {
          for (std::uint64_t k = 0; k < units; ++k) {
            v[g] += h[k] * t[recurrent].values[((i[0] * gate_count + g) * units + u) * units + k];
          }
        }
        double* gate = &t[gates].values[row * gate_count * units + u];
        double* save = saves ? &t[saved].values[row * units + u] : &none;
        if (ended) {
          for (std::uint64_t g = 0; g < gate_count; ++g) gate[g * units] = 0;
          *save = o.cell == Cell::lstm ? c[u] : 0;
        } else {
          const double of_n = o.biased ? t[bias].values[i[0] * units + u] : 0;
          next[u] =
              round_to(o.dtype, unit_of(o.cell, v, &t[sums].values[row * gate_count * units + u],
                                        gate, save, units, h[u], c[u], of_n));
          if (o.cell == Cell::lstm) c[u] = *save;
        }
        t[states].values[row * units + u] = next[u];
      }
      h = next;
    }
  }
}

Case step_case(const std::string& label, const Options& o) {
  const std::uint64_t gate_count = gates_of(o.cell);
  const bool saves = o.cell == Cell::lstm || o.cell == Cell::gru;
  Case test;
  test.name = label;
  // A state that is rounded the other way moves everything behind it.
  test.epsilons = o.dtype == DType::f32 ? 64 : o.dtype == DType::f16 ? 20000 : 160000;
  const auto tensor = [](DType dtype, std::vector<std::uint64_t> shape, double size) {
    return TensorSpec{.dtype = dtype, .shape = std::move(shape), .low = -size, .high = size};
  };
  const auto result = [](DType dtype, std::vector<std::uint64_t> shape) {
    return TensorSpec{.dtype = dtype, .shape = std::move(shape), .output = true};
  };
  const double weight = 1 / std::sqrt(static_cast<double>(o.hidden));
  test.tensors = {
      tensor(DType::f32, {o.directions, o.tokens, o.batch, gate_count * o.hidden}, 2),
      tensor(o.dtype, {o.directions, gate_count * o.hidden, o.hidden}, weight),
      tensor(o.dtype, {o.directions, o.batch, o.hidden}, 1),
      tensor(DType::f32, {o.directions, o.batch, o.hidden}, 1),
      tensor(DType::f32, {o.directions, o.hidden}, 1),
      {.dtype = DType::i32, .shape = {o.batch}, .low = 0, .high = static_cast<double>(o.tokens)},
      result(o.dtype, {o.directions, o.tokens, o.batch, o.hidden}),
      result(DType::f32, {o.directions, o.tokens, o.batch, gate_count * o.hidden})};
  if (saves) {
    test.tensors.push_back(result(DType::f32, {o.directions, o.tokens, o.batch, o.hidden}));
  }
  if (o.views) {
    test.tensors[sums].order = {3, 1, 0, 2};
    test.tensors[recurrent].order = {2, 0, 1};
    test.tensors[state].offset = 3;
    test.tensors[state].pad = 1;
    test.tensors[memory].order = {1, 2, 0};
    test.tensors[bias].step = 2;
    test.tensors[lengths].step = 3;
  }
  test.plan = [o, saves](std::span<const View> v, const Caps& caps) {
    Args args{.cell = o.cell,
              .sums = v[sums],
              .recurrent = v[recurrent],
              .states = v[states],
              .gates = v[gates],
              .reverse = o.reverse,
              .product = o.product};
    if (o.started) args.state = v[state];
    if (o.started && o.cell == Cell::lstm) args.memory = v[memory];
    if (o.biased && o.cell == Cell::gru) args.bias = v[bias];
    if (o.lengths) args.lengths = v[lengths];
    if (saves) args.saved = v[saved];
    return plan(args, caps);
  };
  test.reference = [o](std::span<HostTensor> t) { reference(o, t); };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const Cell cell : {Cell::lstm, Cell::gru, Cell::tanh, Cell::relu}) {
    const std::string label(name(cell));
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      out.push_back(
          step_case(formatted("{}_{}", label, name(type)), {.cell = cell, .dtype = type}));
    }
    out.push_back(step_case(label + "_both", {.cell = cell, .directions = 2, .lengths = true}));
    out.push_back(step_case(label + "_plain", {.cell = cell,
                                               .batch = 5,
                                               .hidden = 7,
                                               .reverse = true,
                                               .started = false,
                                               .biased = false}));
    out.push_back(step_case(label + "_views", {.cell = cell, .batch = 2, .views = true}));
    out.push_back(step_case(label + "_own", {.cell = cell,
                                             .directions = 2,
                                             .batch = 9,
                                             .hidden = 68,
                                             .dtype = DType::f16,
                                             .product = Product::own}));
    out.push_back(step_case(label + "_gemm", {.cell = cell,
                                              .directions = 2,
                                              .batch = 9,
                                              .hidden = 68,
                                              .lengths = true,
                                              .product = Product::gemm}));
    out.push_back(step_case(label + "_random", {.cell = cell,
                                                .directions = random.between(1, 2),
                                                .tokens = random.between(1, 5),
                                                .batch = random.between(1, 40),
                                                .hidden = random.between(1, 70),
                                                .lengths = random.between(0, 1) == 1}));
  }
  for (const Cell cell : {Cell::lstm, Cell::gru}) {
    Case test = step_case(formatted("{}_matrices", name(cell)), {.cell = cell,
                                                                 .directions = 2,
                                                                 .tokens = 2,
                                                                 .batch = 9,
                                                                 .hidden = 64,
                                                                 .dtype = DType::f16,
                                                                 .lengths = true});
    test.plan = [plan = std::move(test.plan)](std::span<const View> views, const Caps& caps) {
      Caps quick = caps;  // of devices whose matrix units are quick, with many processors
      quick.traits.matrix_units = true;
      quick.traits.processors = 1000;
      return plan(views, quick);
    };
    out.push_back(std::move(test));
  }
  out.push_back(step_case("one", {.tokens = 1, .batch = 1, .hidden = 1}));
  out.push_back(step_case("no_tokens", {.tokens = 0}));
  out.push_back(step_case("one_sequence", {.tokens = 2, .batch = 1, .hidden = 260}));
  out.push_back(step_case("wide", {.directions = 2, .tokens = 33, .batch = 65, .hidden = 32}));
  {
    Case shared = step_case("over_its_sums", {.directions = 2, .lengths = true});
    shared.tensors[gates].same_as = sums;
    shared.tensors[gates].low = -2;
    shared.tensors[gates].high = 2;
    out.push_back(std::move(shared));
  }
  Case bench = step_case("bench_lstm_32x1024_f16",
                         {.tokens = 16, .batch = 32, .hidden = 1024, .dtype = DType::f16});
  bench.test = false;
  bench.bench = true;
  bench.reference = nullptr;
  bench.flops = 16.0 * 2 * 32 * 4096 * 1024;
  out.push_back(std::move(bench));
  for (Case& each : back_cases(seed)) out.push_back(std::move(each));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {
      "recurrent_steps",
      "All steps of an LSTM, a GRU or a plain recurrent layer, one launch each with the product "
      "with the state before, and back through them",
      "f32 f16 bf16 (sums and gates f32)", cases};
}

}  // namespace weft::ops::recurrent_steps
