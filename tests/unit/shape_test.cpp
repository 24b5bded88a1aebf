// The sentences with which the shape ops refuse what they cannot do.
#include <gtest/gtest.h>

#include "ops/shape/shape.hpp"

namespace weft::ops::shape {
namespace {

const View x = View::dense(DType::f32, {4, 6}, Slot(0));

/// Any device will do; this one is large enough for all that is tested here.
const Caps caps = [] {
  Caps made;
  made.max_buffer = made.max_binding = 1 << 27;
  return made;
}();

View out(std::initializer_list<std::uint64_t> shape, DType type = DType::f32) {
  return View::dense(type, shape, Slot(1));
}

template <class Args>
std::string refusal(const Args& args) {
  const auto planned = plan(args, caps);
  return planned ? "planned" : planned.error().message;
}

TEST(Shape, SliceRefusesWhatLiesOutside) {
  EXPECT_EQ(refusal(Slice{.x = x, .first = {1, 2}, .y = out({3, 4})}), "planned");
  EXPECT_EQ(
      refusal(Slice{.x = x, .first = {1, 3}, .y = out({3, 4})}),
      "While planning slice: 4 elements from 3 in steps of 1 do not lie within the 6 elements "
      "of dimension 1 of x (f32[4,6]).");
  EXPECT_EQ(refusal(Slice{.x = x, .first = {0, 1}, .step = {1, 2}, .y = out({4, 3})}), "planned");
  EXPECT_EQ(
      refusal(Slice{.x = x, .first = {0, 2}, .step = {1, 2}, .y = out({4, 3})}),
      "While planning slice: 3 elements from 2 in steps of 2 do not lie within the 6 elements "
      "of dimension 1 of x (f32[4,6]).");
  EXPECT_EQ(
      refusal(Slice{.x = x, .first = {0, 0}, .step = {0, 1}, .y = out({4, 6})}),
      "While planning slice: 4 elements from 0 in steps of 0 do not lie within the 4 elements "
      "of dimension 0 of x (f32[4,6]).");
  EXPECT_EQ(refusal(Slice{.x = x, .first = {~0ULL, 0}, .y = out({1, 6})}),
            "While planning slice: 1 elements from 18446744073709551615 in steps of 1 do not lie "
            "within the 4 elements of dimension 0 of x (f32[4,6]).");
}

TEST(Shape, SliceRefusesWrongCounts) {
  EXPECT_EQ(refusal(Slice{.x = x, .first = {1}, .y = out({3, 4})}),
            "While planning slice: `first` has 1 values; x is f32[4,6] and needs one for each of "
            "its 2 dimensions.");
  EXPECT_EQ(refusal(Slice{.x = x, .first = {0, 0}, .step = {1}, .y = out({3, 4})}),
            "While planning slice: `step` has 1 values; x is f32[4,6] and needs one for each of "
            "its 2 dimensions.");
  EXPECT_EQ(refusal(Slice{.x = x, .first = {0, 0}, .y = out({3})}),
            "While planning slice: A slice has the dimensions of its input; x is f32[4,6] and y is "
            "f32[3].");
}

TEST(Shape, ConcatRefusesShapesThatDoNotMeet) {
  EXPECT_EQ(refusal(Concat{.inputs = {x, x}, .dim = 1, .y = out({4, 12})}), "planned");
  EXPECT_EQ(refusal(Concat{.inputs = {}, .dim = 0, .y = out({4, 12})}),
            "While planning concat: There is nothing to concatenate: no input is given.");
  EXPECT_EQ(refusal(Concat{.inputs = {x}, .dim = 2, .y = out({4, 6})}),
            "While planning concat: Dimension 2 does not exist in the output, f32[4,6].");
  EXPECT_EQ(
      refusal(Concat{.inputs = {x, x}, .dim = 0, .y = out({8, 7})}),
      "While planning concat: Input 0 is f32[4,6] and the output is f32[8,7]; all extents but "
      "that of dimension 0 must agree.");
  EXPECT_EQ(refusal(Concat{.inputs = {x, x}, .dim = 0, .y = out({9, 6})}),
            "While planning concat: The 2 inputs have 8 elements along dimension 0; the output, "
            "f32[9,6], has 9.");
}

TEST(Shape, PadRefusesSizesAndValues) {
  EXPECT_EQ(refusal(Pad{.x = x, .low = {1, 0}, .high = {0, 2}, .y = out({5, 8})}), "planned");
  EXPECT_EQ(
      refusal(Pad{.x = x, .low = {1, 0}, .high = {0}, .y = out({5, 8})}),
      "While planning pad: `high` has 1 values; x is f32[4,6] and needs one for each of its 2 "
      "dimensions.");
  EXPECT_EQ(refusal(Pad{.x = x, .low = {1, 0}, .high = {0, 2}, .y = out({5, 9})}),
            "While planning pad: The output is f32[5,9]; x and the padding give the shape [5,8].");
  EXPECT_EQ(
      refusal(Pad{.x = x, .low = {~0ULL, 0}, .high = {2, 0}, .y = out({5, 6})}),
      "While planning pad: Padding dimension 0 by 18446744073709551615 and 2 elements gives a "
      "tensor that is too large.");
  const auto with_value = [](double value, DType type) {
    return refusal(Pad{.x = View::dense(type, {4, 6}, Slot(0)),
                       .low = {1, 0},
                       .high = {0, 2},
                       .value = value,
                       .y = out({5, 8}, type)});
  };
  EXPECT_EQ(with_value(255, DType::u8), "planned");
  EXPECT_EQ(with_value(256, DType::u8),
            "While planning pad: The value 256 cannot pad a tensor of type u8, which takes whole "
            "numbers from 0 to 255.");
  EXPECT_EQ(with_value(0.5, DType::i8),
            "While planning pad: The value 0.5 cannot pad a tensor of type i8, which takes whole "
            "numbers from -128 to 127.");
  EXPECT_EQ(refusal(Pad{.x = View::dense(DType::f32, {0, 6}, Slot(0)),
                        .low = {2, 0},
                        .high = {0, 0},
                        .border = Border::edge,
                        .y = out({2, 6})}),
            "While planning pad: Dimension 0 of x (f32[0,6]) has no element to repeat into its "
            "border of 2.");
}

TEST(Shape, RepeatRefusesPartialRepetitions) {
  EXPECT_EQ(refusal(Repeat{.x = x, .y = out({8, 6})}), "planned");
  EXPECT_EQ(refusal(Repeat{.x = x, .y = out({8, 7})}),
            "While planning repeat: Repeating f32[4,6] cannot give f32[8,7]: each extent of the "
            "output must be a multiple of that of the input.");
  EXPECT_EQ(refusal(Repeat{.x = x, .y = out({6})}),
            "While planning repeat: Repeating f32[4,6] cannot give f32[6]: each extent of the "
            "output must be a multiple of that of the input.");
}

TEST(Shape, ContiguousRefusesWrongOrders) {
  EXPECT_EQ(refusal(Contiguous{.x = x, .order = {1, 0}, .y = out({6, 4})}), "planned");
  EXPECT_EQ(
      refusal(Contiguous{.x = x, .order = {1, 1}, .y = out({6, 4})}),
      "While planning contiguous: The order [1,1] does not name each of the 2 dimensions of x "
      "once.");
  EXPECT_EQ(refusal(Contiguous{.x = x, .order = {1, 0}, .y = out({4, 6})}),
            "While planning contiguous: The output is f32[4,6]; x and the order give the shape "
            "[6,4].");
}

TEST(Shape, InputsMayLieAtTheirPlaceInTheOutputAndNowhereElse) {
  const View y = View::dense(DType::f32, {8, 6}, Slot(0));
  const auto launches = [](const auto& args) {
    const auto planned = plan(args, caps);
    return planned ? static_cast<int>(planned->dispatches.size()) : -1;
  };
  const View other = View::dense(DType::f32, {4, 6}, Slot(1));
  EXPECT_EQ(launches(Concat{.inputs = {x, other}, .dim = 0, .y = y}), 1);
  EXPECT_EQ(launches(Concat{.inputs = {other, other}, .dim = 0, .y = y}), 2);
  EXPECT_EQ(refusal(Concat{.inputs = {other, x}, .dim = 0, .y = y}),
            "While planning concat: Input `inputs[1]` (f32[4,6]) shares memory with the output "
            "(f32[8,6]) and does not lie at its place in it, which is f32[4,6] offset 96.");
  EXPECT_EQ(launches(Pad{.x = x, .low = {0, 0}, .high = {4, 0}, .y = y}), 1);
}

TEST(Shape, RepetitionOfDenseTensorsIsOneLaunchAtAnyRank) {
  const View wide = View::dense(DType::f32, {2, 3, 2, 3, 2, 3, 2, 3}, Slot(0));
  const auto planned = plan(
      Repeat{.x = wide, .y = View::dense(DType::f32, {2, 3, 2, 300, 2, 3, 2, 3}, Slot(1))}, caps);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->dispatches.size(), 1U);
}

}  // namespace
}  // namespace weft::ops::shape
