#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/matrices.hpp"
#include "ops/mul_mat/cases.hpp"
#include "ops/mul_mat/mul_mat.hpp"

namespace weft::ops::mul_mat {
namespace {

Shape shape_of(Shape batch, std::uint64_t rows, std::uint64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

/// Batches of weights broadcast to those of y: extents of 1 and missing leading ones repeat.
std::uint64_t weight_batch_of(const HostTensor& weights, const HostTensor& y, std::uint64_t batch) {
  std::uint64_t place = 0;
  std::uint64_t step = 1;
  for (std::size_t back = 0; back + 2 < y.shape.size(); ++back) {
    const std::uint64_t extent = y.shape[y.shape.size() - 3 - back];
    const std::uint64_t at = batch % extent;
    batch /= extent;
    if (back + 2 >= weights.shape.size()) continue;
    const std::uint64_t mine = weights.shape[weights.shape.size() - 3 - back];
    if (mine > 1) place += at * step;
    step *= mine;
  }
  return place;
}

}  // namespace

Case make_case(const Spec& spec) {
  Case test;
  test.name = spec.name;
  test.tensors = {
      {.dtype = spec.type, .shape = shape_of(spec.weight_batch, spec.m, spec.k)},
      {.dtype = spec.x,
       .shape = shape_of(spec.batch, spec.n, spec.k),
       .low = -spec.x_high,
       .high = spec.x_high},
      {.dtype = DType::f32, .shape = shape_of(spec.batch, spec.n, spec.m), .output = true}};
  test.plan = [kernel = spec.kernel, exact = spec.exact](std::span<const View> v,
                                                         const Caps& caps) {
    return plan(Args{.weights = v[0], .x = v[1], .y = v[2], .kernel = kernel, .exact = exact},
                caps);
  };
  test.reference = [](std::span<HostTensor> t) {
    const std::uint64_t k = t[1].shape.back();
    const std::uint64_t m = t[2].shape.back();
    const std::uint64_t n = t[2].shape[t[2].shape.size() - 2];
    for (std::uint64_t i = 0; i < t[2].values.size(); ++i) {
      const std::uint64_t batch = i / (n * m);
      const double* w = t[0].values.data() + (weight_batch_of(t[0], t[2], batch) * m + i % m) * k;
      const double* x = t[1].values.data() + i / m * k;
      double sum = 0;
      for (std::uint64_t j = 0; j < k; ++j) sum += w[j] * x[j];
      t[2].values[i] = sum;
    }
  };
  test.scale = std::sqrt(static_cast<double>(spec.k)) * spec.x_high;
  test.epsilons = 16 * spec.precision;
  return test;
}

namespace {

/// What rounding weights and x to f16 costs.
constexpr double halves = 1024;

void add_vector_cases(std::vector<Case>& out) {
  for (const DType type : quantized_dtypes) {
    const std::uint64_t k = std::uint64_t{block_elements(type)} * 3;
    out.push_back(
        make_case({.name = formatted("vector_{}", name(type)), .type = type, .m = 37, .k = k}));
    out.push_back(make_case({.name = formatted("decode_{}", name(type)),
                             .type = type,
                             .m = 33,
                             .n = 20,
                             .k = k,
                             .precision = halves}));
  }
  for (const std::uint64_t n : {2U, 3U, 5U, 8U, 13U}) {
    Case test = make_case({.name = formatted("columns_{}", n), .m = 50, .n = n, .k = 320});
    test.matrix_epsilons = test.epsilons * halves;
    out.push_back(std::move(test));
  }
  for (const std::string_view kernel : {"vector_1", "vector_2", "vector_4", "vector_8"}) {
    out.push_back(make_case({.name = std::string(kernel),
                             .type = DType::q4_k,
                             .m = 19,
                             .n = 2,
                             .k = 512,
                             .kernel = kernel}));
  }
  out.push_back(make_case({.name = "long_rows", .m = 5, .k = 14336}));
  out.push_back(make_case({.name = "many_rows", .type = DType::q8_0, .m = 70000, .k = 32}));
}

/// With nothing rounded to less than f32, for as many columns as the others round it.
void add_exact_cases(std::vector<Case>& out) {
  for (const DType type :
       {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k, DType::iq2_xs, DType::f16}) {
    out.push_back(make_case({.name = formatted("exact_{}", name(type)),
                             .type = type,
                             .m = 33,
                             .n = 20,
                             .k = 512,
                             .exact = true}));
  }
  out.push_back(make_case({.name = "exact_batches",
                           .m = 9,
                           .n = 18,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 3},
                           .exact = true}));
  for (const DType type : {DType::q4_k, DType::f16}) {
    Case by_id = id_case(formatted("exact_{}", name(type)), type, {4, 30, 256, 40, 3}, 1, {});
    by_id.plan = [](std::span<const View> v, const Caps& caps) {
      return plan(IdArgs{.weights = v[0], .x = v[1], .ids = v[2], .y = v[3], .exact = true}, caps);
    };
    out.push_back(std::move(by_id));
  }
}

/// The kernel for a few dozen columns; where there are no matrix units, whatever takes its place.
void add_few_cases(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, DType type, std::uint64_t m, std::uint64_t n,
                       std::uint64_t k) {
    Case test = make_case({.name = formatted("few_{}_{}", label, name(type)),
                           .type = type,
                           .m = m,
                           .n = n,
                           .k = k,
                           .precision = halves});
    test.plan = [](std::span<const View> v, const Caps& caps) {
      const Args args{.weights = v[0], .x = v[1], .y = v[2], .kernel = "few"};
      auto planned = plan(args, caps);
      if (planned || planned.error().code != ErrorCode::unsupported) return planned;
      return plan(Args{.weights = v[0], .x = v[1], .y = v[2]}, caps);
    };
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::q4_1, DType::q5_0, DType::q3_k, DType::iq4_nl, DType::iq2_xs}) {
    add("rows", type, 37, 9, std::uint64_t{block_elements(type)} * 3);
  }
  add("even", DType::f16, 64, 16, 160);
  add("long", DType::f16, 40, 33, 2064);
  add("even", DType::q4_0, 64, 16, 96);
  add("long", DType::q4_0, 48, 24, 2048);
  add("wide", DType::q8_0, 20, 64, 352);
  add("long", DType::q6_k, 30, 40, 2048);
}

