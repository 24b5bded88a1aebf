#include "ops/cumsum/cumsum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "ops/case.hpp"

namespace weft::ops::cumsum {
namespace {

using Shape = std::vector<std::uint64_t>;

struct Options {
  std::uint32_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  Function function = Function::sum;
};

double neutral(Function function, DType type) {
  const double most = is_float(type)       ? std::numeric_limits<float>::max()
                      : type == DType::u32 ? 4294967295.0
                                           : 2147483647.0;
  const double least = is_float(type) ? -most : type == DType::u32 ? 0 : -2147483648.0;
  if (function == Function::min) return most;
  if (function == Function::max || function == Function::logsumexp) return least;
  return function == Function::prod ? 1 : 0;
}

double joined(Function function, double a, double b) {
  switch (function) {
    case Function::sum: return a + b;
    case Function::prod: return a * b;
    case Function::max: return std::max(a, b);
    case Function::min: return std::min(a, b);
    case Function::logsumexp: {
      const double top = std::max(a, b);
      return top + std::log(std::exp(a - top) + std::exp(b - top));
    }
  }
  return 0;
}

void scan_host(const Options& options, const HostTensor& x, HostTensor& y) {
  const std::vector<double> in = x.values;
  std::uint64_t inner = 1;
  for (std::size_t i = options.axis + 1; i < x.shape.size(); ++i) inner *= x.shape[i];
  const std::uint64_t count = x.shape[options.axis];
  const std::uint64_t outer = in.size() / std::max<std::uint64_t>(1, inner * count);
  for (std::uint64_t o = 0; o < outer; ++o) {
    for (std::uint64_t k = 0; k < inner; ++k) {
      double sum = neutral(options.function, x.dtype);
      for (std::uint64_t j = 0; j < count; ++j) {
        const std::uint64_t i = options.reverse ? count - 1 - j : j;
        const std::uint64_t at = (o * count + i) * inner + k;
        if (!options.exclusive) sum = joined(options.function, sum, in[at]);
        y.values[at] = is_float(y.dtype) ? sum : round_to(y.dtype, sum);
        if (options.exclusive) sum = joined(options.function, sum, in[at]);
      }
    }
  }
}

Case make_case(const std::string& label, TensorSpec x, TensorSpec y, Options options) {
  Case test;
  const bool sums = options.function == Function::sum;
  test.name = formatted("{}{}{}{}", sums ? "" : formatted("{}_", name(options.function)), label,
                        options.exclusive ? "_exclusive" : "", options.reverse ? "_reverse" : "");
  y.shape = x.shape;
  y.output = true;
  if (options.function == Function::prod) {
    x.low = is_float(x.dtype) ? 0.9 : -1;
    x.high = is_float(x.dtype) ? 1.1 : -1;
  } else if (!is_float(x.dtype)) {
    x.low = x.dtype == DType::u32 ? 0 : -100;
    x.high = 100;
  }
  test.epsilons = 16;
  test.scale = std::sqrt(static_cast<double>(x.shape[options.axis]));
  test.tensors = {std::move(x), std::move(y)};
  test.plan = [options](std::span<const View> v, const Caps& caps) {
    return plan({.x = v[0],
                 .y = v[1],
                 .axis = options.axis,
                 .exclusive = options.exclusive,
                 .reverse = options.reverse,
                 .function = options.function},
                caps);
  };
  test.reference = [options](std::span<HostTensor> t) { scan_host(options, t[0], t[1]); };
  return test;
}

void add_cases(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, const TensorSpec& x, const TensorSpec& y,
                       std::uint32_t axis) {
    out.push_back(make_case(label, x, y, {.axis = axis}));
  };
  const auto add_directions = [&](const std::string& label, const TensorSpec& x,
                                  const TensorSpec& y, std::uint32_t axis) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        out.push_back(
            make_case(label, x, y, {.axis = axis, .exclusive = exclusive, .reverse = reverse}));
      }
    }
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u32}) {
    const std::string t(name(type));
    add_directions("row_" + t, {.dtype = type, .shape = {3, 1205}, .pad = 3},
                   {.dtype = type, .pad = 3}, 1);
    add("column_" + t, {.dtype = type, .shape = {100, 6}}, {.dtype = type}, 0);
  }
  add_directions("column", {.shape = {300, 6}}, {}, 0);
  add_directions("column_odd_f16", {.dtype = DType::f16, .shape = {70, 5}}, {.dtype = DType::f16},
                 0);
  add("column_padded_f16", {.dtype = DType::f16, .shape = {70, 6}, .pad = 3},
      {.dtype = DType::f16, .pad = 1}, 0);
  add_directions("long", {.shape = {60001}}, {}, 0);
  for (const std::uint64_t n :
       {1U, 2U, 7U, 8U, 9U, 31U, 64U, 130U, 520U, 1024U, 4096U, 4100U, 9000U}) {
    add(formatted("length_{}", n), {.shape = {5, n}}, {}, 1);
    add(formatted("length_{}_f16", n), {.dtype = DType::f16, .shape = {5, n}},
        {.dtype = DType::f16}, 1);
  }
  add("empty", {.shape = {4, 0}}, {}, 1);
  add("empty_rows", {.shape = {0, 4}}, {}, 1);
  add("middle", {.shape = {3, 40, 5}}, {}, 1);
  add("outer", {.shape = {40, 3, 5}}, {}, 0);
  add("permuted", {.shape = {6, 50, 7}, .order = {1, 2, 0}}, {.order = {2, 0, 1}}, 1);
  add("rank8", {.shape = {2, 1, 3, 2, 12, 2, 3, 2}, .order = {7, 1, 3, 0, 2, 5, 4, 6}}, {}, 4);
  add("stepped", {.shape = {6, 50}, .step = 3}, {.step = 2}, 1);
  add("offset_f16", {.dtype = DType::f16, .shape = {6, 50}, .offset = 1},
      {.dtype = DType::f16, .offset = 3}, 1);
  add("repeated", {.shape = {6, 50}, .repeat = {1}}, {}, 1);
  add("f32_to_f16", {.shape = {6, 64}}, {.dtype = DType::f16}, 1);
  add("bf16_to_f32", {.dtype = DType::bf16, .shape = {6, 64}}, {}, 1);
  add("i32_to_f32", {.dtype = DType::i32, .shape = {6, 64}}, {}, 1);
  add("in_place", {.shape = {6, 6000}}, {.same_as = 0}, 1);
  add("in_place_columns_f16", {.dtype = DType::f16, .shape = {600, 6}},
      {.dtype = DType::f16, .same_as = 0}, 0);
  add("in_place_long", {.shape = {60000}}, {.same_as = 0}, 0);
  add_directions("long_past_one_binding", {.shape = {600005}}, {}, 0);
  add("rows_past_one_binding", {.shape = {500, 1203}}, {}, 1);
  add_directions("columns_past_one_binding", {.shape = {1203, 500}}, {}, 0);
  add("long_rows_past_one_binding_f16", {.dtype = DType::f16, .shape = {3, 400002}}, {}, 1);
  add("many_rows", {.shape = {70000, 12}}, {}, 1);
}

