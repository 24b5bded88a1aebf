// The type that two types have together, and which of them docs/types.md shows.
#include <gtest/gtest.h>

#include <weft/dtype.hpp>

namespace weft {
namespace {

TEST(Promotion, TypesHoldTheValuesOfBoth) {
  using enum DType;
  EXPECT_EQ(promote(i32, f32), f32);
  EXPECT_EQ(promote(f16, bf16), f32);
  EXPECT_EQ(promote(f16, f32), f32);
  EXPECT_EQ(promote(u8, i8), i16);
  EXPECT_EQ(promote(u8, i16), i16);
  EXPECT_EQ(promote(u8, i32), i32);
  EXPECT_EQ(promote(u8, u32), u32);
  EXPECT_EQ(promote(u32, i32), i64);
  EXPECT_EQ(promote(u32, i8), i64);
  EXPECT_EQ(promote(i8, i16), i16);
  EXPECT_EQ(promote(i64, u32), i64);
  EXPECT_EQ(promote(i64, f16), f32);
  EXPECT_EQ(promote(i8, f16), f16);
  EXPECT_EQ(promote(u8, bf16), bf16);
  EXPECT_EQ(promote(i16, f16), f32);
  EXPECT_EQ(promote(u32, bf16), f32);
}

TEST(Promotion, HasNoOrderAndBooleansNeverDecide) {
  for (const DType a : all_dtypes) {
    EXPECT_EQ(promote(a, a), a);
    EXPECT_EQ(promote(DType::boolean, a), a);
    for (const DType b : all_dtypes) EXPECT_EQ(promote(a, b), promote(b, a)) << name(a) << name(b);
  }
}

}  // namespace
}  // namespace weft
