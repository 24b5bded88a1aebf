#include <utility>

#include "base/format.hpp"
#include "ops/case.hpp"
#include "ops/gemm/cases.hpp"

namespace weft::ops::gemm {
namespace {

/// Every combination of transposes of a, b and c at sizes that leave edges everywhere.
void add_layouts(std::vector<Case>& out, std::string_view kernel, DType a, DType b, DType c) {
  for (int turned = 0; turned < 8; ++turned) {
    Spec spec{.m = 70, .n = 41, .k = 37, .a = a, .b = b, .c = c, .kernel = kernel};
    spec.a_turned = (turned & 1) != 0;
    spec.b_turned = (turned & 2) != 0;
    spec.c_turned = (turned & 4) != 0;
    const std::string label =
        formatted("{}_{}_{}_{}_{}{}{}", kernel, name(a), name(b), name(c),
                  spec.a_turned ? 't' : 'n', spec.b_turned ? 't' : 'n', spec.c_turned ? 't' : 'n');
    spec.name = label + "_odd";
    out.push_back(make_case(spec));
    // c is turned by turning the whole product, so one such case of the other sizes is enough.
    if (spec.c_turned && turned != 4) continue;
    if (kernel == "naive") continue;  // one kernel text for all layouts
    spec.m = 64;
    spec.n = 96;
    spec.k = 48;
    spec.name = label + "_whole";
    out.push_back(make_case(spec));
    spec.m = 36;
    spec.n = 44;
    spec.k = 28;
    spec.pad = 12;
    spec.name = label + "_padded";
    out.push_back(make_case(spec));
  }
}

void add_sizes(std::vector<Case>& out, std::string_view kernel, DType type,
               const std::vector<std::array<std::uint64_t, 3>>& sizes) {
  for (const auto& [m, n, k] : sizes) {
    out.push_back(make_case({.name = formatted("{}_{}_{}x{}x{}", kernel, name(type), m, n, k),
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = type,
                             .b = type,
                             .c = type,
                             .fill = Fill::uniform,
                             .kernel = kernel}));
  }
}

/// alpha, beta, scales, bias and activation, for outputs that are stored by vectors and one by one.
void add_epilogues(std::vector<Case>& out, std::string_view kernel, DType in, DType type) {
  for (const std::uint64_t n : {64U, 43U}) {
    const Spec base{.m = 35, .n = n, .k = 24, .a = in, .b = in, .c = type, .kernel = kernel};
    const auto add = [&](std::string_view label, Spec spec) {
      spec.name = formatted("{}_{}_{}_{}_n{}", kernel, label, name(in), name(type), n);
      out.push_back(make_case(spec));
    };
    Spec spec = base;
    spec.alpha = 0.5F;
    spec.beta = -2;
    add("alpha_beta", spec);
    spec = base;
    spec.bias = Shape{n};
    spec.a_scale = Shape{35, 1};
    spec.activation = "relu";
    add("row_scale_column_bias_relu", spec);
    spec = base;
    spec.bias = Shape{35, 1};
    spec.bias_type = DType::f16;
    spec.fill = Fill::uniform;
    spec.activation = "gelu_tanh";
    add("row_bias_gelu", spec);
    spec = base;
    spec.bias = Shape{35, n};
    spec.bias_type = DType::bf16;
    spec.a_scale = Shape{35, 1};
    spec.b_scale = Shape{n};
    spec.alpha = 0.125F;
    spec.beta = 1;
    spec.activation = "leaky_relu";
    add("scales_full_bias_leaky", spec);
  }
}

void add_batches(std::vector<Case>& out, std::string_view kernel, DType type) {
  const auto add = [&](std::string_view label, Shape a, Shape b, Shape c, Spec spec) {
    spec.a_batch = std::move(a);
    spec.b_batch = std::move(b);
    spec.batch = std::move(c);
    spec.a = spec.b = spec.c = type;
    spec.kernel = kernel;
    spec.name = formatted("{}_{}_{}", kernel, label, name(type));
    out.push_back(make_case(spec));
  };
  const Spec size{.m = 17, .n = 20, .k = 19};
  add("batch", {3}, {3}, {3}, size);
  add("batch_shared_b", {3}, {}, {3}, size);
  add("batch_shared_a", {1}, {4}, {4}, size);
  add("batch_2d", {2, 1}, {1, 3}, {2, 3}, size);
  add("batch_3d", {2, 1, 2}, {3, 1}, {2, 3, 2}, size);
  add("batch_4d", {2, 1, 2, 1}, {1, 3, 1, 2}, {2, 3, 2, 2}, {.m = 5, .n = 8, .k = 6});
  Spec turned = size;
  turned.b_turned = true;
  turned.pad = 4;
  add("batch_padded_bt", {2, 2}, {2, 1}, {2, 2}, turned);
  Spec biased = size;
  biased.bias = Shape{2, 1, 1, 20};
  biased.a_scale = Shape{3, 17, 1};
  biased.b_scale = Shape{2, 1, 1, 20};
  biased.beta = 1;
  add("batch_bias", {2, 3}, {2, 3}, {2, 3}, biased);
}

void add_views(std::vector<Case>& out, std::string_view kernel, const std::vector<DType>& types) {
  for (const DType type : types) {
    const auto add = [&](std::string_view label, Spec spec) {
      spec.a = spec.b = spec.c = type;
      spec.kernel = kernel;
      spec.name = formatted("{}_{}_{}", kernel, label, name(type));
      out.push_back(make_case(spec));
    };
    add("odd_offset", {.m = 33, .n = 34, .k = 20, .offset = 1});
    add("odd_pad", {.m = 33, .n = 34, .k = 20, .pad = 3});
    add("stepped", {.m = 21, .n = 18, .k = 20, .element_step = 2});
  }
}

/// A sum of 32 terms in f16 has an error of some 2^-10 of its size.
constexpr double short_sum_epsilons = 0x1p14;

/// bf16 operands that become f16, row by row and column by column.
void add_halves(std::vector<Case>& out) {
  const auto add = [&](const std::string& label, Spec spec) {
    spec.kernel = "halves";
    spec.name = "halves_" + label;
    out.push_back(make_case(spec));
  };
  for (int turned = 0; turned < 4; ++turned) {
    Spec spec{.m = 36, .n = 300, .k = 140, .a = DType::bf16, .b = DType::bf16, .c = DType::bf16};
    spec.a_turned = (turned & 1) != 0;
    spec.b_turned = (turned & 2) != 0;
    const std::string label =
        formatted("{}{}", spec.a_turned ? 't' : 'n', spec.b_turned ? 't' : 'n');
    add(label, spec);
    spec.fill = Fill::uniform;
    spec.c = DType::f32;
    add(label + "_uniform_f32", spec);
  }
  Spec mixed{.m = 40, .n = 24, .k = 64, .a = DType::f16, .b = DType::bf16, .pad = 4};
  mixed.bias = Shape{24};
  mixed.alpha = 0.5F;
  mixed.beta = 2;
  mixed.activation = "relu";
  add("mixed", mixed);
  // Where a device adds in f16 alone, 32 products at a time, errors are those of f16.
  for (const bool turned : {false, true}) {
    Spec spec{.m = 36, .n = 44, .k = 140, .a = DType::f16, .b = DType::f16, .c = DType::f16};
    spec.b_turned = turned;
    spec.fill = Fill::uniform;
    add(turned ? "short_bt" : "short", spec);
    out.back().matrix_epsilons = short_sum_epsilons;
    spec.a = DType::f32;
    spec.c = DType::f32;
    spec.allow_f16 = true;
    add(turned ? "short_mixed_bt" : "short_mixed", spec);
    out.back().matrix_epsilons = short_sum_epsilons;
  }
  Spec batches{.m = 12, .n = 20, .k = 16, .a = DType::bf16, .b = DType::bf16};
  batches.a_batch = {2, 3};
  batches.b_batch = {1, 3};
  batches.batch = {2, 3};
  add("batches", batches);
}

/// f32 and bf16 operands through matrix units, with values that f16 holds exactly.
void add_rounded(std::vector<Case>& out) {
  for (const auto& [a, b] : {std::pair{DType::f32, DType::f16}, {DType::bf16, DType::f32}}) {
    for (const bool turned : {false, true}) {
      out.push_back(make_case(
          {.name = formatted("matrix_rounded_{}_{}{}", name(a), name(b), turned ? "_bt" : ""),
           .m = 40,
           .n = 48,
           .k = 29,
           .a = a,
           .b = b,
           .b_turned = turned,
           .allow_f16 = true,
           .kernel = "matrix"}));
    }
  }
}

void add_edges(std::vector<Case>& out) {
  // More columns than one grid dimension has workgroups for.
  out.push_back(
      make_case({.name = "matvec_many_columns", .m = 1, .n = 530001, .k = 3, .b_turned = true}));
  out.push_back(make_case({.name = "k0", .m = 5, .n = 8, .k = 0, .beta = 2}));
  out.push_back(make_case({.name = "k0_no_beta", .m = 5, .n = 7, .k = 0, .c = DType::f16}));
  out.push_back(make_case(
      {.name = "k0_bias_relu", .m = 6, .n = 5, .k = 0, .activation = "relu", .bias = Shape{5}}));
  out.push_back(make_case({.name = "m0", .m = 0, .n = 8, .k = 4}));
  out.push_back(make_case({.name = "n0", .m = 3, .n = 0, .k = 4}));
  out.push_back(make_case({.name = "one", .m = 1, .n = 1, .k = 1}));
  // Many batches: past 65,535 workgroups in z.
  out.push_back(make_case({.name = "many_batches",
                           .m = 2,
                           .n = 2,
                           .k = 3,
                           .a_batch = {66000},
                           .b_batch = {66000},
                           .batch = {66000}}));
}

/// Tensors of more than 1 MiB: the run with small bindings has to cut them along rows, columns,
/// batches and K.
void add_large(std::vector<Case>& out) {
  out.push_back(make_case({.name = "large_rows", .m = 1100, .n = 40, .k = 300}));
  out.push_back(
      make_case({.name = "large_columns_bt", .m = 20, .n = 1200, .k = 260, .b_turned = true}));
  out.push_back(make_case({.name = "large_k_at",
                           .m = 33,
                           .n = 24,
                           .k = 9000,
                           .c = DType::f16,
                           .a_turned = true,
                           .alpha = 0.0625F,
                           .activation = "relu",
                           .bias = Shape{24}}));
  out.push_back(make_case(
      {.name = "large_k_b", .m = 17, .n = 64, .k = 5000, .beta = 1, .fill = Fill::uniform}));
  out.push_back(make_case({.name = "large_c", .m = 600, .n = 500, .k = 8, .c = DType::f32}));
  out.push_back(make_case({.name = "large_batch",
                           .m = 40,
                           .n = 36,
                           .k = 50,
                           .a_batch = {160},
                           .b_batch = {160},
                           .batch = {160}}));
}

void add_random(std::vector<Case>& out, Random& random) {
  const std::vector<DType> types{DType::f32, DType::f16, DType::bf16};
  for (int i = 0; i < 24; ++i) {
    Spec spec{.name = formatted("random{}", i),
              .m = random.between(1, random.pick(std::vector<std::uint64_t>{1, 9, 20, 130})),
              .n = random.between(1, random.pick(std::vector<std::uint64_t>{1, 9, 20, 130})),
              .k = random.between(1, 150),
              .a = random.pick(types),
              .b = random.pick(types),
              .c = random.pick(types)};
    spec.a_turned = random.between(0, 1) == 1;
    spec.b_turned = random.between(0, 1) == 1;
    spec.c_turned = random.between(0, 3) == 3;
    spec.pad = random.pick(std::vector<std::uint64_t>{0, 0, 1, 8});
    spec.offset = random.pick(std::vector<std::uint64_t>{0, 0, 1, 8});
    spec.beta = random.between(0, 2) == 2 ? 0.5F : 0.0F;
    out.push_back(make_case(spec));
  }
}

std::vector<Case> cases(std::uint64_t seed) {
  Random random(seed);
  std::vector<Case> out;
  constexpr DType f32 = DType::f32;
  constexpr DType f16 = DType::f16;
  constexpr DType bf16 = DType::bf16;
  add_layouts(out, "tile", f32, f32, f32);
  add_layouts(out, "tile", f16, bf16, f16);
  add_layouts(out, "lone", f32, f32, f32);
  add_layouts(out, "naive", f16, f32, bf16);
  add_layouts(out, "matrix", f16, f16, f32);
  const std::vector<std::array<std::uint64_t, 3>> sizes{{1, 1, 1},      {3, 2, 5},     {17, 33, 16},
                                                        {33, 17, 15},   {63, 65, 64},  {65, 63, 33},
                                                        {127, 129, 17}, {129, 127, 70}};
  add_sizes(out, "tile", f32, sizes);
  add_sizes(out, "tile", f16, {{17, 33, 16}, {129, 127, 70}});
  add_sizes(out, "lone", f32, {{1, 1, 1}, {9, 7, 5}, {65, 63, 33}, {160, 136, 20}});
  add_sizes(out, "matrix", f16, sizes);
  add_sizes(out, "split_k", f16, {{40, 36, 700}, {3, 5, 1000}});
  add_sizes(out, "split_k", f32, {{40, 36, 700}, {3, 5, 1000}, {33, 33, 37}, {1, 70, 300}});
  for (const std::string_view kernel : {"tile", "naive", "split_k"}) {
    add_epilogues(out, kernel, f32, f32);
    add_epilogues(out, kernel, f32, f16);
  }
  add_epilogues(out, "matrix", f16, f32);
  add_epilogues(out, "matrix", f16, f16);
  add_batches(out, "tile", f32);
  add_batches(out, "lone", f32);
  add_batches(out, "matrix", f16);
  add_batches(out, "split_k", f32);
  add_batches(out, "naive", f16);
  add_views(out, "tile", {f32, f16, bf16});
  add_views(out, "matrix", {f16});
  add_vectors(out, random);
  add_halves(out);
  add_rounded(out);
  add_tiles(out);
  add_views(out, "naive", {f32, f16});
  add_edges(out);
  add_large(out);
  add_random(out, random);
  add_benchmarks(out);
  return out;
}

}  // namespace

Op describe_op();
Op describe_op() {
  return {"gemm",
          "Matrix products C = act(alpha·a_scale·A·B·b_scale + beta·C + bias), batched and strided",
          "f32 f16 bf16, mixed; sums in f32", cases};
}

}  // namespace weft::ops::gemm