/// What is scanned differently from sums: few cases, for the kernels are the same.
void add_functions(std::vector<Case>& out) {
  for (const Function function : all_functions) {
    if (function == Function::sum) continue;
    const auto add = [&](const std::string& label, const TensorSpec& x, Options options) {
      options.function = function;
      out.push_back(make_case(label, x, {.dtype = x.dtype}, options));
      out.back().epsilons = 256;
    };
    add("row", {.shape = {3, 1205}}, {.axis = 1});
    add("column", {.shape = {100, 6}}, {.axis = 0, .reverse = true});
    add("row_f16", {.dtype = DType::f16, .shape = {2, 70}}, {.axis = 1, .reverse = true});
    add("long", {.shape = {20001}}, {});
    if (function == Function::logsumexp) continue;
    add("exclusive_i32", {.dtype = DType::i32, .shape = {2, 40}}, {.axis = 1, .exclusive = true});
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  add_cases(out);
  add_functions(out);
  for (int i = 0; i < 10; ++i) {
    Shape shape(random.between(1, 4));
    for (std::uint64_t& extent : shape) extent = random.between(1, 20);
    const DType type = random.pick<DType>({DType::f32, DType::f16, DType::bf16, DType::i32});
    TensorSpec x{.dtype = type, .shape = shape};
    TensorSpec y{.dtype = type};
    for (TensorSpec* spec : {&x, &y}) {
      spec->offset = random.between(0, 5);
      spec->pad = random.between(0, 3);
      spec->step = random.between(1, 2);
    }
    out.push_back(
        make_case(formatted("random{}", i), x, y,
                  {.axis = static_cast<std::uint32_t>(random.between(0, shape.size() - 1)),
                   .exclusive = random.between(0, 1) == 1,
                   .reverse = random.between(0, 1) == 1}));
  }
  for (const DType type : {DType::f32, DType::f16}) {
    for (const std::uint32_t axis : {1U, 0U}) {
      Case bench =
          make_case(formatted("bench_{}_4096x4096_{}", axis == 1 ? "rows" : "columns", name(type)),
                    {.dtype = type, .shape = {4096, 4096}}, {.dtype = type}, {.axis = axis});
      bench.test = false;
      bench.bench = true;
      out.push_back(std::move(bench));
    }
  }
  Case bench = make_case("bench_long_16M_f32", {.shape = {16 << 20}}, {}, {});
  bench.test = false;
  bench.bench = true;
  out.push_back(std::move(bench));
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"cumsum",
          "Running sums, products, maxima, minima and logarithms of sums of exponentials along one "
          "dimension, inclusive or exclusive, from either end",
          "f32 f16 bf16 i32 u32", cases};
}

}  // namespace weft::ops::cumsum