void add_layout_cases(std::vector<Case>& out) {
  out.push_back(make_case(
      {.name = "batches", .m = 9, .n = 3, .k = 64, .weight_batch = {2, 3}, .batch = {2, 3}}));
  out.push_back(make_case({.name = "shared_weights",
                           .m = 9,
                           .n = 3,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 3}}));
  out.push_back(make_case({.name = "shared_columns",
                           .type = DType::q8_0,
                           .m = 9,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 4}}));
  out.push_back(make_case({.name = "decode_batches",
                           .m = 9,
                           .n = 18,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 3},
                           .precision = halves}));
  out.push_back(make_case(
      {.name = "halved", .m = 40, .n = 20, .k = 64, .kernel = "halve", .precision = halves}));
  out.push_back(make_case({.name = "halved_large_values",
                           .m = 40,
                           .n = 20,
                           .k = 64,
                           .kernel = "halve",
                           .x_high = 1e6,
                           .precision = halves}));
  out.push_back(make_case({.name = "halved_f16",
                           .type = DType::f16,
                           .m = 40,
                           .n = 20,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 3},
                           .kernel = "halve",
                           .x_high = 1e6,
                           .precision = halves}));
  out.push_back(make_case({.name = "halved_bf16_small_values",
                           .type = DType::bf16,
                           .m = 40,
                           .n = 20,
                           .k = 64,
                           .weight_batch = {2, 1},
                           .batch = {2, 3},
                           .kernel = "halve",
                           .x_high = 1e-6,
                           .precision = halves}));
  out.push_back(
      make_case({.name = "past_one_binding", .type = DType::q8_0, .m = 3000, .n = 2, .k = 1024}));
  out.push_back(make_case({.name = "decode_past_one_binding",
                           .type = DType::q8_0,
                           .m = 700,
                           .n = 17,
                           .k = 1024,
                           .precision = halves}));
  for (const DType type : {DType::f16, DType::bf16}) {
    out.push_back(
        make_case({.name = formatted("x_{}", name(type)), .m = 9, .n = 2, .k = 64, .x = type}));
    out.push_back(make_case({.name = formatted("weights_{}", name(type)),
                             .type = type,
                             .m = 9,
                             .n = 2,
                             .k = 64,
                             .weight_batch = {2, 1},
                             .batch = {2, 3}}));
  }
  Case strided = make_case({.name = "strided", .type = DType::q5_1, .m = 9, .n = 3, .k = 64});
  strided.tensors[0].pad = 32;
  strided.tensors[0].offset = 32;
  strided.tensors[1].order = {1, 0};
  strided.tensors[1].offset = 1;
  strided.tensors[2].order = {1, 0};
  strided.tensors[2].pad = 3;
  out.push_back(std::move(strided));
  Case empty = make_case({.name = "empty", .m = 9, .n = 0, .k = 64});
  out.push_back(std::move(empty));
}

}  // namespace

