#include "ops/sampled_matmul/sampled_matmul.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::sampled_matmul {
namespace {

struct Options {
  std::uint64_t rows = 9, columns = 13, count = 40, size = 10;
  std::uint32_t lanes = 0;
};

/// Starts that ascend, some of them behind the last element; columns that may be none.
Case product_case(const std::string& label, const Options& o, TensorSpec a = {}, TensorSpec b = {},
                  TensorSpec columns = {}, TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 16;
  test.scale = std::sqrt(static_cast<double>(o.size) + 1);
  TensorSpec starts{.dtype = DType::i32,
                    .shape = {o.rows + 1},
                    .fill = Fill::sorted,
                    .low = 0,
                    .high = static_cast<double>(o.count)};
  columns.dtype = DType::i32;
  columns.shape = {o.count};
  columns.low = -1;
  columns.high = static_cast<double>(o.columns);
  a.shape = {o.rows, o.size};
  b.shape = {o.columns, o.size};
  y.shape = {o.count};
  y.output = true;
  test.tensors = {starts, columns, a, b, y};
  test.plan = [o](std::span<const View> v, const Caps& caps) {
    return plan(
        {.starts = v[0], .columns = v[1], .a = v[2], .b = v[3], .y = v[4], .lanes = o.lanes}, caps);
  };
  test.reference = [o](std::span<HostTensor> t) {
    for (std::uint64_t i = 0; i < o.count; ++i) {
      std::int64_t row = -1;
      for (const double start : t[0].values) row += start <= static_cast<double>(i) ? 1 : 0;
      const double column = t[1].values[i];
      double sum = 0;
      if (row >= 0 && row < static_cast<std::int64_t>(o.rows) && column >= 0 &&
          column < static_cast<double>(o.columns)) {
        for (std::uint64_t k = 0; k < o.size; ++k) {
          sum += t[2].values[static_cast<std::uint64_t>(row) * o.size + k] *
                 t[3].values[static_cast<std::uint64_t>(column) * o.size + k];
        }
      }
      t[4].values[i] = sum;
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    out.push_back(product_case(formatted("{}", name(type)), {}, {.dtype = type}, {.dtype = type}));
  }
  out.push_back(product_case("mixed_types", {}, {.dtype = DType::f16}));
  for (const std::uint32_t lanes : {2U, 32U, 256U}) {
    out.push_back(
        product_case(formatted("lanes_{}", lanes),
                     {.rows = 30, .columns = 20, .count = 300, .size = 65, .lanes = lanes}));
  }
  out.push_back(product_case("strided", {}, {.order = {1, 0}, .pad = 3, .offset = 1},
                             {.pad = 1, .offset = 2}, {.step = 3, .offset = 1}, {.step = 2}));
  out.push_back(product_case("one", {.rows = 1, .columns = 1, .count = 1, .size = 1}));
  out.push_back(product_case("no_elements", {.count = 0}));
  out.push_back(product_case("no_products", {.size = 0}));
  out.push_back(product_case("no_rows", {.rows = 0, .count = 3}));
  out.push_back(product_case("no_columns", {.columns = 0, .count = 3}));
  // Where bindings hold 1 MiB, elements and rows of both matrices take several launches.
  out.push_back(
      product_case("parts_of_rows", {.rows = 40000, .columns = 50000, .count = 3000, .size = 8}));
  out.push_back(
      product_case("parts_of_elements", {.rows = 50, .columns = 60, .count = 300000, .size = 3}));
  out.push_back(product_case("random", {.rows = random.between(1, 60),
                                        .columns = random.between(1, 60),
                                        .count = random.between(1, 500),
                                        .size = random.between(1, 90)}));
  Case bench = product_case("bench_1M_64_f32",
                            {.rows = 1 << 16, .columns = 1 << 16, .count = 1 << 20, .size = 64});
  bench.test = false;
  bench.bench = true;
  bench.reference = {};
  bench.bytes = static_cast<double>(1 << 20) * (2 * 64 * 4 + 8);
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"sampled_matmul",
          "Elements of the product of two dense matrices at the places of a sparse one",
          "f32 f16 bf16 (places i32)", cases};
}

}  // namespace weft::ops::sampled_matmul
