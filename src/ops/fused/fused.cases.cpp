#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/fused/cases.hpp"
#include "ops/fused/fused.hpp"

namespace weft::ops::fused {

using Shape = std::vector<std::uint64_t>;

void compute_chain(const std::vector<Step>& steps, std::span<const HostTensor> inputs,
                   HostTensor& y) {
  std::size_t next = 0;
  for (Index at(y.shape); !at.done(); at.next()) {
    std::vector<double> values;
    for (const HostTensor& x : inputs) {
      const std::size_t missing = y.shape.size() - x.shape.size();
      std::uint64_t place = 0;
      for (std::size_t d = 0; d < x.shape.size(); ++d) {
        place = place * x.shape[d] + (x.shape[d] == 1 ? 0 : at[d + missing]);
      }
      values.push_back(x.values[place]);
    }
    for (const Step& step : steps) {
      std::array<double, 3> a{};
      for (std::size_t i = 0; i < step.inputs.size(); ++i) a[i] = values[step.inputs[i]];
      values.push_back(
          map::find_function(step.function)->reference(a[0], a[1], a[2], step.scalars));
    }
    y.values[next++] = values.back();
  }
}

namespace {

Case make_case(std::string name, std::vector<TensorSpec> tensors, std::vector<Step> steps) {
  Case test;
  test.name = std::move(name);
  tensors.back().output = true;
  test.tensors = std::move(tensors);
  test.epsilons = 64;
  test.plan = [steps](std::span<const View> v, const Caps& caps) {
    return plan({.inputs = {v.begin(), v.end() - 1}, .steps = steps, .y = v.back()}, caps);
  };
  test.reference = [steps](std::span<HostTensor> t) {
    compute_chain(steps, t.first(t.size() - 1), t.back());
  };
  return test;
}

/// silu(a) * b + 0.5 c
std::vector<Step> gated_sum() {
  return {{"silu", {0}}, {"mul", {3, 1}}, {"scale", {2}, {0.5, 0}}, {"add", {4, 5}}};
}

std::vector<Case> cases(std::uint64_t seed) {
  std::vector<Case> out;
  const auto dense = [](const Shape& shape, DType type = DType::f32) {
    return TensorSpec{.dtype = type, .shape = shape};
  };
  const auto same = [&](const std::string& name, const Shape& shape, DType type) {
    out.push_back(make_case(name, std::vector(4, dense(shape, type)), gated_sum()));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::uint64_t count : {1, 7, 8, 1025}) {
      same(formatted("{}_{}", name(type), count), {count}, type);
    }
    same(formatted("{}_rows_of_7", name(type)), {9, 7}, type);
    out.push_back(make_case(
        formatted("{}_broadcast", name(type)),
        {dense({5, 1, 12}, type), dense({12}), dense({3, 1}, type), dense({5, 3, 12}, type)},
        gated_sum()));
    out.push_back(
        make_case(formatted("{}_ragged_broadcast", name(type)),
                  {dense({5, 1, 7}, type), dense({7}), dense({3, 1}, type), dense({5, 3, 7}, type)},
                  gated_sum()));
    out.push_back(make_case(formatted("{}_permuted", name(type)),
                            {{.dtype = type, .shape = {6, 5, 8}, .order = {1, 2, 0}},
                             {.shape = {6, 5, 8}, .pad = 3},
                             {.dtype = type, .shape = {6, 5, 8}, .offset = 1},
                             dense({6, 5, 8}, type)},
                            gated_sum()));
  }
  out.push_back(make_case(
      "odd_place_f16",
      {dense({31}), dense({31}), dense({31}), {.dtype = DType::f16, .shape = {31}, .offset = 3}},
      gated_sum()));
  out.push_back(make_case(
      "even_place_f16",
      {dense({31}), dense({31}), dense({31}), {.dtype = DType::f16, .shape = {31}, .offset = 2}},
      gated_sum()));
  same("empty", {0, 3}, DType::f32);
  same("large", {700000}, DType::f32);
  out.push_back(make_case(
      "mixed_types",
      {dense({40}, DType::f16), dense({40}), dense({40}, DType::bf16), dense({40}, DType::f16)},
      gated_sum()));
  out.push_back(make_case("one_input", {dense({33}), dense({33})},
                          {{"exp", {0}}, {"erf", {1}}, {"softplus", {2}}, {"expm1", {3}}}));
  out.push_back(make_case("no_input", {dense({33})}, {{"fill", {}, {2}}, {"square", {0}}}));
  out.push_back(make_case("six_inputs", std::vector(7, dense({6, 8})),
                          {{"add", {0, 1}},
                           {"mul", {2, 3}},
                           {"sub", {6, 7}},
                           {"maximum", {4, 5}},
                           {"where", {0, 8, 9}},
                           {"gelu_tanh_back", {10, 1}}}));
  {
    std::vector<TensorSpec> tensors(4, dense({500}));
    tensors[3].same_as = 0;
    out.push_back(make_case("in_place", std::move(tensors), gated_sum()));
  }
  Random random(seed);
  for (int i = 0; i < 6; ++i) {
    Shape shape;
    for (std::uint64_t d = random.between(1, 4); d > 0; --d) shape.push_back(random.between(1, 12));
    std::vector<TensorSpec> tensors;
    for (int k = 0; k < 4; ++k) {
      tensors.push_back(dense(shape, random.pick<DType>({DType::f32, DType::f16, DType::bf16})));
      for (std::uint64_t& extent : tensors.back().shape) {
        if (k < 3 && random.between(0, 2) == 0) extent = 1;
      }
    }
    out.push_back(make_case(formatted("random_{}", i), std::move(tensors), gated_sum()));
  }
  std::ranges::move(tail_cases(), std::back_inserter(out));
  Case bench =
      make_case("bench_chain_4096x4096_f32", std::vector(4, dense({4096, 4096})), gated_sum());
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op() {
  return {"fused",
          "Chains of elementwise functions, also with a reduction, softmax or norm, in one "
          "generated kernel",
          "f32 f16 bf16", cases};
}

}  // namespace weft::ops::fused