Case id_case(std::string name, DType type, Shape sizes, std::uint64_t x_slots,
             std::string_view kernel) {
  const auto [experts, m, k, tokens, used] =
      std::tuple{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]};
  Case test;
  test.name = "id_" + std::move(name);
  test.tensors = {{.dtype = type, .shape = {experts, m, k}},
                  {.shape = {tokens, x_slots, k}},
                  {.dtype = DType::i32,
                   .shape = {tokens, used},
                   .low = -1,
                   .high = static_cast<double>(experts),
                   .pad = 2},
                  {.shape = {tokens, used, m}, .output = true}};
  test.plan = [kernel](std::span<const View> v, const Caps& caps) {
    return plan(IdArgs{.weights = v[0], .x = v[1], .ids = v[2], .y = v[3], .kernel = kernel}, caps);
  };
  test.reference = [experts, m, k, used, x_slots](std::span<HostTensor> t) {
    for (std::uint64_t i = 0; i < t[3].values.size(); ++i) {
      const std::uint64_t row = i / m;
      const double id = t[2].values[row];
      const double* x = t[1].values.data() + (row / used * x_slots + row % used % x_slots) * k;
      double sum = 0;
      if (id >= 0 && id < static_cast<double>(experts)) {
        const double* w = t[0].values.data() + (static_cast<std::uint64_t>(id) * m + i % m) * k;
        for (std::uint64_t j = 0; j < k; ++j) sum += w[j] * x[j];
      }
      t[3].values[i] = sum;
    }
  };
  test.scale = std::sqrt(static_cast<double>(k));
  test.epsilons = 16;
  return test;
}

