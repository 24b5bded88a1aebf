#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/dropout/dropout.hpp"

namespace weft::ops::dropout {
namespace {

Case make_case(std::string name, TensorSpec x, TensorSpec y, float rate = 0.3F) {
  Case test;
  test.name = std::move(name);
  y.output = true;
  test.tensors = {std::move(x),
                  {.dtype = DType::u32, .shape = {2}, .low = 0, .high = 4294967295.0},
                  std::move(y)};
  test.epsilons = 4;
  test.plan = [rate](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0], .y = v[2], .rate = rate, .seed = v[1], .stream = 7}, caps);
  };
  test.reference = [rate](std::span<HostTensor> t) {
    for (std::size_t i = 0; i < t[0].values.size(); ++i) {
      const bool dropped =
          bits(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(t[1].values[0]),
               static_cast<std::uint32_t>(t[1].values[1]), 7) < static_cast<double>(rate) * 0x1p32;
      t[2].values[i] = dropped ? 0 : t[0].values[i] / (1 - static_cast<double>(rate));
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const auto add = [&](std::string_view label, TensorSpec x, TensorSpec y, float rate = 0.3F) {
      x.dtype = y.dtype = type;
      y.shape = x.shape;
      out.push_back(
          make_case(formatted("{}_{}", label, name(type)), std::move(x), std::move(y), rate));
    };
    add("3_40", {.shape = {3, 40}}, {});
    add("odd", {.shape = {7, 11, 3}}, {});
    add("permuted", {.shape = {6, 5, 8}, .order = {1, 2, 0}}, {.order = {2, 0, 1}});
    add("offset", {.shape = {5, 12}, .pad = 3, .offset = 1}, {.pad = 1, .offset = 3});
    add("in_place", {.shape = {130}}, {.same_as = 0});
    add("nothing", {.shape = {3, 0}}, {});
    add("keep_all", {.shape = {64}}, {}, 0);
    add("random", {.shape = {random.between(1, 9), random.between(1, 99)}}, {}, 0.9F);
  }
  out.push_back(make_case("past_one_binding", {.shape = {5, 300, 401}}, {.shape = {5, 300, 401}}));
  out.push_back(
      make_case("mixed_types", {.dtype = DType::bf16, .shape = {4, 8}}, {.shape = {4, 8}}));
  for (const DType type : {DType::f32, DType::bf16}) {
    Case bench =
        make_case(formatted("bench_dropout_4096x4096_{}", name(type)),
                  {.dtype = type, .shape = {4096, 4096}}, {.dtype = type, .shape = {4096, 4096}});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"dropout", "Dropout by a counter-based hash of seed, stream and place", "f32 f16 bf16",
          cases};
}

}  // namespace weft::ops::dropout
