#include "ops/segments/segments.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/cumsum/cumsum.hpp"
#include "ops/stages.hpp"

namespace weft::ops::segments {
namespace {

struct Options {
  Function function = Function::sum;
  std::uint64_t segments = 7, count = 20, rows = 11, columns = 5;
  bool weighted = false;
  std::uint32_t lanes = 0;
  bool exact = false;  // small whole numbers, of which any sum is exact
};

/// Segments of 0 to `most` places: their starts are running sums, which may end before or behind
/// the last place.
Case segment_case(const std::string& label, const Options& o, TensorSpec x = {}, TensorSpec y = {},
                  TensorSpec places = {}) {
  Case test;
  test.name = label;
  const bool whole = x.dtype == DType::i32;
  test.epsilons = whole ? 0 : 16;
  test.scale = 2;
  TensorSpec sizes{
      .dtype = DType::i32,
      .shape = {o.segments + 1},
      .low = 0,
      .high = std::ceil(2.2 * static_cast<double>(o.count) / static_cast<double>(o.segments + 1))};
  places.dtype = DType::i32;
  places.shape = {o.count};
  places.low = -1;  // no row
  places.high = static_cast<double>(o.rows);
  TensorSpec weights{.dtype = whole ? DType::f32 : x.dtype, .shape = {o.count}, .step = 2};
  x.shape = {o.rows, o.columns};
  if (whole) {
    x.low = -1000;
    x.high = 1000;
  }
  if (o.exact) {
    for (TensorSpec* in : {&x, &weights}) {
      in->fill = Fill::integers;
      in->low = -4;
      in->high = 4;
    }
    test.scale = std::max(2.0, static_cast<double>(o.count) / static_cast<double>(o.segments + 1));
  }
  y.dtype = whole ? DType::i32 : DType::f32;
  y.shape = {o.segments, o.columns};
  y.output = true;
  test.tensors = {sizes, places, weights, x, y};
  test.plan = [o](std::span<const View> v, const Caps& caps) -> Result<Plan> {
    Stages stages({v[0], v[1], v[2], v[3], v[4]});
    const View starts = stages.scratch(DType::i32, v[0].extents());
    stages.add(cumsum::plan({.x = v[0], .y = starts, .axis = 0, .exclusive = true}, caps));
    stages.add(plan({.starts = starts,
                     .places = v[1],
                     .weights = o.weighted ? v[2] : View{},
                     .x = v[3],
                     .y = v[4],
                     .function = o.function,
                     .lanes = o.lanes},
                    caps));
    return std::move(stages).finish();
  };
  test.reference = [o](std::span<HostTensor> t) {
    double start = 0;
    for (std::uint64_t s = 0; s < o.segments; ++s) {
      const auto bound = [&](double v) {
        return static_cast<std::uint64_t>(std::min(v, static_cast<double>(o.count)));
      };
      const std::uint64_t first = bound(start);
      start += t[0].values[s];
      const std::uint64_t end = bound(start);
      for (std::uint64_t c = 0; c < o.columns; ++c) {
        double sum = 0;
        for (std::uint64_t i = first; i < end; ++i) {
          const double place = t[1].values[i];
          double v = place >= 0 && place < static_cast<double>(o.rows)
                         ? t[3].values[static_cast<std::uint64_t>(place) * o.columns + c]
                         : 0;
          if (o.weighted) v *= t[2].values[i];
          if (o.function == Function::max)
            sum = i == first ? v : std::max(sum, v);
          else if (o.function == Function::min)
            sum = i == first ? v : std::min(sum, v);
          else
            sum += v;
        }
        if (o.function == Function::mean && end > first) sum /= static_cast<double>(end - first);
        t[4].values[s * o.columns + c] = sum;
      }
    }
  };
  return test;
}

/// A square matrix in compressed rows with `each` elements in a row on average, times `columns`
/// columns.
Case product_bench(const std::string& label, std::uint64_t rows, std::uint64_t each,
                   std::uint64_t columns) {
  Case test;
  test.name = "bench_" + label;
  test.test = false;
  test.bench = true;
  const std::uint64_t count = rows * each;
  const auto last = static_cast<double>(rows - 1);
  test.tensors = {
      {.dtype = DType::i32,
       .shape = {rows + 1},
       .fill = Fill::sorted,
       .low = 0,
       .high = static_cast<double>(count)},
      {.dtype = DType::i32, .shape = {count}, .fill = Fill::integers, .low = 0, .high = last},
      {.shape = {count}},
      {.shape = {rows, columns}},
      {.shape = {rows, columns}, .output = true}};
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan({.starts = v[0], .places = v[1], .weights = v[2], .x = v[3], .y = v[4]}, caps);
  };
  return test;
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  for (const Function function : {Function::sum, Function::mean, Function::max, Function::min}) {
    const int which = static_cast<int>(function);
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      out.push_back(segment_case(formatted("{}_{}", name(type), which), {.function = function},
                                 {.dtype = type}));
    }
    if (function != Function::mean) {
      out.push_back(
          segment_case(formatted("i32_{}", which), {.function = function}, {.dtype = DType::i32}));
    }
  }
  out.push_back(segment_case("weights_f32", {.weighted = true}));
  out.push_back(segment_case("weights_f16", {.weighted = true}, {.dtype = DType::f16}));
  out.push_back(segment_case(
      "vector", {.segments = 300, .count = 1000, .rows = 77, .columns = 1, .weighted = true}));
  out.push_back(segment_case("strided", {.weighted = true},
                             {.order = {1, 0}, .pad = 3, .offset = 1},
                             {.order = {1, 0}, .pad = 1, .offset = 2}, {.step = 3, .offset = 1}));
  out.push_back(segment_case("no_segments", {.segments = 0}));
  out.push_back(segment_case("no_columns", {.columns = 0}));
  out.push_back(segment_case("one", {.segments = 1, .count = 1, .rows = 1, .columns = 1}));
  out.push_back(
      segment_case("large", {.segments = 20000, .count = 30000, .rows = 50, .columns = 20}));
  for (const std::uint32_t lanes : {2U, 32U, 256U}) {
    for (const Function function : {Function::sum, Function::mean, Function::max, Function::min}) {
      out.push_back(segment_case(formatted("lanes_{}_{}", lanes, static_cast<int>(function)),
                                 {.function = function,
                                  .segments = 13,
                                  .count = 3000,
                                  .rows = 70,
                                  .columns = 3,
                                  .weighted = lanes == 32,
                                  .lanes = lanes,
                                  .exact = true}));
    }
  }
  out.push_back(segment_case(
      "few_long", {.segments = 2, .count = 9000, .rows = 400, .columns = 1, .exact = true},
      {.dtype = DType::f16}));
  out.push_back(segment_case("no_places", {.count = 0}));
  out.push_back(segment_case("no_rows", {.count = 5, .rows = 0, .columns = 2}));
  // Where bindings hold 1 MiB, the places and the rows of x take several launches.
  for (const Function function : {Function::sum, Function::mean, Function::max, Function::min}) {
    out.push_back(segment_case(formatted("parts_{}", static_cast<int>(function)),
                               {.function = function,
                                .segments = 40,
                                .count = 300000,
                                .rows = 300000,
                                .columns = 1,
                                .weighted = function == Function::sum,
                                .exact = true}));
  }
  out.push_back(
      segment_case("parts_of_columns",
                   {.segments = 70, .count = 500, .rows = 150000, .columns = 3, .exact = true},
                   {.order = {1, 0}}));
  out.push_back(
      segment_case("parts_of_whole_numbers",
                   {.function = Function::max, .segments = 9, .count = 270000, .rows = 30},
                   {.dtype = DType::i32}));
  out.push_back(segment_case("random", {.segments = random.between(1, 90),
                                        .count = random.between(1, 300),
                                        .rows = random.between(1, 40),
                                        .columns = random.between(1, 40),
                                        .weighted = true}));
  out.push_back(product_bench("spmv_1M_16_f32", 1 << 20, 16, 1));
  out.push_back(product_bench("spmm_256k_16x64_f32", 1 << 18, 16, 64));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"segments",
          "Sums, means and extremes of rows that belong together; products of sparse matrices "
          "(compressed rows) with dense ones",
          "f32 f16 bf16 i32 (places i32)", cases};
}

}  // namespace weft::ops::segments
