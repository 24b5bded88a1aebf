// Language models of several architectures with random weights: logits on the Weft device against
// ggml's CPU backend.
#include <ggml-backend.h>
#include <gtest/gtest.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "random_model.hpp"
#include "run_model.hpp"

namespace weft::test {
namespace {

struct Variant {
  std::string architecture;
  std::string type;
  bool flash_attention = false;
  ggml_type cache = GGML_TYPE_F32;
};

/// A file that no other process uses: the tests run several times side by side, under different
/// masks.
std::filesystem::path temporary_model(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / formatted("weft-{}-{}.gguf", name, getpid());
}

/// Layers of both kinds, and one of the first kind again, where there are two kinds.
ModelSpec model_of(const Variant& setup, bool decoded = false) {
  return {.architecture = setup.architecture,
          .type = setup.type,
          .layers = setup.architecture == "lfm2" ? 3U : 2U,
          .decoded = decoded};
}

class GgmlModels : public testing::TestWithParam<Variant> {};

TEST_P(GgmlModels, LogitsAgreeWithTheCpu) {
  const Variant& setup = GetParam();
  load_backends();
  const std::filesystem::path path = temporary_model(setup.architecture + "-" + setup.type);
  const Status written = write_random_model(path, model_of(setup));
  ASSERT_TRUE(written) << written.error().message;

  const Transcript cpu = run_model(path, {}, {}, setup.flash_attention, setup.cache);
  ASSERT_EQ(cpu.logits.size(), static_cast<std::size_t>(prompt_tokens + decoded_tokens));
  forget_log();
  const Transcript weft =
      run_model(path, {weft_device(0)}, cpu.tokens, setup.flash_attention, setup.cache);
  ASSERT_EQ(weft.logits.size(), cpu.logits.size());
  // The CPU looks the tokens up, as their vectors stay in the host; all the rest is the device's.
  EXPECT_TRUE(captured_log().contains(" splits = 2,")) << "part of the graph falls back to the CPU";

  // The CPU rounds activations to 8 bits for quantized weights, as the device does where that is
  // faster. The same weights as f32 show how much that is: over all tokens, the device may not be
  // further away from them than the CPU.
  Transcript exact = cpu;
  const bool quantized = setup.type != "f32";
  if (quantized) {
    ASSERT_TRUE(write_random_model(path, model_of(setup, true)));
    exact = run_model(path, {}, cpu.tokens, setup.flash_attention);
    ASSERT_EQ(exact.logits.size(), weft.logits.size());
  }
  std::filesystem::remove(path);

  double error = 0;
  double rounding = 0;
  for (std::size_t i = 0; i < cpu.logits.size(); ++i) {
    ASSERT_LE(nmse(weft.logits[i], cpu.logits[i]), quantized ? 1e-3 : 1e-5) << "token " << i;
    error += nmse(weft.logits[i], exact.logits[i]) / static_cast<double>(cpu.logits.size());
    rounding += nmse(cpu.logits[i], exact.logits[i]) / static_cast<double>(cpu.logits.size());
    if (!quantized) {
      ASSERT_EQ(best(weft.logits[i]), best(cpu.logits[i])) << "token " << i;
    }
  }
  EXPECT_LE(error, std::max(1e-5, 1.1 * rounding));
}

/// Nothing may fall back to the CPU unseen: the ops of a transformer are counted on the device.
TEST(GgmlModel, OpsRunOnTheDevice) {
  load_backends();
  const std::filesystem::path path = temporary_model("guard");
  ASSERT_TRUE(write_random_model(path, {"llama", "q4_0"}));
  ggml_backend_dev_t device = weft_device(0);
  for (const bool flash : {false, true}) {
    std::vector<ggml_op> wanted{GGML_OP_RMS_NORM, GGML_OP_MUL,      GGML_OP_MUL_MAT, GGML_OP_ROPE,
                                GGML_OP_SET_ROWS, GGML_OP_GET_ROWS, GGML_OP_GLU,     GGML_OP_ADD};
    wanted.push_back(flash ? GGML_OP_FLASH_ATTN_EXT : GGML_OP_SOFT_MAX);
    std::vector<std::uint64_t> before;
    for (const ggml_op op : wanted) before.push_back(device_stats(device, op).nodes);
    const std::uint64_t replayed = device_stats(device).replayed;
    run_model(path, {device}, {}, flash);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_GT(device_stats(device, wanted[i]).nodes, before[i])
          << ggml_op_name(wanted[i]) << " did not run on the device";
    }
    EXPECT_GT(device_stats(device).replayed, replayed + decoded_tokens / 2)
        << "decoding should replay one graph";
  }
  std::filesystem::remove(path);
}

TEST(GgmlModel, SplitsOverTwoDevices) {
  load_backends();
  const std::filesystem::path path = temporary_model("split");
  ASSERT_TRUE(write_random_model(path, {.architecture = "llama", .layers = 4}));
  const Transcript cpu = run_model(path, {}, {}, false);
  const std::uint64_t first = device_stats(weft_device(0), GGML_OP_MUL_MAT).nodes;
  const std::uint64_t second = device_stats(weft_device(1), GGML_OP_MUL_MAT).nodes;
  const Transcript weft = run_model(path, {weft_device(0), weft_device(1)}, cpu.tokens, false);
  std::filesystem::remove(path);
  EXPECT_GT(device_stats(weft_device(0), GGML_OP_MUL_MAT).nodes, first);
  EXPECT_GT(device_stats(weft_device(1), GGML_OP_MUL_MAT).nodes, second);
  ASSERT_EQ(weft.logits.size(), cpu.logits.size());
  for (std::size_t i = 0; i < cpu.logits.size(); ++i) {
    ASSERT_LE(nmse(weft.logits[i], cpu.logits[i]), 1e-5) << "token " << i;
  }
}

std::string setup_name(const testing::TestParamInfo<Variant>& info) {
  return formatted("{}_{}{}", info.param.architecture, info.param.type,
                   info.param.flash_attention ? "_flash" : "") +
         (info.param.cache == GGML_TYPE_F32
              ? ""
              : formatted("_cache_{}", ggml_type_name(info.param.cache)));
}

INSTANTIATE_TEST_SUITE_P(All, GgmlModels,
                         testing::Values(Variant{"llama", "f32"}, Variant{"llama", "f32", true},
                                         Variant{"llama", "q4_k", true},
                                         Variant{"qwen3", "f32", true}, Variant{"qwen3", "q8_0"},
                                         Variant{"gemma3", "f32"}, Variant{"gemma3", "q4_0", true},
                                         Variant{"phi3", "f32"}, Variant{"phi3", "q6_k"},
                                         Variant{"qwen3moe", "f32"}, Variant{"qwen3moe", "q4_0"},
                                         Variant{"lfm2", "f32", true},
                                         Variant{"lfm2", "q8_0", true, GGML_TYPE_Q8_0},
                                         Variant{"lfm2", "q4_0", true, GGML_TYPE_Q4_0},
                                         Variant{"mamba", "f32"}, Variant{"mamba", "q8_0"},
                                         Variant{"rwkv7", "f32"}, Variant{"rwkv7", "q5_0"}),
                         setup_name);

}  // namespace
}  // namespace weft::test
