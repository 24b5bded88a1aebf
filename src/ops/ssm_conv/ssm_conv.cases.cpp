#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/ssm_conv/ssm_conv.hpp"

namespace weft::ops::ssm_conv {
namespace {

/// A case: extents, and how x lies.
struct Setup {
  std::uint64_t sequences = 1;
  std::uint64_t tokens = 1;
  std::uint64_t channels = 1;
  std::uint64_t taps = 4;
  bool bias = false;
  bool silu = false;
  DType dtype = DType::f32;
  bool layouts = false;
};

Case make_case(std::string name, const Setup& setup) {
  Case test;
  test.name = std::move(name);
  TensorSpec x{.dtype = setup.dtype,
               .shape = {setup.sequences, setup.channels, setup.taps - 1 + setup.tokens}};
  TensorSpec weight{.shape = {setup.channels, setup.taps}};
  TensorSpec y{.shape = {setup.sequences, setup.tokens, setup.channels}, .output = true};
  if (setup.layouts) {
    x.order = {0, 2, 1};
    x.offset = 3;
    weight.pad = 2;
    y.order = {1, 0, 2};
    y.pad = 1;
  }
  test.tensors = {std::move(x), std::move(weight), std::move(y)};
  if (setup.bias) test.tensors.push_back({.shape = {setup.channels}});
  test.epsilons = 16;
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0],
                 .weight = v[1],
                 .bias = setup.bias ? v[3] : View{},
                 .y = v[2],
                 .silu = setup.silu},
                caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    const std::uint64_t length = setup.taps - 1 + setup.tokens;
    std::size_t n = 0;
    for (Index i(t[2].shape); !i.done(); i.next(), ++n) {
      double sum = setup.bias ? t[3].values[i[2]] : 0;
      for (std::uint64_t k = 0; k < setup.taps; ++k) {
        sum += t[0].values[(i[0] * setup.channels + i[2]) * length + i[1] + k] *
               t[1].values[i[2] * setup.taps + k];
      }
      t[2].values[n] = setup.silu ? sum / (1 + std::exp(-sum)) : sum;
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  const auto add = [&](std::string name, const Setup& setup) {
    out.push_back(make_case(std::move(name), setup));
  };
  add("one", {});
  add("one_token", {.sequences = 4, .tokens = 1, .channels = 1536});
  add("tokens", {.sequences = 2, .tokens = 70, .channels = 33});
  add("3_taps", {.tokens = 35, .channels = 20, .taps = 3});
  add("1_tap", {.tokens = 5, .channels = 20, .taps = 1});
  add("9_taps", {.sequences = 2, .tokens = 19, .channels = 7, .taps = 9});
  add("bias_silu", {.sequences = 2, .tokens = 17, .channels = 12, .bias = true, .silu = true});
  add("f16", {.tokens = 17, .channels = 12, .dtype = DType::f16});
  add("layouts", {.sequences = 3, .tokens = 20, .channels = 10, .bias = true, .layouts = true});
  add("no_tokens", {.tokens = 0, .channels = 5});
  add("past_one_binding", {.tokens = 300, .channels = 1200});
  add("past_one_binding_sequences", {.sequences = 3, .tokens = 300, .channels = 400, .bias = true});
  add("random", {.sequences = random.between(1, 4),
                 .tokens = random.between(1, 90),
                 .channels = random.between(1, 90),
                 .taps = random.between(1, 12)});
  for (const std::uint64_t tokens : {1U, 512U}) {
    Case bench = make_case(formatted("bench_ssm_conv_{}x8192", tokens),
                           {.tokens = tokens, .channels = 8192, .bias = true, .silu = true});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"ssm_conv", "Short causal convolution of each channel, with bias and silu",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::ssm_conv
