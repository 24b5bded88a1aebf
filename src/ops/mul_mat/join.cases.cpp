// Cases for products that share a launch, and for what comes after a product in the same launch.
#include <cmath>

#include "base/format.hpp"
#include "ops/mul_mat/cases.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/stages.hpp"

namespace weft::ops::mul_mat {
namespace {

std::uint64_t total(const Shape& rows) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : rows) sum += count;
  return sum;
}

/// Parts of one tensor of weights, results side by side.
Case join_case(DType type, const Shape& rows, std::uint64_t n, std::uint64_t k, bool packed) {
  Case test = make_case(
      {.name = formatted("{}joined_{}_{}_n{}", packed ? "packed_" : "", name(type), rows.size(), n),
       .type = type,
       .m = total(rows),
       .n = n,
       .k = k});
  if (packed) test.tensors[1].fill = Fill::integers;  // which 8 bits hold exactly
  test.plan = [rows, packed](std::span<const View> v, const Caps& caps) {
    JoinArgs args{.x = v[1], .allow_q8 = packed};
    std::uint64_t first = 0;
    for (const std::uint64_t count : rows) {
      args.weights.push_back(v[0].slice(0, first, count));
      args.y.push_back(v[2].slice(1, first, count));
      first += count;
    }
    // The order in memory does not matter.
    std::swap(args.weights.front(), args.weights.back());
    std::swap(args.y.front(), args.y.back());
    return plan(args, caps);
  };
  return test;
}

/// A gate and what it lets through are the halves of one tensor of weights. With `packs` the
/// results are also packed; that those bytes are right is tested where kernels that write both are
/// compared with the one that packs.
Case gated_case(DType type, std::uint64_t m, std::uint64_t n, std::uint64_t k, bool packed,
                bool packs = false) {
  Case test = make_case({.name = formatted("{}gated_{}_n{}{}", packed ? "packed_" : "", name(type),
                                           n, packs ? "_to_packed" : ""),
                         .type = type,
                         .m = m,
                         .n = n,
                         .k = k,
                         .precision = 8});
  if (packed) test.tensors[1].fill = Fill::integers;
  test.tensors[0].shape = {2 * m, k};
  test.plan = [m, packed, packs](std::span<const View> v, const Caps& caps) {
    Stages stages{v[0], v[1], v[2]};
    JoinArgs args{.weights = {v[0].slice(0, m, m), v[0].slice(0, 0, m)},
                  .x = v[1],
                  .y = {v[2]},
                  .gated = "swiglu",
                  .allow_q8 = packed};
    if (packed) args.packed = stages.scratch(DType::u32, packed_view(v[1]).extents());
    if (packed) stages.add(plan(PackArgs{.x = v[1], .packed = args.packed}, caps));
    if (packs) args.packed_y = stages.scratch(DType::u32, packed_view(v[2]).extents());
    stages.add(plan(args, caps));
    return std::move(stages).finish();
  };
  test.reference = [m, n, k](std::span<HostTensor> t) {
    const auto product = [&](std::size_t row, std::size_t column) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i) {
        sum += t[0].values[row * k + i] * t[1].values[column * k + i];
      }
      return sum;
    };
    for (std::size_t column = 0; column < n; ++column) {
      for (std::size_t row = 0; row < m; ++row) {
        const double gate = product(m + row, column);
        t[2].values[column * m + row] = gate / (1 + std::exp(-gate)) * product(row, column);
      }
    }
  };
  return test;
}

