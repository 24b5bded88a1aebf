// Variables that take over the memory of their new values: nobody may see that it is shared.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "weft/weft.hpp"

namespace weft {
namespace {

using Floats = std::vector<float>;

/// A variable whose memory is that of the value which it was given last.
struct Shared {
  Device device;
  Tensor variable = weft::variable(device.full({3}, 1));
  Tensor value = variable + 1;
  Shared() { apply({{variable, value}}); }
};

TEST(DeviceAdopt, ValuesStayWhatTheyWere) {
  const Shared it;
  EXPECT_EQ(it.variable.to_vector(), (Floats{2, 2, 2}));
  apply({{it.variable, it.variable * 5}});
  EXPECT_EQ(it.variable.to_vector(), (Floats{10, 10, 10}));
  EXPECT_EQ(it.value.to_vector(), (Floats{2, 2, 2}));
}

TEST(DeviceAdopt, CompiledFunctionsChangeTheVariableAlone) {
  const Shared it;
  const Compiled step = compile([&](const std::vector<Tensor>& in) -> Outputs {
    return {{it.variable + it.value}, {{it.variable, it.variable + in[0]}}};
  });
  const Tensor one = it.device.full({3}, 1);
  EXPECT_EQ(step.one({one}).to_vector(), (Floats{4, 4, 4}));
  EXPECT_EQ(step.one({one}).to_vector(), (Floats{5, 5, 5}));
  EXPECT_EQ(it.variable.to_vector(), (Floats{4, 4, 4}));
  EXPECT_EQ(it.value.to_vector(), (Floats{2, 2, 2}));
  apply({{it.variable, it.variable * 2}});  // where the function will find it
  EXPECT_EQ(step.one({one}).to_vector(), (Floats{10, 10, 10}));
}

TEST(DeviceAdopt, KernelsChangeOneOfTheTwo) {
  for (const bool write_value : {false, true}) {
    const Shared it;
    const Kernel kernel =
        it.device.kernel({.wgsl = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
                                  "@compute @workgroup_size(1) fn main() { x[1] = 7.0; }",
                          .writes = {true}});
    kernel.run({write_value ? it.value : it.variable}, std::array<std::uint32_t, 3>{1, 1, 1});
    const Floats changed{2, 7, 2};
    const Floats same{2, 2, 2};
    EXPECT_EQ(it.value.to_vector(), write_value ? changed : same);
    EXPECT_EQ(it.variable.to_vector(), write_value ? same : changed);
  }
}

TEST(DeviceAdopt, ViewsOfAVariableGoWithIt) {
  // As views of one that a function was compiled for, whose memory stays.
  std::vector<Floats> seen;
  for (const bool compiled : {false, true}) {
    const Device device;
    const Tensor w = variable(device.full({2, 3}, 1));
    if (compiled) {
      (void)compile([&](const std::vector<Tensor>& in) -> Outputs { return w + in[0]; }).one({w});
    }
    const Tensor row = w.slice(0, 1, 1);
    const Tensor apart = w.reshape({6}).detach();
    row.eval();
    apart.eval();
    apply({{w, w + 1}});
    apply({{w, w + 1}});
    for (const Tensor& tensor : {w, row, apart}) seen.push_back(tensor.to_vector());
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], seen[i + 3]) << i;
  EXPECT_EQ(seen[0], Floats(6, 3));
}

TEST(DeviceAdopt, OneValueForTwoVariables) {
  const Device device;
  const Tensor a = variable(device.full({2}, 1));
  const Tensor b = variable(device.full({2}, 2));
  const Tensor sum = a + b;
  apply({{a, sum}, {b, sum}});
  apply({{a, a + 1}});
  EXPECT_EQ(a.to_vector(), (Floats{4, 4}));
  EXPECT_EQ(b.to_vector(), (Floats{3, 3}));
  apply({{a, b}, {b, a}});  // as if at once
  EXPECT_EQ(a.to_vector(), (Floats{3, 3}));
  EXPECT_EQ(b.to_vector(), (Floats{4, 4}));
}

}  // namespace
}  // namespace weft
