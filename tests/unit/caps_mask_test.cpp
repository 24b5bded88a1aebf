#include <gtest/gtest.h>

#include "device/caps.hpp"
#include "device/toggles.hpp"

namespace weft {
namespace {

Caps full_caps() {
  Caps caps;
  caps.f16 = caps.subgroups = caps.subgroup_matrix = caps.timestamps = true;
  caps.subgroup_min = caps.subgroup_max = 32;
  caps.max_buffer = std::uint64_t{4} << 30;
  caps.max_binding = std::uint64_t{2} << 30;
  caps.max_bindings = 16;
  caps.workgroup_bytes = 32768;
  caps.workgroup_invocations = 1024;
  caps.matrix_configs = {{MatrixType::f16, MatrixType::f32, 16, 16, 16},
                         {MatrixType::i8, MatrixType::i32, 16, 16, 32}};
  return caps;
}

TEST(CapsMask, EmptyChangesNothing) {
  for (const char* mask : {"", ",", " , ,"}) {
    const Result<Caps> caps = apply_caps_mask(full_caps(), mask);
    ASSERT_TRUE(caps) << mask;
    EXPECT_TRUE(caps->f16 && caps->subgroups && caps->subgroup_matrix && caps->timestamps);
    EXPECT_EQ(caps->max_binding, std::uint64_t{2} << 30);
    EXPECT_EQ(caps->matrix_configs.size(), 2U);
  }
}

TEST(CapsMask, TakesF16AndItsMatrices) {
  const Result<Caps> caps = apply_caps_mask(full_caps(), "-f16");
  ASSERT_TRUE(caps);
  EXPECT_FALSE(caps->f16);
  EXPECT_TRUE(caps->subgroups);
  ASSERT_EQ(caps->matrix_configs.size(), 1U);
  EXPECT_EQ(caps->matrix_configs[0].component, MatrixType::i8);
  EXPECT_TRUE(caps->subgroup_matrix);
}

TEST(CapsMask, LastMatrixConfigGoneMeansNoMatrices) {
  Caps caps = full_caps();
  caps.matrix_configs.resize(1);
  const Result<Caps> masked = apply_caps_mask(caps, "-f16");
  ASSERT_TRUE(masked);
  EXPECT_FALSE(masked->subgroup_matrix);
}

TEST(CapsMask, SubgroupsTakeMatricesAlong) {
  const Result<Caps> caps = apply_caps_mask(full_caps(), "-subgroups");
  ASSERT_TRUE(caps);
  EXPECT_FALSE(caps->subgroups);
  EXPECT_FALSE(caps->subgroup_matrix);
  EXPECT_TRUE(caps->matrix_configs.empty());
  EXPECT_EQ(caps->subgroup_min, 0U);
  EXPECT_TRUE(caps->f16);
}

TEST(CapsMask, SeveralWordsAndSpaces) {
  const Result<Caps> caps = apply_caps_mask(
      full_caps(), " -subgroup-matrix , -timestamps,binding=128M,buffer=1G,bindings=8 ");
  ASSERT_TRUE(caps);
  EXPECT_FALSE(caps->subgroup_matrix);
  EXPECT_FALSE(caps->timestamps);
  EXPECT_TRUE(caps->subgroups);
  EXPECT_EQ(caps->max_binding, 128U << 20);
  EXPECT_EQ(caps->max_buffer, 1U << 30);
  EXPECT_EQ(caps->max_bindings, 8U);
}

TEST(CapsMask, NumbersWithUnits) {
  EXPECT_EQ(apply_caps_mask(full_caps(), "binding=65536")->max_binding, 65536U);
  EXPECT_EQ(apply_caps_mask(full_caps(), "binding=64K")->max_binding, 65536U);
  EXPECT_EQ(apply_caps_mask(full_caps(), "workgroup-memory=16k")->workgroup_bytes, 16384U);
  EXPECT_EQ(apply_caps_mask(full_caps(), "invocations=256")->workgroup_invocations, 256U);
  EXPECT_EQ(apply_caps_mask(full_caps(), "invocations=64")->workgroup_invocations, 64U);
  EXPECT_FALSE(apply_caps_mask(full_caps(), "invocations=63"));
  EXPECT_EQ(apply_caps_mask(full_caps(), "workgroups=1024")->max_workgroups, 1024U);
}

TEST(CapsMask, AlignmentOnlyGetsCoarser) {
  Caps caps = full_caps();
  caps.binding_alignment = 32;
  EXPECT_EQ(apply_caps_mask(caps, "alignment=256")->binding_alignment, 256U);
  EXPECT_EQ(apply_caps_mask(caps, "alignment=16")->binding_alignment, 32U);
}

TEST(CapsMask, NeverAddsAnything) {
  Caps none;
  none.max_buffer = 1 << 20;
  none.max_binding = 1 << 20;
  const Result<Caps> caps = apply_caps_mask(none, "binding=4G,buffer=8G,workgroup-memory=1M");
  ASSERT_TRUE(caps);
  EXPECT_EQ(caps->max_binding, 1U << 20);
  EXPECT_EQ(caps->max_buffer, 1U << 20);
  EXPECT_EQ(caps->workgroup_bytes, 16384U);
}

TEST(CapsMask, SmallerBufferLowersBinding) {
  EXPECT_EQ(apply_caps_mask(full_caps(), "buffer=1M")->max_binding, 1U << 20);
}

TEST(CapsMask, UnknownWordsAreErrors) {
  for (const char* mask : {"f16", "-F16", "-bogus", "binding", "bogus=3", "-f16,bogus"}) {
    const Result<Caps> caps = apply_caps_mask(full_caps(), mask);
    ASSERT_FALSE(caps) << mask;
    EXPECT_EQ(caps.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(caps.error().message.contains("-subgroup-matrix")) << caps.error().message;
  }
}

TEST(CapsMask, BadNumbersAreErrors) {
  for (const char* mask : {"binding=", "binding=x", "binding=12Q", "binding=-1", "binding=1.5M",
                           "binding=99999999999G", "binding=3", "bindings=0", "alignment=100"}) {
    const Result<Caps> caps = apply_caps_mask(full_caps(), mask);
    ASSERT_FALSE(caps) << mask;
    EXPECT_EQ(caps.error().code, ErrorCode::invalid_argument);
    EXPECT_TRUE(caps.error().message.contains(mask)) << caps.error().message;
  }
}

TEST(Toggles, EveryRowSaysWhy) {
  for (const Toggle& toggle : toggle_table) {
    EXPECT_FALSE(toggle.name.empty());
    EXPECT_FALSE(toggle.why.empty()) << toggle.name;
    EXPECT_TRUE(toggle.link.starts_with("https://")) << toggle.name;
    EXPECT_EQ(toggle.name.data()[toggle.name.size()], '\0') << toggle.name;
  }
}

TEST(CapsMask, MatricesOfOneKindAreLeft) {
  Caps caps = full_caps();
  caps.matrix_configs.push_back({MatrixType::f16, MatrixType::f16, 8, 8, 8});
  const Result<Caps> halves = apply_caps_mask(caps, "matrices=f16-f16");
  ASSERT_TRUE(halves);
  ASSERT_EQ(halves->matrix_configs.size(), 1U);
  EXPECT_EQ(halves->matrix_configs[0].result, MatrixType::f16);
  const Result<Caps> none = apply_caps_mask(caps, "matrices=f32-f32");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->subgroup_matrix);
  for (const std::string_view bad :
       {"matrices=f16", "matrices=f16-f64", "matrices=", "matrices=-"}) {
    const Result<Caps> refused = apply_caps_mask(caps, bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message.contains("f16-f32")) << refused.error().message;
  }
}

}  // namespace
}  // namespace weft
