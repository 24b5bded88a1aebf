#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "ops/attention/cases.hpp"

namespace weft::ops::attention {
namespace {

/// Gradients in double by the chain rule, each logit for itself.
void backward_host(const Rules& rules, std::span<HostTensor> t, const HostTensor* mask) {
  const HostTensor& q = t[0];
  const HostTensor& k = t[1];
  const HostTensor& v = t[2];
  const HostTensor& dy = t[3];
  HostTensor& y = t[t.size() - 5];
  HostTensor& lse = t[t.size() - 4];
  HostTensor& dq = t[t.size() - 3];
  HostTensor& dk = t[t.size() - 2];
  HostTensor& dv = t[t.size() - 1];
  forward_host(rules, q, k, v, mask, nullptr, y, &lse);
  for (HostTensor* out : {&dq, &dk, &dv}) out->values.assign(out->values.size(), 0.0);
  const std::uint64_t size = q.shape[3];
  const std::uint64_t columns = v.shape[3];
  const std::uint64_t keys = k.shape[2];
  std::uint64_t row = 0;
  for (Index at(std::span(q.shape).first(3)); !at.done(); at.next(), ++row) {
    const std::vector<double> z = logits_of(rules, q, k, mask, at[0], at[1], at[2]);
    const std::uint64_t head =
        at[0] / (q.shape[0] / k.shape[0]) * k.shape[1] + at[1] / (q.shape[1] / k.shape[1]);
    double delta = 0;
    for (std::uint64_t d = 0; d < columns; ++d) {
      delta += dy.values[row * columns + d] * y.values[row * columns + d];
    }
    for (std::uint64_t j = 0; j < keys; ++j) {
      if (z[j] == -std::numeric_limits<double>::infinity()) continue;
      const double weight = std::exp(z[j] - lse.values[row]);
      const std::uint64_t key = head * keys + j;
      double gain = 0;
      for (std::uint64_t d = 0; d < columns; ++d) {
        gain += dy.values[row * columns + d] * v.values[key * columns + d];
        dv.values[key * columns + d] += weight * dy.values[row * columns + d];
      }
      double product = 0;
      for (std::uint64_t d = 0; d < size; ++d) {
        product += q.values[row * size + d] * k.values[key * size + d];
      }
      double slope = rules.scale;
      if (rules.soft_cap > 0) {
        const double x = std::tanh(product * rules.scale / rules.soft_cap);
        slope *= 1 - x * x;
      }
      const double dz = weight * (gain - delta) * slope;
      for (std::uint64_t d = 0; d < size; ++d) {
        dq.values[row * size + d] += dz * k.values[key * size + d];
        dk.values[key * size + d] += dz * q.values[row * size + d];
      }
    }
  }
}

/// Gradients of sum(dy * y) by differences of the forward pass, which know nothing of the chain
/// rule.
void numeric_host(const Rules& rules, std::span<HostTensor> t, const HostTensor* mask) {
  HostTensor& y = t[t.size() - 5];
  HostTensor& lse = t[t.size() - 4];
  const auto loss = [&] {
    forward_host(rules, t[0], t[1], t[2], mask, nullptr, y, &lse);
    double sum = 0;
    for (std::size_t i = 0; i < y.values.size(); ++i) sum += y.values[i] * t[3].values[i];
    return sum;
  };
  constexpr double step = 1e-5;
  for (std::size_t input = 0; input < 3; ++input) {
    HostTensor& gradient = t[t.size() - 3 + input];
    for (std::size_t i = 0; i < t[input].values.size(); ++i) {
      const double kept = t[input].values[i];
      t[input].values[i] = kept + step;
      const double above = loss();
      t[input].values[i] = kept - step;
      const double below = loss();
      t[input].values[i] = kept;
      gradient.values[i] = (above - below) / (2 * step);
    }
  }
  loss();
}

/// A forward pass followed by a backward pass in one plan: q, k, v, dy, mask if any, then y, lse,
/// dq, dk, dv.
Case make_backward(const std::string& label, Setup setup, bool numeric = false) {
  Case test;
  test.name = label;
  test.epsilons = setup.epsilons;
  // A gradient of k or v is a sum over all queries that share it.
  test.scale = std::sqrt(static_cast<double>(setup.q.shape[2]) * 4) * setup.scale;
  TensorSpec dy = setup.y;
  setup.y.output = true;
  const auto like = [](TensorSpec spec) {
    spec.output = true;
    spec.same_as = -1;
    return spec;
  };
  test.tensors = {setup.q, setup.k, setup.v, dy};
  const int mask = setup.has_mask ? 4 : -1;
  if (setup.has_mask) test.tensors.push_back(setup.mask);
  const std::vector<std::uint64_t> rows(setup.q.shape.begin(), setup.q.shape.end() - 1);
  const std::size_t outputs = test.tensors.size();
  test.tensors.push_back(setup.y);
  test.tensors.push_back({.shape = rows, .output = true});
  for (const TensorSpec& spec : {setup.q, setup.k, setup.v}) test.tensors.push_back(like(spec));
  const Rules rules = setup.rules;
  const std::string_view kernel = setup.kernel;
  test.plan = [=](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    const View given = mask < 0 ? View{} : v[4];
    auto both = plan(Args{.q = v[0],
                          .k = v[1],
                          .v = v[2],
                          .y = v[outputs],
                          .mask = given,
                          .lse = v[outputs + 1],
                          .rules = rules},
                     caps);
    if (!both) return both;
    BackwardArgs args{.q = v[0],
                      .k = v[1],
                      .v = v[2],
                      .y = v[outputs],
                      .lse = v[outputs + 1],
                      .dy = v[3],
                      .dq = v[outputs + 2],
                      .dk = v[outputs + 3],
                      .dv = v[outputs + 4],
                      .mask = given,
                      .rules = rules,
                      .kernel = kernel};
    auto backward = plan(args, caps);
    if (!backward && !kernel.empty() && backward.error().code == ErrorCode::unsupported) {
      // A device without matrix units runs the case all the same.
      args.kernel = {};
      backward = plan(args, caps);
    }
    if (!backward) return backward;
    both->append(std::move(*backward));
    return both;
  };
  if (setup.bench) {
    test.test = false;
    test.bench = true;
    test.flops = 3.5 * flops_of(setup);  // 2 products forward, 5 backward
    return test;
  }
  test.reference = [=](std::span<HostTensor> t) {
    const HostTensor* given = mask < 0 ? nullptr : &t[4];
    numeric ? numeric_host(rules, t, given) : backward_host(rules, t, given);
  };
  return test;
}

}  // namespace

Case make_backward_bench(const std::string& name, Setup setup) {
  setup.bench = true;
  return make_backward(name, std::move(setup));
}

std::vector<Case> backward_cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](const std::string& label, const Setup& setup, bool numeric = false) {
    out.push_back(make_backward("backward_" + label, setup, numeric));
  };
  Setup small = make_setup({.batch = 2,
                            .heads = 4,
                            .queries = 5,
                            .keys = 7,
                            .size = 6,
                            .value_size = 5,
                            .key_heads = 2,
                            .key_batch = 1});
  small.epsilons = 128;
  add("numeric", small, true);
  small.rules.causal = true;
  small.rules.soft_cap = 1.3F;
  small.rules.window = 4;
  add("numeric_rules", small, true);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    Setup setup = make_setup({.batch = 2, .heads = 3, .queries = 70, .keys = 70, .size = 64}, type);
    // y is rounded to its type between the passes.
    setup.epsilons = type == DType::f32 ? 128 : type == DType::f16 ? 4096 : 32768;
    setup.rules.causal = true;
    add(formatted("causal_{}", name(type)), setup);
    setup.rules.causal = false;
    setup.q.order = setup.k.order = setup.v.order = setup.y.order = {0, 2, 1, 3};
    add(formatted("tokens_first_{}", name(type)), setup);
    Setup odd = make_setup(
        {.heads = 4, .queries = 19, .keys = 33, .size = 37, .value_size = 71, .key_heads = 2},
        type);
    odd.epsilons = setup.epsilons;
    add_mask(odd, DType::f16, 1, 2);
    odd.rules.max_bias = 8;
    odd.k.order = {3, 0, 2, 1};
    odd.y.offset = 1;
    add(formatted("odd_{}", name(type)), odd);
  }
  Setup wide = make_setup({.queries = 20, .keys = 80, .size = 256, .value_size = 192});
  wide.rules.window = 30;
  wide.epsilons = 128;
  add("wide", wide);
  Setup nothing = make_setup({.heads = 2, .queries = 40, .keys = 17, .size = 32});
  nothing.rules.causal = true;
  nothing.epsilons = 128;
  add("sees_nothing", nothing);
  Setup large =
      make_setup({.batch = 5, .heads = 4, .queries = 260, .keys = 260, .size = 64, .key_heads = 2});
  large.rules.causal = true;
  large.epsilons = 128;
  add("large", large);
  // Kernels for matrix units, whose weights are rounded to f16.
  Setup matrix = make_setup(
      {.batch = 2, .heads = 4, .queries = 50, .keys = 70, .size = 16, .key_heads = 2}, DType::f16);
  matrix.kernel = "matrix";
  matrix.epsilons = 8192;
  add("matrix", matrix);
  matrix.rules.causal = true;
  matrix.rules.window = 30;
  matrix.q.order = matrix.k.order = matrix.v.order = matrix.y.order = {0, 2, 1, 3};
  add("matrix_causal_window", matrix);
  Setup sizes =
      make_setup({.heads = 2, .queries = 33, .keys = 33, .size = 13, .value_size = 24}, DType::f16);
  sizes.kernel = "matrix";
  sizes.epsilons = 8192;
  sizes.rules.causal = true;
  add("matrix_sizes", sizes);
  // Those for heads whose rows subgroups have for themselves.
  Setup slim = make_setup(
      {.batch = 2, .heads = 4, .queries = 150, .keys = 70, .size = 16, .key_heads = 2}, DType::f16);
  slim.kernel = "slim";
  slim.epsilons = 8192;
  add("slim", slim);
  slim.rules.causal = true;
  slim.rules.window = 30;
  slim.q.order = slim.k.order = slim.v.order = slim.y.order = {0, 2, 1, 3};
  add("slim_causal_window", slim);
  // The same for bf16, whose values are scaled to f16: gradients of some size, values and gradients
  // that f16 cannot hold.
  for (const auto& [label, kernel, dy, v] :
       {std::tuple{"halves", "halves", 1.0, 1.0}, std::tuple{"halves_large", "halves", 0x1p20, 1.0},
        std::tuple{"halves_apart", "halves", 0x1p-30, 0x1p30},
        std::tuple{"matrix_halves", "matrix halves", 0x1p20, 0x1p20}}) {
    Setup halves =
        make_setup({.batch = 2, .heads = 4, .queries = 150, .keys = 70, .size = 16, .key_heads = 2},
                   DType::bf16);
    halves.kernel = kernel;
    halves.epsilons = 32768;
    halves.scale = std::max(1.0, dy * v);
    halves.y.low = -dy;
    halves.y.high = dy;
    halves.v.low = -v;
    halves.v.high = v;
    add(label, halves);
    halves.rules.causal = true;
    halves.rules.window = 30;
    halves.q.order = halves.k.order = halves.v.order = halves.y.order = {0, 2, 1, 3};
    add(formatted("{}_causal_window", label), halves);
  }
  add("no_queries", make_setup({.queries = 0, .keys = 5}));
  for (int n = 0; n < 3; ++n) {
    Shape shape;
    shape.key_heads = random.between(1, 2);
    shape.heads = shape.key_heads * random.between(1, 3);
    shape.queries = random.between(1, 80);
    shape.keys = random.between(1, 100);
    shape.size = random.between(1, 20) * 4;
    Setup setup = make_setup(shape);
    setup.rules.causal = n % 2 == 0;
    setup.epsilons = 128;
    add(formatted("random_{}", n), setup);
  }
  return out;
}

}  // namespace weft::ops::attention
