#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/sort/sort.hpp"

namespace weft::ops::sort {
namespace {

/// NaN is larger than every number.
bool less(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b;
}

void sort_host(std::span<HostTensor> t, bool descending) {
  const HostTensor& x = t[0];
  const std::uint64_t count = x.shape.back();
  const std::uint64_t keep = t[1].shape.back();
  if (keep == 0) return;
  std::vector<std::uint64_t> order(count);
  for (std::size_t row = 0; row < t[1].values.size() / keep; ++row) {
    const double* values = x.values.data() + row * count;
    std::iota(order.begin(), order.end(), 0ULL);
    std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) {
      return descending ? less(values[b], values[a]) : less(values[a], values[b]);
    });
    for (std::size_t i = 0; i < keep; ++i) {
      t[1].values[row * keep + i] = static_cast<double>(order[i]);
      if (t.size() > 2) t[2].values[row * keep + i] = values[order[i]];
    }
  }
}

struct Options {
  bool descending = false;
  bool values = false;
  std::uint64_t keep = ~0ULL;
};

Case sort_case(const std::string& label, TensorSpec x, Options options, TensorSpec indices = {},
               TensorSpec values = {}) {
  Case test;
  test.name = label;
  test.epsilons = 0;
  indices.dtype = DType::i32;
  indices.shape = x.shape;
  indices.shape.back() = std::min(indices.shape.back(), options.keep);
  indices.output = values.output = true;
  values.dtype = x.dtype;
  values.shape = indices.shape;
  test.tensors = {std::move(x), std::move(indices)};
  if (options.values) test.tensors.push_back(std::move(values));
  test.plan = [options](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0],
                 .indices = v[1],
                 .values = v.size() > 2 ? v[2] : View{},
                 .descending = options.descending},
                caps);
  };
  test.reference = [options](std::span<HostTensor> t) { sort_host(t, options.descending); };
  return test;
}

/// Whole numbers in a small range, so that many elements are equal.
TensorSpec with_ties(std::vector<std::uint64_t> shape, DType type = DType::f32) {
  const bool is_unsigned = type == DType::u32 || type == DType::u8;
  return {.dtype = type,
          .shape = std::move(shape),
          .fill = Fill::integers,
          .low = is_unsigned ? 0.0 : -20.0,
          .high = 20};
}

void add_tests(std::vector<Case>& out) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
    out.push_back(sort_case(formatted("ascending_{}", name(type)), with_ties({3, 5, 70}, type),
                            {.values = true}));
    out.push_back(sort_case(formatted("descending_{}", name(type)), with_ties({2, 3000}, type),
                            {.descending = true, .values = true}));
  }
  for (const DType type : {DType::i8, DType::u8}) {
    out.push_back(sort_case(formatted("bytes_{}", name(type)), with_ties({7, 33}, type), {}));
  }
  for (const std::uint64_t count : {1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 2047, 2048, 2049, 4097}) {
    out.push_back(sort_case(formatted("length_{}", count), {.shape = {3, count}},
                            {.descending = count % 2 == 0}));
  }
  out.push_back(sort_case("infinities", {.shape = {5, 300}, .fill = Fill::masked}, {}));
  out.push_back(sort_case("many_rows", {.shape = {70, 40, 16}}, {.descending = true}));
  out.push_back(sort_case("one", {.shape = {1}}, {.values = true}));
  out.push_back(sort_case("no_rows", {.shape = {0, 9}}, {.values = true}));
  out.push_back(sort_case("no_columns", {.shape = {4, 0}}, {}));
  out.push_back(sort_case("keep_none", {.shape = {4, 9}}, {.keep = 0}));
  out.push_back(sort_case("keep_few", with_ties({5, 300}), {.descending = true, .keep = 7}));
  out.push_back(sort_case("keep_few_of_many", with_ties({3, 30011}),
                          {.descending = true, .values = true, .keep = 40}));
  out.push_back(sort_case("keep_1024_of_many", {.shape = {2, 9000}}, {.keep = 1024}));
  out.push_back(sort_case("keep_1025_of_many", {.shape = {2, 9000}}, {.keep = 1025}));
  out.push_back(sort_case("padded", {.shape = {4, 3, 90}, .pad = 5, .offset = 3}, {.values = true},
                          {.pad = 2, .offset = 1}, {.pad = 1}));
  out.push_back(sort_case("permuted", {.shape = {4, 3, 90}, .order = {1, 2, 0}}, {.values = true},
                          {.order = {2, 0, 1}}));
  out.push_back(sort_case("stepped_f16", {.dtype = DType::f16, .shape = {4, 2500}, .step = 3},
                          {.values = true}, {.step = 2}, {.pad = 1, .offset = 1}));
  out.push_back(sort_case("same_row", {.shape = {4, 90}, .repeat = {0}}, {}));
  out.push_back(sort_case("long", {.shape = {700001}}, {.descending = true}));
  out.push_back(sort_case("long_ties", with_ties({2, 300007}), {}, {.step = 2}));
  out.push_back(sort_case("long_few", with_ties({500003}), {.descending = true, .keep = 100}));
  out.push_back(sort_case("large", {.shape = {3, 100, 2000}}, {}));
}

void add_benches(std::vector<Case>& out) {
  const auto bench = [&](const std::string& label, std::vector<std::uint64_t> shape,
                         Options options) {
    Case test = sort_case("bench_" + label, {.shape = std::move(shape)}, options);
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  bench("argsort_4096x4096_f32", {4096, 4096}, {});
  bench("argsort_1x1M_f32", {1, 1 << 20}, {});
  bench("argsort_65536x128_f32", {65536, 128}, {});
  bench("top40_1x151936_f32", {1, 151936}, {.descending = true, .keep = 40});
  bench("top8_4096x128_f32", {4096, 128}, {.descending = true, .keep = 8});
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_tests(out);
  for (int i = 0; i < 6; ++i) {
    TensorSpec x = with_ties({random.between(1, 5), random.between(1, 3), random.between(1, 5000)});
    x.pad = random.between(0, 3);
    x.offset = random.between(0, 3);
    out.push_back(sort_case(formatted("random{}", i), x,
                            {.descending = random.between(0, 1) == 1,
                             .values = random.between(0, 1) == 1,
                             .keep = random.between(1, 5000)},
                            {.pad = random.between(0, 2)}));
  }
  add_benches(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"sort",
          "The order of elements along the last dimension, all of it or the first k, stable",
          "f32 f16 bf16 i32 u32 i8 u8 (indices i32)", cases};
}

}  // namespace weft::ops::sort
