// What matrix products refuse, and which kernels and cuts they choose, without any device.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "device/profiles.hpp"
#include "ops/gemm/gemm.hpp"

namespace weft::ops::gemm {
namespace {

const Caps& of(std::string_view profile) {
  return std::ranges::find(profiles(), profile, &Profile::name)->caps;
}

Caps device() {
  Caps caps;
  caps.f16 = caps.subgroups = caps.subgroup_matrix = true;
  caps.subgroup_min = caps.subgroup_max = 32;
  caps.max_buffer = caps.max_binding = 1ULL << 31;
  caps.workgroup_bytes = 48 << 10;
  caps.workgroup_invocations = 1024;
  caps.matrix_configs = {{MatrixType::f16, MatrixType::f32, 16, 16, 16}};
  caps.traits = of("h200").traits;
  return caps;
}

View tensor(std::initializer_list<std::uint64_t> shape, std::size_t slot, DType type = DType::f32) {
  return View::dense(type, shape, Slot(slot));
}

std::string refusal(const Args& args) {
  const auto planned = plan(args, device());
  return planned ? "planned" : planned.error().message;
}

/// The labels of the launches, in order.
std::vector<std::string> launches(const Args& args, const Caps& caps = device()) {
  const auto planned = plan(args, caps);
  if (!planned) return {planned.error().message};
  std::vector<std::string> labels;
  for (const Dispatch& dispatch : planned->dispatches) labels.push_back(dispatch.kernel.label);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Gemm, RefusesShapesTypesAndOverlaps) {
  EXPECT_EQ(refusal({.a = tensor({4, 6}, 0), .b = tensor({5, 8}, 1), .c = tensor({4, 8}, 2)}),
            "A matrix product takes a [M,K], b [K,N] and c [M,N]; given were a [4,6], b [5,8] and "
            "c [4,8].");
  EXPECT_EQ(
      refusal({.a = tensor({4, 6}, 0, DType::i32), .b = tensor({6, 8}, 1), .c = tensor({4, 8}, 2)}),
      "Matrix products take f32, f16 and bf16; tensor `a` is i32[4,6].");
  EXPECT_EQ(refusal({.a = tensor({6}, 0), .b = tensor({6, 8}, 1), .c = tensor({4, 8}, 2)}),
            "Tensor `a` of a matrix product needs at least 2 dimensions; it is f32[6].");
  EXPECT_EQ(refusal({.a = tensor({4, 4}, 0), .b = tensor({4, 4}, 1), .c = tensor({4, 4}, 0)}),
            "Tensor `a` (f32[4,4]) of a matrix product overlaps the output (f32[4,4]) in the same "
            "buffer.");
  EXPECT_EQ(refusal({.a = tensor({4, 6}, 0),
                     .b = tensor({6, 8}, 1),
                     .c = tensor({4, 8}, 2),
                     .activation = "add"}),
            "There is no activation named `add`; it must be `none` or a unary elementwise "
            "function.");
  EXPECT_EQ(
      refusal({.a = tensor({4, 6}, 0),
               .b = tensor({6, 8}, 1),
               .c = tensor({4, 8}, 2),
               .kernel = "fast"}),
      "While planning the product of f32[4,6] and f32[6,8]: There is no matrix product "
      "kernel named `fast`; there are naive, matvec, thin, split_k, matrix, lone, tile and, for "
      "bf16 in aligned rows, halves.");
  EXPECT_EQ(refusal({.a = tensor({40, 60}, 0),
                     .b = tensor({60, 80}, 1),
                     .c = tensor({40, 80}, 2),
                     .kernel = "matrix"}),
            "While planning the product of f32[40,60] and f32[60,80]: While choosing kernel "
            "`matrix`: Matrix units multiply f16; the operands are f32 and f32 and rounding them "
            "was not allowed.");
}

/// Tiles and parts of K, as measured on an H200: a prompt's products, the gradients of weights, and
/// few results.
TEST(Gemm, TilesAndPartsOfKFollowTheSize) {
  struct Choice {
    std::uint64_t m, n, k;
    std::string tile;
    std::uint32_t parts;
  };
  const std::vector<Choice> choices{
      {4096, 4096, 4096, "gemm matrix 128x128x32", 1},
      {512, 14336, 4096, "gemm matrix 128x128x32", 1},
      {512, 4096, 14336, "gemm matrix 128x128x64", 1},
      {512, 4096, 4096, "gemm matrix 128x128x64", 1},
      {512, 1024, 4096, "gemm matrix 128x128x64", 4},
      {512, 2048, 5632, "gemm matrix 128x128x64", 2},
      {768, 768, 8192, "gemm matrix 128x128x32", 7},
  };
  for (const Choice& choice : choices) {
    const Args args{.a = tensor({choice.m, choice.k}, 0, DType::f16),
                    .b = tensor({choice.k, choice.n}, 1, DType::f16),
                    .c = tensor({choice.m, choice.n}, 2)};
    SCOPED_TRACE(choice.tile + " for " + describe(args.a) + " x " + describe(args.b));
    const auto planned = plan(args, device());
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_EQ(planned->dispatches[0].kernel.label, choice.tile);
    EXPECT_EQ(planned->dispatches[0].grid.z, choice.parts);
    EXPECT_EQ(planned->dispatches.size(), choice.parts > 1 ? 2U : 1U);
  }
}

/// Matrices of other devices than NVIDIA's, and the subgroups that are asked for.
TEST(Gemm, UsesTheMatricesThatADeviceHas) {
  const auto kernel = [](std::string_view profile, DType in, DType out) {
    const auto planned = plan({.a = tensor({2048, 2048}, 0, in),
                               .b = tensor({2048, 2048}, 1, in),
                               .c = tensor({2048, 2048}, 2, out)},
                              of(profile));
    if (!planned) return planned.error().message;
    const KernelSpec& spec = planned->dispatches.back().kernel;
    if (!spec.features.subgroup_matrix) return spec.label;
    const auto text = [&](const char* name) {
      return std::get<std::string>(spec.constants.at(name));
    };
    const auto number = [&](const char* name) {
      return std::to_string(std::get<std::int64_t>(spec.constants.at(name)));
    };
    return text("COMPONENT") + " " + number("MM") + "x" + number("MN") + "x" + number("MK") + " " +
           std::to_string(spec.features.subgroup_size);
  };
  EXPECT_EQ(kernel("h200", DType::f16, DType::f32), "f16 16x16x16 0");
  EXPECT_EQ(kernel("h200", DType::f32, DType::f32), "gemm tile 64x64x16");
  EXPECT_EQ(kernel("apple", DType::f16, DType::f32), "f32 8x8x8 0");
  EXPECT_EQ(kernel("apple", DType::f32, DType::f32),
            "f32 8x8x8 0");  // exact, so nobody has to allow it
  EXPECT_EQ(kernel("apple", DType::bf16, DType::f32), "f32 8x8x8 0");  // and nothing is scaled
  EXPECT_EQ(kernel("rdna3", DType::f16, DType::f32), "f16 16x16x16 32");
  EXPECT_EQ(kernel("xe2", DType::f16, DType::f32), "f16 8x16x16 16");
  EXPECT_EQ(kernel("intel", DType::f16, DType::f32), "gemm tile 64x64x16");
}

/// Sums in f16 are short, of operands that cannot overflow them, and only where the result is as
/// coarse.
TEST(Gemm, AddsInF16OnlyWhereTheErrorIsBounded) {
  const auto caps = apply_caps_mask(of("rdna3"), "matrices=f16-f16");
  ASSERT_TRUE(caps);
  const auto product = [](DType in, DType out) {
    return Args{.a = tensor({1024, 1024}, 0, in),
                .b = tensor({1024, 1024}, 1, in),
                .c = tensor({1024, 1024}, 2, out)};
  };
  const Labels scaled = launches(product(DType::f16, DType::f16), *caps);
  ASSERT_EQ(scaled.size(), 5U);
  EXPECT_EQ(scaled.front(), "gemm halve rows");
  EXPECT_TRUE(scaled.back().starts_with("gemm matrix")) << scaled.back();
  const auto planned = plan(product(DType::f16, DType::f16), *caps);
  ASSERT_TRUE(planned);
  const wgsl::Constants& constants = planned->dispatches.back().kernel.constants;
  EXPECT_EQ(std::get<std::int64_t>(constants.at("SHORT_SUMS")), 1);
  EXPECT_LE(std::get<std::int64_t>(constants.at("BK")), std::int64_t{bounded_terms});
  EXPECT_EQ(launches(product(DType::f16, DType::f32), *caps), Labels{"gemm tile 64x64x16"});
  EXPECT_EQ(launches(product(DType::f32, DType::f32), *caps), Labels{"gemm tile 64x64x16"});
}

/// Devices that compile slowly take large tiles where these gain more than that.
TEST(Gemm, TakesLargeTilesOnSlowCompilersForLargeProductsAlone) {
  const auto label = [](std::string_view profile, std::uint64_t m, std::uint64_t n,
                        std::uint64_t k) {
    const Labels all = launches(
        {.a = tensor({m, k}, 0), .b = tensor({k, n}, 1), .c = tensor({m, n}, 2), .kernel = "tile"},
        of(profile));
    return all.empty() ? "nothing" : all.back();
  };
  EXPECT_EQ(label("software", 1024, 1024, 1024), "gemm tile 64x64x16");
  EXPECT_EQ(label("software", 256, 256, 256), "gemm tile 32x32x16");
  EXPECT_EQ(label("software", 24, 4096, 4096), "gemm tile 32x32x16");         // most of it outside
  EXPECT_EQ(label("compatibility", 1024, 1024, 1024), "gemm tile 32x32x16");  // few registers
}

/// The same in plain instructions, where these are twice as fast in f16.
TEST(Gemm, MultipliesInF16WherePlainInstructionsAreFaster) {
  const auto last = [](std::string_view profile, const Args& args) {
    const Labels all = launches(args, of(profile));
    return all.empty() ? "nothing" : all.back();
  };
  const auto product = [](DType in, DType out) {
    return Args{.a = tensor({1024, 1024}, 0, in),
                .b = tensor({1024, 1024}, 1, in),
                .c = tensor({1024, 1024}, 2, out)};
  };
  const Args halves = product(DType::f16, DType::f16);
  EXPECT_EQ(last("amd", halves), "gemm tile f16 64x64x16");
  EXPECT_EQ(last("intel", halves), "gemm tile f16 32x64x16");  // whose registers are fewer
  EXPECT_EQ(last("adreno", halves), "gemm tile f16 32x32x16");
  EXPECT_EQ(last("old", halves), "gemm tile 64x64x16");
  EXPECT_EQ(last("adreno", product(DType::f16, DType::f32)), "gemm tile 32x32x16");
  Args rounded = product(DType::f32, DType::f32);
  EXPECT_EQ(last("adreno", rounded), "gemm tile 32x32x16");
  rounded.allow_f16 = true;
  EXPECT_EQ(last("adreno", rounded), "gemm tile f16 32x32x16");
  EXPECT_EQ(launches(halves, of("adreno")).size(), 5U);  // both operands are scaled first
}

TEST(Gemm, SideBySideColumnsOfOneBufferDoNotOverlap) {
  // a is columns 0 … 3 and c columns 4 … 7 of the same rows.
  View a = tensor({4, 4}, 0);
  a.stride[0] = 8;
  View c = a;
  c.offset = 16;
  EXPECT_EQ(refusal({.a = a, .b = tensor({4, 4}, 1), .c = c}), "planned");
  c.offset = 12;
  EXPECT_NE(refusal({.a = a, .b = tensor({4, 4}, 1), .c = c}), "planned");
}

TEST(Gemm, ChoosesKernelsBySizeAndType) {
  const auto product = [](std::uint64_t m, std::uint64_t n, std::uint64_t k, DType type) {
    return Args{.a = tensor({m, k}, 0, type), .b = tensor({k, n}, 1, type), .c = tensor({m, n}, 2)};
  };
  EXPECT_EQ(launches(product(4096, 4096, 4096, DType::f32)), Labels{"gemm tile 64x64x16"});
  EXPECT_EQ(launches(product(4096, 4096, 4096, DType::f16)), Labels{"gemm matrix 128x128x32"});
  EXPECT_EQ(launches(product(4096, 4096, 4096, DType::bf16)),
            (Labels{"gemm halve rows", "fill u32", "gemm largest of columns", "gemm halve columns",
                    "gemm matrix 128x128x32"}));
  EXPECT_EQ(launches(product(1, 16384, 4096, DType::f16)), Labels{"gemm columns 1"});
  EXPECT_EQ(launches(product(16384, 1, 4096, DType::f16)), Labels{"gemm rows 1"});
  EXPECT_EQ(launches(product(5, 16384, 4096, DType::f16)), Labels{"gemm columns 8"});
  EXPECT_EQ(launches(product(4, 4, 4, DType::f32)), Labels{"gemm naive"});
  // Few tiles and a long K: parts of K in one launch, and one to add them up.
  const Labels split = launches(product(128, 128, 65536, DType::f32));
  ASSERT_EQ(split.size(), 2U);
  EXPECT_EQ(split[1], "gemm reduce");
}

TEST(Gemm, FoldsBatchesThatShareBIntoRows) {
  const auto folded = plan({.a = tensor({8, 64, 128}, 0),
                            .b = tensor({128, 256}, 1),
                            .c = tensor({8, 64, 256}, 2),
                            .kernel = "tile"},
                           device());
  ASSERT_TRUE(folded) << folded.error().message;
  ASSERT_EQ(folded->dispatches.size(), 1U);
  EXPECT_EQ(folded->dispatches[0].grid.z, 1U);
}

TEST(Gemm, CutsWhatDoesNotFitOneBinding) {
  Caps caps = device();
  caps.max_binding = 1 << 20;
  const auto fits = [&](const Args& args) {
    const auto planned = plan(args, caps);
    if (!planned) return planned.error().message;
    for (const Dispatch& dispatch : planned->dispatches) {
      for (const BoundRange& range : dispatch.ranges) {
        if (range.size > caps.max_binding) return std::string("a binding is too large");
      }
    }
    return std::string(planned->dispatches.size() > 1 ? "cut" : "whole");
  };
  EXPECT_EQ(fits({.a = tensor({64, 64}, 0), .b = tensor({64, 64}, 1), .c = tensor({64, 64}, 2)}),
            "whole");
  EXPECT_EQ(
      fits({.a = tensor({4000, 256}, 0), .b = tensor({256, 64}, 1), .c = tensor({4000, 64}, 2)}),
      "cut");
  // b spreads along K, and c is too narrow to hold sums of parts of it.
  EXPECT_EQ(fits({.a = tensor({32, 4000}, 0),
                  .b = tensor({4000, 256}, 1),
                  .c = tensor({32, 256}, 2, DType::f16)}),
            "cut");
}

}  // namespace
}  // namespace weft::ops::gemm
