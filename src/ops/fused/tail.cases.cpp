// Reductions, softmax and norms that read through a chain.
#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/fused/cases.hpp"
#include "ops/norm/norm.hpp"
#include "ops/reduce/reduce.hpp"
#include "ops/softmax/softmax.hpp"

namespace weft::ops::fused {
namespace {

using Shape = std::vector<std::uint64_t>;
using reduce::Function;

/// silu(a) * b + 0.5 c
std::vector<Step> gated_sum() {
  return {{"silu", {0}}, {"mul", {3, 1}}, {"scale", {2}, {0.5, 0}}, {"add", {4, 5}}};
}

/// The last tensor is the output; those before it (and before weight and bias of a norm) are the
/// chain's inputs.
HostTensor chain_of(const std::vector<Step>& steps, std::span<const HostTensor> inputs,
                    const Shape& shape) {
  HostTensor x{.dtype = DType::f32, .shape = shape};
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  x.values.resize(count);
  compute_chain(steps, inputs, x);
  return x;
}

Case start(std::string name, std::vector<TensorSpec> tensors) {
  Case test;
  test.name = std::move(name);
  tensors.back().output = true;
  test.tensors = std::move(tensors);
  test.epsilons = 64;
  return test;
}

void reduce_host(const HostTensor& x, Function function, std::uint32_t axes, HostTensor& y) {
  const bool squares = function == Function::norm || function == Function::sum_squares;
  const bool largest = function == Function::max || function == Function::argmax;
  std::vector<double> best(y.values.size(), -1e300);
  std::ranges::fill(y.values, largest ? -1e300 : 0);
  std::size_t next = 0;
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < x.shape.size(); ++d) count *= (axes >> d & 1U) != 0 ? x.shape[d] : 1;
  for (Index at(x.shape); !at.done(); at.next()) {
    std::uint64_t to = 0;
    std::uint64_t index = 0;
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      const bool reduced = (axes >> d & 1U) != 0;
      (reduced ? index : to) = (reduced ? index : to) * x.shape[d] + at[d];
    }
    const double value = x.values[next++];
    if (function == Function::max) y.values[to] = std::max(y.values[to], value);
    if (function == Function::argmax && value > best[to]) {
      best[to] = value;
      y.values[to] = static_cast<double>(index);
    }
    if (!largest) y.values[to] += squares ? value * value : value;
  }
  for (double& value : y.values) {
    if (function == Function::norm) value = std::sqrt(value);
    if (function == Function::mean) value /= static_cast<double>(count);
  }
}

Case reduction(std::string name, const Shape& shape, Function function, std::uint32_t axes,
               std::vector<TensorSpec> inputs) {
  Shape kept;
  double terms = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = (axes >> d & 1U) != 0;
    if (!reduced) kept.push_back(shape[d]);
    terms *= reduced ? static_cast<double>(shape[d]) : 1;
  }
  inputs.push_back(
      {.dtype = function == Function::argmax ? DType::i32 : DType::f32, .shape = kept});
  Case test = start(std::move(name), std::move(inputs));
  test.scale = std::sqrt(terms);
  test.plan = [=](std::span<const View> v, const Caps& caps) {
    return reduce::plan({.function = function,
                         .x = View::dense(DType::f32, shape),
                         .axes = axes,
                         .y = v.back(),
                         .chain = {{v.begin(), v.end() - 1}, gated_sum()}},
                        caps);
  };
  test.reference = [=](std::span<HostTensor> t) {
    reduce_host(chain_of(gated_sum(), t.first(t.size() - 1), shape), function, axes, t.back());
  };
  return test;
}

Case softmax_case(std::string name, std::vector<TensorSpec> tensors, bool log) {
  const Shape shape = tensors.back().shape;
  Case test = start(std::move(name), std::move(tensors));
  test.plan = [log](std::span<const View> v, const Caps& caps) {
    softmax::Args args;
    args.chain = {{v.begin(), v.end() - 1}, gated_sum()};
    args.y = v.back();
    args.scale = 1.5F;
    args.log = log;
    return softmax::plan(args, caps);
  };
  test.reference = [log, shape](std::span<HostTensor> t) {
    const HostTensor x = chain_of(gated_sum(), t.first(t.size() - 1), shape);
    const std::size_t length = shape.back();
    for (std::size_t first = 0; first < x.values.size(); first += length) {
      double sum = 0;
      for (std::size_t i = 0; i < length; ++i) sum += std::exp(1.5 * x.values[first + i]);
      for (std::size_t i = 0; i < length; ++i) {
        const double z = 1.5 * x.values[first + i] - std::log(sum);
        t.back().values[first + i] = log ? z : std::exp(z);
      }
    }
  };
  return test;
}

