// llama_play MODEL DEVICE OUT SETUP…: one text after the other through libllama, with logits or
// embeddings after every token, for tools/test_archs to compare between devices. DEVICE is a name,
// several with commas between, or `none` for the CPU. A SETUP is KEY=VALUE,…: fa, k, v (types of
// the cache), ub (tokens in a graph), unified, swa (a cache as large for sliding attention), rs
// (states that are kept, to go back to), layers (on the device), kqv (0: the cache stays in the
// host), split (tensor: each tensor lies on all devices), lora (1: with the adapter MODEL.lora),
// steer (1: with a vector that is added to each layer), one (a single sequence), pooling
// (embeddings instead of texts: mean, cls, last, none). OUT has, for every phase, a line "SETUP
// PHASE ROWS COLUMNS" and as many floats, or "SETUP PHASE failed REASON". What llama.cpp cannot do
// with a model is left out on every device alike.
#include <ggml-backend.h>
#include <llama.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Setup = std::map<std::string, std::string>;
using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

std::FILE* out = nullptr;
bool failed = false;
std::string adapter_file;

std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

Setup read_setup(const std::string& text) {
  Setup setup;
  for (const std::string& part : split(text, ',')) {
    const auto at = part.find('=');
    setup[part.substr(0, at)] = part.substr(at + 1);
  }
  return setup;
}

std::string value(const Setup& setup, const std::string& key, const std::string& otherwise) {
  const auto found = setup.find(key);
  return found == setup.end() ? otherwise : found->second;
}

int number(const Setup& setup, const std::string& key, int otherwise) {
  return std::atoi(value(setup, key, std::to_string(otherwise)).c_str());
}

ggml_type type_named(const std::string& name) {
  for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
    const char* known = ggml_type_name(static_cast<ggml_type>(type));
    if (known != nullptr && name == known) return static_cast<ggml_type>(type);
  }
  std::fprintf(stderr, "llama_play: there is no type %s.\n", name.c_str());
  std::exit(2);
}

struct Token {
  llama_pos position;
  llama_seq_id sequence;
};

class Player {
 public:
  Player(llama_model& model, std::string name, bool on_cpu)
      : model_(model), name_(std::move(name)), setup_(read_setup(name_)), on_cpu_(on_cpu) {}

  void run() {
    const std::string pooling = value(setup_, "pooling", "");
    if (!pooling.empty()) {
      embeddings(pooling);
    } else if (open(false)) {
      if (llama_model_has_encoder(&model_)) {
        if (llama_model_has_decoder(&model_)) translate();
      } else {
        texts();
      }
    }
  }

