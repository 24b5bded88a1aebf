#include "llm/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <span>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "llm/checks.hpp"
#include "llm/conversations.hpp"
#include "llm/llama_api.hpp"
#include "llm/sampler.hpp"
#include "llm/state.hpp"

namespace weft::llm {
namespace {

bool report_progress(float part, void* user) {
  const auto& progress = *static_cast<const std::function<bool(float)>*>(user);
  return !progress || progress(part);
}

/// For llama.cpp, which asks before each op of a graph on the CPU.
bool is_set(void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load(); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Status Session::State::load(const ModelOptions& options, Devices devices) {
  if (Status ok = check_memory(options, devices); !ok) return ok;
  const bool on_device = !devices.empty();
  devices.push_back(nullptr);
  llama_model_params params = api->llama_model_default_params();
  params.devices = devices.data();
  const bool all_layers = options.gpu_layers < 0;
  params.n_gpu_layers = !on_device ? 0 : all_layers ? most_layers : options.gpu_layers;
  // Weights that are mapped come back after a device was lost (the plug-in reads their file again).
  params.load_mode = options.map_file ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  params.progress_callback = report_progress;
  std::function<bool(float)> progress = options.progress;
  params.progress_callback_user_data = &progress;
  log->take();
  model = api->llama_model_load_from_file(options.model.c_str(), params);
  if (model == nullptr) {
    return failure(ErrorCode::invalid_argument,
                   formatted("The model {} does not load", options.model.string()));
  }
  chat_template = options.chat_template;
  const char* own = api->llama_model_chat_template(model, nullptr);
  if (chat_template.empty() && own != nullptr) chat_template = own;
  return make_context(options, on_device);
}

Status Session::State::make_context(const ModelOptions& options, bool on_device) {
  llama_context_params& params = settings;
  params = api->llama_context_default_params();
  const auto trained = static_cast<std::uint32_t>(api->llama_model_n_ctx_train(model));
  const std::uint32_t wanted = options.context > 0 ? options.context : trained;
  params.n_ctx = trained > 0 ? std::min(wanted, trained) : wanted;
  params.n_seq_max = std::max(1U, options.conversations);
  params.kv_unified = params.n_seq_max > 1;  // Each may have all of the context that others leave.
  params.type_k = params.type_v = static_cast<ggml_type>(gguf::find_type(options.cache_type)->id);
  params.offload_kqv = on_device;
  const auto cores = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  params.n_threads = params.n_threads_batch = options.threads > 0 ? options.threads : cores;
  params.flash_attn_type = options.flash_attention == "on"    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                           : options.flash_attention == "off" ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                              : LLAMA_FLASH_ATTN_TYPE_AUTO;
  context = api->llama_init_from_model(model, params);
  if (context == nullptr) {
    return failure(ErrorCode::out_of_memory,
                   formatted("No context of {} tokens with {} keys and values for this model",
                             params.n_ctx, options.cache_type));
  }
  if (api->llama_get_memory(context) != nullptr) {
    conversations = std::make_unique<Conversations>(api, context, params.n_seq_max);
  }
  shifts = options.shift;
  return {};
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

Status Session::State::decode(std::span<const llama_token> tokens, const std::atomic<bool>& stop) {
  const std::size_t batch = std::min(512U, api->llama_n_batch(context));
  constexpr int aborted = 2;
  for (std::size_t at = 0; at < tokens.size() && !stop; at += batch) {
    const int status =
        conversations->decode(tokens.subspan(at, std::min(batch, tokens.size() - at)));
    if (status == aborted) return {};
    if (status != 0) return failure(ErrorCode::internal, "Computing the next token failed");
  }
  return {};
}

bool Session::State::lost_device() {
  std::uint64_t all = 0;
  for (const auto& count : losses) all += count();
  return std::exchange(known_losses, all) != all;
}

Status Session::State::compute(std::span<const llama_token> tokens, const std::atomic<bool>& stop) {
  constexpr int most_losses =
      8;  // Of one text: a device that is lost again and again is of no use.
  constexpr int most_attempts = 2;  // A graph that was begun before the loss fails after it.
  int lost = 0;
  int attempts = 0;
  const std::size_t before = conversations->past().size();
  std::vector<llama_token> whole;
  for (;;) {
    log->take();
    Status done = decode(tokens, stop);
    // Reading the logits returns nothing, so that a loss may show only here.
    api->llama_synchronize(context);
    if (done && stop) return {};  // llama.cpp calls that an error too
    if (done && log->has_error()) {
      done = failure(ErrorCode::internal, "Computing the next token failed");
    }
    if (done) return {};
    if (lost_device() && ++lost <= most_losses) attempts = most_attempts;
    if (attempts-- <= 0) return done;
    if (whole.empty()) {
      const auto past = conversations->past().first(before);
      whole.assign(past.begin(), past.end());
      whole.insert(whole.end(), tokens.begin(), tokens.end());
      tokens = whole;
    }
    conversations->forget_all();
    ++recoveries;
  }
}

Result<Session> Session::open(const ModelOptions& options, const SamplingOptions& sampling) {
  if (const Status ok = check_cache_type(options.cache_type); !ok) {
    return std::unexpected(ok.error());
  }
  // A file that is no model, or not all of it, is reported by what is wrong with it.
  if (options.map_file) {
    const auto file = gguf::File::open(options.model);
    if (!file) return std::unexpected(file.error());
    if (const Status ok = check_layers(*file); !ok) return std::unexpected(ok.error());
    if (const Status ok = check_types(*file); !ok) return std::unexpected(ok.error());
  }
  const auto libraries = find_libraries();
  if (!libraries) return std::unexpected(libraries.error());
  // Would load a plug-in, perhaps this one, before it is told which devices are wanted.
  unsetenv("GGML_BACKEND_PATH");
  auto state = std::make_unique<State>();
  auto api = load_llama(*libraries);
  if (!api) return std::unexpected(api.error());
  state->api = std::move(*api);
  state->log->verbose = options.verbose;
  state->api->llama_log_set(LogSink::write, state->log.get());
  state->api->llama_backend_init();
  const auto devices = state->open_devices(*libraries, options);
  if (!devices) return std::unexpected(devices.error());
  if (Status ok = state->load(options, *devices); !ok) return std::unexpected(ok.error());
  Session session(std::move(state));
  if (Status ok = session.sample_with(sampling); !ok) return std::unexpected(ok.error());
  return session;
}

Status Session::sample_with(const SamplingOptions& sampling) {
  auto sampler = Sampler::make(state_->api, state_->model, context(), sampling);
  if (!sampler) return std::unexpected(sampler.error());
  if (sampling.on_device && state_->settings.n_seq_max > 1) {
    return fail(ErrorCode::unsupported,
                "The device chooses tokens for one conversation at a time; {} are kept.",
                state_->settings.n_seq_max);
  }
  if (state_->sampler) state_->sampler->detach();
  state_->sampler = std::make_unique<Sampler>(std::move(*sampler));
  return state_->sampler->attach(state_->context);
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
                   context(), state_->device_name);
}

bool Session::has_chat_template() const { return !format({{.role = "user", .text = "?"}}).empty(); }

std::string Session::format(const std::vector<Message>& conversation) const {
  if (state_->chat_template.empty()) return {};
  std::vector<llama_chat_message> messages;
  std::size_t room = 256;
  for (const Message& message : conversation) {
    messages.push_back({message.role.c_str(), message.text.c_str()});
    room += 2 * message.text.size() + 64;
  }
  std::string text(room, '\0');
  for (;;) {
    const std::int32_t size = state_->api->llama_chat_apply_template(
        state_->chat_template.c_str(), messages.data(), messages.size(), true, text.data(),
        static_cast<std::int32_t>(text.size()));
    if (size < 0) return {};  // A template that llama.cpp does not know.
    const bool fits = static_cast<std::size_t>(size) <= text.size();
    text.resize(static_cast<std::size_t>(size));
    if (fits) return text;
  }
}

Result<std::size_t> Session::count_tokens(std::string_view text) const {
  return state_->tokenize(text).transform([](const auto& tokens) { return tokens.size(); });
}

std::size_t Session::context() const { return state_->api->llama_n_ctx(state_->context); }

Result<Timing> Session::generate(std::string_view text, std::size_t tokens,
                                 const std::function<void(std::string_view)>& out,
                                 const std::atomic<bool>& stop) {
  const LlamaApi& api = *state_->api;
  if (api.llama_model_has_encoder(state_->model)) {
    return fail(
        ErrorCode::unsupported,
        "This model reads its text with an encoder, as those that translate do; only models "
        "that go on with a text can be used here.");
  }
  if (!state_->conversations) {
    return fail(
        ErrorCode::unsupported,
        "This model does not write one token after the other: it gives embeddings, or fills "
        "a whole text in.");
  }
  Conversations& conversations = *state_->conversations;
  const llama_vocab* vocabulary = api.llama_model_get_vocab(state_->model);
  auto prompt = state_->tokenize(text);
  if (!prompt) return std::unexpected(prompt.error());
  const std::size_t room = context();
  if (prompt->empty() || prompt->size() >= room) {
    return fail(ErrorCode::invalid_argument,
                "The prompt has {} tokens; a context of {} takes 1 to {} (--context makes it "
                "longer).",
                prompt->size(), room, room - 1);
  }
  api.llama_set_abort_callback(state_->context, is_set, const_cast<std::atomic<bool>*>(&stop));
  conversations.turn_to(*prompt);
  state_->recoveries = 0;
  state_->sampler->start(*prompt);
  Timing timing;
  timing.cached_tokens = conversations.past().size();
  timing.prompt_tokens = prompt->size() - timing.cached_tokens;
  auto start = std::chrono::steady_clock::now();
  const auto unread = std::span(*prompt).subspan(timing.cached_tokens);
  if (Status ok = state_->compute(unread, stop); !ok) return std::unexpected(ok.error());
  timing.prompt_seconds = seconds_since(start);

  start = std::chrono::steady_clock::now();
  std::array<char, 256> piece{};
  while (!stop && timing.generated_tokens < tokens) {
    const llama_token next = state_->sampler->next(state_->context);
    // Reading what the device chose returns nothing: an error there only shows here.
    if (state_->log->has_error()) {
      return state_->failure(ErrorCode::internal, "Computing the next token failed");
    }
    if (next == LLAMA_TOKEN_NULL) return fail(ErrorCode::internal, "The device chose no token.");
    if (api.llama_vocab_is_eog(vocabulary, next)) break;
    const std::int32_t size = api.llama_token_to_piece(
        vocabulary, next, piece.data(), static_cast<std::int32_t>(piece.size()), 0, false);
    if (size > 0) out({piece.data(), static_cast<std::size_t>(size)});
    ++timing.generated_tokens;
    if (timing.generated_tokens == tokens) break;
    if (conversations.past().size() + 1 >= room) {
      // The beginning says what this is about.
      timing.full = !state_->shifts || !conversations.shift(std::min(prompt->size(), room / 4));
      if (timing.full) break;
      ++timing.shifts;
    }
    if (Status ok = state_->compute(std::span(&next, 1), stop); !ok) {
      return std::unexpected(ok.error());
    }
  }
  timing.generation_seconds = seconds_since(start);
  timing.recoveries = state_->recoveries;
  return timing;
}

}  // namespace weft::llm
