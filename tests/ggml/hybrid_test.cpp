// Models with layers of several kinds and random weights: several sequences at once, batches that
// are split, copied sequences and states that are kept and put back, on the device against ggml's
// CPU backend.
#include <ggml-backend.h>
#include <gtest/gtest.h>
#include <llama.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "base/format.hpp"
#include "hybrid_model.hpp"
#include "run_model.hpp"

namespace weft::test {
namespace {

constexpr std::uint32_t sequences = 3;

struct Conversation {
  std::string architecture;
  ggml_type type = GGML_TYPE_F32;
  ggml_type keys = GGML_TYPE_F32;
  ggml_type values = GGML_TYPE_F32;
  std::uint32_t part = 64;  ///< Tokens that one graph takes at most.
  bool flash_attention = true;
  bool unified = false;
};

struct Token {
  llama_token token;
  llama_pos position;
  llama_seq_id sequence;
};

/// One text after the other through one context, or several; the logits after every token.
class Play {
 public:
  Play(llama_model& model, const Conversation& setup, bool on_cpu)
      : model_(model), setup_(setup), on_cpu_(on_cpu) {
    context_ = new_context();
  }

  std::vector<std::vector<float>> run() {
    if (!context_) return {};
    read(0, 30);
    if (setup_.architecture == "plamo2") {  // llama.cpp itself cannot do several sequences of it.
      read(0, 1);
      restore_a_sequence(0);
      restore_everything();
      read(0, 3);
      return std::move(logits_);
    }
    std::vector<Token> two;  // of different lengths, in one batch
    for (int i = 0; i < 11; ++i) two.push_back(next(1));
    for (int i = 0; i < 5; ++i) two.push_back(next(2));
    decode(two);
    for (int i = 0; i < 3; ++i) decode({next(0), next(1), next(2)});
    read(2, 9);  // while the others stand still
    restore_a_sequence(1);
    copy_a_sequence();
    restore_everything();
    for (int i = 0; i < 2; ++i) decode({next(2), next(0), next(1)});
    return std::move(logits_);
  }

 private:
  using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

  Context new_context() {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 768;
    params.n_batch = 64;
    params.n_ubatch = setup_.part;
    params.n_seq_max = sequences;
    params.n_threads = params.n_threads_batch = 1;
    params.type_k = setup_.keys;
    params.type_v = setup_.values;
    params.offload_kqv = !on_cpu_;
    params.op_offload = false;
    params.kv_unified = setup_.unified;
    params.flash_attn_type =
        setup_.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    Context made(llama_init_from_model(&model_, params), llama_free);
    if (!made) ADD_FAILURE() << "no context: " << captured_log();
    return made;
  }

  Token next(llama_seq_id sequence) {
    const llama_pos position = ends_[static_cast<std::size_t>(sequence)]++;
    return {(position * 37 + sequence * 101 + 3) % 320, position, sequence};
  }

  void read(llama_seq_id sequence, int count) {
    std::vector<Token> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(next(sequence));
    decode(tokens);
  }

  void decode(const std::vector<Token>& tokens) {
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(tokens.size()), 0, 1);
    for (const Token& token : tokens) {
      const auto i = static_cast<std::size_t>(batch.n_tokens++);
      batch.token[i] = token.token;
      batch.pos[i] = token.position;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = token.sequence;
      batch.logits[i] = 1;
    }
    const int status = llama_decode(context_.get(), batch);
    EXPECT_EQ(status, 0) << captured_log();
    const auto words =
        static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(&model_)));
    for (std::int32_t i = 0; status == 0 && i < batch.n_tokens; ++i) {
      const float* logits = llama_get_logits_ith(context_.get(), i);
      logits_.emplace_back(logits, logits + words);
    }
    llama_batch_free(batch);
  }

  /// A sequence that is put back goes on with the same logits as before.
  void restore_a_sequence(llama_seq_id which) {
    std::vector<std::uint8_t> state(llama_state_seq_get_size(context_.get(), which));
    ASSERT_EQ(llama_state_seq_get_data(context_.get(), state.data(), state.size(), which),
              state.size());
    const llama_pos end = ends_[static_cast<std::size_t>(which)];
    read(which, 1);
    read(which, 4);
    ASSERT_TRUE(llama_memory_seq_rm(llama_get_memory(context_.get()), which, -1, -1));
    ASSERT_NE(llama_state_seq_set_data(context_.get(), state.data(), state.size(), which), 0U);
    ends_[static_cast<std::size_t>(which)] = end;
    const std::size_t before = logits_.size() - 5;
    read(which, 1);
    read(which, 4);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_LE(nmse(logits_[before + 5 + i], logits_[before + i]), 1e-9)
          << "token " << i << " after the state was put back";
    }
  }

  void copy_a_sequence() {
    llama_memory_t memory = llama_get_memory(context_.get());
    ASSERT_TRUE(llama_memory_seq_rm(memory, 2, -1, -1));
    llama_memory_seq_cp(memory, 0, 2, -1, -1);
    ends_[2] = ends_[0];
    for (int i = 0; i < 2; ++i) decode({next(2), next(0)});
    read(2, 6);
  }

  void restore_everything() {
    std::vector<std::uint8_t> state(llama_state_get_size(context_.get()));
    const std::size_t size = llama_state_get_data(context_.get(), state.data(), state.size());
    ASSERT_GT(size, 0U);
    context_ = new_context();
    ASSERT_TRUE(context_);
    ASSERT_EQ(llama_state_set_data(context_.get(), state.data(), size), size);
  }

  llama_model& model_;
  Conversation setup_;
  bool on_cpu_;
  Context context_{nullptr, llama_free};
  std::array<llama_pos, sequences> ends_{};
  std::vector<std::vector<float>> logits_;
};

