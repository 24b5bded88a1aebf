#include <cmath>
#include <format>
#include <utility>

#include "ops/case.hpp"
#include "ops/gemm/cases.hpp"

namespace weft::ops::gemm {
namespace {

/// Batches of a tensor in front of its two matrix dimensions.
Shape with_batch(const Shape& batch, std::uint64_t rows, std::uint64_t columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

/// The order of dimensions in memory with the last two swapped.
std::vector<std::uint32_t> swapped(std::size_t rank) {
  std::vector<std::uint32_t> order(rank);
  for (std::uint32_t i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

/// Where index `i` of shape `full` lies in a tensor of `shape` that broadcasts to it.
std::size_t broadcast_at(const Shape& shape, std::span<const std::uint64_t> i) {
  const std::size_t missing = i.size() - shape.size();
  std::size_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    at = at * shape[d] + (shape[d] == 1 ? 0 : i[d + missing]);
  }
  return at;
}

void reference(const Spec& spec, std::span<HostTensor> tensors) {
  const HostTensor& a = tensors[0];
  const HostTensor& b = tensors[1];
  HostTensor& c = tensors[2];
  std::size_t next = 3;
  const auto optional = [&](bool given) { return given ? &tensors[next++] : nullptr; };
  const HostTensor* bias = optional(spec.bias.has_value());
  const HostTensor* a_scale = optional(spec.a_scale.has_value());
  const HostTensor* b_scale = optional(spec.b_scale.has_value());
  const map::Function* act =
      spec.activation == "none" ? nullptr : map::find_function(spec.activation);
  const Shape a_batch(a.shape.begin(), a.shape.end() - 2);
  const Shape b_batch(b.shape.begin(), b.shape.end() - 2);
  const Shape c_batch(c.shape.begin(), c.shape.end() - 2);
  std::size_t number = 0;
  for (Index batch(c_batch); !batch.done(); batch.next(), ++number) {
    const double* left = a.values.data() + broadcast_at(a_batch, batch.values()) * spec.m * spec.k;
    const double* right = b.values.data() + broadcast_at(b_batch, batch.values()) * spec.k * spec.n;
    std::vector<std::uint64_t> at(batch.values().begin(), batch.values().end());
    at.resize(at.size() + 2);
    for (std::uint64_t m = 0; m < spec.m; ++m) {
      std::vector<double> row(spec.n, 0.0);
      for (std::uint64_t k = 0; k < spec.k; ++k) {
        const double factor = left[m * spec.k + k];
        for (std::uint64_t n = 0; n < spec.n; ++n) row[n] += factor * right[k * spec.n + n];
      }
      for (std::uint64_t n = 0; n < spec.n; ++n) {
        double& out = c.values[(number * spec.m + m) * spec.n + n];
        double value = static_cast<double>(spec.alpha) * row[n];
        at[at.size() - 2] = m;
        at[at.size() - 1] = n;
        for (const HostTensor* scale : {a_scale, b_scale}) {
          if (scale != nullptr) value *= scale->values[broadcast_at(scale->shape, at)];
        }
        if (spec.beta != 0) value += static_cast<double>(spec.beta) * out;
        if (bias != nullptr) value += bias->values[broadcast_at(bias->shape, at)];
        if (act != nullptr) value = act->reference(value, 0, 0, act->defaults);
        out = value;  // not rounded: the sum on the device may lie on the other side of a tie
      }
    }
  }
}

}  // namespace

Case make_case(const Spec& spec) {
  Case test;
  test.name = spec.name;
  TensorSpec a{.dtype = spec.a, .shape = with_batch(spec.a_batch, spec.m, spec.k)};
  TensorSpec b{.dtype = spec.b, .shape = with_batch(spec.b_batch, spec.k, spec.n)};
  TensorSpec c{.dtype = spec.c, .shape = with_batch(spec.batch, spec.m, spec.n), .output = true};
  if (spec.a_turned) a.order = swapped(a.shape.size());
  if (spec.b_turned) b.order = swapped(b.shape.size());
  if (spec.c_turned) c.order = swapped(c.shape.size());
  for (TensorSpec* t : {&a, &b, &c}) {
    t->pad = spec.pad;
    t->offset = spec.offset;
    t->step = spec.element_step;
    t->fill = spec.fill;
    if (spec.fill == Fill::integers) {  // small enough for exact sums, also in bf16
      t->low = -3;
      t->high = 3;
    }
  }
  test.tensors = {a, b, c};
  if (spec.bias) {
    test.tensors.push_back({.dtype = spec.bias_type, .shape = *spec.bias, .fill = spec.fill});
  }
  for (const auto& scale : {spec.a_scale, spec.b_scale}) {
    // 1 or 2 among integers, so that products with them are exact.
    if (scale) test.tensors.push_back({.shape = *scale, .fill = spec.fill, .low = 1, .high = 2});
  }
  // Rounding errors of a sum of K terms grow like the sum of their sizes at worst, like its root as
  // a rule.
  test.epsilons = 16 + std::sqrt(static_cast<double>(spec.k));
  test.scale = 1 + std::sqrt(static_cast<double>(spec.k));
  if (const map::Function* act = map::find_function(spec.activation))
    test.epsilons += act->epsilons;
  test.plan = [spec](std::span<const View> views, const Caps& caps) {
    Args args{.a = views[0],
              .b = views[1],
              .c = views[2],
              .alpha = spec.alpha,
              .beta = spec.beta,
              .activation = spec.activation,
              .allow_f16 = spec.allow_f16,
              .kernel = spec.kernel,
              .register_tile = spec.register_tile,
              .matrix_tile = spec.matrix_tile,
              .vector_tile = spec.vector_tile,
              .parts = spec.parts};
    std::size_t next = 3;
    if (spec.bias) args.bias = views[next++];
    if (spec.a_scale) args.a_scale = views[next++];
    if (spec.b_scale) args.b_scale = views[next++];
    if (const map::Function* act = map::find_function(spec.activation))
      args.scalars = act->defaults;
    // Kernels that a device does not have are not tested there: the choice falls to the next one.
    const bool halves = spec.allow_f16 || (spec.a == DType::f16 && spec.b == DType::f16);
    if (spec.kernel == "matrix" &&
        !choose_matrix(spec.m, spec.n, spec.k, 1, caps, {.halves = halves}))
      args.kernel = {};
    // What is scaled besides bf16 is scaled for short sums in f16.
    const bool bf16 = spec.a == DType::bf16 || spec.b == DType::bf16;
    if (spec.kernel == "halves" && !adds_halves(caps) && !bf16) args.kernel = {};
    if (!spec.bench && args.matrix_tile && !args.matrix_tile->valid(caps)) args.matrix_tile = {};
    if (args.register_tile && !args.register_tile->valid(caps)) args.register_tile = {};
    if (args.vector_tile && !args.vector_tile->valid(caps)) args.vector_tile = {};
    return plan(args, caps);
  };
  test.reference = [spec](std::span<HostTensor> tensors) { reference(spec, tensors); };
  test.flops =
      2.0 * static_cast<double>(spec.m) * static_cast<double>(spec.n) * static_cast<double>(spec.k);
  for (const std::uint64_t extent : spec.batch) test.flops *= static_cast<double>(extent);
  return test;
}

}  // namespace weft::ops::gemm