 private:
  bool open(bool as_embeddings, enum llama_pooling_type pooling = LLAMA_POOLING_TYPE_UNSPECIFIED) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 768;
    params.n_batch = 64;
    params.n_ubatch = static_cast<std::uint32_t>(number(setup_, "ub", 64));
    params.n_seq_max = number(setup_, "one", 0) != 0 ? 1 : 4;
    params.n_rs_seq = static_cast<std::uint32_t>(number(setup_, "rs", 0));
    params.n_threads = params.n_threads_batch = number(setup_, "threads", 1);
    params.type_k = type_named(value(setup_, "k", "f32"));
    params.type_v = type_named(value(setup_, "v", "f32"));
    params.offload_kqv = !on_cpu_ && number(setup_, "kqv", 1) != 0;
    params.op_offload = false;
    params.kv_unified = number(setup_, "unified", 0) != 0;
    params.swa_full = number(setup_, "swa", 0) != 0;
    params.embeddings = as_embeddings;
    params.pooling_type = pooling;
    params.flash_attn_type = number(setup_, "fa", 1) != 0 ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                                                          : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    context_ = Context(nullptr, llama_free);
    context_ = Context(llama_init_from_model(&model_, params), llama_free);
    if (context_ && !adapt()) return false;
    if (!context_) tell_failure(as_embeddings ? "embeddings" : "prompt", "no context");
    return context_ != nullptr;
  }

  /// An adapter of low rank beside the model, and a vector that steers each layer.
  bool adapt() {
    if (number(setup_, "lora", 0) != 0) {
      if (!adapter_) adapter_.reset(llama_adapter_lora_init(&model_, adapter_file.c_str()));
      llama_adapter_lora* adapters[] = {adapter_.get()};
      float scale = 0.7F;
      if (!adapter_ || llama_set_adapters_lora(context_.get(), adapters, 1, &scale) != 0) {
        tell_failure("prompt", "no adapter");
        return false;
      }
    }
    if (number(setup_, "steer", 0) != 0) {
      const std::int32_t width = llama_model_n_embd(&model_);
      const std::int32_t layers = llama_model_n_layer(&model_);
      std::vector<float> steer(static_cast<std::size_t>(width * layers));
      for (std::size_t i = 0; i < steer.size(); ++i) steer[i] = static_cast<float>(i % 17) / 50;
      if (llama_set_adapter_cvec(context_.get(), steer.data(), steer.size(), width, 1, layers) !=
          0) {
        tell_failure("prompt", "no vector");
        return false;
      }
    }
    return true;
  }

  void tell_failure(const std::string& phase, const std::string& reason) {
    std::fprintf(out, "%s %s failed %s\n", name_.c_str(), phase.c_str(), reason.c_str());
    std::fflush(out);
  }

  void tell(const std::string& phase) {
    if (rows_.empty()) return;
    std::fprintf(out, "%s %s %zu %zu\n", name_.c_str(), phase.c_str(), rows_.size(),
                 rows_.front().size());
    for (const auto& row : rows_) std::fwrite(row.data(), sizeof(float), row.size(), out);
    std::fflush(out);
    rows_.clear();
  }

  void texts() {
    const bool several = number(setup_, "one", 0) == 0;
    read(0, 30);
    tell("prompt");
    for (int i = 0; i < 5; ++i) read(0, 1);
    tell("tokens");
    llama_memory_t memory = llama_get_memory(context_.get());
    if (memory == nullptr || failed) return;
    if (several) {
      std::vector<Token> two;  // of different lengths, in one batch
      for (int i = 0; i < 11; ++i) two.push_back(next(1));
      for (int i = 0; i < 5; ++i) two.push_back(next(2));
      decode(two);
      tell("two");
      for (int i = 0; i < 3; ++i) decode({next(0), next(1), next(2)});
      tell("turns");
      read(2, 9);  // while the others stand still
      tell("alone");
    }
    roll_back();
    tell("rolled");
    restore(several ? 1 : 0);
    tell("restored");
    if (several) {
      copy();
      tell("copied");
    }
    restore_everything();
    tell("reopened");
    if (shift()) tell("shifted");
    // A long text, past the window of sliding attention and the rows of one tile.
    llama_memory_clear(llama_get_memory(context_.get()), true);
    ends_ = {};
    read(0, 64);
    read(0, 64);
    read(0, 33);
    read(0, 1);
    rows_.erase(rows_.begin(), rows_.begin() + (rows_.size() > 40 ? 120 : 0));
    tell("long");
  }

  Token next(llama_seq_id sequence) {
    return {ends_[static_cast<std::size_t>(sequence)]++, sequence};
  }

  void read(llama_seq_id sequence, int count) {
    std::vector<Token> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(next(sequence));
    decode(tokens);
  }

  enum class Wanted : std::uint8_t { logits, token_embeddings, nothing };

  void decode(const std::vector<Token>& tokens, Wanted wanted = Wanted::logits,
              bool encode = false) {
    if (failed) return;
    const auto words =
        static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(&model_)));
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(tokens.size()), 0, 1);
    for (const Token& token : tokens) {
      const auto i = static_cast<std::size_t>(batch.n_tokens++);
      batch.token[i] = static_cast<llama_token>((token.position * 37 + token.sequence * 101 + 3) %
                                                static_cast<int>(words));
      batch.pos[i] = token.position;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = token.sequence;
      batch.logits[i] = 1;
    }
    const int status =
        encode ? llama_encode(context_.get(), batch) : llama_decode(context_.get(), batch);
    if (status != 0) {
      tell_failure("call", std::to_string(status));
      failed = true;
    }
    for (std::int32_t i = 0; !failed && wanted != Wanted::nothing && i < batch.n_tokens; ++i) {
      const bool logits = wanted == Wanted::logits;
      const float* row = logits ? llama_get_logits_ith(context_.get(), i)
                                : llama_get_embeddings_ith(context_.get(), i);
      const std::size_t size =
          logits ? words : static_cast<std::size_t>(llama_model_n_embd_out(&model_));
      if (row != nullptr) rows_.emplace_back(row, row + size);
    }
    llama_batch_free(batch);
  }

  /// Takes the last tokens back, as after a guess that was wrong, and reads others.
  void roll_back() {
    if (failed || number(setup_, "rs", 0) == 0) return;
    for (const int count : {1, 3}) {
      read(0, 4);
      if (!llama_memory_seq_rm(llama_get_memory(context_.get()), 0, ends_[0] - count, -1)) return;
      ends_[0] -= count;
    }
    read(0, 1);
    read(0, 2);
  }

  void restore(llama_seq_id which) {
    std::vector<std::uint8_t> state(llama_state_seq_get_size(context_.get(), which));
    if (llama_state_seq_get_data(context_.get(), state.data(), state.size(), which) == 0) return;
    const llama_pos end = ends_[static_cast<std::size_t>(which)];
    read(which, 1);
    read(which, 4);
    if (!llama_memory_seq_rm(llama_get_memory(context_.get()), which, -1, -1)) return;
    if (llama_state_seq_set_data(context_.get(), state.data(), state.size(), which) == 0) {
      tell_failure("restored", "the state is not taken");
      failed = true;
    }
    ends_[static_cast<std::size_t>(which)] = end;
    read(which, 1);
    read(which, 4);
  }

  void copy() {
    llama_memory_t memory = llama_get_memory(context_.get());
    if (!llama_memory_seq_rm(memory, 2, -1, -1)) return;
    llama_memory_seq_cp(memory, 0, 2, -1, -1);
    ends_[2] = ends_[0];
    for (int i = 0; i < 2; ++i) decode({next(2), next(0)});
    read(2, 6);
  }

  void restore_everything() {
    if (failed) return;
    std::vector<std::uint8_t> state(llama_state_get_size(context_.get()));
    const std::size_t size = llama_state_get_data(context_.get(), state.data(), state.size());
    if (!open(false)) return;
    if (llama_state_set_data(context_.get(), state.data(), size) != size) {
      tell_failure("reopened", "the state is not taken");
      failed = true;
      return;
    }
    read(0, 1);
    read(0, 3);
  }

  /// Forgets the first tokens after the fourth, and moves the rest there.
  bool shift() {
    llama_memory_t memory = llama_get_memory(context_.get());
    if (failed || !llama_memory_can_shift(memory)) return false;
    if (llama_memory_seq_pos_min(memory, 0) != 0) return false;
    if (!llama_memory_seq_rm(memory, 0, 4, 12)) return false;
    llama_memory_seq_add(memory, 0, 12, -1, -8);
    ends_[0] -= 8;
    read(0, 1);
    read(0, 5);
    return true;
  }

  /// Models with an encoder: the text is encoded, and the decoder goes on.
  void translate() {
    std::vector<Token> text;
    for (int i = 0; i < 30; ++i) text.push_back(next(0));
    decode(text, Wanted::nothing, true);
    ends_ = {};
    read(0, 1);
    read(0, 7);
    for (int i = 0; i < 3; ++i) read(0, 1);
    tell("prompt");
  }

  void embeddings(const std::string& name) {
    enum llama_pooling_type pooling = LLAMA_POOLING_TYPE_NONE;
    if (name == "mean") pooling = LLAMA_POOLING_TYPE_MEAN;
    if (name == "cls") pooling = LLAMA_POOLING_TYPE_CLS;
    if (name == "last") pooling = LLAMA_POOLING_TYPE_LAST;
    if (!open(true, pooling)) return;
    const bool several = number(setup_, "one", 0) == 0;
    std::vector<Token> texts;
    for (int i = 0; i < 17; ++i) texts.push_back(next(0));
    for (int i = 0; several && i < 3; ++i) texts.push_back(next(1));
    for (int i = 0; several && i < 8; ++i) texts.push_back(next(2));
    const bool each = pooling == LLAMA_POOLING_TYPE_NONE;
    const bool encode = llama_model_has_encoder(&model_) && !llama_model_has_decoder(&model_);
    decode(texts, each ? Wanted::token_embeddings : Wanted::nothing, encode);
    for (llama_seq_id i = 0; !failed && !each && i < (several ? 3 : 1); ++i) {
      const float* row = llama_get_embeddings_seq(context_.get(), i);
      if (row != nullptr) rows_.emplace_back(row, row + llama_model_n_embd_out(&model_));
    }
    tell("embeddings");
  }

  llama_model& model_;
  std::string name_;
  Setup setup_;
  bool on_cpu_;
  std::unique_ptr<llama_adapter_lora, decltype(&llama_adapter_lora_free)> adapter_{
      nullptr, llama_adapter_lora_free};
  Context context_{nullptr, llama_free};
  std::array<llama_pos, 3> ends_{};
  std::vector<std::vector<float>> rows_;
};

