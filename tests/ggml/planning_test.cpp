// What a graph costs the host that llama.cpp has not computed before: another depth of the cache,
// or another number of tokens. Its kernels are there already, and planning and recording it takes
// less than computing it. WEFT_FULL takes as many layers as a model of 8B has and prints the times.
#include <gtest/gtest.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "random_model.hpp"

namespace weft::test {
namespace {

constexpr std::uint32_t longest = 2048;
constexpr int batch_tokens = 64;
constexpr int cache_step = 256;  ///< llama.cpp's graphs read so many rows of the cache more.

/// A context of a random model on the device.
class Session {
 public:
  explicit Session(const std::filesystem::path& path) {
    std::vector<ggml_backend_dev_t> devices{weft_device(0), nullptr};
    llama_model_params model = llama_model_default_params();
    model.devices = devices.data();
    model.n_gpu_layers = 999;
    model_.reset(llama_model_load_from_file(path.c_str(), model));
    if (!model_) return;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = longest;
    params.n_batch = params.n_ubatch = batch_tokens;
    params.n_threads = params.n_threads_batch = 1;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    context_.reset(llama_init_from_model(model_.get(), params));
  }

  [[nodiscard]] bool ready() const { return context_ != nullptr; }

  /// Computes so many tokens behind those that are in the cache.
  void decode(int count) {
    depth_ += count;
    std::vector<llama_token> tokens(static_cast<std::size_t>(count), 7);
    ASSERT_EQ(llama_decode(context_.get(), llama_batch_get_one(tokens.data(), count)), 0)
        << captured_log();
  }
  /// Computes a prompt until the next graph reads more of the cache.
  void deepen() {
    do decode(batch_tokens);
    while (depth_ % cache_step != 0);
  }
  /// Takes the last tokens back.
  void forget(int count) {
    depth_ -= count;
    llama_memory_seq_rm(llama_get_memory(context_.get()), 0, depth_, -1);
  }

 private:
  std::unique_ptr<llama_model, decltype(&llama_model_free)> model_{nullptr, llama_model_free};
  std::unique_ptr<llama_context, decltype(&llama_free)> context_{nullptr, llama_free};
  int depth_ = 0;
};

TEST(GgmlPlanning, OtherDepthsAndBatchesCompileNothingAndCostTheHostLittle) {
  load_backends();
  const bool full = std::getenv("WEFT_FULL") != nullptr;
  const auto path =
      std::filesystem::path(testing::TempDir()) / formatted("weft-planning-{}.gguf", getpid());
  const ModelSpec spec{.architecture = "llama", .type = "q4_0", .layers = full ? 32U : 3U};
  ASSERT_TRUE(write_random_model(path, spec));
  Session session(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(session.ready()) << captured_log();
  double least = 1;  // seconds for a graph; what else the machine does can only add to them
  const auto decode_each = [&] {
    for (const int tokens : {1, 5, 33}) {
      const DeviceStats before = device_stats(weft_device(0));
      session.decode(tokens);
      session.forget(tokens);
      const DeviceStats after = device_stats(weft_device(0));
      const double plan = after.plan_seconds - before.plan_seconds;
      const double record = after.record_seconds - before.record_seconds;
      if (after.recorded > before.recorded) least = std::min(least, plan + record);
      std::fputs(
          formatted("{:>2} tokens: {} launches, {} steps planned and {} reused in {:.2f} ms, "
                    "recorded in {:.2f} ms\n",
                    tokens, after.launches - before.launches, after.planned - before.planned,
                    after.reused - before.reused, plan * 1e3, record * 1e3)
              .c_str(),
          stdout);
    }
  };
  for (int i = 0; i < 3; ++i) {
    decode_each();
    session.deepen();
  }
  const DeviceStats before = device_stats(weft_device(0));
  for (int i = 3; i < 5; ++i) {
    decode_each();
    session.deepen();
  }
  const DeviceStats after = device_stats(weft_device(0));
  EXPECT_LT(least, 4e-3) << "of the host for a graph of " << spec.layers << " layers";
  EXPECT_GT(after.recorded, before.recorded);
  EXPECT_EQ(after.compiled, before.compiled);
  // Part of one layer differs from that of other depths; other layers are as the first.
  EXPECT_GT(3 * (after.reused - before.reused), after.planned - before.planned);
}

}  // namespace
}  // namespace weft::test
