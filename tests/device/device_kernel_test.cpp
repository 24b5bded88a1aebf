#include <limits>
#include <numeric>

#include "base/format.hpp"
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

TEST(DeviceKernel, SameContentIsTheSameKernel) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.wgsl += "// DeviceKernel.SameContentIsTheSameKernel\n";
  const auto before = on.cache();
  const auto first = on.compile(desc);
  ASSERT_TRUE(ok(first));
  desc.label = "another label";
  const auto second = on.compile(desc);
  ASSERT_TRUE(ok(second));
  EXPECT_TRUE(*first == *second);
  EXPECT_EQ(on.cache().compiled, before.compiled + 1);
  EXPECT_EQ(on.cache().shared, before.shared + 1);
  desc.constants = {{"step", 2}};
  const auto third = on.compile(desc);
  ASSERT_TRUE(ok(third));
  EXPECT_FALSE(*first == *third);
  EXPECT_EQ(on.cache().compiled, before.compiled + 2);
}

TEST(DeviceKernel, CompilesManyAtOnceInOrder) {
  gpu::Device& on = device();
  std::vector<KernelDesc> descs;
  for (std::uint32_t i = 0; i < 12; ++i) {
    KernelDesc& desc = descs.emplace_back(scale_kernel());
    desc.label = formatted("scale {}", i % 6);
    desc.wgsl += formatted("// CompilesManyAtOnceInOrder {}\n", i % 6);  // Each one twice.
  }
  const auto before = on.cache();
  const auto kernels = on.compile_all(descs);
  ASSERT_TRUE(ok(kernels));
  ASSERT_EQ(kernels->size(), 12U);
  EXPECT_EQ(on.cache().compiled, before.compiled + 6);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ((*kernels)[i].label(), descs[i].label);
    EXPECT_TRUE((*kernels)[i] == (*kernels)[i % 6]);
  }
  EXPECT_TRUE(on.compile_all({})->empty());
}

TEST(DeviceKernel, InvalidTextIsAnErrorWithPositionAndLabel) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.wgsl = "fn main() {\n  let x: u32 = 1.5;\n}\n";
  const auto kernel = on.compile(desc);
  EXPECT_TRUE(fails(kernel, ErrorCode::shader, "2:"));
  EXPECT_TRUE(fails(kernel, ErrorCode::shader, "\"scale\""));
  desc.wgsl = "this is not WGSL";
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::shader, "1:"));
  desc.wgsl = "";
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::shader, "scale"));
  EXPECT_TRUE(ok(on.poll()));
  EXPECT_TRUE(ok(on.compile(scale_kernel())));
}

TEST(DeviceKernel, MissingEntryPointIsAnError) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.entry = "start";
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::shader, "start"));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceKernel, BindingsThatDoNotMatchTheTextAreErrors) {
  gpu::Device& on = device();
  KernelDesc few = scale_kernel();
  few.bindings = {Access::read};  // Then binding 1 is the parameters' and binding 2 is nothing.
  EXPECT_TRUE(fails(on.compile(few), ErrorCode::shader, "scale"));
  KernelDesc wrong = scale_kernel();
  wrong.bindings = {Access::read, Access::read};  // The text writes binding 1.
  EXPECT_TRUE(fails(on.compile(wrong), ErrorCode::shader, "scale"));
  KernelDesc small = scale_kernel();
  small.wgsl.replace(small.wgsl.find("count: u32"), 10, "count: u32, more: array<vec4u, 4>");
  EXPECT_TRUE(fails(on.compile(small), ErrorCode::shader, "scale"));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceKernel, UnknownConstantIsAnError) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.constants = {{"stop", 5}};
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::shader, "stop"));
  desc.constants = {{"step", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::invalid_argument, "step"));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceKernel, TooLargeAWorkgroupIsAnError) {
  gpu::Device& on = device();
  KernelDesc desc = scale_kernel();
  desc.wgsl.replace(desc.wgsl.find("workgroup_size(64)"), 18, "workgroup_size(1024, 64)");
  EXPECT_TRUE(fails(on.compile(desc), ErrorCode::shader, "scale"));
  EXPECT_TRUE(ok(on.poll()));
}

TEST(DeviceKernel, WrongDispatchesAreErrorsWithTheValues) {
  gpu::Device& on = device();
  const auto kernel = on.compile(scale_kernel());
  ASSERT_TRUE(ok(kernel));
  const gpu::Buffer in = upload(on, std::vector<float>(64));
  const gpu::Buffer out = upload(on, std::vector<float>(64));
  const ScaleParams params{1, 64};
  gpu::Stream stream = on.stream();
  const auto run = [&](std::vector<Slice> slices, Grid grid = {}) {
    return stream.dispatch(*kernel, slices, bytes(params), grid);
  };
  EXPECT_TRUE(fails(run({whole(in)}), ErrorCode::invalid_argument, "2 bindings, but 1"));
  EXPECT_TRUE(fails(run({whole(in), {out, 0, 0}}), ErrorCode::invalid_argument, "Binding 1"));
  EXPECT_TRUE(fails(run({whole(in), {out, 0, 257}}), ErrorCode::invalid_argument, "257 bytes"));
  EXPECT_TRUE(fails(run({{in, 4, 64}, whole(out)}), ErrorCode::invalid_argument, "multiple of"));
  EXPECT_TRUE(fails(run({{}, whole(out)}), ErrorCode::invalid_argument, "no buffer"));
  EXPECT_TRUE(fails(run({whole(in), whole(out)}, {1, on.caps().max_workgroups + 1, 1}),
                    ErrorCode::unsupported, std::to_string(on.caps().max_workgroups + 1)));
  const Slice both[] = {whole(in), whole(out)};
  EXPECT_TRUE(fails(stream.dispatch(*kernel, both, {}, {}), ErrorCode::invalid_argument,
                    "8 bytes of parameters, but 0"));
  EXPECT_TRUE(fails(stream.dispatch({}, both, {}, {}), ErrorCode::invalid_argument, "no kernel"));
  EXPECT_TRUE(ok(run({whole(in), whole(out)}, {0, 1, 1})));  // Nothing to do is not an error.
  EXPECT_TRUE(ok(stream.wait()));
}

}  // namespace
}  // namespace weft::test
