#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "gpu/fault.hpp"
#include "graph/node.hpp"
#include "nn/snapshot.hpp"
#include "scenarios.hpp"

// Devices that are lost, and what comes back. many_losses_test.cpp loses them at random moments.

namespace weft::test {
namespace {

void lose(const Device& device) {
  (void)Access::data(device)->device.lose_for_test("a test took it away");
}

TEST(FaultLoss, HandlesStayValidAndWhatIsKeptComesBack) {
  const Device device;
  const Tensor kept = device.tensor({3}, {1.0F, 2.0F, 3.0F});
  const Tensor gone = device.tensor({3}, {4.0F, 5.0F, 6.0F});
  const Tensor constant = device.full({3}, 7);
  const Tensor computed = kept * 2;
  const Tensor lazy = kept + constant;
  const Tensor counter = variable(device.full({1}, 5));
  EXPECT_EQ(computed.to_vector(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(constant.to_vector(), (std::vector<float>{7, 7, 7}));
  const Compiled next = compile([counter](const std::vector<Tensor>& in) -> Outputs {
    return {{counter * in[0]}, {{counter, counter + in[0]}}};
  });
  const Compiled twice =
      compile([kept](const std::vector<Tensor>& in) -> Outputs { return kept * in[0]; });
  EXPECT_EQ(twice.one({device.full({1}, 2)}).to_vector(), (std::vector<float>{2, 4, 6}));
  keep(kept);
  keep(counter);
  EXPECT_EQ(next.one({device.full({1}, 1)}).item(), 5);
  int asked = 0;
  const Tensor from_function = device.tensor({2}, {0.0F, 0.0F});
  keep(from_function, [&asked] {
    ++asked;
    const std::vector<float> values{8, 9};
    const auto bytes = std::as_bytes(std::span(values));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });

  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(is_lost(device));
    lose(device);
    EXPECT_TRUE(is_lost(device));
    EXPECT_THROW((void)kept.to_vector(), Error);
    recover(device);
    recover(device);  // nothing to do
    EXPECT_EQ(kept.to_vector(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(from_function.to_vector(), (std::vector<float>{8, 9}));
    EXPECT_EQ(constant.to_vector(), (std::vector<float>{7, 7, 7}));
    EXPECT_EQ(lazy.to_vector(), (std::vector<float>{8, 9, 10})) << "computed for the first time";
    EXPECT_EQ(twice.one({device.full({1}, 2)}).to_vector(), (std::vector<float>{2, 4, 6}));
    EXPECT_EQ(next.one({device.full({1}, 1)}).item(), 5) << "as it was kept";
    EXPECT_EQ(next.one({device.full({1}, 1)}).item(), 6);
    for (const Tensor& lost : {gone, computed}) {
      try {
        (void)(lost + 1).to_vector();
        ADD_FAILURE() << "a tensor that was not kept came back";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost);
        EXPECT_NE(std::string_view(error.what()).find("f32[3]"), std::string_view::npos)
            << error.what();
      }
    }
    if (i == 0) {
      (void)lazy.to_vector();
      keep(lazy);
    }
  }
  EXPECT_EQ(asked, 2);
}

TEST(FaultLoss, TheBestAdapterTakesThePlaceOfOneThatDoesNotOpen) {
  for (const bool named : {false, true}) {
    const Device device(named ? DeviceChoice{.adapter = "0"} : DeviceChoice{});
    const Tensor kept = device.tensor({2}, {1.0F, 2.0F});
    keep(kept);
    lose(device);
    gpu::set_faults({.kind = "device", .number = 1});
    if (named) {  // Whoever names one gets no other.
      EXPECT_THROW(recover(device), Error);
      EXPECT_TRUE(is_lost(device));
      gpu::set_faults({});
    }
    recover(device);
    gpu::set_faults({});
    EXPECT_EQ((kept * 2).to_vector(), (std::vector<float>{2, 4}));
  }
}

TEST(FaultLoss, KernelsOfOnesOwnGoOn) {
  const Device device;
  const Tensor x = device.tensor({4}, {1.0F, 2.0F, 3.0F, 4.0F});
  const Tensor y = device.tensor({4}, {0.0F, 0.0F, 0.0F, 0.0F});
  keep(x);
  keep(y);
  const Kernel kernel = device.kernel({.wgsl = R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) { y[i] += x[i] * x[i]; })",
                                       .label = "squares",
                                       .writes = {false, true}});
  for (int i = 0; i < 2; ++i) {
    kernel.run({x, y}, {1, 1, 1});
    EXPECT_EQ(y.to_vector(), (std::vector<float>{1, 4, 9, 16}));
    lose(device);
    EXPECT_THROW(kernel.run({x, y}, {1, 1, 1}), Error);
    recover(device);
  }
}

TEST(FaultLoss, LoadedWeightsComeBackFromTheirFile) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-loss-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const Device device;
  const Tensor x = device.arange(12).reshape({3, 4});
  for (const char* name : {"w.safetensors", "w.gguf"}) {
    save(folder / name, {.tensors = {{"x", x}}, .texts = {}});
  }
  const NamedTensors a = load(device, folder / "w.safetensors");
  const NamedTensors b = load(device, folder / "w.gguf");
  const std::vector<float> expected = x.to_vector();
  lose(device);
  recover(device);
  EXPECT_EQ(a.tensors.at("x").to_vector(), expected);
  EXPECT_EQ(b.tensors.at("x").to_vector(), expected);
  // A file that was cut off meanwhile is an error, and keeps nothing else from coming back; one in
  // whose place there is another now is the one that was loaded.
  std::filesystem::resize_file(folder / "w.safetensors", 16);
  save(folder / "w.gguf", {.tensors = {{"x", device.full({3, 4}, 2)}}, .texts = {}});
  lose(device);
  try {
    recover(device);
    ADD_FAILURE() << "weights came back from a file that has none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_TRUE(std::string_view(error.what()).contains("has 16 now")) << error.what();
  }
  EXPECT_THROW((void)a.tensors.at("x").to_vector(), Error);
  EXPECT_EQ(b.tensors.at("x").to_vector(), expected);
  std::filesystem::remove_all(folder);
}

TEST(FaultLoss, ItRecoversByItself) {
  gpu::set_faults({});
  const Scenario scenario = inference();
  scenario.keep();
  const std::vector<float> expected = scenario.run();
  recover_automatically(scenario.device);
  std::mt19937_64 random(9);
  int right = 0;
  for (int i = 0; i < (full() ? 100 : 10); ++i) {
    gpu::set_faults({.number = 1 + random() % 8, .lose = true});
    try {
      EXPECT_EQ(scenario.run(), expected);
      ++right;
    } catch (const Error& error) {  // results that were computed and not read yet
      EXPECT_NE(std::string_view(error.what()).find("nothing says how it comes back"),
                std::string_view::npos)
          << error.what();
    }
    gpu::set_faults({});
    EXPECT_EQ(scenario.run(), expected) << "without a call of recover()";
  }
  EXPECT_GT(right, 0);
}

TEST(FaultLoss, OldValuesNeverComeBackInSilence) {
  const Device device;
  recover_automatically(device);
  const Tensor counter = variable(device.full({1}, 1));
  const Tensor written = device.tensor({2}, {1.0F, 2.0F});
  const Tensor constant = device.tensor({1}, {7.0F});
  keep(counter);
  const Kernel kernel = device.kernel({.wgsl = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) { y[i] += 10.0; })",
                                       .label = "more",
                                       .writes = {true}});
  const std::function<void()> changes[] = {[] {}, [&] { apply({{counter, counter + 1}}); },
                                           [&] { kernel.run({written}, {1, 1, 1}); }};
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    changes[i]();
    device.synchronize();
    lose(device);
    if (i == 0) {
      EXPECT_EQ(constant.item(), 7) << "nothing had changed";
    } else {
      try {
        (void)constant.item();
        ADD_FAILURE() << "change " << i << " was forgotten in silence";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost);
        EXPECT_NE(std::string_view(error.what()).find("(1 in all)"), std::string_view::npos)
            << error.what();
      }
    }
    EXPECT_EQ(counter.item(), 1) << "as it was kept";
    EXPECT_EQ(written.to_vector(), (std::vector<float>{1, 2}));
  }
}

