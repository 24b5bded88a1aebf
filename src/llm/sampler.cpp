#include "llm/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace weft::llm {
namespace {

/// Adds samplers to a chain, which owns them, in llama.cpp's order.
class ChainBuilder {
 public:
  ChainBuilder(const LlamaApi& api, llama_sampler* chain, const llama_model* model,
               std::size_t room)
      : api_(api),
        chain_(chain),
        vocabulary_(api.llama_model_get_vocab(model)),
        room_(static_cast<std::int32_t>(
            std::min<std::size_t>(room, std::numeric_limits<std::int32_t>::max()))) {}

  /// What graphs can choose by. They compare with the largest logit plus log(min_p): where that
  /// rounds to the largest itself, no token would be left, so that the best one is taken at once.
  void add_for_graphs(const SamplingOptions& options) {
    constexpr float only_the_best = 0.9999F;
    if (options.temperature <= 0 || options.min_p >= only_the_best) {
      put(api_.llama_sampler_init_greedy());
      return;
    }
    if (options.top_k > 0 && options.top_k < tokens()) {  // They take no more than there are.
      put(api_.llama_sampler_init_top_k(options.top_k));
    }
    if (options.top_p < 1) put(api_.llama_sampler_init_top_p(options.top_p, 1));
    if (options.min_p > 0) put(api_.llama_sampler_init_min_p(options.min_p, 1));
    put(api_.llama_sampler_init_temp(options.temperature));
    put(api_.llama_sampler_init_dist(options.seed != 0 ? options.seed : std::random_device{}()));
  }

  void add(const SamplingOptions& options) {
    add_biases(options);
    add_penalties(options);
    if (options.temperature <= 0) {
      put(api_.llama_sampler_init_greedy());
      return;
    }
    const std::uint32_t seed = options.seed != 0 ? options.seed : std::random_device{}();
    if (options.mirostat > 0) {
      put(api_.llama_sampler_init_temp(options.temperature));
      put(options.mirostat == 1
              ? api_.llama_sampler_init_mirostat(tokens(), seed, options.mirostat_entropy,
                                                 options.mirostat_rate, 100)
              : api_.llama_sampler_init_mirostat_v2(seed, options.mirostat_entropy,
                                                    options.mirostat_rate));
      return;
    }
    put(api_.llama_sampler_init_top_n_sigma(options.top_n_sigma));
    put(api_.llama_sampler_init_top_k(options.top_k));
    put(api_.llama_sampler_init_typical(options.typical, 1));
    put(api_.llama_sampler_init_top_p(options.top_p, 1));
    put(api_.llama_sampler_init_min_p(options.min_p, 1));
    put(api_.llama_sampler_init_xtc(options.xtc_probability, options.xtc_threshold, 1, seed));
    put(api_.llama_sampler_init_temp_ext(options.temperature, options.temperature_range,
                                         options.temperature_exponent));
    put(api_.llama_sampler_init_dist(seed));
  }

 private:
  void put(llama_sampler* part) { api_.llama_sampler_chain_add(chain_, part); }
  [[nodiscard]] std::int32_t tokens() const { return api_.llama_vocab_n_tokens(vocabulary_); }

  /// llama.cpp sets aside memory for as many tokens as a penalty may look back.
  [[nodiscard]] std::int32_t tokens_back(std::int32_t wanted) const {
    return wanted < 0 ? room_ : std::min(wanted, room_);
  }

  void add_biases(const SamplingOptions& options) {
    std::vector<llama_logit_bias> biases;
    for (const auto& [token, bias] : options.logit_bias) biases.push_back({token, bias});
    for (llama_token token = 0; options.ignore_end && token < tokens(); ++token) {
      if (api_.llama_vocab_is_eog(vocabulary_, token)) {
        biases.push_back({token, -std::numeric_limits<float>::infinity()});
      }
    }
    if (biases.empty()) return;
    put(api_.llama_sampler_init_logit_bias(tokens(), static_cast<std::int32_t>(biases.size()),
                                           biases.data()));
  }

