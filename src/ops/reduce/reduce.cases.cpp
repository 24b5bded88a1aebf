#include "ops/reduce/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::reduce {
namespace {

using Shape = std::vector<std::uint64_t>;

bool is_arg(Function f) { return f == Function::argmax || f == Function::argmin; }

double reference_of(Function function, const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  double prod = 1;
  std::size_t lowest = 0;
  std::size_t highest = 0;
  bool any = false;
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    sum += v;
    squares += v * v;
    prod *= v;
    if (v < values[lowest]) lowest = i;
    if (v > values[highest]) highest = i;
    any = any || v != 0;
    all = all && v != 0;
  }
  const bool none = values.empty();
  const double infinity = std::numeric_limits<double>::infinity();
  switch (function) {
    case Function::sum: return sum;
    case Function::mean: return sum / static_cast<double>(values.size());
    case Function::max: return none ? -infinity : values[highest];
    case Function::min: return none ? infinity : values[lowest];
    case Function::prod: return prod;
    case Function::argmax: return static_cast<double>(highest);
    case Function::argmin: return static_cast<double>(lowest);
    case Function::norm: return std::sqrt(squares);
    case Function::sum_squares: return squares;
    case Function::any: return any ? 1 : 0;
    case Function::all: return all ? 1 : 0;
  }
  return 0;
}

/// y = function over `axes` of x, for tensors {x, y}; y has its reduced dimensions or not.
void reduce_host(Function function, std::uint32_t axes, const HostTensor& x, HostTensor& y) {
  Shape kept;
  Shape reduced;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    (((axes >> i) & 1U) != 0 ? reduced : kept).push_back(x.shape[i]);
  std::size_t n = 0;
  std::vector<double> values;
  for (Index k(kept); !k.done(); k.next()) {
    values.clear();
    for (Index r(reduced); !r.done(); r.next()) {
      std::size_t at = 0;
      std::size_t from_kept = 0;
      std::size_t from_reduced = 0;
      for (std::size_t i = 0; i < x.shape.size(); ++i)
        at = at * x.shape[i] + (((axes >> i) & 1U) != 0 ? r[from_reduced++] : k[from_kept++]);
      values.push_back(x.values[at]);
    }
    // Unrounded for floats: the allowed error of the case has room for one rounding, not for two.
    const double value = reference_of(function, values);
    y.values[n++] = is_float(y.dtype) ? value : round_to(y.dtype, value);
  }
}

Case make_case(Function function, const std::string& label, TensorSpec x, std::uint32_t axes,
               TensorSpec y = {}, bool keep = false) {
  Case test;
  test.name = formatted("{}_{}", name(function), label);
  double count = 1;
  y.shape.clear();
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool reduced = ((axes >> i) & 1U) != 0;
    if (reduced) count *= static_cast<double>(x.shape[i]);
    if (!reduced || keep) y.shape.push_back(reduced ? 1 : x.shape[i]);
  }
  y.output = true;
  count = std::max(count, 1.0);
  x.low = x.dtype == DType::u32 || x.dtype == DType::u8 ? 0 : -1;
  switch (function) {
    case Function::sum:
      test.epsilons = 16;
      test.scale = std::sqrt(count);
      break;
    case Function::mean:
      test.epsilons = 16;
      test.scale = 1 / std::sqrt(count);
      break;
    case Function::prod:
      test.epsilons = 32 + count / 8;
      if (is_float(x.dtype)) x.low = 0.9;
      x.high = is_float(x.dtype) ? 1.1 : 1;
      if (x.dtype == DType::i32) x.fill = Fill::integers;
      break;
    case Function::any:
    case Function::all:
      x.fill = Fill::integers;
      x.low = 0;
      x.high = 1;
      test.epsilons = 0;
      break;
    case Function::argmax:
    case Function::argmin: test.epsilons = 0; break;
    case Function::max:
    case Function::min: test.epsilons = 0; break;
    default: test.epsilons = 16;
  }
  if (!is_float(x.dtype) && function != Function::prod && x.high == 1) {
    x.low *= 1000;
    x.high = 1000;
  }
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [function, axes](std::span<const View> views, const Caps& caps) {
    return plan({.function = function, .x = views[0], .axes = axes, .y = views[1]}, caps);
  };
  test.reference = [function, axes](std::span<HostTensor> t) {
    reduce_host(function, axes, t[0], t[1]);
  };
  return test;
}

TensorSpec result(Function function, DType type) {
  return {.dtype = is_arg(function) ? DType::i32 : type};
}

std::string text(const Shape& shape) {
  std::string out;
  for (const std::uint64_t extent : shape) out += formatted("{}{}", out.empty() ? "" : "x", extent);
  return out;
}

