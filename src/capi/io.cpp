#include <mutex>

#include "capi/tensors.hpp"
#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

void load_file(weft_device device, const char* path, weft_receiver receiver,
               weft_text_receiver text_receiver, void* context) {
  const auto object = get<DeviceObject>(device, "device");
  if (receiver == nullptr) raise(ErrorCode::invalid_argument, "`receiver` is NULL.");
  const NamedTensors contents = load(object->device, required(path, "path"));
  if (text_receiver != nullptr) {
    for (const auto& [name, text] : contents.texts) {
      text_receiver(context, name.c_str(), text.c_str());
    }
  }
  give(contents.tensors, receiver, context);
}

void save_file(const char* path, const char* const* names, const weft_tensor* tensors,
               std::uint32_t count, const char* const* text_names, const char* const* texts,
               std::uint32_t text_count) {
  required(path, "path");
  NamedTensors contents{named_tensors(names, tensors, count), {}};
  for (std::uint32_t i = 0; i < text_count; ++i) {
    const char* name = required(required(text_names, "text_names")[i], "text_names[i]");
    if (!contents.texts.emplace(name, required(required(texts, "texts")[i], "texts[i]")).second) {
      raise(ErrorCode::invalid_argument, "`text_names` has `{}` twice.", name);
    }
  }
  std::unique_lock<std::recursive_mutex> lock;
  if (!contents.tensors.empty()) lock = lock_values(contents.tensors.begin()->second);
  save(path, contents);
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_save(const char* path, const char* const* names, const weft_tensor* tensors,
                      uint32_t count, const char* const* text_names, const char* const* texts,
                      uint32_t text_count) {
  return call(__func__,
              [&] { save_file(path, names, tensors, count, text_names, texts, text_count); });
}

weft_status weft_load(weft_device device, const char* path, weft_receiver receiver,
                      weft_text_receiver text_receiver, void* context) {
  return call(__func__, [&] { load_file(device, path, receiver, text_receiver, context); });
}
