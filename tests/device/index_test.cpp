// Tensor::at() against what numpy gives for the same indices.
#include <gtest/gtest.h>

#include <functional>
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

TEST(DeviceIndex, GradientsOfNeighbouringSlicesAreOneConcat) {
  // Gates that are slices of one tensor, one of them used twice, and the steps of a sequence.
  const auto gates = [](const Tensor& x) {
    const std::vector<Tensor> part = split(x, 4, -1);
    return sum(sigmoid(part[0]) * tanh(part[1]) + part[0] * part[2] - square(part[3]));
  };
  const auto steps = [](const Tensor& x) {
    Tensor state = x.at(0);
    for (int i = 1; i < 5; ++i) state = tanh(state + x.at(i) * 0.5);  // the last is not read
    return sum(state);
  };
  const Tensor x = random::normal(random::key(api_device(), 3), {6, 8});
  for (const auto& loss : std::vector<std::function<Tensor(const Tensor&)>>{gates, steps}) {
    const Compiled slope = compile(
        [&](const std::vector<Tensor>& in) { return Outputs(grad(loss(in[0]), {in[0]})[0]); });
    const Values got = slope.one({x}).to_vector();
    const std::string text = slope.text();
    EXPECT_TRUE(text.contains("concat")) << text;
    constexpr float shift = 1e-2F;
    const Values values = x.to_vector();
    for (std::size_t i = 0; i < values.size(); i += 5) {
      const auto at = [&](float by) {
        Values moved = values;
        moved[i] += by;
        return loss(api_device().tensor({6, 8}, moved)).item();
      };
      EXPECT_NEAR(got[i], (at(shift) - at(-shift)) / (2 * shift), 5e-3) << i;
    }
  }
  const Compiled slope = compile(
      [&](const std::vector<Tensor>& in) { return Outputs(grad(steps(in[0]), {in[0]})[0]); });
  (void)slope.one({x});
  const std::string text = slope.text();
  const std::size_t pad = text.find("pad");
  EXPECT_TRUE(pad == std::string::npos || !text.substr(pad + 3).contains("pad")) << text;
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
  EXPECT_TRUE(
      says([&] { return x.at(std::vector<Index>{Slice{0, 1, 0}}); }, "step of a slice is 0"));
}

}  // namespace
}  // namespace weft::test
