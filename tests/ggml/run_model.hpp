#pragma once

#include <ggml-backend.h>
#include <llama.h>

#include <filesystem>
#include <vector>

namespace weft::test {

inline constexpr int prompt_tokens = 48;
inline constexpr int decoded_tokens = 64;

/// The logits after every token of the prompt and after every decoded one.
struct Transcript {
  std::vector<llama_token> tokens;  ///< What follows the prompt.
  std::vector<std::vector<float>> logits;
};

/// The most likely token.
llama_token best(const std::vector<float>& logits);

/// Runs a model on the given devices (none: the CPU). Follows `forced` tokens where there are some,
/// else its own choice.
Transcript run_model(const std::filesystem::path& path, std::vector<ggml_backend_dev_t> devices,
                     const std::vector<llama_token>& forced, bool flash_attention,
                     ggml_type cache = GGML_TYPE_F32);

/// The mean square of the error over the mean square of what is wanted.
double nmse(const std::vector<float>& got, const std::vector<float>& wanted);

}  // namespace weft::test