namespace {

void add_id_cases(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q4_0, DType::mxfp4,
                           DType::q4_k, DType::iq2_xs}) {
    out.push_back(
        id_case(formatted("vector_{}", name(type)), type, {5, 20, 512, 3, 2}, 2, "vector"));
    out.push_back(
        id_case(formatted("grouped_{}", name(type)), type, {4, 70, 512, 30, 3}, 1, "grouped"));
  }
  out.push_back(id_case("grouped_q6_K", DType::q6_k, {3, 66, 256, 40, 2}, 2, "grouped"));
  out.push_back(id_case("grouped_odd_f16", DType::f16, {4, 50, 67, 40, 4}, 4, {}));
  // Where there are no matrix units, the plain kernel is tested once more.
  const auto add_matrix = [&](std::string name, DType type, Shape sizes) {
    Case test = id_case("matrix_" + std::move(name), type, sizes, 1, {});
    test.matrix_epsilons = test.epsilons * halves;
    test.plan = [](std::span<const View> v, const Caps& caps) {
      const std::string_view kernel = float_matrices(caps) ? "matrix" : "grouped";
      return plan(IdArgs{.weights = v[0], .x = v[1], .ids = v[2], .y = v[3], .kernel = kernel},
                  caps);
    };
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f16, DType::q4_0, DType::q6_k}) {
    for (const std::uint64_t tokens : {30U, 120U}) {
      add_matrix(formatted("{}_{}", name(type), tokens), type, {3, 70, 512, tokens, 3});
    }
  }
  add_matrix("past_one_binding", DType::q8_0, {6, 400, 1024, 40, 2});
  out.push_back(id_case("one_row", DType::q8_0, {8, 64, 128, 1, 2}, 1, {}));
  out.push_back(
      id_case("grouped_past_one_binding", DType::q8_0, {6, 400, 1024, 40, 2}, 1, "grouped"));
  out.push_back(id_case("vector_past_one_binding", DType::q8_0, {6, 400, 1024, 3, 2}, 1, "vector"));
  out.push_back(id_case("many_experts", DType::q4_0, {600, 8, 64, 300, 3}, 1, "grouped"));
}

void add_benchmarks(std::vector<Case>& out) {
  const auto add = [&](DType type, std::uint64_t m, std::uint64_t k, std::uint64_t n,
                       std::string_view kernel = {}) {
    Case test = make_case({.name = formatted("bench_{}_{}x{}_n{}{}{}", name(type), m, k, n,
                                             kernel.empty() ? "" : "_", kernel),
                           .type = type,
                           .m = m,
                           .n = n,
                           .k = k,
                           .kernel = kernel});
    test.test = false;
    test.bench = true;
    if (n >= 8)
      test.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k}) {
    add(type, 4096, 14336, 1);
    add(type, 4096, 4096, 1);
    add(type, 4096, 14336, 8);
    add(type, 4096, 14336, 512);
  }
  for (const std::string_view kernel : {"vector_1", "vector_2", "vector_4", "vector_8"}) {
    add(DType::q4_0, 4096, 14336, 1, kernel);
    add(DType::q4_k, 4096, 14336, 1, kernel);
    add(DType::q4_0, 4096, 14336, 8, kernel);
  }
  for (const std::uint64_t n : {2U, 4U}) add(DType::q4_0, 4096, 14336, n);
  for (const DType type : {DType::q4_0, DType::q4_k, DType::q8_0, DType::f16}) {
    for (const std::uint64_t n : {12U, 16U, 24U, 32U, 64U}) add(type, 4096, 14336, n);
  }
  add(DType::f16, 4096, 14336, 1);
  add(DType::f16, 4096, 14336, 8);
  add(DType::f16, 4096, 14336, 512);
  const auto add_ids = [&](DType type, std::uint64_t tokens) {
    Case test = id_case(formatted("bench_{}_128x768x2048_{}x8", name(type), tokens), type,
                        {128, 768, 2048, tokens, 8}, 1, {});
    test.test = false;
    test.bench = true;
    test.flops = 2.0 * 768 * 2048 * 8 * static_cast<double>(tokens);
    out.push_back(std::move(test));
  };
  add_ids(DType::q4_0, 1);
  add_ids(DType::q4_0, 512);
  add_ids(DType::q4_k, 512);
}

std::vector<Case> cases(std::uint64_t /*seed*/) {
  std::vector<Case> out;
  add_vector_cases(out);
  add_few_cases(out);
  add_exact_cases(out);
  add_layout_cases(out);
  add_id_cases(out);
  add_packed_cases(out);
  add_join_cases(out);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op() {
  return {"mul_mat", "Products with weights of any type, also with matrices that ids name",
          "weights of every float and quantized type, x f32 f16 bf16, y f32", cases};
}

}  // namespace weft::ops::mul_mat
