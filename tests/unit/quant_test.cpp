// Views of quantized tensors, what operations refuse about them, and the reference decoder.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "ops/map/map.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/quant/codec.hpp"
#include "ops/quant/quant.hpp"
#include "ops/view.hpp"

namespace weft::ops {
namespace {

Caps plain_device() {
  Caps caps;
  caps.max_buffer = caps.max_binding = 1U << 27;
  return caps;
}

TEST(QuantView, CountsBlocks) {
  const View view = View::dense(DType::q4_0, {3, 64}, Slot(0));
  EXPECT_EQ(view.bytes(), (ByteRange{0, 108}));
  EXPECT_EQ(view.slice(0, 1, 2).offset, 36U);
  EXPECT_EQ(view.slice(1, 32, 32).offset, 18U);
  EXPECT_EQ(View::dense(DType::mxfp4, {2, 32}, Slot(0)).slice(0, 1, 1).offset, 17U);
}

TEST(QuantView, EveryTypeHasItsName) {
  for (const DType type : quantized_dtypes) {
    EXPECT_EQ(dtype_from_name(name(type)), type);
    EXPECT_TRUE(is_quantized(type));
  }
  EXPECT_EQ(dtype_from_name("q4_K"), DType::q4_k);
}

TEST(QuantView, MustKeepBlocksWhole) {
  const auto check = [](const View& view) { return validate(view, "x", Types::quantized_too); };
  EXPECT_TRUE(check(View::dense(DType::q4_0, {3, 64})));
  EXPECT_FALSE(check(View::dense(DType::q4_0, {3, 48})));
  EXPECT_FALSE(check(View::dense(DType::q4_0, {64, 64}).transpose(0, 1)));
  View odd = View::dense(DType::q4_0, {3, 64});
  odd.offset = 1;
  EXPECT_FALSE(check(odd));
  odd.dtype = DType::mxfp4;
  EXPECT_TRUE(check(odd));
}

TEST(QuantView, IsRefusedByOtherOperations) {
  const auto plan = map::plan({.function = "copy",
                               .inputs = {View::dense(DType::q8_0, {2, 32}, Slot(0))},
                               .y = View::dense(DType::f32, {2, 32}, Slot(1))},
                              plain_device());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("q8_0"), std::string::npos) << plan.error().message;
}

TEST(QuantPlan, RefusesWhatCannotBeEncoded) {
  const auto plan =
      quant::plan(quant::EncodeArgs{.x = View::dense(DType::f32, {2, 256}, Slot(0)),
                                    .table = View::dense(DType::iq2_s, {2, 256}, Slot(1))},
                  plain_device());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
}

TEST(QuantPlan, NamesTheShapesOfProductsThatDoNotFit) {
  const auto plan =
      mul_mat::plan(mul_mat::Args{.weights = View::dense(DType::q4_0, {8, 64}, Slot(0)),
                                  .x = View::dense(DType::f32, {1, 32}, Slot(1)),
                                  .y = View::dense(DType::f32, {1, 8}, Slot(2))},
                    plain_device());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("q4_0[8,64]"), std::string::npos) << plan.error().message;
}

TEST(QuantCodec, DecodesABlockByHand) {
  // Scale 0.5, then bytes whose low halves are elements 0 … 15 and whose high halves are 16 … 31.
  std::vector<std::byte> block(18, std::byte{0x88});
  block[0] = std::byte{0x00};
  block[1] = std::byte{0x38};
  block[2] = std::byte{0xf0};
  std::vector<float> values(32);
  quant::dequantize(DType::q4_0, block, values);
  EXPECT_EQ(values[0], -4.0F);
  EXPECT_EQ(values[16], 3.5F);
  EXPECT_EQ(values[1], 0.0F);
}

}  // namespace
}  // namespace weft::ops
