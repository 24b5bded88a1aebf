#include "ops/random/random.hpp"

#include <bit>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/random/host.hpp"
#include "ops/workgroup.hpp"

namespace weft::ops::random {
namespace {

/// What the host computes, which must be the same to the last bit.
void draw_all(const Args& args, Pair key, const HostTensor* weights, HostTensor& y) {
  const Function function = args.distribution.function;
  const Numbers numbers = numbers_of(args.distribution, y.dtype);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const Pair block = block_of(key, args.first + i, args.domain, function);
    if (y.dtype == DType::u32) {
      y.values[i] = draw_word(function, numbers, block);
    } else if (y.dtype == DType::i32) {
      y.values[i] = std::bit_cast<std::int32_t>(draw_word(function, numbers, block));
    } else {
      float value = draw_float(function, numbers, block[0]);
      if (weights != nullptr) value += log_weight(static_cast<float>(weights->values[i]));
      y.values[i] = round_to(y.dtype, value);
    }
  }
}

Case make_case(std::string name, const Args& args, TensorSpec y, TensorSpec weights = {}) {
  Case test;
  test.name = std::move(name);
  test.epsilons = 0;
  test.scale = 0;
  y.output = true;
  const bool weighted = !weights.shape.empty();
  test.tensors = {{.dtype = DType::u32, .shape = {2}, .low = 0, .high = 4294967295.0},
                  std::move(y)};
  if (weighted) test.tensors.push_back(std::move(weights));
  test.plan = [args, weighted](std::span<const View> v, const Caps& caps) {
    Args all = args;
    all.key = v[0];
    all.y = v[1];
    if (weighted) all.weights = v[2];
    return plan(all, caps);
  };
  test.reference = [args, weighted](std::span<HostTensor> t) {
    const Pair key{static_cast<std::uint32_t>(t[0].values[0]),
                   static_cast<std::uint32_t>(t[0].values[1])};
    draw_all(args, key, weighted ? &t[2] : nullptr, t[1]);
  };
  return test;
}

std::vector<DType> types_of(Function function) {
  if (function == Function::bits) return {DType::u32};
  if (function == Function::randint) return {DType::i32, DType::u32};
  if (function == Function::gumbel) return {DType::f32};
  return {DType::f32, DType::f16, DType::bf16};
}

Distribution distribution_of(Function function) {
  if (function == Function::uniform) return {.function = function, .low = -0.7, .high = 1.9};
  if (function == Function::randint) return {.function = function, .low = 3, .high = 1000003};
  if (function == Function::truncated_normal) {
    return {.function = function, .low = -1.5, .high = 0.3, .mean = 0.1, .std = 0.3};
  }
  return {.function = function, .mean = -0.3, .std = 1.7};
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const Function function :
       {Function::bits, Function::uniform, Function::normal, Function::truncated_normal,
        Function::gumbel, Function::randint}) {
    for (const DType type : types_of(function)) {
      const auto add = [&](std::string_view label, TensorSpec y, Args args = {}) {
        y.dtype = type;
        args.distribution = distribution_of(function);
        out.push_back(make_case(formatted("{}_{}_{}", name(function), label, name(type)), args,
                                std::move(y)));
      };
      add("3_40", {.shape = {3, 40}});
      add("odd", {.shape = {7, 11, 3}});
      add("permuted", {.shape = {6, 5, 8}, .order = {2, 0, 1}});
      add("offset", {.shape = {5, 12}, .pad = 1, .offset = 3});
      add("nothing", {.shape = {3, 0}});
      add("one", {.shape = {}});
      add("far", {.shape = {2, 33}}, {.first = 0x1ffffffe0, .domain = 0x80000000U});
      add("random", {.shape = {random.between(1, 9), random.between(1, 99)}});
      add("many", {.shape = {1, 1 << 18}});
    }
  }
  out.push_back(make_case("past_one_binding", {.distribution = {.function = Function::normal}},
                          {.shape = {5, 300, 401}}));
  out.push_back(make_case("past_one_binding_strided",
                          {.distribution = {.function = Function::uniform}},
                          {.shape = {5, 300, 401}, .order = {1, 0, 2}, .pad = 3}));
  // A grid of one dimension holds so few workgroups here that it is folded, as others are past
  // 65,535.
  Case folded = make_case("folded_grid", {.distribution = {.function = Function::uniform}},
                          {.shape = {41, 1001}});
  folded.plan = [given = folded.plan](std::span<const View> v, const Caps& caps) {
    Caps small = caps;
    small.max_workgroups = 13 * 256 / workgroup_width(caps);
    return given(v, small);
  };
  out.push_back(std::move(folded));
  const auto whole = [&](std::string_view label, DType type, double low, double high) {
    const Distribution d{.function = Function::randint, .low = low, .high = high};
    out.push_back(make_case(formatted("randint_{}", label), {.distribution = d},
                            {.dtype = type, .shape = {999}}));
  };
  whole("all_i32", DType::i32, -0x1p31, 0x1p31);
  whole("all_u32", DType::u32, 0, 0x1p32);
  whole("negative", DType::i32, -7, -3);
  whole("one", DType::i32, 5, 6);
  whole("nearly_all", DType::u32, 1, 0x1p32);
  const auto limits = [&](std::string_view label, DType type, double low, double high) {
    const Distribution d{.function = Function::uniform, .low = low, .high = high};
    out.push_back(make_case(formatted("uniform_{}_{}", label, name(type)), {.distribution = d},
                            {.dtype = type, .shape = {4096}}));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    limits("tight", type, 1, 1.03);
    limits("below_0", type, -3, -0.001);
    limits("up_to_0", type, -1, 0);
  }
  const Args gumbel{.distribution = {.function = Function::gumbel}};
  for (const auto& [label, order] :
       {std::pair{"plain", std::vector<std::uint32_t>{}}, {"permuted", {1, 0}}}) {
    out.push_back(make_case(formatted("weights_{}", label), gumbel, {.shape = {12, 36}},
                            {.shape = {12, 36}, .low = -0.1, .high = 3, .order = order}));
  }
  for (const Function function :
       {Function::uniform, Function::normal, Function::randint, Function::bits}) {
    const DType type = types_of(function).front();
    Case bench = make_case(formatted("bench_{}_4096x4096_{}", name(function), name(type)),
                           {.distribution = distribution_of(function)},
                           {.dtype = type, .shape = {4096, 4096}});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {
      "random",
      "Random numbers from a key and the number of the element: bits, uniform, normal, truncated "
      "normal, Gumbel and whole numbers, the same on every device",
      "f32 f16 bf16 i32 u32", cases};
}

}  // namespace weft::ops::random
