// Tensor::at() against what numpy gives for the same indices.
#include <gtest/gtest.h>

#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "shared.hpp"

namespace weft::test {
namespace {

Tensor numbers() { return api_device().arange(24).reshape({2, 3, 4}); }

using Values = std::vector<float>;

TEST(DeviceIndex, PlacesSlicesAndTheRest) {
  const Tensor x = numbers();
  EXPECT_EQ(x.at(1).shape(), (Shape{3, 4}));
  EXPECT_EQ(x.at(1, 2, -1).item(), 23);
  EXPECT_EQ(x.at(0, Slice{1, 3, 2}, Ellipsis).to_vector(), (Values{4, 5, 6, 7}));
  EXPECT_EQ(x.at(0, Slice{1, 3}, 0).to_vector(), (Values{4, 8}));
  EXPECT_EQ(x.at(Ellipsis, -1).to_vector(), (Values{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(x.at(Ellipsis, Slice{{}, {}, 3}).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(x.at(0, NewAxis, 0, Slice{-2}).to_vector(), (Values{2, 3}));
  EXPECT_EQ(x.at(0, NewAxis, 0, Slice{-2}).shape(), (Shape{1, 2}));
}

TEST(DeviceIndex, SlicesAreCutOffAsInPython) {
  const Tensor x = numbers();
  EXPECT_EQ(x.at(0, 0, Slice{2, 100}).to_vector(), (Values{2, 3}));
  EXPECT_EQ(x.at(0, 0, Slice{-100, 2}).to_vector(), (Values{0, 1}));
  EXPECT_EQ(x.at(0, 0, Slice{3, 1}).shape(), (Shape{0}));
  EXPECT_EQ(x.at(0, 0, Slice{100}).shape(), (Shape{0}));
}

TEST(DeviceIndex, GradientsGoBackToTheirPlaces) {
  const Tensor x = variable(numbers());
  const Tensor slope = grad(sum(x.at(1, Slice{0, 3, 2}, -1)), {x})[0];
  Values wanted(24, 0);
  wanted[15] = wanted[23] = 1;
  EXPECT_EQ(slope.to_vector(), wanted);
}

TEST(DeviceIndex, MistakesHaveTheValues) {
  const auto says = [](const auto& make, const std::string& part) {
    try {
      (void)make();
    } catch (const Error& error) {
      const std::string text = error.what();
      return text.contains(part) && text.contains("[2,3,4]") && text.contains("at at index_test");
    }
    return false;
  };
  const Tensor x = numbers();
  EXPECT_TRUE(says([&] { return x.at(std::vector<Index>{0, 3}); }, "no element 3 along axis 1"));
  EXPECT_TRUE(says([&] { return x.at(std::vector<Index>{0, 0, 0, 0}); }, "4 indices"));
  EXPECT_TRUE(says([&] { return x.at(std::vector<Index>{Ellipsis, Ellipsis}); }, "more than one"));
  EXPECT_TRUE(says([&] { return x.at(std::vector<Index>{Slice{0, 1, 0}}); }, "positive; it is 0"));
}

}  // namespace
}  // namespace weft::test