/// Inputs, weight, bias and the output.
Case norm_case(std::string name, std::vector<TensorSpec> tensors, norm::Kind kind) {
  const Shape shape = tensors.back().shape;
  Case test = start(std::move(name), std::move(tensors));
  test.epsilons = 256;
  test.plan = [kind](std::span<const View> v, const Caps& caps) {
    norm::Args args;
    args.kind = kind;
    args.chain = {{v.begin(), v.end() - 3}, gated_sum()};
    args.y = v.back();
    args.weight = v[v.size() - 3];
    args.bias = v[v.size() - 2];
    return norm::plan(args, caps);
  };
  test.reference = [kind, shape](std::span<HostTensor> t) {
    const HostTensor x = chain_of(gated_sum(), t.first(t.size() - 3), shape);
    const std::size_t length = shape.back();
    for (std::size_t first = 0; first < x.values.size(); first += length) {
      double mean = 0;
      double spread = 0;
      const auto row = std::span(x.values).subspan(first, length);
      for (const double v : row) mean += v / static_cast<double>(length);
      if (kind == norm::Kind::rms) mean = 0;
      for (const double v : row) spread += (v - mean) * (v - mean) / static_cast<double>(length);
      for (std::size_t i = 0; i < length; ++i) {
        t.back().values[first + i] =
            (row[i] - mean) / std::sqrt(spread + 1e-5) * t[t.size() - 3].values[i] +
            t[t.size() - 2].values[i];
      }
    }
  };
  return test;
}

}  // namespace

std::vector<Case> tail_cases() {
  std::vector<Case> out;
  const auto f = [](const Shape& shape, DType type = DType::f32) {
    return TensorSpec{.dtype = type, .shape = shape};
  };
  const DType f16 = DType::f16;
  const auto add = [&](const std::string& name, const Shape& shape, Function function,
                       std::uint32_t axes, std::vector<TensorSpec> inputs) {
    out.push_back(reduction(formatted("then_{}", name), shape, function, axes, std::move(inputs)));
  };
  add("sum_rows", {9, 64}, Function::sum, 2, {f({9, 64}), f({64}), f({9, 1}, f16)});
  add("sum_rows_of_7", {9, 7}, Function::sum, 2, {f({9, 7}, f16), f({7}), f({9, 1})});
  add("mean_all", {1031}, Function::mean, 1, {f({1031}), f({1}), f({1031}, f16)});
  add("sum_long", {90000}, Function::sum, 1, {f({90000}), f({90000}), f({1})});
  add("norm_columns", {33, 24}, Function::norm, 1, {f({33, 24}), f({24}), f({33, 1})});
  add("sum_odd_columns", {33, 7}, Function::sum, 1, {f({33, 7}, f16), f({7}), f({33, 1})});
  add("sum_middle", {5, 12, 8}, Function::sum, 2, {f({5, 12, 8}), f({12, 1}), f({5, 1, 8}, f16)});
  add("max_outer", {5, 12, 8}, Function::max, 5, {f({5, 1, 8}), f({12, 8}), f({8})});
  add("argmax_rows", {6, 40}, Function::argmax, 2, {f({6, 40}), f({40}), f({6, 1})});
  add("sum_permuted", {6, 5, 8}, Function::sum, 4,
      {{.shape = {6, 5, 8}, .order = {1, 2, 0}},
       {.shape = {6, 5, 8}, .pad = 3},
       {.dtype = f16, .shape = {6, 5, 8}, .offset = 1}});
  for (const std::uint64_t length : {40U, 7U, 9001U}) {
    const Shape rows{3, length};
    const std::string size = std::to_string(length);
    const DType y = length == 9001 ? DType::f32 : f16;
    out.push_back(softmax_case("then_softmax_" + size,
                               {f(rows), f({length}), f({3, 1}, f16), f(rows, y)}, length == 7));
    out.push_back(
        norm_case("then_layer_norm_" + size,
                  {f(rows), f({length}, f16), f({3, 1}), f({length}), f({length}), f(rows)},
                  norm::Kind::layer));
  }
  out.push_back(norm_case(
      "then_rms_norm_f16",
      {f({5, 64}, f16), f({5, 64}, f16), f({5, 64}, f16), f({64}), f({64}), f({5, 64}, f16)},
      norm::Kind::rms));
  return out;
}

}  // namespace weft::ops::fused
