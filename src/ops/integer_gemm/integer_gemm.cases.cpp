#include "ops/integer_gemm/integer_gemm.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/matrices.hpp"

namespace weft::ops::integer_gemm {
namespace {

using Shape = std::vector<std::uint64_t>;

struct Options {
  Shape batch = {};
  std::uint64_t m = 1, k = 1, n = 1;
  DType a = DType::i8;
  DType b = DType::i8;
  bool zeros = false;
  bool one_zero = false;      // for all rows, and for all columns
  DType result = DType::i32;  // others have factors
  bool others = false;        // scales for rows too
  bool matrix = false;        // on matrix units, where there are any
};

TensorSpec bytes_of(TensorSpec spec, DType dtype, const Shape& batch, std::uint64_t rows,
                    std::uint64_t columns) {
  spec.dtype = dtype;
  if (spec.shape.empty()) {
    spec.shape = batch;
    spec.shape.insert(spec.shape.end(), {rows, columns});
  }
  // Sums of small numbers stay within 8 bits often enough.
  const bool few = spec.fill == Fill::integers;
  spec.low = dtype == DType::i8 ? (few ? -3 : -128) : 0;
  spec.high = few ? 3 : (dtype == DType::i8 ? 127 : 255);
  return spec;
}

Case product(const std::string& label, const Options& o, TensorSpec a = {}, TensorSpec b = {},
             TensorSpec y = {}) {
  Case test;
  test.name = label;
  test.epsilons = 0;
  const bool finished = o.result != DType::i32;
  if (finished && o.result != DType::f32) a.fill = b.fill = Fill::integers;
  a = bytes_of(std::move(a), o.a, o.batch, o.m, o.k);
  b = bytes_of(std::move(b), o.b, o.batch, o.k, o.n);
  y.dtype = o.result;
  y.shape = o.batch;
  y.shape.insert(y.shape.end(), {o.m, o.n});
  y.output = true;
  TensorSpec of_a{.dtype = DType::i32, .shape = {o.m}, .low = -200, .high = 200};
  TensorSpec of_b{.dtype = DType::i32, .shape = {o.n}, .low = -200, .high = 200};
  if (o.one_zero) of_a.repeat = of_b.repeat = {0};
  // Whole factors, so that sums times factors are exact.
  const TensorSpec factors{
      .shape = {3, o.n}, .fill = Fill::integers, .low = -2, .high = 2, .pad = 1};
  const TensorSpec others{.shape = {o.m}, .fill = Fill::integers, .low = -1, .high = 1};
  test.tensors = {a, b, of_a, of_b, factors, others, y};
  test.flops = 2.0 * static_cast<double>(o.m * o.k * o.n);
  test.plan = [zeros = o.zeros || o.one_zero, finished, with_others = o.others, matrix = o.matrix](
                  std::span<const View> v, const Caps& caps) {
    const bool units = byte_matrices(caps).has_value();
    return plan({.a = v[0],
                 .b = v[1],
                 .a_zero = zeros ? v[2] : View{},
                 .b_zero = zeros ? v[3] : View{},
                 .y = v[6],
                 .factors = finished ? v[4] : View{},
                 .others = with_others ? v[5] : View{},
                 .kernel = matrix && units ? "matrix" : ""},
                caps);
  };
  test.reference = [o](std::span<HostTensor> t) {
    const bool zeros = o.zeros || o.one_zero;
    const std::size_t one_a = t[0].values.size() == o.m * o.k ? 0 : o.m * o.k;
    const std::size_t one_b = t[1].values.size() == o.k * o.n ? 0 : o.k * o.n;
    for (std::size_t at = 0; at < t[6].values.size(); ++at) {
      const std::size_t batch = at / (o.m * o.n);
      const std::size_t i = at / o.n % o.m;
      const std::size_t j = at % o.n;
      double sum = 0;
      for (std::size_t k = 0; k < o.k; ++k) {
        sum += (t[0].values[batch * one_a + i * o.k + k] - (zeros ? t[2].values[i] : 0)) *
               (t[1].values[batch * one_b + k * o.n + j] - (zeros ? t[3].values[j] : 0));
      }
      if (o.others) sum *= t[5].values[i];
      if (o.result != DType::i32) sum = sum * t[4].values[j] + t[4].values[o.n + j];
      if (o.result == DType::i8 || o.result == DType::u8) {
        const bool sign = o.result == DType::i8;
        sum = std::clamp(std::nearbyint(sum) + t[4].values[2 * o.n + j], sign ? -128.0 : 0.0,
                         sign ? 127.0 : 255.0);
      }
      t[6].values[at] = round_to(o.result, sum);
    }
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) {
      const std::string types = formatted("{}_{}", name(a), name(b));
      out.push_back(product(types, {.m = 33, .k = 70, .n = 65, .a = a, .b = b}));
      out.push_back(
          product(types + "_zeros", {.m = 5, .k = 64, .n = 9, .a = a, .b = b, .zeros = true}));
      // Rows of weights: b lies as [N, K].
      out.push_back(product(types + "_rows",
                            {.m = 7, .k = 128, .n = 70, .a = a, .b = b, .one_zero = true}, {},
                            {.order = {1, 0}}));
    }
  }
  for (const DType type : {DType::i8, DType::u8}) {
    const std::string types = formatted("matrix_{}", name(type));
    out.push_back(product(types, {.m = 33, .k = 70, .n = 65, .a = type, .matrix = true}));
    out.push_back(
        product(types + "_zeros",
                {.m = 37, .k = 29, .n = 18, .a = type, .b = type, .zeros = true, .matrix = true}));
    out.push_back(product(
        types + "_rows",
        {.batch = {2}, .m = 16, .k = 128, .n = 70, .b = type, .one_zero = true, .matrix = true}, {},
        {.order = {0, 2, 1}}));
  }
  out.push_back(product("batches", {.batch = {2, 3}, .m = 4, .k = 12, .n = 5, .zeros = true}));
  out.push_back(
      product("shared_b", {.batch = {3}, .m = 4, .k = 12, .n = 5}, {}, {.shape = {12, 5}}));
  out.push_back(product("odd_rows", {.m = 9, .k = 13, .n = 6}, {}, {.order = {1, 0}}));
  out.push_back(product("strided", {.m = 9, .k = 16, .n = 6}, {.pad = 4, .offset = 1},
                        {.order = {1, 0}, .pad = 3}, {.order = {1, 0}, .pad = 1, .offset = 2}));
  out.push_back(product("offset_words", {.m = 9, .k = 14, .n = 6}, {.pad = 2, .offset = 4},
                        {.order = {1, 0}, .pad = 2, .offset = 8}));
  out.push_back(product("one", {.m = 1, .k = 1, .n = 1, .zeros = true}));
  out.push_back(product("no_rows", {.m = 0, .k = 8, .n = 3}));
  out.push_back(product("no_sum", {.m = 3, .k = 0, .n = 4, .zeros = true}));
  out.push_back(product("tall", {.m = 9000, .k = 130, .n = 2}));
  out.push_back(
      product("wide", {.m = 2, .k = 130, .n = 9000, .a = DType::u8}, {}, {.order = {1, 0}}));
  // What becomes of sums, stored four at a time, or where neighbours share words one by one.
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8}) {
    const std::string suffix(name(type));
    out.push_back(
        product("finished_" + suffix, {.m = 70, .k = 9, .n = 68, .result = type, .others = true}));
    out.push_back(product(
        "finished_odd_" + suffix,
        {.batch = {2}, .m = 5, .k = 7, .n = 67, .a = DType::u8, .zeros = true, .result = type}));
    out.push_back(product("matrix_finished_" + suffix, {.m = 40,
                                                        .k = 19,
                                                        .n = 36,
                                                        .b = DType::u8,
                                                        .result = type,
                                                        .others = true,
                                                        .matrix = true}));
  }
  out.push_back(
      product("matrix_finished_odd",
              {.m = 21, .k = 30, .n = 35, .zeros = true, .result = DType::i8, .matrix = true}));
  // Rows that are a quarter of a tile at most.
  for (const std::uint64_t rows : {1U, 3U, 4U, 16U}) {
    out.push_back(product(formatted("few{}", rows), {.batch = {2},
                                                     .m = rows,
                                                     .k = 70,
                                                     .n = 67,
                                                     .a = DType::u8,
                                                     .zeros = true,
                                                     .result = DType::i8,
                                                     .others = true}));
  }
  out.push_back(product("finished_turned", {.m = 9, .k = 6, .n = 12, .result = DType::u8}, {}, {},
                        {.order = {1, 0}, .pad = 1}));
  out.push_back(product("finished_no_sum", {.m = 3, .k = 0, .n = 4, .result = DType::i8}));
  out.push_back(product("finished_tall", {.m = 9000, .k = 130, .n = 2, .result = DType::f32}));
  for (int i = 0; i < 3; ++i) {
    out.push_back(
        product(formatted("random{}", i), {.batch = {random.between(1, 3)},
                                           .m = random.between(1, 140),
                                           .k = random.between(1, 200),
                                           .n = random.between(1, 140),
                                           .a = random.between(0, 1) == 0 ? DType::i8 : DType::u8,
                                           .zeros = true}));
  }
  Case row = product("bench_1x4096_i8", {.m = 1, .k = 4096, .n = 4096}, {}, {.order = {1, 0}});
  row.test = false;
  row.bench = true;
  out.push_back(std::move(row));
  for (const std::uint64_t n : {1024U, 4096U}) {
    Case bench =
        product(formatted("bench_{}_i8", n), {.m = n, .k = n, .n = n}, {}, {.order = {1, 0}});
    bench.test = false;
    bench.bench = true;
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"integer_gemm",
          "Exact products of matrices of 8-bit whole numbers with zero points; sums as they are, "
          "scaled, or "
          "made 8-bit whole numbers again",
          "i8 u8 (results i32, floats, i8, u8)", cases};
}

}  // namespace weft::ops::integer_gemm
