#include "scenarios.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <utility>
#include <weft/onnx.hpp>

#include "../onnx/bytes.hpp"
#include "graph/node.hpp"

namespace weft::test {
namespace {

std::vector<float> ramp(std::size_t count, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = step * static_cast<float>(i % 23) - 0.3F;
  return values;
}

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

void append(std::vector<float>& all, const Tensor& tensor) {
  const std::vector<float> values = tensor.to_vector();
  all.insert(all.end(), values.begin(), values.end());
}

}  // namespace

bool full() { return std::getenv("WEFT_FULL") != nullptr; }

Scenario inference() {
  Device device;
  const Tensor weights = device.tensor({32, 48}, ramp(32 * 48, 0.01F));
  const Compiled model = compile([weights](const std::vector<Tensor>& in) -> Outputs {
    const Tensor hidden = gelu(matmul(in[0], weights));
    return {softmax(hidden), sum(hidden * hidden)};
  });
  return {"inference", device,
          [device, model] {
            const Tensor x = device.tensor({8, 32}, ramp(8 * 32, 0.02F));
            const std::vector<Tensor> results = model({x});
            std::vector<float> all;
            for (const Tensor& result : results) append(all, result);
            return all;
          },
          [weights] { keep(weights); }};
}

Scenario training() {
  Device device;
  const Tensor w = variable(device.full({16, 24}, 0));
  const Tensor v = variable(device.full({24}, 0));
  const Compiled step = compile([w, v](const std::vector<Tensor>& in) -> Outputs {
    const Tensor y = tanh(matmul(in[0], w) + v);
    const Tensor loss = mean((y - in[1]) * (y - in[1]));
    const std::vector<Tensor> slopes = grad(loss, {w, v});
    return {{loss}, {{w, w - slopes[0] * 0.5}, {v, v - slopes[1] * 0.5}}};
  });
  return {"training", device,
          [device, w, v, step] {
            // A step that failed may have changed them or not.
            apply({{w, device.tensor({16, 24}, ramp(16 * 24, 0.02F))},
                   {v, device.tensor({24}, ramp(24, 0.1F))}});
            const Tensor x = device.tensor({4, 16}, ramp(4 * 16, 0.05F));
            const Tensor y = device.tensor({4, 24}, ramp(4 * 24, 0.03F));
            std::vector<float> all;
            for (int i = 0; i < 2; ++i) append(all, step({x, y})[0]);
            append(all, w);
            append(all, v);
            return all;
          },
          [w, v] {
            keep(w);
            keep(v);
          }};
}

Scenario compiling() {
  Device device;
  const Tensor weights = device.tensor({16, 16}, ramp(256, 0.02F));
  auto texts = std::make_shared<std::uint64_t>(0);
  return {"compiling", device,
          [device, weights, texts] {
            const Compiled fresh = compile([weights](const std::vector<Tensor>& in) -> Outputs {
              return relu(matmul(in[0], weights)) + in[0];
            });
            const Tensor x = device.tensor({4, 16}, ramp(64, 0.05F));
            std::vector<float> all;
            append(all, fresh.one({x}));
            // The number in front of the text makes it one that no cache has.
            const Kernel kernel = device.kernel(
                {.wgsl = "// " + std::to_string(::getpid()) + "." + std::to_string(++*texts) + R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { y[i] += f32(i); })",
                 .label = "new",
                 .writes = {true}});
            const Tensor y = device.tensor({4}, ramp(4, 1));
            kernel.run({y}, {1, 1, 1});
            append(all, y);
            return all;
          },
          [weights] { keep(weights); }};
}

Scenario uploading() {
  Device device;
  return {"uploading", device, [device] {
            std::vector<float> all;
            for (const std::size_t count : {3, 1'000, 70'000, 400'000}) {
              const Tensor x = device.tensor({count}, ramp(count, 0.01F));
              append(all, x.slice(0, count - 3, 3) * 2);
            }
            return all;
          }};
}

Scenario reading() {
  Device device;
  std::vector<Tensor> all;
  for (const std::size_t count : {5, 3'000, 300'000}) {
    all.push_back(device.tensor({count}, ramp(count, 0.01F)));
  }
  return {"reading", device,
          [all] {
            std::vector<float> values;
            for (const Tensor& x : all) append(values, x);
            return values;
          },
          [all] {
            for (const Tensor& x : all) keep(x);
          }};
}

Scenario threads() {
  Scenario one = inference();
  const auto run = one.run;
  one.name = "threads";
  one.run = [run] {
    std::vector<std::future<std::vector<float>>> futures;
    futures.reserve(4);
    for (int i = 0; i < 4; ++i) futures.push_back(std::async(std::launch::async, run));
    for (auto& future : futures) future.wait();
    std::vector<float> all;
    for (auto& future : futures) {
      const std::vector<float> values = future.get();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  return one;
}

Scenario recovering() {
  Scenario one = inference();
  one.keep();
  // Lost again once it came back whole.
  const auto lost = std::make_shared<bool>(false);
  return {"recovering", one.device, [device = one.device, run = one.run, lost] {
            if (!std::exchange(*lost, true)) {
              (void)Access::data(device)->device.lose_for_test("a test took it away");
            }
            recover(device);
            std::vector<float> all = run();
            *lost = false;
            return all;
          }};
}

Scenario models() {
  Device device;
  const std::string bytes = onnx_bytes::small_model();
  const onnx::Model kept = onnx::load(device, onnx_bytes::bytes(bytes));
  return {"models", device, [device, bytes, kept] {
            const Tensor x = device.tensor({2, 2}, ramp(4, 0.5F));
            const onnx::Model fresh = onnx::load(device, onnx_bytes::bytes(bytes));
            std::vector<float> all;
            append(all, kept.run({{"x", x}}).at("y"));
            append(all, fresh.run({{"x", x}}).at("y"));
            return all;
          }};
}

Scenario loading(const std::filesystem::path& folder) {
  Device device;
  for (const char* name : {"weights.safetensors", "weights.gguf"}) {
    save(folder / name, {.tensors = {{"a", device.tensor({7, 5}, ramp(35, 0.1F))},
                                     {"b", device.tensor({64}, ramp(64, 0.2F))}},
                         .texts = {{"made.by", "a test"}}});
  }
  return {"loading", device, [device, folder] {
            std::vector<float> all;
            for (const char* name : {"weights.safetensors", "weights.gguf"}) {
              const NamedTensors file = load(device, folder / name);
              device.synchronize();
              append(all, file.tensors.at("a"));
              append(all, sum(file.tensors.at("b")) + sum(file.tensors.at("a")));
            }
            return all;
          }};
}

Held held() { return {entries_of("/proc/self/fd"), entries_of("/proc/self/task")}; }

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace weft::test
