#include "door.hpp"

#include <emscripten/emscripten.h>
#include <gguf.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/checks.hpp"
#include "llm/session.hpp"

// Language models: one at a time.

using weft::web::answered;
using weft::web::failed;
using weft::web::guarded;
using weft::web::json;
using weft::web::take;

const char* weft::web::answered(const json& answer) {
  static std::string text;
  text = answer.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.c_str();
}

extern "C" {
/// A piece of the text that is being generated.
void weft_llm_js_piece(const char* text, int size);
/// How much of the model has been loaded, 0 to 1; 0 stops.
int weft_llm_js_progress(double part);
}

namespace {

struct Model {
  std::optional<weft::llm::Session> session;
  std::atomic<bool> stop = false;
  bool shift = false;  ///< What does not fit the context any more is left out.
};

Model& model() {
  static Model only;
  return only;
}

weft::llm::SamplingOptions sampling_of(const json& request) {
  weft::llm::SamplingOptions sampling;
  take(request, "seed", sampling.seed);
  take(request, "temperature", sampling.temperature);
  take(request, "top_k", sampling.top_k);
  take(request, "top_p", sampling.top_p);
  take(request, "min_p", sampling.min_p);
  take(request, "repeat_penalty", sampling.repeat_penalty);
  take(request, "frequency_penalty", sampling.frequency_penalty);
  take(request, "presence_penalty", sampling.presence_penalty);
  take(request, "grammar", sampling.grammar);
  take(request, "ignore_end", sampling.ignore_end);
  return sampling;
}

/// llama.cpp ends the program where a file says that it has too many layers. ggml reads what the
/// file says, piece by piece.
weft::Status check_file(const std::string& path) {
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> file(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free);
  if (!file) return {};  // Opening it says what is wrong.
  const auto find = [&](const std::string& key, gguf_type type) {
    const std::int64_t at = gguf_find_key(file.get(), key.c_str());
    return at >= 0 && gguf_get_kv_type(file.get(), at) == type ? at : -1;
  };
  const std::int64_t name = find("general.architecture", GGUF_TYPE_STRING);
  if (name < 0) return {};
  const std::string key = std::string(gguf_get_val_str(file.get(), name)) + ".block_count";
  const std::int64_t layers = find(key, GGUF_TYPE_UINT32);
  if (layers < 0) return {};
  return weft::llm::check_layers(key, gguf_get_val_u32(file.get(), layers));
}

/// A conversation in the model's own form, or where it has none the last message.
std::string text_of(const std::vector<weft::llm::Message>& messages) {
  const std::string text = model().session->format(messages);
  return text.empty() ? messages.back().text : text;
}

/// A conversation that leaves a quarter of the context to the answer: without its oldest messages,
/// where it is too long and the context shifts. What a system says is kept.
weft::Result<std::string> fitting(std::vector<weft::llm::Message> messages) {
  const weft::llm::Session& session = *model().session;
  for (;;) {
    std::string text = text_of(messages);
    if (!model().shift) return text;
    const auto tokens = session.count_tokens(text);
    if (!tokens) return std::unexpected(tokens.error());
    const std::size_t first = messages.front().role == "system" ? 1 : 0;
    if (*tokens <= session.context() / 4 * 3 || messages.size() <= first + 1) return text;
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

/// The text that the model is to continue.
weft::Result<std::string> prompt_of(const json& request) {
  std::string prompt;
  if (request.contains("messages")) {
    std::vector<weft::llm::Message> messages;
    for (const json& message : request.at("messages")) {
      messages.push_back({.role = message.at("role").get<std::string>(),
                          .text = message.at("content").get<std::string>()});
    }
    if (!messages.empty()) {
      auto text = fitting(std::move(messages));
      if (!text) return text;
      prompt = std::move(*text);
    }
  } else {
    take(request, "prompt", prompt);
  }
  std::string begun;  // What has been generated already, before the device was lost.
  take(request, "begun", begun);
  return prompt + begun;
}

/// What is said where no model is open.
const char* none_open() { return failed({weft::ErrorCode::invalid_argument, "No model is open."}); }

}  // namespace

extern "C" {

/// Opens the file "path" of the program's file system.
EMSCRIPTEN_KEEPALIVE const char* weft_llm_open(const char* request) {
  return guarded([request] {
    const json asked = json::parse(request);
    weft::llm::ModelOptions options;
    options.model = asked.at("path").get<std::string>();
    options.map_file = false;
    options.threads = 1;
    options.progress = [](float part) { return weft_llm_js_progress(part) != 0; };
    take(asked, "context", options.context);
    take(asked, "device", options.device);
    take(asked, "cache_type", options.cache_type);
    take(asked, "flash_attention", options.flash_attention);
    take(asked, "chat_template", options.chat_template);
    take(asked, "gpu_layers", options.gpu_layers);
    take(asked, "verbose", options.verbose);
    take(asked, "conversations", options.conversations);
    take(asked, "shift", options.shift);
    if (const weft::Status ok = check_file(options.model.string()); !ok) {
      return failed(ok.error());
    }
    model().session.reset();
    auto session = weft::llm::Session::open(options, {});
    if (!session) return failed(session.error());
    model().session.emplace(std::move(*session));
    model().shift = options.shift;
    return answered({{"description", model().session->describe()},
                     {"chat", model().session->has_chat_template()}});
  });
}

/// Continues a text or answers a conversation; pieces go to weft_llm_js_piece.
EMSCRIPTEN_KEEPALIVE const char* weft_llm_generate(const char* request) {
  return guarded([request] {
    if (!model().session) return none_open();
    const json asked = json::parse(request);
    std::size_t tokens = 512;
    take(asked, "max_tokens", tokens);
    if (const weft::Status ok = model().session->sample_with(sampling_of(asked)); !ok) {
      return failed(ok.error());
    }
    model().stop = false;
    const auto out = [](std::string_view piece) {
      weft_llm_js_piece(piece.data(), static_cast<int>(piece.size()));
    };
    const auto prompt = prompt_of(asked);
    if (!prompt) return failed(prompt.error());
    const auto timing = model().session->generate(*prompt, tokens, out, model().stop);
    if (!timing) return failed(timing.error());
    return answered({{"prompt_tokens", timing->prompt_tokens},
                     {"cached_tokens", timing->cached_tokens},
                     {"shifts", timing->shifts},
                     {"completion_tokens", timing->generated_tokens},
                     {"prompt_seconds", timing->prompt_seconds},
                     {"generation_seconds", timing->generation_seconds},
                     {"stopped", model().stop.load()},
                     {"length", timing->full || timing->generated_tokens >= tokens}});
  });
}

/// The vectors of the texts "input".
EMSCRIPTEN_KEEPALIVE const char* weft_llm_embed(const char* request) {
  return guarded([request] {
    if (!model().session) return none_open();
    const json asked = json::parse(request);
    json vectors = json::array();
    std::size_t tokens = 0;
    for (const json& text : asked.at("input")) {
      const std::string input = text.get<std::string>();
      const auto vector = model().session->embed(input);
      if (!vector) return failed(vector.error());
      vectors.push_back(*vector);
      tokens += model().session->count_tokens(input).value_or(0);
    }
    return answered({{"vectors", std::move(vectors)}, {"tokens", tokens}});
  });
}

/// Ends what is being generated at its next token. May be called while another call waits.
EMSCRIPTEN_KEEPALIVE void weft_llm_stop() { model().stop = true; }

EMSCRIPTEN_KEEPALIVE const char* weft_llm_close() {
  return guarded([] {
    model().session.reset();
    return answered(json::object());
  });
}
}
