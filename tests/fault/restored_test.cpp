#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>
#include <weft/onnx.hpp>
#include <weft/weft.hpp>

#include "../onnx/bytes.hpp"
#include "gpu/fault.hpp"
#include "graph/node.hpp"
#include "scenarios.hpp"

// Tensors and modules of files, which come back from there after a loss: as long as the file is
// what it was, and nothing has changed them.

namespace weft::test {
namespace {

using Floats = std::vector<float>;

class FaultRestored : public testing::Test {
 protected:
  void SetUp() override {
    gpu::set_faults({});
    folder_ =
        std::filesystem::temp_directory_path() / ("weft-restored-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path in_folder(std::string_view name) const {
    return folder_ / name;
  }
  void lose() const { (void)Access::data(device_)->device.lose_for_test("a test took it away"); }
  /// Loses the device and recovers it; the message of what did not come back.
  [[nodiscard]] std::string lose_and_recover() const {
    lose();
    try {
      recover(device_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
      return error.what();
    }
    return "";
  }

  const Device device_;

 private:
  std::filesystem::path folder_;
};

/// Changes one byte of a file where it lies, as another process may.
void write_into(const std::filesystem::path& path, std::streamoff from_end) {
  const auto before = std::filesystem::last_write_time(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-from_end, std::ios::end);
  const int byte = file.get();
  file.seekp(-from_end, std::ios::end);
  file.put(static_cast<char>(byte ^ 0x55));
  file.close();
  // Clocks of file systems go in steps of some milliseconds.
  std::filesystem::last_write_time(path, before + std::chrono::seconds(1));
}

void expect_gone(const Tensor& tensor, const char* what) {
  try {
    (void)(tensor.to(DType::f32) + 1).to_vector();
    ADD_FAILURE() << what << " came back";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device_lost);
    EXPECT_TRUE(std::string_view(error.what()).contains("nothing says how it comes back"))
        << error.what();
  }
}

TEST_F(FaultRestored, QuantizedMatricesComeBackFromAFileThatIsAsItWas) {
  const auto wave = [&](double by) { return sin(device_.arange(8 * 64) * by).reshape({8, 64}); };
  for (const bool cut_off : {false, true}) {
    const auto path = in_folder(cut_off ? "cut.gguf" : "changed.gguf");
    // Two that are loaded into one buffer, one of a type of its own, and one of floats.
    save(path, {.tensors = {{"blk.0.attn_q.weight", wave(0.1).to(DType::q8_0)},
                            {"blk.0.attn_k.weight", wave(0.2).to(DType::q8_0)},
                            {"blk.0.ffn.weight", wave(0.3).to(DType::q4_0)},
                            {"norm", wave(0.4)}},
                .texts = {}});
    // By a name that means something else afterwards.
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(path.parent_path());
    const NamedTensors loaded = load(device_, path.filename());
    std::filesystem::current_path(here);
    const auto all = [&] {
      std::vector<Floats> values;
      for (const auto& [name, tensor] : loaded.tensors) {
        values.push_back(tensor.to(DType::f32).to_vector());
      }
      return values;
    };
    const std::vector<Floats> expected = all();
    EXPECT_EQ(lose_and_recover(), "");
    EXPECT_EQ(all(), expected);

    if (cut_off) {
      std::filesystem::resize_file(path, 64);  // what is behind it ends the process when it is read
    } else {
      write_into(path, 100);
    }
    const std::string message = lose_and_recover();
    EXPECT_TRUE(message.contains(path.string() + " was changed after it was read")) << message;
    for (const auto& [name, tensor] : loaded.tensors) expect_gone(tensor, name.c_str());
  }
}

TEST_F(FaultRestored, BooleansOfFilesComeBackAsTheyWereRead) {
  const std::vector<std::uint8_t> truths{1, 0, 0, 1, 1};
  save(in_folder("b.safetensors"),
       {.tensors = {{"b", device_.tensor(DType::boolean, {5}, std::as_bytes(std::span(truths)))}},
        .texts = {}});
  {  // Any byte but 0 is true.
    std::fstream file(in_folder("b.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('\x40');
  }
  const Tensor b = load(device_, in_folder("b.safetensors")).tensors.at("b");
  ASSERT_EQ(b.dtype(), DType::boolean);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(b.to_vector<std::uint8_t>(), truths);
    EXPECT_EQ(where(b, b.to(DType::f32), device_.full({5}, 7)).to_vector(),
              (Floats{1, 7, 7, 1, 1}));
    EXPECT_EQ(lose_and_recover(), "");
  }
}

TEST_F(FaultRestored, ModulesComeBackFromTheirFileUntilTheyLearn) {
  const Tensor x = device_.tensor({2, 4}, {1, 2, 3, 4, -1, 0, 1, 2});
  keep(x);
  nn::Init init(device_, 3);
  const auto bend = [](const Tensor& t) { return tanh(t); };
  nn::MLP saved(init, {4, 6, 3}, bend);
  saved.keep();
  const auto path = in_folder("m.gguf");
  saved.save(path);
  nn::MLP model(init, {4, 6, 3}, bend);  // with values of its own
  EXPECT_EQ(lose_and_recover(), "");
  expect_gone(model.parameters().front().tensor, "what nobody kept");

  model.load(path);
  const Floats expected = model(x).to_vector();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lose_and_recover(), "");
    EXPECT_EQ(model(x).to_vector(), expected) << "from its file";
  }

