#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "llm/batch.hpp"
#include "llm/state.hpp"

// What a text means, as a vector.

namespace weft::llm {
namespace {

/// A text is computed at once, and the memory for that grows with its square.
constexpr std::uint32_t most_tokens = 2048;

}  // namespace

Status Session::State::make_embedder() {
  if (embedder != nullptr) return {};
  llama_context_params wanted = settings;
  wanted.embeddings = true;
  wanted.n_seq_max = 1;
  wanted.kv_unified = false;
  wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = std::min(settings.n_ctx, most_tokens);
  log->take();
  embedder = api->llama_init_from_model(model, wanted);
  if (embedder != nullptr && api->llama_pooling_type(embedder) == LLAMA_POOLING_TYPE_NONE) {
    api->llama_free(
        std::exchange(embedder, nullptr));  // A model of texts, without a way of its own.
    wanted.pooling_type = LLAMA_POOLING_TYPE_MEAN;
    embedder = api->llama_init_from_model(model, wanted);
  }
  if (embedder == nullptr) {
    return failure(ErrorCode::out_of_memory, "No context for embeddings of this model");
  }
  return {};
}

Result<std::vector<float>> Session::embed(std::string_view text) {
  const LlamaApi& api = *state_->api;
  if (Status ok = state_->make_embedder(); !ok) return std::unexpected(ok.error());
  if (api.llama_pooling_type(state_->embedder) == LLAMA_POOLING_TYPE_RANK) {
    return fail(ErrorCode::unsupported, "This model ranks texts; it has no embeddings.");
  }
  auto tokens = state_->tokenize(text);
  if (!tokens) return std::unexpected(tokens.error());
  const std::size_t room = api.llama_n_ctx(state_->embedder);
  if (tokens->empty() || tokens->size() > room) {
    return fail(ErrorCode::invalid_argument,
                "The text has {} tokens; embeddings take 1 to {} here.", tokens->size(), room);
  }
  api.llama_memory_clear(api.llama_get_memory(state_->embedder), true);
  Batch batch(*tokens, 0, 0, Outputs::all);
  state_->log->take();
  const int status = api.llama_decode(state_->embedder, batch.get());
  const float* found = status == 0 ? api.llama_get_embeddings_seq(state_->embedder, 0) : nullptr;
  if (found == nullptr || state_->log->has_error()) {
    return state_->failure(ErrorCode::internal, "Computing the embedding failed");
  }
  std::vector<float> values(found, found + api.llama_model_n_embd_out(state_->model));
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  const auto scale = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
  for (float& value : values) value *= scale;
  return values;
}

}  // namespace weft::llm
