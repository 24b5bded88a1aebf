#include "ops/attention/cases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/map/map.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/stages.hpp"

namespace weft::ops::attention {

double slope_of(std::uint64_t head, std::uint64_t heads, double max_bias) {
  if (max_bias <= 0) return 1;
  const std::uint64_t whole = std::bit_floor(heads);
  const double base = max_bias / static_cast<double>(whole);
  return head < whole ? std::exp2(-base * static_cast<double>(head + 1))
                      : std::exp2(-base / 2 * static_cast<double>(2 * (head - whole) + 1));
}

std::vector<double> logits_of(const Rules& rules, const HostTensor& q, const HostTensor& k,
                              const HostTensor* mask, std::uint64_t b, std::uint64_t h,
                              std::uint64_t i) {
  const std::uint64_t keys = k.shape[2];
  const std::uint64_t size = q.shape[3];
  const std::uint64_t kb = b / (q.shape[0] / k.shape[0]);
  const std::uint64_t kh = h / (q.shape[1] / k.shape[1]);
  const double* q_row = &q.values[((b * q.shape[1] + h) * q.shape[2] + i) * size];
  const double slope = slope_of(h, q.shape[1], rules.max_bias);
  const auto position = static_cast<std::int64_t>(i + keys) - static_cast<std::int64_t>(q.shape[2]);
  std::vector<double> z(keys);
  for (std::uint64_t j = 0; j < keys; ++j) {
    const double* k_row = &k.values[((kb * k.shape[1] + kh) * keys + j) * size];
    double sum = 0;
    for (std::uint64_t d = 0; d < size; ++d) sum += q_row[d] * k_row[d];
    sum *= rules.scale;
    if (rules.soft_cap > 0) sum = rules.soft_cap * std::tanh(sum / rules.soft_cap);
    if (mask != nullptr) {
      const std::uint64_t at =
          (b % mask->shape[0] * mask->shape[1] + h % mask->shape[1]) * mask->shape[2] + i;
      sum += slope * mask->values[at * keys + j];
    }
    const std::int64_t behind = position - static_cast<std::int64_t>(j);
    const bool seen = (!rules.causal || behind >= 0) &&
                      (rules.window == 0 || behind < static_cast<std::int64_t>(rules.window));
    z[j] = seen ? sum : -std::numeric_limits<double>::infinity();
  }
  return z;
}

void forward_host(const Rules& rules, const HostTensor& q, const HostTensor& k, const HostTensor& v,
                  const HostTensor* mask, const HostTensor* sinks, HostTensor& y, HostTensor* lse) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const std::uint64_t columns = v.shape[3];
  std::uint64_t row = 0;
  for (Index at(std::span(q.shape).first(3)); !at.done(); at.next(), ++row) {
    const std::vector<double> z = logits_of(rules, q, k, mask, at[0], at[1], at[2]);
    const double sink = sinks == nullptr ? none : sinks->values[at[1]];
    double most = sink;
    for (const double value : z) most = std::max(most, value);
    double sum = most == none ? 0 : std::exp(sink - most);
    std::vector<double> out(columns);
    const std::uint64_t head =
        at[0] / (q.shape[0] / k.shape[0]) * k.shape[1] + at[1] / (q.shape[1] / k.shape[1]);
    for (std::uint64_t j = 0; j < z.size() && most != none; ++j) {
      const double weight = std::exp(z[j] - most);
      sum += weight;
      for (std::uint64_t d = 0; d < columns; ++d) {
        out[d] += weight * v.values[(head * z.size() + j) * columns + d];
      }
    }
    for (std::uint64_t d = 0; d < columns; ++d) {
      y.values[row * columns + d] = sum == 0 ? 0 : out[d] / sum;
    }
    if (lse != nullptr) {
      lse->values[row] = sum == 0 ? round_to(DType::f32, -3.0e38) : most + std::log(sum);
    }
  }
}

double flops_of(const Setup& setup) {
  const auto& q = setup.q.shape;
  double pairs = static_cast<double>(setup.k.shape[2]);
  if (setup.rules.causal) pairs -= static_cast<double>(q[2] - 1) / 2;
  if (setup.rules.window > 0) pairs = std::min(pairs, static_cast<double>(setup.rules.window));
  return 2.0 * static_cast<double>(q[0] * q[1] * q[2]) * pairs *
         static_cast<double>(q[3] + setup.v.shape[3]);
}

Setup make_setup(const Shape& shape, DType type) {
  const auto other = [](std::uint64_t value, std::uint64_t fallback) {
    return value == 0 ? fallback : value;
  };
  const std::uint64_t key_batch = other(shape.key_batch, shape.batch);
  const std::uint64_t key_heads = other(shape.key_heads, shape.heads);
  const std::uint64_t value_size = other(shape.value_size, shape.size);
  Setup setup;
  setup.q = {.dtype = type, .shape = {shape.batch, shape.heads, shape.queries, shape.size}};
  setup.k = {.dtype = type, .shape = {key_batch, key_heads, shape.keys, shape.size}};
  setup.v = {.dtype = type, .shape = {key_batch, key_heads, shape.keys, value_size}};
  setup.y = {.dtype = type, .shape = {shape.batch, shape.heads, shape.queries, value_size}};
  setup.rules.scale = 1.0F / std::sqrt(static_cast<float>(std::max<std::uint64_t>(1, shape.size)));
  return setup;
}