  void add_penalties(const SamplingOptions& options) {
    put(api_.llama_sampler_init_penalties(tokens(), tokens_back(options.repeat_last),
                                          options.repeat_penalty, options.frequency_penalty,
                                          options.presence_penalty));
    if (options.dry_multiplier <= 0) return;
    std::vector<const char*> breakers;
    for (const std::string& breaker : options.dry_breakers) breakers.push_back(breaker.c_str());
    put(api_.llama_sampler_init_dry(vocabulary_, options.dry_multiplier, options.dry_base,
                                    options.dry_allowed_length, tokens_back(options.dry_last),
                                    breakers.data(), breakers.size()));
  }

  const LlamaApi& api_;
  llama_sampler* chain_;
  const llama_vocab* vocabulary_;
  std::int32_t room_;
};

/// Whether anything is asked for that graphs cannot choose by.
bool needs_host(const SamplingOptions& o) {
  return o.temperature_range != 0 || o.top_n_sigma >= 0 || o.typical < 1 || o.xtc_probability > 0 ||
         o.repeat_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0 ||
         o.dry_multiplier > 0 || o.mirostat > 0 || !o.grammar.empty() || !o.logit_bias.empty() ||
         o.ignore_end;
}

}  // namespace

Sampler::Sampler(std::shared_ptr<const LlamaApi> api, std::size_t vocabulary)
    : api_(std::move(api)),
      chain_(api_->llama_sampler_chain_init(api_->llama_sampler_chain_default_params()), {api_}),
      grammar_(nullptr, {api_}),
      candidates_(vocabulary) {}

Result<Sampler> Sampler::make(std::shared_ptr<const LlamaApi> api, const llama_model* model,
                              std::size_t room, const SamplingOptions& options) {
  const llama_vocab* vocabulary = api->llama_model_get_vocab(model);
  const std::int32_t count = api->llama_vocab_n_tokens(vocabulary);
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || token >= count) {
      return fail(ErrorCode::invalid_argument,
                  "There is no token {} to add {} to; the model has {} tokens.", token, bias,
                  count);
    }
  }
  Sampler sampler(std::move(api), static_cast<std::size_t>(count));
  ChainBuilder builder(*sampler.api_, sampler.chain_.get(), model, room);
  sampler.on_device_ = options.on_device;
  if (options.on_device) {
    if (needs_host(options)) {
      return fail(ErrorCode::unsupported,
                  "The device chooses tokens by temperature, top-k, top-p and min-p alone; the "
                  "other choices need the host.");
    }
    builder.add_for_graphs(options);
    return sampler;
  }
  builder.add(options);
  if (!options.grammar.empty()) {
    sampler.grammar_.reset(
        sampler.api_->llama_sampler_init_grammar(vocabulary, options.grammar.c_str(), "root"));
    if (!sampler.grammar_) {
      return fail(ErrorCode::invalid_argument,
                  "The grammar is not valid GBNF with a rule named root.");
    }
  }
  return sampler;
}

Status Sampler::attach(llama_context* context) {
  if (!on_device_) return {};
  if (!api_->llama_set_sampler(context, 0, chain_.get())) {
    return fail(ErrorCode::unsupported,
                "The device of the model's output does not have what choosing tokens takes.");
  }
  attached_ = context;
  return {};
}

void Sampler::detach() {
  if (attached_ != nullptr) api_->llama_set_sampler(attached_, 0, nullptr);
  attached_ = nullptr;
}

void Sampler::start(std::span<const llama_token> prompt) {
  api_->llama_sampler_reset(chain_.get());
  if (grammar_) api_->llama_sampler_reset(grammar_.get());
  for (const llama_token token : prompt) api_->llama_sampler_accept(chain_.get(), token);
}

llama_token Sampler::next(llama_context* context) {
  if (on_device_) {
    const llama_token token = api_->llama_get_sampled_token_ith(context, -1);
    if (token != LLAMA_TOKEN_NULL) api_->llama_sampler_accept(chain_.get(), token);
    return token;
  }
  const float* logits = api_->llama_get_logits_ith(context, -1);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    candidates_[i] = {static_cast<llama_token>(i), logits[i], 0};
  }
  llama_token_data_array list{candidates_.data(), candidates_.size(), -1, false};
  if (grammar_) api_->llama_sampler_apply(grammar_.get(), &list);
  api_->llama_sampler_apply(chain_.get(), &list);
  const llama_token token = list.data[list.selected].id;
  if (grammar_) api_->llama_sampler_accept(grammar_.get(), token);
  api_->llama_sampler_accept(chain_.get(), token);
  return token;
}

}  // namespace weft::llm