std::vector<std::vector<float>> play(const Conversation& setup, ggml_backend_dev_t device,
                                     bool decoded) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     formatted("weft-{}-{}.gguf", setup.architecture, ::getpid());
  const Status written = write_hybrid_model(
      path, {.architecture = setup.architecture, .type = setup.type, .decoded = decoded});
  EXPECT_TRUE(written) << written.error().message;
  ggml_backend_dev_t devices[] = {device, nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = devices;
  params.n_gpu_layers = device == nullptr ? 0 : 999;
  // What the CPU would lay out anew for its own matrix units (AMX) it multiplies wrongly: NaN with
  // weights of q8_0, and a tenth of the value with q4_0.
  params.use_extra_bufts = false;
  const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
      llama_model_load_from_file(path.c_str(), params), llama_model_free);
  std::filesystem::remove(path);
  if (!model) {
    ADD_FAILURE() << "no model: " << captured_log();
    return {};
  }
  Conversation how = setup;
  if (decoded) how.keys = how.values = GGML_TYPE_F32;
  return Play(*model, how, device == nullptr).run();
}

class GgmlHybrids : public testing::TestWithParam<Conversation> {};

TEST_P(GgmlHybrids, LogitsAgreeWithTheCpu) {
  load_backends();
  const Conversation& setup = GetParam();
  const auto cpu = play(setup, nullptr, false);
  const auto weft = play(setup, weft_device(0), false);
  ASSERT_FALSE(cpu.empty());
  ASSERT_EQ(weft.size(), cpu.size());
  const bool rounds =
      setup.type != GGML_TYPE_F32 || setup.keys != GGML_TYPE_F32 || setup.values != GGML_TYPE_F32;
  // What the CPU rounds (x, keys and values), the device rounds too, in its own way: it may not be
  // much further from weights of the same values and a cache of f32 than the CPU is. Where an
  // expert that is nearly as good as another is taken by the one and left by the other, that is
  // more.
  const auto exact = rounds ? play(setup, nullptr, true) : cpu;
  ASSERT_EQ(exact.size(), cpu.size());
  double error = 0;
  double rounding = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    if (!rounds) {
      ASSERT_LE(nmse(weft[i], cpu[i]), 1e-5) << "token " << i;
    }
    error += nmse(weft[i], exact[i]) / static_cast<double>(cpu.size());
    rounding += nmse(cpu[i], exact[i]) / static_cast<double>(cpu.size());
  }
  std::printf("  error %.2e, of the CPU %.2e\n", error, rounding);
  const bool chooses = setup.architecture == "jamba" || setup.architecture == "qwen3next" ||
                       setup.architecture == "lfm2moe";
  EXPECT_LE(error,
            chooses && rounds ? std::max(1e-3, 3 * rounding) : std::max(1e-5, 1.3 * rounding));
}

/// Each architecture with one combination of types; all of them with WEFT_FULL.
std::vector<Conversation> setups() {
  const std::vector<std::string>& all = hybrid_architectures();
  std::vector<Conversation> chosen;
  if (std::getenv("WEFT_FULL") != nullptr) {
    for (const std::string& architecture : all) {
      for (const ggml_type type :
           {GGML_TYPE_F32, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K}) {
        for (const ggml_type cache :
             {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q5_1,
              GGML_TYPE_Q5_0, GGML_TYPE_Q4_1, GGML_TYPE_Q4_0, GGML_TYPE_IQ4_NL}) {
          for (const std::uint32_t part : {64U, 7U}) {
            chosen.push_back({.architecture = architecture,
                              .type = type,
                              .keys = cache,
                              .values = cache,
                              .part = part,
                              .unified = part == 7});
          }
        }
        chosen.push_back({.architecture = architecture, .type = type, .flash_attention = false});
        chosen.push_back({.architecture = architecture,
                          .type = type,
                          .keys = GGML_TYPE_Q8_0,
                          .part = 5,
                          .flash_attention = false,
                          .unified = true});
      }
    }
    return chosen;
  }
  constexpr ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K};
  constexpr ggml_type caches[] = {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_F16, GGML_TYPE_Q5_1};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ggml_type cache = caches[i % std::size(caches)];
    const bool exact = i % 4 == 2;
    chosen.push_back({.architecture = all[i],
                      .type = exact ? GGML_TYPE_F32 : types[i % std::size(types)],
                      .keys = exact ? GGML_TYPE_F32 : cache,
                      .values = exact ? GGML_TYPE_F32 : cache,
                      .part = i % 2 == 0 ? 7U : 64U,
                      .flash_attention = !exact,
                      .unified = i % 3 == 0});
  }
  return chosen;
}

std::string name_of(const testing::TestParamInfo<Conversation>& info) {
  const Conversation& setup = info.param;
  std::string name =
      formatted("{}_{}_cache_{}_{}_{}{}{}", setup.architecture, ggml_type_name(setup.type),
                ggml_type_name(setup.keys), ggml_type_name(setup.values), setup.part,
                setup.flash_attention ? "_flash" : "", setup.unified ? "_unified" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GgmlHybrids, testing::ValuesIn(setups()), name_of);

}  // namespace
}  // namespace weft::test
