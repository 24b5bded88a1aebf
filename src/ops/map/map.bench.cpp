// Elementwise functions of many elements, and the benchmarks.
#include <utility>

#include "base/format.hpp"
#include "ops/map/cases.hpp"

namespace weft::ops::map {

void add_large_cases(std::vector<Case>& out) {
  // Past 65,535 workgroups of 256 chunks of one element, and past the 1 MiB bindings of the masked
  // test run.
  const Function& add = *find_function("add");
  auto many = same_shape(add, DType::f32, {65536ULL * 257});
  many[1].shape = {1};
  many[0].offset = 1;
  many[2].offset = 1;
  out.push_back(make_case(add, "many_workgroups", many));
  out.push_back(make_case(add, "past_one_binding_f32", same_shape(add, DType::f32, {700, 1001})));
  auto turned = same_shape(add, DType::f16, {900, 1003});
  turned[0].order = {1, 0};
  out.push_back(make_case(add, "past_one_binding_permuted_f16", turned));
  // Large enough for the flat kernel, and one element more, which it leaves to the general one.
  constexpr std::uint64_t million = 1ULL << 20;
  const Function& copy = *find_function("copy");
  for (const DType type : {DType::f32, DType::f16, DType::u8}) {
    out.push_back(
        make_case(add, formatted("flat_{}", name(type)), same_shape(add, type, {million})));
  }
  out.push_back(make_case(add, "flat_and_one_f16", same_shape(add, DType::f16, {million + 1})));
  for (const auto& [from, to] :
       {std::pair(DType::f16, DType::f32), std::pair(DType::f32, DType::f16),
        std::pair(DType::u8, DType::f32)}) {
    out.push_back(
        make_case(copy, formatted("flat_{}_to_{}", name(from), name(to)),
                  {{.dtype = from, .shape = {1024, 1024}}, {.dtype = to, .shape = {1024, 1024}}}));
  }
  const Function& clamp = *find_function("clamp");
  out.push_back(make_case(clamp, "flat_bf16", same_shape(clamp, DType::bf16, {million})));
  const Function& arange = *find_function("arange");
  out.push_back(make_case(arange, "long_f32", same_shape(arange, DType::f32, {600001})));
}

void add_benchmarks(std::vector<Case>& out) {
  constexpr std::uint64_t n = 16ULL << 20;
  const auto bench = [&](std::string_view function, std::string label,
                         std::vector<TensorSpec> tensors) {
    Case test = make_case(*find_function(function), std::move(label), std::move(tensors));
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::string_view function :
         {"copy", "gelu_tanh", "silu", "exp", "add", "mul", "swiglu", "fill"}) {
      bench(function, formatted("16M_{}", name(type)),
            same_shape(*find_function(function), type, {n}));
    }
    auto row = same_shape(*find_function("add"), type, {4096, 4096});
    row[1].shape = {4096};
    bench("add", formatted("broadcast_row_4096x4096_{}", name(type)), row);
    auto turned = same_shape(*find_function("copy"), type, {4096, 4096});
    turned[0].order = {1, 0};
    bench("copy", formatted("transpose_4096x4096_{}", name(type)), turned);
  }
  bench("copy", "cast_f32_to_f16_16M",
        {{.dtype = DType::f32, .shape = {n}}, {.dtype = DType::f16, .shape = {n}}});
  bench("copy", "cast_f16_to_f32_16M",
        {{.dtype = DType::f16, .shape = {n}}, {.dtype = DType::f32, .shape = {n}}});
  bench("copy", "512M_f32", same_shape(*find_function("copy"), DType::f32, {1ULL << 28}));
}

}  // namespace weft::ops::map