void add_function_cases(std::vector<Case>& out) {
  for (const Function f : all_functions) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
      const bool wraps = !is_float(type) && (f == Function::mean || f == Function::norm);
      const TensorSpec y = result(f, wraps ? DType::f32 : type);
      out.push_back(
          make_case(f, formatted("rows_{}", name(type)), {.dtype = type, .shape = {9, 77}}, 2, y));
      if (type != DType::f32) continue;
      out.push_back(make_case(f, "columns_f32", {.shape = {77, 12}}, 1, y));
      out.push_back(make_case(f, "all_f32", {.shape = {13, 7}}, 3, y));
    }
    const TensorSpec none = result(f, DType::f32);
    if (!is_arg(f)) {
      out.push_back(make_case(f, "of_nothing", {.shape = {5, 0}}, 2, none));
      out.push_back(make_case(f, "to_nothing", {.shape = {0, 5}}, 2, none));
    }
  }
  for (const Function f : {Function::any, Function::all}) {
    out.push_back(
        make_case(f, "u8", {.dtype = DType::u8, .shape = {6, 33}}, 2, {.dtype = DType::u8}));
  }
  out.push_back(make_case(Function::sum, "i8_to_i32", {.dtype = DType::i8, .shape = {6, 36}}, 2,
                          {.dtype = DType::i32}));
  out.back().tensors[0].low = -100;
  out.back().tensors[0].high = 100;
}

/// Ties are common in whole numbers, so that argmax has to choose.
TensorSpec with_ties(TensorSpec x, Case& test) {
  x.fill = Fill::integers;
  x.low = -3;
  x.high = 3;
  test.tensors[0] = x;
  return x;
}

void add_shape_cases(std::vector<Case>& out) {
  for (const Function f : {Function::sum, Function::argmax}) {
    const auto add = [&](const std::string& label, const TensorSpec& x, std::uint32_t axes,
                         TensorSpec y = {}, bool keep = false) {
      y.dtype = is_arg(f) ? DType::i32 : y.dtype;
      Case test = make_case(f, label, x, axes, y, keep);
      if (is_arg(f)) with_ties(test.tensors[0], test);
      out.push_back(std::move(test));
    };
    for (std::uint32_t axes = 0; axes < 16; ++axes) {
      add(formatted("axes_{}", axes), {.shape = {3, 4, 5, 6}}, axes, {}, axes % 2 == 0);
      add(formatted("permuted_axes_{}", axes),
          {.dtype = DType::f16, .shape = {3, 4, 5, 8}, .order = {2, 0, 3, 1}}, axes);
    }
    for (const std::uint64_t n :
         {1U, 2U, 3U, 4U, 5U, 8U, 31U, 128U, 129U, 516U, 1024U, 1027U, 5000U}) {
      for (const DType type : {DType::f32, DType::f16}) {
        add(formatted("row_of_{}_{}", n, name(type)), {.dtype = type, .shape = {3, n}}, 2,
            {.dtype = type});
        if (n > 600) continue;
        add(formatted("columns_of_{}_{}", n, name(type)), {.dtype = type, .shape = {n, 24}}, 1,
            {.dtype = type});
      }
    }
    add("scalar", {.shape = {}}, 0);
    add("offset_row", {.shape = {5, 130}, .offset = 3}, 2, {.offset = 1});
    add("padded_rows_f16", {.dtype = DType::f16, .shape = {5, 64}, .pad = 8}, 2,
        {.dtype = DType::f16, .offset = 1});
    add("odd_rows_bf16", {.dtype = DType::bf16, .shape = {5, 63}, .pad = 2}, 2,
        {.dtype = DType::bf16, .step = 2});
    add("stepped", {.shape = {6, 40}, .step = 2}, 2);
    add("stepped_columns", {.shape = {40, 6}, .step = 3}, 1, {.step = 2});
    add("repeated", {.shape = {6, 40}, .repeat = {0}}, 2);
    add("repeated_reduced", {.shape = {6, 40}, .repeat = {1}}, 2);
    add("rank8", {.shape = {2, 3, 1, 2, 3, 2, 2, 4}, .order = {7, 1, 3, 0, 2, 5, 4, 6}}, 0xa5);
    add("narrow_columns", {.shape = {5000, 3}}, 1);
    add("many_narrow_columns", {.shape = {900, 3, 2}}, 2);
    add("tall_columns", {.shape = {3000, 40}}, 1);
    add("tall_columns_f16", {.dtype = DType::f16, .shape = {3000, 40}}, 1);
    add("long", {.shape = {300001}}, 1);
    add("long_rows_f16", {.dtype = DType::f16, .shape = {2, 100040}}, 2);
    add("all_past_one_binding", {.shape = {700, 1001}}, 3);
    add("rows_past_one_binding", {.shape = {700, 1001}}, 2);
    add("columns_past_one_binding", {.shape = {700, 1001}}, 1);
    add("permuted_past_one_binding", {.shape = {800, 800}, .order = {1, 0}}, 2);
    add("middle_past_one_binding_f16", {.dtype = DType::f16, .shape = {20, 60, 900}}, 2);
    add("many_outputs", {.dtype = DType::f16, .shape = {600000, 2}}, 2, {.dtype = DType::f16});
  }
  for (const auto& [from, to] : {std::pair{DType::f32, DType::f16},
                                 {DType::bf16, DType::f32},
                                 {DType::i32, DType::f32},
                                 {DType::f16, DType::i32}}) {
    out.push_back(make_case(Function::sum, formatted("{}_to_{}", name(from), name(to)),
                            {.dtype = from, .shape = {16, 40}}, 1, {.dtype = to}));
    out.back().tensors[0].fill = Fill::integers;
    out.back().tensors[0].low = -8;
    out.back().tensors[0].high = 8;
  }
  for (const DType to : {DType::i64, DType::u32, DType::f32}) {
    out.push_back(make_case(Function::argmin, formatted("to_{}", name(to)), {.shape = {16, 40}}, 2,
                            {.dtype = to}));
  }
  out.push_back(make_case(Function::sum, "many_workgroups", {.shape = {66000, 8, 8}}, 2));
  out.push_back(make_case(Function::norm, "long_f16", {.dtype = DType::f16, .shape = {300001}}, 1));
  out.push_back(make_case(Function::mean, "tall_columns", {.shape = {4000, 20}}, 1));
  // The first row of a matrix becomes the sum of all its rows.
  Case in_place = make_case(Function::sum, "over_itself", {.shape = {7, 33}, .output = true}, 1);
  in_place.tensors.resize(1);
  in_place.plan = [](std::span<const View> views, const Caps& caps) {
    return plan({.x = views[0], .axes = 1, .y = views[0].slice(0, 0, 1)}, caps);
  };
  in_place.reference = [](std::span<HostTensor> t) {
    HostTensor y{DType::f32, {33}, std::vector<double>(33)};
    reduce_host(Function::sum, 1, t[0], y);
    std::ranges::copy(y.values, t[0].values.begin());
  };
  out.push_back(std::move(in_place));
}

