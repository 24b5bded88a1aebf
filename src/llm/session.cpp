#include "llm/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "formats/gguf.hpp"
#include "llm/llama_api.hpp"

namespace weft::llm {
namespace {

/// Keeps llama.cpp's errors for our messages and shows everything when asked to.
struct LogSink {
  std::mutex mutex;
  bool verbose = false;
  std::string last_error;

  static void write(ggml_log_level level, const char* text, void* user) {
    auto& sink = *static_cast<LogSink*>(user);
    const std::lock_guard lock(sink.mutex);
    if (sink.verbose) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR) return;
    std::string line = text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    // The first error says what happened; those that follow say that it is therefore so.
    if (sink.last_error.empty() && !line.empty()) sink.last_error = line;
  }

  std::string take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last_error, {});
  }
};

bool report_progress(float part, void* user) {
  const auto& progress = *static_cast<const std::function<void(float)>*>(user);
  if (progress) progress(part);
  return true;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

struct Session::State {
  std::shared_ptr<const LlamaApi> api;
  std::unique_ptr<LogSink> log = std::make_unique<LogSink>();
  std::string device_name = "the CPU";
  llama_model* model = nullptr;
  llama_context* context = nullptr;
  llama_sampler* sampler = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (sampler != nullptr) api->llama_sampler_free(sampler);
    if (context != nullptr) api->llama_free(context);
    if (model != nullptr) api->llama_model_free(model);
    if (api) api->llama_log_set(nullptr, nullptr);
  }

  /// An error with what llama.cpp said last.
  std::unexpected<Failure> failure(ErrorCode code, std::string_view what) const {
    const std::string reason = log->take();
    return fail(code, "{}{}{}", what, reason.empty() ? "." : ": ", reason);
  }

  Result<ggml_backend_dev_t> open_device(const Libraries& libraries, const std::string& wanted);
  Status load(const ModelOptions& options, ggml_backend_dev_t device);
  void make_sampler(const SamplingOptions& sampling);
  [[nodiscard]] Result<std::vector<llama_token>> tokenize(std::string_view text) const;
  Status decode(std::span<llama_token> tokens) const;
};

Result<ggml_backend_dev_t> Session::State::open_device(const Libraries& libraries,
                                                       const std::string& wanted) {
  api->ggml_backend_load_all_from_path(libraries.folder.c_str());
  if (wanted == "cpu") return nullptr;
  if (!wanted.empty()) setenv("WEFT_GGML_DEVICES", wanted.c_str(), 1);
  log->take();
  ggml_backend_reg_t registry = api->ggml_backend_load(libraries.plugin.c_str());
  if (registry == nullptr) {
    return failure(ErrorCode::io,
                   formatted("The plug-in {} does not load", libraries.plugin.string()));
  }
  if (api->ggml_backend_reg_dev_count(registry) == 0) {
    return failure(ErrorCode::not_found, "There is no device to run on");
  }
  ggml_backend_dev_t device = api->ggml_backend_reg_dev_get(registry, 0);
  device_name = api->ggml_backend_dev_description(device);
  return device;
}

