#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/recurrence/recurrence.hpp"

namespace weft::ops::recurrence {
namespace {

using Shape = std::vector<std::uint64_t>;

/// The extents of a case, and which of its tensors lie unusually.
struct Setup {
  Kind kind = Kind::gated_linear_attention;
  std::uint64_t sequences = 1;
  std::uint64_t tokens = 5;
  std::uint64_t heads = 2;
  std::uint64_t values = 16;
  std::uint64_t keys = 16;
  std::uint64_t shared_heads = 0;  ///< Heads of q and k; 0: as many as v.
  std::uint64_t snapshots = 1;
  bool interleaved = false;
  bool scalar_decay = false;
  bool ids = false;
  bool transposed_state = false;
  bool permuted = false;  ///< Heads before tokens in memory.
  std::uint64_t offset = 0;
};

bool has_step(const Setup& setup) {
  return setup.kind == Kind::gated_delta_rule || setup.kind == Kind::selective_scan;
}

/// Where a case has its tensors: q, k, v, decay, state, y, new_state, then a and b, bonus, step,
/// ids as there are.
struct Places {
  std::size_t a = 7, b = 8, bonus = 7, step = 7, ids = 7;
  explicit Places(const Setup& setup) {
    if (setup.ids) ids = has_step(setup) ? 8 : setup.kind == Kind::rwkv7 ? 9 : 7;
  }
};

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

void reference(const Setup& setup, std::span<HostTensor> t) {
  const Places at(setup);
  const std::uint64_t shared = setup.shared_heads == 0 ? setup.heads : setup.shared_heads;
  const std::uint64_t keys = setup.keys;
  const std::uint64_t decays = setup.scalar_decay ? 1 : keys;
  const double scale = 0.5;
  std::vector<double> s(keys);
  for (std::uint64_t n = 0; n < setup.sequences; ++n) {
    for (std::uint64_t h = 0; h < setup.heads; ++h) {
      const std::uint64_t kh = setup.interleaved ? h / (setup.heads / shared) : h % shared;
      for (std::uint64_t j = 0; j < setup.values; ++j) {
        const std::uint64_t from = setup.ids ? static_cast<std::uint64_t>(t[at.ids].values[n]) : n;
        for (std::uint64_t i = 0; i < keys; ++i) {
          s[i] = t[4].values[((from * setup.heads + h) * setup.values + j) * keys + i];
        }
        for (std::uint64_t k = 0; k < setup.tokens; ++k) {
          const std::uint64_t token = n * setup.tokens + k;
          const double* q = &t[0].values[(token * shared + kh) * keys];
          const double* key = &t[1].values[(token * shared + kh) * keys];
          const std::uint64_t head = token * setup.heads + h;
          const double v = t[2].values[head * setup.values + j];
          const double* w = &t[3].values[(setup.kind == Kind::selective_scan ? h : head) * decays];
          const auto decay = [&](std::uint64_t i) { return w[setup.scalar_decay ? 0 : i]; };
          double y = 0;
          double read = 0;
          const double step = has_step(setup) ? t[at.step].values[head] : 0;
          for (std::uint64_t i = 0; i < keys; ++i) {
            if (setup.kind == Kind::rwkv6)
              y += (s[i] + key[i] * v * t[at.bonus].values[h * keys + i]) * q[i];
            if (setup.kind == Kind::rwkv7) read += s[i] * t[at.a].values[head * keys + i];
            if (setup.kind == Kind::gated_delta_rule) s[i] *= std::exp(decay(i));
            if (setup.kind == Kind::gated_delta_rule) read += s[i] * key[i];
          }
          for (std::uint64_t i = 0; i < keys; ++i) {
            switch (setup.kind) {
              case Kind::gated_linear_attention:
              case Kind::rwkv6: s[i] = s[i] * decay(i) + key[i] * v; break;
              case Kind::rwkv7:
                s[i] = s[i] * decay(i) + key[i] * v + read * t[at.b].values[head * keys + i];
                break;
              case Kind::gated_delta_rule: s[i] += key[i] * (v - read) * step; break;
              case Kind::selective_scan:
                s[i] = s[i] * std::exp(softplus(step) * decay(i)) + key[i] * v * softplus(step);
                break;
            }
            if (setup.kind != Kind::rwkv6) y += s[i] * q[i];
          }
          if (setup.kind == Kind::gated_linear_attention || setup.kind == Kind::gated_delta_rule)
            y *= scale;
          t[5].values[head * setup.values + j] = y;
          const std::uint64_t slot = setup.tokens - 1 - k;
          if (slot > 0 && slot < setup.snapshots) {
            for (std::uint64_t i = 0; i < keys; ++i) {
              t[6].values[(((slot * setup.sequences + n) * setup.heads + h) * setup.values + j) *
                              keys +
                          i] = s[i];
            }
          }
        }
        for (std::uint64_t i = 0; i < keys; ++i) {
          t[6].values[((n * setup.heads + h) * setup.values + j) * keys + i] = s[i];
        }
      }
    }
  }
}

Case make_case(std::string name, const Setup& setup) {
  Case test;
  test.name = formatted("{}_{}", recurrence::name(setup.kind), name);
  const std::uint64_t shared = setup.shared_heads == 0 ? setup.heads : setup.shared_heads;
  const Shape lead{setup.sequences, setup.tokens};
  const auto tensor = [&](std::uint64_t heads, std::uint64_t inner) {
    TensorSpec spec{.shape = {lead[0], lead[1], heads, inner}, .offset = setup.offset};
    if (setup.permuted) spec.order = {0, 2, 1, 3};
    return spec;
  };
  TensorSpec q = tensor(shared, setup.keys);
  TensorSpec decay = tensor(setup.heads, setup.scalar_decay ? 1 : setup.keys);
  decay.low = 0.3;
  decay.high = 0.95;
  if (setup.kind == Kind::gated_delta_rule) {
    decay.low = -3;
    decay.high = -0.01;
  }
  if (setup.kind == Kind::selective_scan) {
    decay = {.shape = {setup.heads, setup.scalar_decay ? 1 : setup.keys}, .low = -1, .high = -0.1};
  }
  TensorSpec state{.shape = {setup.sequences, setup.heads, setup.values, setup.keys},
                   .offset = setup.offset};
  TensorSpec next{
      .shape = {setup.snapshots, setup.sequences, setup.heads, setup.values, setup.keys},
      .output = true};
  if (setup.transposed_state) {
    state.order = {0, 1, 3, 2};
    next.order = {0, 1, 2, 4, 3};
  }
  TensorSpec y = tensor(setup.heads, setup.values);
  y.output = true;
  test.tensors = {q, q, tensor(setup.heads, setup.values), decay, state, y, next};
  const TensorSpec per_key = tensor(setup.heads, setup.keys);
  if (setup.kind == Kind::rwkv7) {
    // Small, so that the state does not grow from token to token.
    test.tensors.push_back(per_key);
    test.tensors.push_back(per_key);
    test.tensors[7].low = test.tensors[8].low = -0.2;
    test.tensors[7].high = test.tensors[8].high = 0.2;
  }
  if (setup.kind == Kind::gated_delta_rule) {
    for (std::size_t i = 0; i < 2; ++i) {
      test.tensors[i].low = -0.3;
      test.tensors[i].high = 0.3;
    }
  }
  if (setup.kind == Kind::rwkv6) test.tensors.push_back({.shape = {setup.heads, setup.keys}});
  if (has_step(setup)) {
    test.tensors.push_back({.shape = {lead[0], lead[1], setup.heads}, .low = 0, .high = 1});
  }
  if (setup.ids) {
    test.tensors.push_back({.dtype = DType::i32,
                            .shape = {setup.sequences},
                            .low = 0,
                            .high = static_cast<double>(setup.sequences - 1)});
  }
  test.epsilons = 64;
  test.scale = 4 * std::sqrt(static_cast<double>(setup.keys));
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    const Places at(setup);
    Args args{.kind = setup.kind,
              .q = v[0],
              .k = v[1],
              .v = v[2],
              .decay = v[3],
              .state = v[4],
              .y = v[5],
              .new_state = v[6],
              .scale = 0.5F,
              .interleaved = setup.interleaved};
    if (setup.kind == Kind::rwkv7) {
      args.a = v[at.a];
      args.b = v[at.b];
    }
    if (setup.kind == Kind::rwkv6) args.bonus = v[at.bonus];
    if (has_step(setup)) args.step = v[at.step];
    if (setup.ids) args.ids = v[at.ids];
    return plan(args, caps);
  };
  test.reference = [setup](std::span<HostTensor> t) { reference(setup, t); };
  return test;
}

void add_kind(std::vector<Case>& out, Setup base) {
  const auto add = [&](std::string name, const Setup& setup) {
    out.push_back(make_case(std::move(name), setup));
  };
  add("plain", base);
  Setup setup = base;
  setup.tokens = 1;
  setup.keys = setup.values = 64;
  add("one_token_64", setup);
  setup.tokens = 33;
  setup.sequences = 2;
  setup.keys = 128;
  setup.values = 20;
  add("keys_128", setup);
  setup = base;
  setup.keys = 13;
  setup.values = 7;
  setup.sequences = 3;
  add("odd", setup);
  setup = base;
  setup.permuted = setup.transposed_state = true;
  setup.sequences = 2;
  setup.keys = 32;
  add("layouts", setup);
  setup = base;
  setup.offset = 1;
  setup.keys = 24;
  add("offset", setup);
  setup = base;
  setup.tokens = 0;
  add("no_tokens", setup);
}

/// Tokens that are read ahead, as devices with quick barriers do it, on any device.
void add_staged_cases(std::vector<Case>& out) {
  const auto add = [&](std::string name, const Setup& setup) {
    Case test = make_case(formatted("staged_{}", name), setup);
    test.plan = [plan = std::move(test.plan)](std::span<const View> views, const Caps& caps) {
      Caps quick = caps;
      quick.traits.slow_barriers = false;
      return plan(views, quick);
    };
    out.push_back(std::move(test));
  };
  for (const Kind kind : {Kind::gated_linear_attention, Kind::rwkv6, Kind::rwkv7,
                          Kind::gated_delta_rule, Kind::selective_scan}) {
    for (const bool scalar : {false, true}) {
      if (scalar && (kind == Kind::rwkv6 || kind == Kind::rwkv7)) continue;
      Setup setup{.kind = kind, .tokens = 37, .heads = 3, .values = 32, .keys = 64};
      setup.scalar_decay = scalar;
      add(scalar ? "scalar" : "plain", setup);
      setup.keys = 128;
      setup.values = 64;
      setup.tokens = 16;
      setup.snapshots = 3;
      add(scalar ? "scalar_128" : "128", setup);
    }
  }
  Setup layouts{.kind = Kind::gated_delta_rule, .sequences = 2, .tokens = 23, .heads = 4};
  layouts.values = layouts.keys = 64;
  layouts.shared_heads = 2;
  layouts.permuted = layouts.transposed_state = true;
  add("layouts", layouts);
  layouts.kind = Kind::selective_scan;
  layouts.interleaved = layouts.ids = true;
  layouts.permuted = false;
  layouts.values = 20;  // too few for a workgroup
  add("ids", layouts);
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  for (const Kind kind : {Kind::gated_linear_attention, Kind::rwkv6, Kind::rwkv7,
                          Kind::gated_delta_rule, Kind::selective_scan}) {
    add_kind(out, {.kind = kind});
  }
  const auto add = [&](std::string name, const Setup& setup) {
    out.push_back(make_case(std::move(name), setup));
  };
  add("scalar_decay", {.kind = Kind::gated_delta_rule, .keys = 32, .scalar_decay = true});
  add("scalar_decay", {.kind = Kind::selective_scan, .keys = 32, .scalar_decay = true});
  add("shared_heads", {.kind = Kind::gated_delta_rule, .heads = 6, .shared_heads = 2});
  add("groups", {.kind = Kind::selective_scan,
                 .heads = 6,
                 .shared_heads = 2,
                 .interleaved = true,
                 .scalar_decay = true});
  add("snapshots", {.kind = Kind::gated_delta_rule, .sequences = 2, .tokens = 5, .snapshots = 3});
  add("more_snapshots_than_tokens", {.kind = Kind::gated_delta_rule, .tokens = 2, .snapshots = 4});
  add("ids", {.kind = Kind::selective_scan, .sequences = 5, .ids = true});
  add("keys_256", {.kind = Kind::selective_scan, .tokens = 3, .values = 5, .keys = 256});
  // On devices with WebGPU's own number of bindings, of which rwkv7 has one too few.
  for (const std::uint64_t keys : {7U, 64U}) {
    add(formatted("eight_bindings_{}", keys),
        {.kind = Kind::rwkv7, .sequences = 2, .tokens = 3, .heads = 2, .values = 5, .keys = keys});
    out.back().plan = [plan = out.back().plan](std::span<const View> views, const Caps& caps) {
      Caps few = caps;
      few.max_bindings = std::min(few.max_bindings, 8U);
      return plan(views, few);
    };
  }
  // Past the bindings of the masked run, by sequences and by tokens.
  add("past_one_binding_sequences", {.kind = Kind::gated_linear_attention,
                                     .sequences = 26,
                                     .tokens = 1,
                                     .heads = 4,
                                     .values = 20,
                                     .keys = 128});
  add("past_one_binding_tokens", {.kind = Kind::gated_delta_rule,
                                  .tokens = 80,
                                  .heads = 64,
                                  .values = 2,
                                  .keys = 64,
                                  .snapshots = 2});
  add_staged_cases(out);
  const auto bench = [&](std::string name, const Setup& setup) {
    Case test = make_case(std::move(name), setup);
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  for (const std::uint64_t tokens : {1U, 512U}) {
    bench(formatted("32x128_{}", tokens), {.kind = Kind::gated_delta_rule,
                                           .tokens = tokens,
                                           .heads = 32,
                                           .values = 128,
                                           .keys = 128,
                                           .scalar_decay = true});
    bench(formatted("48x64x128_{}", tokens), {.kind = Kind::selective_scan,
                                              .tokens = tokens,
                                              .heads = 48,
                                              .values = 64,
                                              .keys = 128,
                                              .shared_heads = 1,
                                              .interleaved = true,
                                              .scalar_decay = true});
    bench(formatted("32x64_{}", tokens),
          {.kind = Kind::rwkv7, .tokens = tokens, .heads = 32, .values = 64, .keys = 64});
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"recurrence",
          "State recurrences: Mamba, RWKV 6 and 7, gated linear attention, gated delta net", "f32",
          cases};
}

}  // namespace weft::ops::recurrence