void add_random_cases(std::vector<Case>& out, Random& random) {
  for (int i = 0; i < 12; ++i) {
    Shape shape(random.between(1, 5));
    for (std::uint64_t& extent : shape) extent = random.between(1, 11);
    const DType type = random.pick<DType>({DType::f32, DType::f16, DType::bf16, DType::i32});
    const Function f = random.pick<Function>({Function::sum, Function::max, Function::argmin});
    TensorSpec x{.dtype = type, .shape = shape};
    TensorSpec y = result(f, type);
    for (TensorSpec* spec : {&x, &y}) {
      spec->offset = random.between(0, 5);
      spec->pad = random.between(0, 3);
      spec->step = random.between(1, 2);
    }
    const auto axes = static_cast<std::uint32_t>(random.between(0, (1U << shape.size()) - 1));
    out.push_back(make_case(f, formatted("random{}", i), x, axes, y));
  }
}

void add_benchmarks(std::vector<Case>& out) {
  const auto bench = [&](Function f, const std::string& label, DType type, const Shape& shape,
                         std::uint32_t axes) {
    Case test = make_case(f, formatted("{}_{}_{}", label, text(shape), name(type)),
                          {.dtype = type, .shape = shape}, axes, result(f, type));
    test.name = "bench_" + test.name;
    test.test = false;
    test.bench = true;
    out.push_back(std::move(test));
  };
  for (const DType type : {DType::f32, DType::f16}) {
    bench(Function::sum, "all", type, {4096, 4096}, 3);
    bench(Function::sum, "rows", type, {4096, 4096}, 2);
    bench(Function::sum, "columns", type, {4096, 4096}, 1);
    bench(Function::max, "rows", type, {4096, 4096}, 2);
    bench(Function::argmax, "rows", type, {64, 32000}, 2);
    bench(Function::sum, "short_rows", type, {262144, 64}, 2);
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_function_cases(out);
  add_shape_cases(out);
  add_random_cases(out, random);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"reduce",
          "sum, mean, max, min, prod, argmax, argmin, norm, sum_squares, any and all over any "
          "dimensions",
          "f32 f16 bf16 i32 u32 (storage also i8 u8)", cases};
}

}  // namespace weft::ops::reduce