Status Session::State::load(const ModelOptions& options, ggml_backend_dev_t device) {
  if (device != nullptr && options.gpu_layers >= 999) {
    std::size_t free = 0;
    std::size_t total = 0;
    api->ggml_backend_dev_memory(device, &free, &total);
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(options.model, error);
    if (!error && bytes > free) {
      return fail(ErrorCode::out_of_memory,
                  "The model has {:.1f} GiB, and {} has {:.1f} GiB free; --gpu-layers puts only "
                  "some of its layers there.",
                  static_cast<double>(bytes) / 0x1p30, device_name,
                  static_cast<double>(free) / 0x1p30);
    }
  }
  std::array<ggml_backend_dev_t, 2> devices{device, nullptr};
  llama_model_params params = api->llama_model_default_params();
  params.devices = devices.data();
  params.n_gpu_layers = device != nullptr ? options.gpu_layers : 0;
  params.progress_callback = report_progress;
  std::function<void(float)> progress = options.progress;
  params.progress_callback_user_data = &progress;
  log->take();
  model = api->llama_model_load_from_file(options.model.c_str(), params);
  if (model == nullptr) {
    return failure(ErrorCode::invalid_argument,
                   formatted("The model {} does not load", options.model.string()));
  }
  llama_context_params context_params = api->llama_context_default_params();
  const auto trained = static_cast<std::uint32_t>(api->llama_model_n_ctx_train(model));
  context_params.n_ctx = trained > 0 ? std::min(options.context, trained) : options.context;
  context_params.n_batch = std::min(context_params.n_ctx, 2048U);
  const auto cores = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  context_params.n_threads = context_params.n_threads_batch =
      options.threads > 0 ? options.threads : cores;
  context_params.flash_attn_type = options.flash_attention == "on" ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                                   : options.flash_attention == "off"
                                       ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                       : LLAMA_FLASH_ATTN_TYPE_AUTO;
  context = api->llama_init_from_model(model, context_params);
  if (context == nullptr) {
    return failure(ErrorCode::out_of_memory,
                   formatted("No context of {} tokens for this model", context_params.n_ctx));
  }
  return {};
}

void Session::State::make_sampler(const SamplingOptions& sampling) {
  sampler = api->llama_sampler_chain_init(api->llama_sampler_chain_default_params());
  const auto add = [this](llama_sampler* part) { api->llama_sampler_chain_add(sampler, part); };
  const std::int32_t vocabulary = api->llama_vocab_n_tokens(api->llama_model_get_vocab(model));
  add(api->llama_sampler_init_penalties(vocabulary, sampling.repeat_last, sampling.repeat_penalty,
                                        sampling.frequency_penalty, sampling.presence_penalty));
  if (sampling.temperature <= 0) {
    add(api->llama_sampler_init_greedy());
    return;
  }
  add(api->llama_sampler_init_top_k(sampling.top_k));
  add(api->llama_sampler_init_typical(sampling.typical, 1));
  add(api->llama_sampler_init_top_p(sampling.top_p, 1));
  add(api->llama_sampler_init_min_p(sampling.min_p, 1));
  add(api->llama_sampler_init_temp(sampling.temperature));
  add(api->llama_sampler_init_dist(sampling.seed != 0 ? sampling.seed : std::random_device{}()));
}