TEST(FaultLoss, ATrainerGoesOnWithTheSameBits) {
  gpu::set_faults({});
  nn::TrainerConfig config;
  config.model = {.vocabulary = 40,
                  .layers = 1,
                  .width = 16,
                  .heads = 2,
                  .kv_heads = 2,
                  .hidden = 32,
                  .context = 8};
  config.batch = 2;
  config.dtype = DType::f32;
  const auto batch_of = [](std::uint64_t step) {
    nn::Batch batch;
    for (int i = 0; i < 16; ++i) {
      batch.tokens.push_back(
          static_cast<std::int32_t>((step * 7 + static_cast<std::uint64_t>(i) * 3) % 40));
      batch.labels.push_back(
          static_cast<std::int32_t>((step * 5 + static_cast<std::uint64_t>(i)) % 40));
    }
    return std::vector<nn::Batch>{batch};
  };
  constexpr std::uint64_t steps = 12;
  const Device quiet;
  nn::Trainer undisturbed(quiet, config);
  for (std::uint64_t i = 0; i < steps; ++i) (void)undisturbed.step(batch_of(i), 0.01, i);
  const nn::Snapshot expected = nn::take_snapshot(undisturbed);

  const Device device;
  nn::Trainer trainer(device, config);
  nn::Snapshot snapshot = nn::take_snapshot(trainer);
  std::uint64_t taken = 0;
  int losses = 0;
  std::mt19937_64 random(5);
  for (std::uint64_t i = 0; i < steps;) {
    try {
      if (losses < (full() ? 40 : 3)) {
        gpu::set_faults({.number = 1 + random() % 40, .lose = true});
      }
      (void)trainer.step(batch_of(i), 0.01, i).item();
      ++i;
      if (i % 3 == 0) {
        snapshot = nn::take_snapshot(trainer);
        taken = i;
      }
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::device_lost) << error.what();
      ++losses;
      gpu::set_faults({});
      recover(device);
      trainer = nn::trainer_from(snapshot, device, config);
      i = taken;
    }
  }
  gpu::set_faults({});
  EXPECT_GE(losses, 3);
  EXPECT_EQ(nn::take_snapshot(trainer), expected);
}

