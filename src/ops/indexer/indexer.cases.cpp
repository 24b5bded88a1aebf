#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/indexer/indexer.hpp"

namespace weft::ops::indexer {
namespace {

/// A case: its extents and types.
struct Setup {
  std::uint64_t streams = 1;
  std::uint64_t tokens = 3;
  std::uint64_t heads = 8;
  std::uint64_t keys = 20;
  std::uint64_t size = 32;
  std::uint64_t mask_streams = 0;  ///< 0: no mask
  DType k = DType::f32;
  bool layouts = false;
};

Case make_case(std::string name, const Setup& setup) {
  Case test;
  test.name = std::move(name);
  TensorSpec q{.shape = {setup.streams, setup.tokens, setup.heads, setup.size}};
  TensorSpec k{.dtype = setup.k, .shape = {setup.streams, setup.keys, setup.size}};
  TensorSpec weights{.shape = {setup.streams, setup.tokens, setup.heads}};
  TensorSpec y{.shape = {setup.streams, setup.tokens, setup.keys}, .output = true};
  if (setup.layouts) {
    q.order = {0, 3, 2, 1};
    k.pad = 3;
    k.offset = 1;
    weights.order = {2, 1, 0};
    y.order = {2, 0, 1};
  }
  test.tensors = {std::move(q), std::move(k), std::move(weights), std::move(y)};
  if (setup.mask_streams > 0) {
    test.tensors.push_back({.dtype = DType::f16,
                            .shape = {setup.mask_streams, setup.tokens, setup.keys},
                            .fill = Fill::masked});
  }
  test.epsilons = 32;
  test.scale = std::sqrt(static_cast<double>(setup.size * setup.heads));
  test.plan = [setup](std::span<const View> v, const Caps& caps) {
    return plan({.q = v[0],
                 .k = v[1],
                 .weights = v[2],
                 .mask = setup.mask_streams > 0 ? v[4] : View{},
                 .y = v[3]},
                caps);
  };
  test.reference = [setup](std::span<HostTensor> t) {
    std::size_t n = 0;
    for (Index i(t[3].shape); !i.done(); i.next(), ++n) {
      const std::uint64_t row = i[0] * setup.tokens + i[1];
      double sum = 0;
      for (std::uint64_t h = 0; h < setup.heads; ++h) {
        double dot = 0;
        for (std::uint64_t d = 0; d < setup.size; ++d) {
          dot += t[0].values[(row * setup.heads + h) * setup.size + d] *
                 t[1].values[(i[0] * setup.keys + i[2]) * setup.size + d];
        }
        sum += std::max(dot, 0.0) * t[2].values[row * setup.heads + h];
      }
      if (setup.mask_streams > 0) {
        sum += t[4].values[((i[0] % setup.mask_streams) * setup.tokens + i[1]) * setup.keys + i[2]];
      }
      t[3].values[n] = sum;
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
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q8_0}) {
    add(formatted("keys_{}", name(type)), {.k = type});
  }
  add("one", {.tokens = 1, .heads = 1, .keys = 1, .size = 1});
  add("odd", {.streams = 2, .tokens = 5, .heads = 67, .keys = 65, .size = 19});
  add("128_elements", {.tokens = 2, .heads = 64, .keys = 130, .size = 128, .mask_streams = 1});
  add("mask_streams", {.streams = 4, .keys = 70, .mask_streams = 2});
  add("layouts", {.streams = 2, .mask_streams = 1, .k = DType::f16, .layouts = true});
  add("no_keys", {.keys = 0});
  add("past_one_binding_streams",
      {.streams = 3, .tokens = 2, .heads = 2, .keys = 3000, .size = 40, .mask_streams = 1});
  add("past_one_binding_keys",
      {.tokens = 2, .heads = 2, .keys = 9000, .size = 32, .mask_streams = 1});
  add("past_one_binding_tokens",
      {.tokens = 300, .heads = 16, .keys = 6, .size = 64, .mask_streams = 1});
  add("random", {.streams = random.between(1, 3),
                 .tokens = random.between(1, 4),
                 .heads = random.between(1, 90),
                 .keys = random.between(1, 90),
                 .size = random.between(1, 70)});
  Case bench = make_case("bench_indexer_512x64x4096x128",
                         {.tokens = 512, .heads = 64, .keys = 4096, .size = 128, .k = DType::f16});
  bench.test = false;
  bench.bench = true;
  bench.flops = 2.0 * 512 * 64 * 4096 * 128;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"indexer", "Scores by which sparse attention chooses its keys",
          "f32 f16 bf16 (keys also quantized)", cases};
}

}  // namespace weft::ops::indexer
