// llama_make FILE TYPE KEY=VALUE…: a model with random weights of any architecture that the
// installed libllama knows, for tools/test_archs. llama.cpp itself says which tensors such a model
// has, so that only the metadata is needed: a VALUE is u:7, i:-1, f:0.5, b:1, s:text, or a list:
// u:1,2,3 of KEY[]. Matrices get TYPE where their rows are whole blocks of it.
#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

void set_key(gguf_context* file, const std::string& word) {
  const auto at = word.find('=');
  std::string key = word.substr(0, at);
  const char kind = word[at + 1];
  const std::string text = word.substr(at + 3);
  if (key.ends_with("[]")) {
    key.resize(key.size() - 2);
    std::vector<std::int32_t> numbers;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
      numbers.push_back(std::atoi(part.c_str()));
    gguf_set_arr_data(file, key.c_str(), kind == 'u' ? GGUF_TYPE_UINT32 : GGUF_TYPE_INT32,
                      numbers.data(), numbers.size());
  } else if (kind == 'u') {
    gguf_set_val_u32(file, key.c_str(),
                     static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10)));
  } else if (kind == 'i') {
    gguf_set_val_i32(file, key.c_str(), std::atoi(text.c_str()));
  } else if (kind == 'f') {
    gguf_set_val_f32(file, key.c_str(), std::strtof(text.c_str(), nullptr));
  } else if (kind == 'b') {
    gguf_set_val_bool(file, key.c_str(), text == "1");
  } else {
    gguf_set_val_str(file, key.c_str(), text.c_str());
  }
}

/// Norms are near 1 and biases small, as in real models; matrices keep the size of what they are
/// multiplied with. Queries and keys are smaller, so that attention is not all on one key: then a
/// rounding somewhere would change everything behind it.
void fill(ggml_tensor* tensor, void* made) {
  const std::string name = tensor->name;
  std::mt19937 words(static_cast<std::uint32_t>(std::hash<std::string>{}(name)));
  const bool matrix = ggml_n_dims(tensor) > 1;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool norm = !matrix && has("norm") && !name.ends_with("bias");
  const float centre = has("attn_q_norm") || has("attn_k_norm") ? 0.5F : 1.0F;
  std::normal_distribution<float> draw(
      norm ? centre : 0.0F, matrix ? 1.0F / std::sqrt(static_cast<float>(tensor->ne[0])) : 0.1F);
  Tensor kept{name,
              {tensor->ne, tensor->ne + ggml_n_dims(tensor)},
              std::vector<float>(static_cast<std::size_t>(ggml_nelements(tensor)))};
  for (float& value : kept.values) value = draw(words);
  if (tensor->type == GGML_TYPE_F32) {
    ggml_backend_tensor_set(tensor, kept.values.data(), 0, ggml_nbytes(tensor));
  }
  static_cast<std::vector<Tensor>*>(made)->push_back(kept);
}

/// Some models look a tensor up twice, as both ends of them use it.
void add(gguf_context* file, ggml_context* memory, const Tensor& from, ggml_type wanted) {
  if (gguf_find_tensor(file, from.name.c_str()) >= 0) return;
  const bool matrix = from.shape.size() > 1 && from.name.ends_with("weight") &&
                      from.name.find("norm") == std::string::npos &&
                      from.name.find("conv") == std::string::npos &&
                      from.name.find("time_mix") == std::string::npos;
  const ggml_type type =
      matrix && from.shape[0] % ggml_blck_size(wanted) == 0 ? wanted : GGML_TYPE_F32;
  ggml_tensor* tensor =
      ggml_new_tensor(memory, type, static_cast<int>(from.shape.size()), from.shape.data());
  ggml_set_name(tensor, from.name.c_str());
  const std::int64_t row = from.shape[0];
  ggml_quantize_chunk(type, from.values.data(), tensor->data, 0, ggml_nelements(tensor) / row, row,
                      nullptr);
  if (type == GGML_TYPE_F32) std::memcpy(tensor->data, from.values.data(), ggml_nbytes(tensor));
  gguf_add_tensor(file, tensor);
}

/// An adapter for all matrices of the layers of a model.
int make_adapter(const char* path, const char* model) {
  ggml_context* tensors = nullptr;
  gguf_context* known = gguf_init_from_file(model, {.no_alloc = true, .ctx = &tensors});
  if (known == nullptr) return 1;
  gguf_context* file = gguf_init_empty();
  const char* key = "general.architecture";
  gguf_set_val_str(file, key, gguf_get_val_str(known, gguf_find_key(known, key)));
  gguf_set_val_str(file, "general.type", "adapter");
  gguf_set_val_str(file, "adapter.type", "lora");
  gguf_set_val_f32(file, "adapter.lora.alpha", 8);
  ggml_context* memory =
      ggml_init({.mem_size = 64U << 20U, .mem_buffer = nullptr, .no_alloc = false});
  constexpr std::int64_t rank = 8;
  std::mt19937 words(1);
  for (ggml_tensor* t = ggml_get_first_tensor(tensors); t != nullptr;
       t = ggml_get_next_tensor(tensors, t)) {
    const std::string name = t->name;
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (!name.starts_with("blk.") || !name.ends_with(".weight") || t->ne[1] == 1 || has("norm") ||
        has("conv"))
      continue;
    const auto add = [&](const char* end, std::int64_t columns, std::int64_t rows) {
      ggml_tensor* part = ggml_new_tensor_3d(memory, GGML_TYPE_F32, columns, rows, t->ne[2]);
      ggml_set_name(part, (name + end).c_str());
      std::normal_distribution<float> draw(0, 0.5F / std::sqrt(static_cast<float>(columns)));
      auto* values = static_cast<float*>(part->data);
      for (std::int64_t i = 0; i < ggml_nelements(part); ++i) values[i] = draw(words);
      gguf_add_tensor(file, part);
    };
    add(".lora_a", t->ne[0], rank);
    add(".lora_b", rank, t->ne[1]);
  }
  return gguf_write_to_file(file, path, false) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count == 4 && std::strcmp(words[1], "--lora") == 0) return make_adapter(words[2], words[3]);
  if (count < 4) {
    std::fputs("usage: llama_make FILE TYPE KEY=VALUE…, or llama_make --lora FILE MODEL\n", stderr);
    return 2;
  }
  ggml_backend_load_all();
  gguf_context* file = gguf_init_empty();
  std::string without;
  for (int i = 3; i < count; ++i) {
    if (words[i][0] == '-')
      without = words[i] + 1;
    else
      set_key(file, words[i]);
  }
  std::vector<Tensor> tensors;
  ggml_backend_dev_t devices[] = {nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = devices;
  params.n_gpu_layers = 0;
  llama_model* model = llama_model_init_from_user(file, fill, &tensors, params);
  if (model == nullptr) return 1;
  llama_model_free(model);
  ggml_type type = GGML_TYPE_F32;
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const char* name = ggml_type_name(static_cast<ggml_type>(i));
    if (name != nullptr && std::strcmp(name, words[2]) == 0) type = static_cast<ggml_type>(i);
  }
  std::size_t size = 1 << 20;
  for (const Tensor& tensor : tensors) size += 4 * tensor.values.size() + 1024;
  ggml_context* memory = ggml_init({.mem_size = size, .mem_buffer = nullptr, .no_alloc = false});
  for (const Tensor& tensor : tensors) {
    if (without.empty() || tensor.name.find(without) == std::string::npos)
      add(file, memory, tensor, type);
  }
  return gguf_write_to_file(file, words[1], false) ? 0 : 1;
}