TEST(FaultLoss, TheProgramTrainsOnWithTheSameBits) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("weft-train-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  {
    std::ofstream text(folder / "text.txt");
    for (int i = 0; i < 200; ++i)
      text << "The weft goes over and under the warp, and back again.\n";
  }
  const auto train = [&](const std::string& fault, const std::string& to) {
    const std::string command =
        "WEFT_FAULT=" + fault + " " WEFT_PROGRAM " train " + (folder / "text.txt").string() +
        " --vocab 300 --layers 1 --dim 16 --heads 2 --context 16 --batch 2 --steps 30 --snapshot 0 "
        "--sample-length 1 -o " +
        (folder / to).string() + " >" + (folder / (to + ".log")).string() + " 2>&1";
    return std::system(command.c_str());  // NOLINT(cert-env33-c): the command is made here
  };
  ASSERT_EQ(train("none:0", "quiet"), 0);
  const auto bytes_of = [&](const std::string& name) {
    std::ifstream file(folder / name, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  // Calls that fail as the variable says, of one kind and at random: an error with a sentence, or
  // right.
  for (const char* fault : {"buffer:9", "random:150", "random:40"}) {
    std::filesystem::remove_all(folder / "failed");
    const int status = train(fault, "failed");
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << fault << bytes_of("failed.log");
    if (status == 0) {
      EXPECT_EQ(bytes_of("failed/model.gguf"), bytes_of("quiet/model.gguf")) << fault;
    } else {
      EXPECT_TRUE(bytes_of("failed.log").contains("weft: ")) << bytes_of("failed.log");
    }
  }
  for (const char* fault : {"lose:submit:200", "lose:buffer:90", "lose:map:100"}) {
    if (!full() && fault != std::string_view("lose:submit:200")) continue;
    std::filesystem::remove_all(folder / "lost");
    ASSERT_EQ(train(fault, "lost"), 0) << bytes_of("lost.log");
    EXPECT_NE(bytes_of("lost.log").find("Going on after step"), std::string::npos)
        << fault << ": " << bytes_of("lost.log");
    EXPECT_EQ(bytes_of("lost/model.gguf"), bytes_of("quiet/model.gguf")) << fault;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::test