void add_mask(Setup& setup, DType type, std::uint64_t batches, std::uint64_t heads) {
  setup.has_mask = true;
  setup.mask = {.dtype = type,
                .shape = {batches, heads, setup.q.shape[2], setup.k.shape[2]},
                .fill = Fill::masked};
}

namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

/// A plan for attention with the mask of Setup::hides, which it makes first.
Result<Plan> plan_hiding(Args args, const Caps& caps) {
  Stages stages{args.q, args.k, args.v, args.y, args.lse};
  const std::uint64_t queries = args.q.shape[2];
  const std::uint64_t keys = args.k.shape[2];
  args.mask = stages.scratch(DType::f32, {1, 1, queries, keys});
  const auto fill = [&](const View& part, float value) {
    stages.add(map::plan({.function = "fill", .inputs = {}, .y = part, .scalars = {value}}, caps));
  };
  fill(args.mask, 0);
  fill(args.mask.slice(2, 0, queries / 2).slice(3, keys / 2, keys - keys / 2), never);
  fill(args.mask.slice(2, queries - 1, 1), never);
  stages.add(plan(args, caps));
  return std::move(stages).finish();
}

/// The same mask in the host.
HostTensor hiding_mask(std::uint64_t queries, std::uint64_t keys) {
  HostTensor mask{DType::f32, {1, 1, queries, keys}, {}, {}};
  for (std::uint64_t i = 0; i < queries; ++i) {
    for (std::uint64_t j = 0; j < keys; ++j) {
      const bool hidden = (i < queries / 2 && j >= keys / 2) || i == queries - 1;
      mask.values.push_back(hidden ? static_cast<double>(never) : 0.0);
    }
  }
  return mask;
}

}  // namespace

Case make_case(const std::string& name, Setup setup) {
  Case test;
  test.name = name;
  test.epsilons = setup.epsilons;
  test.scale = setup.scale;
  test.matrix_epsilons = rounded_weights;
  test.tensors = {setup.q, setup.k, setup.v};
  const auto push = [&](bool wanted, TensorSpec spec) -> int {
    if (!wanted) return -1;
    test.tensors.push_back(std::move(spec));
    return static_cast<int>(test.tensors.size()) - 1;
  };
  const int mask = push(setup.has_mask, setup.mask);
  const int sinks = push(setup.has_sinks, {.shape = {setup.q.shape[1]}, .low = -3, .high = 3});
  setup.y.output = true;
  const int y = push(true, setup.y);
  const std::vector<std::uint64_t> rows(setup.q.shape.begin(), setup.q.shape.end() - 1);
  const int lse = push(setup.has_lse, {.shape = rows, .output = true});
  const auto rules = setup.rules;
  test.plan = [=, kernel = setup.kernel, packs = setup.packs, hides = setup.hides](
                  std::span<const View> views, const Caps& caps) {
    const auto view = [&](int index) {
      return index < 0 ? View{} : views[static_cast<std::size_t>(index)];
    };
    Args args{.q = views[0],
              .k = views[1],
              .v = views[2],
              .y = view(y),
              .mask = view(mask),
              .sinks = view(sinks),
              .lse = view(lse),
              .rules = rules,
              .kernel = kernel};
    if (packs) {
      const auto shape = args.y.extents();
      const View tokens = View::dense(DType::f32, {shape[0], shape[2], shape[1] * shape[3]});
      const auto pack = [&] {
        Stages stages{args.q, args.k, args.v, args.y};
        args.packed = stages.scratch(DType::u32, mul_mat::packed_view(tokens).extents());
        stages.add(plan(args, caps));
        return std::move(stages).finish();
      };
      auto planned = pack();
      if (planned || kernel != "stream" || planned.error().code != ErrorCode::unsupported)
        return planned;
      args.kernel = "decode";  // what packs on a device without subgroups
      return pack();
    }
    const auto plan_it = [&] { return hides ? plan_hiding(args, caps) : plan(args, caps); };
    auto planned = plan_it();
    if (planned || kernel.empty() || planned.error().code != ErrorCode::unsupported) return planned;
    // A device without matrix units runs the case all the same.
    args.kernel = {};
    return plan_it();
  };
  if (setup.bench) {
    test.test = false;
    test.bench = true;
    test.flops = flops_of(setup);
    return test;
  }
  test.reference = [=, hides = setup.hides](std::span<HostTensor> t) {
    const HostTensor made = hides ? hiding_mask(t[0].shape[2], t[1].shape[2]) : HostTensor{};
    const auto at = [&](int index) {
      return index < 0 ? nullptr : &t[static_cast<std::size_t>(index)];
    };
    forward_host(rules, t[0], t[1], t[2], hides ? &made : at(mask), at(sinks), *at(y), at(lse));
  };
  return test;
}

}  // namespace weft::ops::attention