Result<std::vector<llama_token>> Session::State::tokenize(std::string_view text) const {
  const llama_vocab* vocabulary = api->llama_model_get_vocab(model);
  std::vector<llama_token> tokens(text.size() + 8);
  const auto length = static_cast<std::int32_t>(text.size());
  std::int32_t count = api->llama_tokenize(vocabulary, text.data(), length, tokens.data(),
                                           static_cast<std::int32_t>(tokens.size()), true, true);
  if (count < 0) {  // More than one token per byte, for which there was room.
    tokens.resize(static_cast<std::size_t>(-count));
    count = api->llama_tokenize(vocabulary, text.data(), length, tokens.data(), -count, true, true);
  }
  if (count < 0) return fail(ErrorCode::invalid_argument, "The prompt cannot be tokenised.");
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

Status Session::State::decode(std::span<llama_token> tokens) const {
  constexpr std::size_t batch = 512;
  for (std::size_t at = 0; at < tokens.size(); at += batch) {
    const auto part = tokens.subspan(at, std::min(batch, tokens.size() - at));
    const llama_batch next =
        api->llama_batch_get_one(part.data(), static_cast<std::int32_t>(part.size()));
    if (api->llama_decode(context, next) != 0) {
      return failure(ErrorCode::internal, "Computing the next token failed");
    }
  }
  return {};
}

Result<Session> Session::open(const ModelOptions& options, const SamplingOptions& sampling) {
  // A file that is no model, or not all of it, is reported by what is wrong with it.
  if (const auto file = gguf::File::open(options.model); !file) {
    return std::unexpected(file.error());
  }
  const auto libraries = find_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  auto state = std::make_unique<State>();
  auto api = load_llama(*libraries);
  if (!api) return std::unexpected(api.error());
  state->api = std::move(*api);
  state->log->verbose = options.verbose;
  state->api->llama_log_set(LogSink::write, state->log.get());
  state->api->llama_backend_init();
  const auto device = state->open_device(*libraries, options.device);
  if (!device) return std::unexpected(device.error());
  if (Status ok = state->load(options, *device); !ok) return std::unexpected(ok.error());
  state->make_sampler(sampling);
  return Session(std::move(state));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::string Session::describe() const {
  std::array<char, 128> text{};
  state_->api->llama_model_desc(state_->model, text.data(), text.size());
  return formatted("{}, {:.2f} GiB, context of {} tokens, on {}", text.data(),
                   static_cast<double>(state_->api->llama_model_size(state_->model)) / 0x1p30,
                   state_->api->llama_n_ctx(state_->context), state_->device_name);
}

bool Session::has_chat_template() const { return !format({{.role = "user", .text = "?"}}).empty(); }

std::string Session::format(const std::vector<Message>& conversation) const {
  const char* form = state_->api->llama_model_chat_template(state_->model, nullptr);
  if (form == nullptr) return {};
  std::vector<llama_chat_message> messages;
  std::size_t room = 256;
  for (const Message& message : conversation) {
    messages.push_back({message.role.c_str(), message.text.c_str()});
    room += 2 * message.text.size() + 64;
  }
  std::string text(room, '\0');
  for (;;) {
    const std::int32_t size =
        state_->api->llama_chat_apply_template(form, messages.data(), messages.size(), true,
                                               text.data(), static_cast<std::int32_t>(text.size()));
    if (size < 0) return {};  // A template that llama.cpp does not know.
    const bool fits = static_cast<std::size_t>(size) <= text.size();
    text.resize(static_cast<std::size_t>(size));
    if (fits) return text;
  }
}

Result<Timing> Session::generate(std::string_view text, std::size_t tokens,
                                 const std::function<void(std::string_view)>& out,
                                 const std::atomic<bool>& stop) {
  const LlamaApi& api = *state_->api;
  const llama_vocab* vocabulary = api.llama_model_get_vocab(state_->model);
  auto prompt = state_->tokenize(text);
  if (!prompt) return std::unexpected(prompt.error());
  const std::size_t room = api.llama_n_ctx(state_->context);
  if (prompt->empty() || prompt->size() >= room) {
    return fail(ErrorCode::invalid_argument,
                "The prompt has {} tokens; a context of {} takes 1 to {} (--context makes it "
                "longer).",
                prompt->size(), room, room - 1);
  }
  api.llama_memory_clear(api.llama_get_memory(state_->context), true);
  Timing timing;
  timing.prompt_tokens = prompt->size();
  auto start = std::chrono::steady_clock::now();
  if (Status ok = state_->decode(*prompt); !ok) return std::unexpected(ok.error());
  llama_token next = api.llama_sampler_sample(state_->sampler, state_->context, -1);
  timing.prompt_seconds = seconds_since(start);

  start = std::chrono::steady_clock::now();
  std::array<char, 256> piece{};
  while (!api.llama_vocab_is_eog(vocabulary, next)) {
    const std::int32_t size = api.llama_token_to_piece(
        vocabulary, next, piece.data(), static_cast<std::int32_t>(piece.size()), 0, false);
    if (size > 0) out({piece.data(), static_cast<std::size_t>(size)});
    ++timing.generated_tokens;
    const bool full = timing.prompt_tokens + timing.generated_tokens >= room;
    if (timing.generated_tokens >= tokens || full || stop) break;
    if (Status ok = state_->decode(std::span(&next, 1)); !ok) return std::unexpected(ok.error());
    next = api.llama_sampler_sample(state_->sampler, state_->context, -1);
  }
  timing.generation_seconds = seconds_since(start);
  return timing;
}

}  // namespace weft::llm
