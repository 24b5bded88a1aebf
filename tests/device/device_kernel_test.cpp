#include <numeric>

#include "device_fixture.hpp"

namespace weft::test {
namespace {

using gpu::Access;
using gpu::Grid;
using gpu::KernelDesc;
using gpu::Slice;
using gpu::whole;

KernelDesc scale_kernel() {
  KernelDesc desc;
  desc.label = "scale";
  desc.wgsl = R"(
override step: u32 = 1u;
struct Params { factor: f32, count: u32 }
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { output[id.x] = input[id.x] * params.factor + f32(step); }
}
)";
  desc.bindings = {Access::read, Access::write};
  desc.params_bytes = 8;
  return desc;
}

struct ScaleParams {
  float factor = 1;
  std::uint32_t count = 0;
};

std::span<const std::byte> bytes(const ScaleParams& params) {
  return std::as_bytes(std::span(&params, 1));
}

TEST(DeviceKernel, RunsWithParamsAndConstants) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.constants = {{"step", 5}};
  const auto kernel = on.compile(desc);
  ASSERT_TRUE(ok(kernel));
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  const gpu::Buffer in = upload(on, values);
  const gpu::Buffer out = upload(on, std::vector<float>(1000, -1.0F));
  const ScaleParams params{2.0F, 999};
  gpu::Stream stream = on.stream();
  const Slice slices[] = {whole(in), whole(out)};
  ASSERT_TRUE(ok(stream.dispatch(*kernel, slices, bytes(params), Grid{16, 1, 1})));
  ASSERT_TRUE(ok(stream.submit()));
  const std::vector<float> result = download<float>(on, out);
  for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(result[i], 2 * values[i] + 5) << i;
  EXPECT_EQ(result[999], -1.0F);
}

}  // namespace
}  // namespace weft::test
