#include "run_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "backends.hpp"

namespace weft::test {
namespace {

using Model = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

}  // namespace

llama_token best(const std::vector<float>& logits) {
  return static_cast<llama_token>(std::ranges::max_element(logits) - logits.begin());
}

Transcript run_model(const std::filesystem::path& path, std::vector<ggml_backend_dev_t> devices,
                     const std::vector<llama_token>& forced, bool flash_attention,
                     ggml_type cache) {
  Transcript run;
  const bool on_cpu = devices.empty();
  devices.push_back(nullptr);
  llama_model_params model_params = llama_model_default_params();
  model_params.devices = devices.data();
  model_params.n_gpu_layers = on_cpu ? 0 : 999;
  const Model model(llama_model_load_from_file(path.c_str(), model_params), llama_model_free);
  if (!model) {
    ADD_FAILURE() << "the model does not load: " << captured_log();
    return run;
  }
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_batch = params.n_ubatch = 64;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = cache;  // f32: only the device's arithmetic differs
  params.offload_kqv = !on_cpu;
  params.op_offload = false;
  params.flash_attn_type =
      flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  const Context context(llama_init_from_model(model.get(), params), llama_free);
  if (!context) {
    ADD_FAILURE() << "no context: " << captured_log();
    return run;
  }
  const auto words =
      static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())));
  std::vector<llama_token> tokens;
  for (int i = 0; i < prompt_tokens; ++i) tokens.push_back(3 + ((i * 37) % 256));
  for (std::size_t step = 0; step <= decoded_tokens; ++step) {
    std::vector<std::int8_t> wanted(tokens.size(), 1);
    llama_batch batch =
        llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()));
    batch.logits = wanted.data();
    const int status = llama_decode(context.get(), batch);
    if (status != 0) {
      ADD_FAILURE() << "decoding failed with " << status << ": " << captured_log();
      return run;
    }
    for (std::int32_t i = 0; i < batch.n_tokens; ++i) {
      const float* logits = llama_get_logits_ith(context.get(), i);
      run.logits.emplace_back(logits, logits + words);
    }
    tokens = {step < forced.size() ? forced[step] : best(run.logits.back())};
    run.tokens.push_back(tokens.front());
  }
  return run;
}

double nmse(const std::vector<float>& got, const std::vector<float>& wanted) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - wanted[i], 2);
    size += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return error / size;
}

}  // namespace weft::test