  // After a step the file is not the truth any more.
  const optim::AdamW optimizer(model);
  optimizer.keep();
  optim::Step step(model, optimizer, [&](const std::vector<Tensor>& batch) {
    return mean(model(batch[0]) * model(batch[0]));
  });
  (void)step({x}, 0.1).item();
  const Floats learned = model(x).to_vector();
  EXPECT_NE(learned, expected);
  EXPECT_EQ(lose_and_recover(), "");
  for (const nn::Named& each : model.parameters()) expect_gone(each.tensor, each.name.c_str());

  // Kept whole it comes back as it was then.
  model.load(path);
  (void)step({x}, 0.1).item();
  EXPECT_EQ(model(x).to_vector(), learned);
  model.keep();
  optimizer.keep();
  (void)step({x}, 0.1).item();
  const Floats further = model(x).to_vector();
  EXPECT_EQ(lose_and_recover(), "");
  EXPECT_EQ(model(x).to_vector(), learned) << "as it was kept";
  (void)step({x}, 0.1).item();
  EXPECT_EQ(model(x).to_vector(), further) << "the optimizer too";

  model.load(path);
  EXPECT_EQ(lose_and_recover(), "");
  EXPECT_EQ(model(x).to_vector(), expected) << "what is loaded takes the place of what was kept";
  write_into(path, 2);
  EXPECT_TRUE(lose_and_recover().contains("was changed after it was read"));
}

TEST_F(FaultRestored, VariablesHaveWhatTheyWereGivenUntilItChanges) {
  save(in_folder("v.gguf"),
       {.tensors = {{"half", device_.arange(6).to(DType::f16)},
                    {"blocks", sin(device_.arange(32)).reshape({1, 32}).to(DType::q8_0)}},
        .texts = {}});
  const NamedTensors file = load(device_, in_folder("v.gguf"));
  const Tensor wide = variable(file.tensors.at("half").to(DType::f32));  // converted on its way
  const Tensor same = variable(file.tensors.at("half"));
  const Tensor blocks = variable(file.tensors.at("blocks"));
  const Tensor copy = variable(same);
  const Tensor computed = variable(file.tensors.at("half").to(DType::f32) * 2);
  const Tensor other = variable(device_.full({6}, 3));
  apply({{other, file.tensors.at("half").to(DType::f32)}});
  // A function of the caller's is asked for the tensor that it was given with, and nothing else.
  const Tensor asked_for = device_.tensor({1}, {1.0F});
  int asked = 0;
  keep(asked_for, [&asked] {
    ++asked;
    return std::vector<std::byte>(4);
  });
  const Tensor from_function = variable(asked_for);
  const Floats ramp{0, 1, 2, 3, 4, 5};
  const Floats quantized = blocks.to(DType::f32).to_vector();
  const auto back = [&] {
    for (const Tensor& each : {wide, same, copy, other}) {
      EXPECT_EQ(each.to(DType::f32).to_vector(), ramp);
    }
    EXPECT_EQ(blocks.to(DType::f32).to_vector(), quantized);
  };
  back();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(lose_and_recover(), "");
    back();
    expect_gone(computed, "what was computed");
    expect_gone(from_function, "what a function gives for another tensor");
    EXPECT_EQ(asked, i + 1);
  }
  // Each kind of change: an update, a kernel, a compiled function.
  const Kernel kernel = device_.kernel({.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(6) fn main(@builtin(local_invocation_index) i: u32) { y[i] += 10.0; })",
                                        .label = "more",
                                        .writes = {true}});
  const Compiled function = compile([wide](const std::vector<Tensor>& in) -> Outputs {
    return {{in[0]}, {{wide, wide + in[0]}}};
  });
  apply({{same, same + 1}});
  kernel.run({other}, {1, 1, 1});
  (void)function({device_.full({6}, 1)});
  EXPECT_EQ(wide.to_vector(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(lose_and_recover(), "");
  for (const Tensor& each : {wide, same, other}) expect_gone(each, "a variable that had changed");
  EXPECT_EQ(copy.to(DType::f32).to_vector(), ramp) << "a copy of what changed did not";
  // What was lost can be given values again.
  apply({{wide, file.tensors.at("half").to(DType::f32)}});
  EXPECT_EQ(lose_and_recover(), "");
  EXPECT_EQ(wide.to_vector(), ramp);
}

TEST_F(FaultRestored, ConstantsThatAKernelWroteToAreNotComputedAgain) {
  const Kernel kernel = device_.kernel({.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { y[i] += 10.0; })",
                                        .label = "more",
                                        .writes = {true}});
  const Tensor zeros = device_.full({4}, 0);
  const Tensor ramp = device_.arange(4);
  for (const Tensor& each : {zeros, ramp}) {
    each.eval();
    kernel.run({each}, {1, 1, 1});
  }
  EXPECT_EQ(zeros.to_vector(), (Floats{10, 10, 10, 10}));
  EXPECT_EQ(ramp.to_vector(), (Floats{10, 11, 12, 13}));
  EXPECT_EQ(lose_and_recover(), "");
  for (const Tensor& each : {zeros, ramp}) expect_gone(each, "what a kernel had written");
  const Tensor fresh = device_.full({4}, 0);
  kernel.run({fresh}, {1, 1, 1});
  EXPECT_EQ(fresh.to_vector(), (Floats{10, 10, 10, 10}));
}

TEST_F(FaultRestored, ModelsInOnnxsFormatComeBackFromAFileThatIsAsItWas) {
  for (const bool cut_off : {false, true}) {
    const auto path = in_folder(cut_off ? "cut.onnx" : "changed.onnx");
    {
      std::ofstream file(path, std::ios::binary);
      const std::string bytes = onnx_bytes::small_model();
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    const onnx::Model model = onnx::load(device_, path);
    const auto run = [&] {
      return model.run({{"x", device_.tensor({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F})}})
          .at("y")
          .to_vector();
    };
    const Floats expected = run();
    EXPECT_EQ(lose_and_recover(), "");
    EXPECT_EQ(run(), expected);
    if (cut_off) {
      std::filesystem::resize_file(path, 0);
    } else {
      write_into(path, 1);
    }
    EXPECT_TRUE(lose_and_recover().contains("was changed after it was read"));
    EXPECT_THROW((void)run(), Error);
  }
}

TEST_F(FaultRestored, PipelinesComeFromTheDisk) {
  const char* const before = std::getenv("WEFT_CACHE_DIR");
  const std::string cache = before != nullptr ? before : "";
  ::setenv("WEFT_CACHE_DIR", in_folder("cache").c_str(), 1);
  {
    const Scenario scenario = inference();
    scenario.keep();
    const Floats expected = scenario.run();
    gpu::Device& device = Access::data(scenario.device)->device;
    const gpu::CacheStats first = device.cache();
    EXPECT_GT(first.disk_stores, 0U);
    EXPECT_EQ(first.disk_hits, 0U);
    (void)device.lose_for_test("a test took it away");
    recover(scenario.device);
    EXPECT_EQ(device.cache().compiled, 0U);
    EXPECT_EQ(scenario.run(), expected);
    const gpu::CacheStats second = device.cache();
    EXPECT_EQ(second.compiled, first.compiled) << "the same pipelines";
    EXPECT_EQ(second.disk_stores, 0U) << "none of which was new";
    EXPECT_GE(second.disk_hits, first.disk_stores);
  }
  if (before != nullptr) {
    ::setenv("WEFT_CACHE_DIR", cache.c_str(), 1);
  } else {
    ::unsetenv("WEFT_CACHE_DIR");
  }
}

}  // namespace
}  // namespace weft::test
