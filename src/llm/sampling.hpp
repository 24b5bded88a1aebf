#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::llm {

/// How tokens are chosen. The names are those of llama.cpp, where each of them is described.
struct SamplingOptions {
  std::uint32_t seed = 0;    ///< 0: another one in every run.
  float temperature = 0.8F;  ///< 0: always the most likely token.
  float temperature_range =
      0;  ///< The temperature varies by that much with the entropy; 0: it does not.
  float temperature_exponent = 1;
  std::int32_t top_k = 40;
  float top_p = 0.95F;
  float min_p = 0.05F;
  float top_n_sigma = -1;  ///< Negative: off.
  float typical = 1;
  float xtc_probability = 0;
  float xtc_threshold = 0.1F;
  float repeat_penalty = 1;
  float frequency_penalty = 0;
  float presence_penalty = 0;
  std::int32_t repeat_last = 64;  ///< Negative: the whole context.
  float dry_multiplier = 0;       ///< 0: off.
  float dry_base = 1.75F;
  std::int32_t dry_allowed_length = 2;
  std::int32_t dry_last = -1;  ///< Negative: the whole context.
  std::vector<std::string> dry_breakers{"\n", ":", "\"", "*"};
  int mirostat =
      0;  ///< 1 or 2: the version; it takes the place of the choices by rank and probability.
  float mirostat_rate = 0.1F;
  float mirostat_entropy = 5;
  std::string grammar;  ///< In GBNF; what is generated is a text of its rule "root".
  std::vector<std::pair<std::int32_t, float>>
      logit_bias;           ///< Token, and what is added to its logit.
  bool ignore_end = false;  ///< The model's end of text is never chosen.
  bool on_device = false;   ///< The graph of the model chooses: of the above only temperature,
                            ///< top_k, top_p, min_p and the seed.
};

}  // namespace weft::llm
