// Cases for x rounded to 8 bits.
#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "ops/mul_mat/cases.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/norm/norm.hpp"
#include "ops/stages.hpp"

namespace weft::ops::mul_mat {
namespace {

constexpr std::array packed_types{DType::q4_0,  DType::q4_1, DType::q5_0,   DType::q5_1,
                                  DType::q8_0,  DType::q2_k, DType::q3_k,   DType::q4_k,
                                  DType::q5_k,  DType::q6_k, DType::iq4_nl, DType::iq4_xs,
                                  DType::mxfp4, DType::nvfp4};

/// x is -1, 0 or 1, which 8 bits hold exactly: the product is as exact as that of f32.
Case exact_case(Spec spec) {
  spec.kernel = "packed";
  Case test = make_case(spec);
  test.name = "packed_" + test.name;
  test.tensors[1].fill = Fill::integers;
  return test;
}

/// Rounds blocks of 32 elements as pack.wgsl does, up to values that lie in the middle between two
/// bytes.
void round_blocks(std::span<double> x) {
  for (std::size_t start = 0; start < x.size(); start += 32) {
    const auto block = x.subspan(start, 32);
    double most = 0;
    for (const double v : block) most = std::max(most, std::abs(v));
    for (double& v : block) v = most == 0 ? 0 : std::nearbyint(v * 127 / most) * most / 127;
  }
}

/// Any x; the reference rounds it too. An element in the middle between two bytes may go the other
/// way: a few steps of 1 / 127 are allowed.
Case rounded_case(Spec spec) {
  spec.kernel = "packed";
  spec.precision = 512;
  Case test = make_case(spec);
  test.name = "packed_" + test.name;
  test.reference = [plain = test.reference](std::span<HostTensor> t) {
    const std::vector<double> x = t[1].values;
    round_blocks(t[1].values);
    plain(t);
    t[1].values = x;
  };
  return test;
}

/// One packing for two products.
Case shared_case() {
  Case test = make_case({.name = "packed_once", .m = 9, .n = 3, .k = 128, .batch = {2}});
  test.tensors[1].fill = Fill::integers;
  test.plan = [](std::span<const View> v, const Caps& caps) {
    Stages stages{v[0], v[1], v[2]};
    const View packed = stages.scratch(DType::u32, packed_view(v[1]).extents());
    stages.add(plan(PackArgs{.x = v[1], .packed = packed}, caps));
    for (const auto& [first, count] : {std::pair{0U, 4U}, {4U, 5U}}) {
      stages.add(plan(Args{.weights = v[0].slice(0, first, count),
                           .x = v[1],
                           .y = v[2].slice(2, first, count),
                           .allow_q8 = true,
                           .packed = packed},
                      caps));
    }
    return std::move(stages).finish();
  };
  return test;
}

/// A norm packs what a product takes. Elements of x are -1, 0 or 1, so those of a row become -r, 0
/// or r, which 8 bits hold.
Case norm_case(std::uint64_t k) {
  Case test = make_case({.name = formatted("packed_by_norm_{}", k), .m = 9, .n = 3, .k = k});
  test.tensors[1].fill = Fill::integers;
  test.epsilons *= 4;
  test.reference = [plain = test.reference, k](std::span<HostTensor> t) {
    plain(t);
    for (std::size_t row = 0; row < 3; ++row) {
      double squares = 0;
      for (std::size_t i = 0; i < k; ++i) squares += std::pow(t[1].values[row * k + i], 2);
      const double factor = 1 / std::sqrt(squares / static_cast<double>(k) + 1e-6);
      for (std::size_t i = 0; i < 9; ++i) t[2].values[row * 9 + i] *= factor;
    }
  };
  test.plan = [](std::span<const View> v, const Caps& caps) {
    Stages stages{v[0], v[1], v[2]};
    const View normed = stages.scratch(DType::f32, v[1].extents());
    const View packed = stages.scratch(DType::u32, packed_view(v[1]).extents());
    norm::Args args{.kind = norm::Kind::rms, .x = v[1], .y = normed};
    args.packed = packed;
    args.eps = 1e-6F;
    stages.add(norm::plan(args, caps));
    stages.add(plan(
        Args{.weights = v[0], .x = normed, .y = v[2], .allow_q8 = true, .packed = packed}, caps));
    return std::move(stages).finish();
  };
  return test;
}

/// Weights whose rows lie at odd multiples of two bytes are multiplied in another way.
Case unaligned_case() {
  Case test = make_case({.name = "packed_unaligned", .m = 9, .n = 3, .k = 64});
  test.tensors[0].pad = 32;
  test.plan = [](std::span<const View> v, const Caps& caps) {
    return plan(Args{.weights = v[0], .x = v[1], .y = v[2], .allow_q8 = true}, caps);
  };
  return test;
}

/// The product alone: x comes packed.
Case given_benchmark(Case test) {
  const View packed = packed_view(View::dense(DType::f32, test.tensors[1].shape));
  test.name += "_given";
  test.tensors[1] = {.dtype = DType::u32,
                     .shape = {packed.extents().begin(), packed.extents().end()},
                     .low = 0,
                     .high = 1e9};
  test.plan = [shape = test.tensors[2].shape, k = test.tensors[0].shape.back()](
                  std::span<const View> v, const Caps& caps) {
    // Only its shape is looked at.
    View x = View::dense(DType::f32, {shape[0], k}, v[1].slot);
    return plan(Args{.weights = v[0], .x = x, .y = v[2], .kernel = "packed", .packed = v[1]}, caps);
  };
  return test;
}

void add_benchmarks(std::vector<Case>& out) {
  const auto add = [&](DType type, std::uint64_t m, std::uint64_t k, std::uint64_t n) {
    Case test = make_case({.name = formatted("bench_{}_{}x{}_n{}_packed", name(type), m, k, n),
                           .type = type,
                           .m = m,
                           .n = n,
                           .k = k,
                           .kernel = "packed"});
    test.test = false;
    test.bench = true;
    if (n >= 8) {
      test.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
    out.push_back(test);
    if (n == 1) out.push_back(given_benchmark(test));
    // What it is compared with; not run unless asked for.
    test.name = formatted("bench_sweep_{}_{}x{}_n{}_vector", name(type), m, k, n);
    test.plan = [](std::span<const View> v, const Caps& caps) {
      return plan(Args{.weights = v[0], .x = v[1], .y = v[2], .kernel = "vector"}, caps);
    };
    out.push_back(std::move(test));
  };
  for (const DType type : packed_types) add(type, 4096, 14336, 1);
  for (const auto& [m, k] : {std::pair{4096U, 4096U},
                             {14336U, 4096U},
                             {128256U, 4096U},
                             {2048U, 2048U},
                             {5632U, 2048U},
                             {2048U, 5632U}}) {
    add(DType::q4_0, m, k, 1);
  }
  for (const std::uint64_t n : {2U, 4U, 8U}) {
    add(DType::q4_0, 4096, 14336, n);
    add(DType::q4_k, 4096, 14336, n);
  }
}

}  // namespace

void add_packed_cases(std::vector<Case>& out) {
  for (const DType type : packed_types) {
    const std::uint64_t k = block_elements(type) == 256 ? 768 : 320;
    out.push_back(exact_case({.name = std::string(name(type)), .type = type, .m = 37, .k = k}));
  }
  for (const std::uint64_t n : {2U, 3U, 5U, 13U}) {
    out.push_back(exact_case({.name = formatted("columns_{}", n), .m = 11, .n = n, .k = 320}));
  }
  out.push_back(rounded_case({.name = "rounded", .m = 50, .k = 64}));
  out.push_back(
      rounded_case({.name = "rounded_q6_K", .type = DType::q6_k, .m = 19, .n = 3, .k = 512}));
  out.push_back(rounded_case({.name = "long_rows", .m = 5, .k = 14336}));
  out.push_back(exact_case({.name = "many_rows", .type = DType::q8_0, .m = 140000, .k = 64}));
  out.push_back(exact_case(
      {.name = "batches", .m = 9, .n = 3, .k = 64, .weight_batch = {2, 1}, .batch = {2, 3}}));
  out.push_back(exact_case({.name = "shared_columns",
                            .type = DType::q8_0,
                            .m = 9,
                            .k = 64,
                            .weight_batch = {2, 1},
                            .batch = {2, 4}}));
  out.push_back(
      exact_case({.name = "past_one_binding", .type = DType::q8_0, .m = 3000, .n = 2, .k = 1024}));
  out.push_back(exact_case({.name = "x_f16", .m = 9, .n = 2, .k = 64, .x = DType::f16}));
  Case strided = exact_case({.name = "strided", .type = DType::q5_1, .m = 9, .n = 3, .k = 64});
  strided.tensors[0].pad = 32;
  strided.tensors[0].offset = 32;
  strided.tensors[1].order = {1, 0};
  strided.tensors[1].offset = 1;
  strided.tensors[2].order = {1, 0};
  strided.tensors[2].pad = 3;
  out.push_back(std::move(strided));
  out.push_back(shared_case());
  out.push_back(norm_case(64));
  out.push_back(norm_case(2048));
  out.push_back(unaligned_case());
  for (const DType type : {DType::q4_0, DType::q6_k, DType::mxfp4}) {
    Case test = id_case(formatted("packed_{}", name(type)), type, {5, 20, 512, 3, 2}, 2, "packed");
    test.tensors[1].fill = Fill::integers;
    out.push_back(std::move(test));
  }
  add_benchmarks(out);
}

}  // namespace weft::ops::mul_mat