/// Joined products with a bias each.
Case biased_case(DType type, const Shape& rows, std::uint64_t n, std::uint64_t k) {
  Case test = join_case(type, rows, n, k, false);
  test.name += "_bias";
  test.tensors.push_back({.shape = {total(rows)}});
  test.plan = [rows](std::span<const View> v, const Caps& caps) {
    JoinArgs args{.x = v[1]};
    std::uint64_t first = 0;
    for (const std::uint64_t count : rows) {
      args.weights.push_back(v[0].slice(0, first, count));
      args.y.push_back(v[2].slice(1, first, count));
      args.bias.push_back(v[3].slice(0, first, count));
      first += count;
    }
    return plan(args, caps);
  };
  test.reference = [plain = test.reference](std::span<HostTensor> t) {
    plain(t.first(3));
    for (std::size_t i = 0; i < t[2].values.size(); ++i) {
      t[2].values[i] += t[3].values[i % t[3].values.size()];
    }
  };
  return test;
}

/// activation(product + bias), with a bias for each row of weights or for each element of y (in
/// place: it is y).
Case end_case(Spec spec, std::string_view activation, bool whole, bool in_place = false) {
  spec.name = formatted("end_{}_{}_n{}", name(spec.type), activation, spec.n);
  if (!spec.kernel.empty()) spec.name += formatted("_{}", spec.kernel);
  spec.precision *= 4;
  Case test = make_case(spec);
  if (spec.kernel == "packed") test.tensors[1].fill = Fill::integers;
  if (!in_place) {
    test.tensors.push_back({.shape = whole ? Shape{spec.n, spec.m} : Shape{spec.m}});
  }
  test.plan = [kernel = spec.kernel, activation, in_place](std::span<const View> v,
                                                           const Caps& caps) {
    return plan(Args{.weights = v[0],
                     .x = v[1],
                     .y = v[2],
                     .kernel = kernel,
                     .bias = v[in_place ? 2 : 3],
                     .activation = activation},
                caps);
  };
  test.reference = [plain = test.reference, activation, in_place](std::span<HostTensor> t) {
    const std::vector<double> bias = t[in_place ? 2 : 3].values;
    plain(t.first(3));
    const map::Function* function = map::find_function(activation);
    for (std::size_t i = 0; i < t[2].values.size(); ++i) {
      double& y = t[2].values[i];
      y += bias[i % bias.size()];
      if (function != nullptr) y = function->reference(y, 0, 0, function->defaults);
    }
  };
  return test;
}

}  // namespace

void add_join_cases(std::vector<Case>& out) {
  out.push_back(join_case(DType::q4_0, {70, 20, 33}, 1, 256, false));
  out.push_back(join_case(DType::q4_k, {40, 9}, 3, 512, false));
  out.push_back(join_case(DType::q4_0, {70, 20, 33}, 1, 256, true));
  out.push_back(join_case(DType::q6_k, {5, 50}, 4, 256, true));
  out.push_back(gated_case(DType::q4_0, 35, 1, 256, false));
  out.push_back(gated_case(DType::iq2_xxs, 7, 3, 256, false));
  out.push_back(gated_case(DType::q4_0, 35, 1, 256, true));
  out.push_back(gated_case(DType::q8_0, 9, 4, 128, true));
  out.push_back(gated_case(DType::q4_0, 96, 1, 256, true, true));
  out.push_back(gated_case(DType::q8_0, 64, 3, 2112, true, true));
  out.push_back(biased_case(DType::q8_0, {30, 20, 9}, 2, 64));
  out.push_back(end_case({.m = 37, .n = 1, .k = 128}, "gelu_tanh", false));
  out.push_back(end_case({.m = 37, .n = 3, .k = 128, .kernel = "packed"}, "silu", true));
  out.push_back(end_case({.m = 37, .n = 12, .k = 128}, "none", false, true));
  out.push_back(
      end_case({.m = 33, .n = 20, .k = 64, .kernel = "decode", .precision = 1024}, "relu", false));
  out.push_back(end_case({.m = 33, .n = 20, .k = 64, .kernel = "halve", .precision = 1024},
                         "gelu_tanh", true));
  out.push_back(
      end_case({.type = DType::f16, .m = 33, .n = 5, .k = 64, .precision = 1024}, "silu", false));
}

}  // namespace weft::ops::mul_mat