void quiet(ggml_log_level level, const char* text, void* /*data*/) {
  if (level >= GGML_LOG_LEVEL_WARN || std::getenv("LLAMA_PLAY_LOG") != nullptr)
    std::fputs(text, stderr);
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fputs("usage: llama_play MODEL DEVICE OUT SETUP…\n", stderr);
    return 2;
  }
  llama_log_set(quiet, nullptr);
  ggml_backend_load_all();
  out = std::fopen(words[3], "wb");
  if (out == nullptr) return 2;
  adapter_file = std::string(words[1]) + ".lora";
  std::vector<ggml_backend_dev_t> devices;
  const bool on_cpu = std::string(words[2]) == "none";
  for (const std::string& name : on_cpu ? std::vector<std::string>{} : split(words[2], ',')) {
    devices.push_back(ggml_backend_dev_by_name(name.c_str()));
    if (devices.back() == nullptr) {
      std::fprintf(stderr, "llama_play: there is no device %s.\n", name.c_str());
      return 2;
    }
  }
  devices.push_back(nullptr);
  Model model(nullptr, llama_model_free);
  int layers = -2;
  for (int i = 4; i < count; ++i) {
    const int wanted = on_cpu ? 0 : number(read_setup(words[i]), "layers", 999);
    if (!model || wanted != layers) {
      llama_model_params params = llama_model_default_params();
      params.devices = devices.data();
      params.n_gpu_layers = layers = wanted;
      const bool spread = value(read_setup(words[i]), "split", "layer") == "tensor";
      params.split_mode = spread && !on_cpu ? LLAMA_SPLIT_MODE_TENSOR : LLAMA_SPLIT_MODE_LAYER;
      model = Model(nullptr, llama_model_free);
      model = Model(llama_model_load_from_file(words[1], params), llama_model_free);
      if (!model) {
        std::fprintf(out, "%s prompt failed no model\n", words[i]);
        std::fclose(out);
        return 1;
      }
    }
    failed = false;
    Player(*model, words[i], on_cpu).run();
  }
  std::fclose(out);
  return 0;
}
