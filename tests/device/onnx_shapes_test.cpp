// ONNX models at sizes that change: shapes as formulas of names, and kernels that serve several
// sizes.
#include <gtest/gtest.h>

#include <string>
#include <vector>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "graph/node.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

namespace b = onnx_bytes;

onnx::Model loaded(const std::string& model) { return onnx::load(api_device(), b::bytes(model)); }

std::string shape_of(const onnx::Model& model, const std::string& value) {
  const auto shapes = model.shapes();
  const auto found = shapes.find(value);
  if (found == shapes.end()) return "none";
  std::string out = found->second.type;
  for (const onnx::Extent& extent : *found->second.shape)
    out += "," + (extent.value ? std::to_string(*extent.value) : extent.symbol);
  return out;
}

/// softmax(x · xᵀ) · x, scaled and normed: x [n, 64].
std::string attention_model() {
  return b::model(
      b::nodes({b::node("Transpose", {"x"}, {"t"}), b::node("MatMul", {"x", "t"}, {"scores"}),
                b::node("Softmax", {"scores"}, {"p"}, b::int_attribute("axis", -1)),
                b::node("MatMul", {"p", "x"}, {"mixed"}), b::node("Add", {"mixed", "x"}, {"sum"}),
                b::node("LayerNormalization", {"sum", "scale"}, {"y"})}) +
      b::weight(b::tensor("scale", 1, {64}, b::floats(std::vector<float>(64, 1.5F)))) +
      b::input(b::port("x", 1, {-1, 64})) + b::output(b::port("y", 1, {-1, 64})));
}

TEST(DeviceOnnxShapes, FollowFromNames) {
  const onnx::Model model = loaded(attention_model());
  EXPECT_EQ(shape_of(model, "scores"), "f32,n,n");
  EXPECT_EQ(shape_of(model, "t"), "f32,64,n");
  EXPECT_EQ(shape_of(model, "y"), "f32,n,64");
  const onnx::Model joined = loaded(b::model(
      b::nodes({b::node("Concat", {"x", "x", "one"}, {"j"}, b::int_attribute("axis", 0)),
                b::node("Shape", {"j"}, {"s"}), b::node("ReduceProd", {"s"}, {"count"}),
                b::node("Reshape", {"j", "count"}, {"y"}), b::node("NonZero", {"y"}, {"z"})}) +
      b::weight(b::tensor("one", 1, {1, 3}, b::floats({1, 2, 3}))) +
      b::input(b::port("x", 1, {-1, 3})) + b::output(b::port("z", 7, {1, -1}))));
  EXPECT_EQ(shape_of(joined, "j"), "f32,2*n + 1,3");
  EXPECT_EQ(shape_of(joined, "z"), "none");  // It follows from elements.
}

/// Both branches of an If have one shape, another If's do not.
TEST(DeviceOnnxShapes, OfBranches) {
  const auto branch = [](const std::string& op, const std::vector<std::string>& inputs) {
    return b::nodes({b::node(op, inputs, {"r"})}) + b::output(b::port("r", 1, {}));
  };
  const auto model = [&](const std::string& other) {
    return loaded(
        b::model(b::nodes({b::node("If", {"c"}, {"y"},
                                   b::graph_attribute("then_branch", branch("Exp", {"x"})) +
                                       b::graph_attribute("else_branch", other))}) +
                 b::input(b::port("x", 1, {-1, 4})) + b::input(b::port("c", 9, {})) +
                 b::output(b::port("y", 1, {-1, 4}))));
  };
  EXPECT_EQ(shape_of(model(branch("Neg", {"x"})), "y"), "f32,n,4");
  EXPECT_EQ(shape_of(model(branch("Transpose", {"x"})), "y"), "none");
}

TEST(DeviceOnnxShapes, AnotherSizeNeedsNoOtherKernels) {
  const onnx::Model model = loaded(attention_model());
  const auto compiled = [] { return Access::data(api_device())->device.cache().compiled; };
  const auto run = [&](std::uint64_t rows) {
    const Tensor x = api_device().full({rows, 64}, 0.5);
    EXPECT_NEAR(model.run({{"x", x}}).at("y").to_vector()[0], 0, 1e-4);
    EXPECT_TRUE(model.report().replayed);
  };
  run(100);  // Kernels for rows that are whole vectors of four elements, and
  run(101);  // for others.
  const std::uint64_t first = compiled();
  for (const std::uint64_t rows : {104, 103, 99, 120, 121, 98, 124}) run(rows);
  EXPECT_EQ(compiled(), first);
}

}  // namespace
}  // namespace weft::test
