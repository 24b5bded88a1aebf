#include <string>
#include <utility>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

/// Adds what has a name to a map; names must differ.
template <class Map, class Value>
void add(Map& map, const char* const* names, std::uint32_t i, std::string_view argument,
         Value value) {
  const char* name = required(required(names, argument)[i], argument);
  if (!map.emplace(name, std::move(value)).second) {
    raise(ErrorCode::invalid_argument, "`{}` has `{}` twice.", argument, name);
  }
}

void load_file(weft_device device, const char* path, weft_receiver receiver,
               weft_text_receiver text_receiver, void* context) {
  const auto object = get<DeviceObject>(device, "device");
  if (receiver == nullptr) raise(ErrorCode::invalid_argument, "`receiver` is NULL.");
  const NamedTensors contents = load(object->device, required(path, "path"));
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : contents.tensors) tensors.push_back(tensor);
  std::vector<weft_tensor> handles(tensors.size());
  put_all(tensors, handles.data());
  if (text_receiver != nullptr) {
    for (const auto& [name, text] : contents.texts) {
      text_receiver(context, name.c_str(), text.c_str());
    }
  }
  std::size_t next = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    receiver(context, name.c_str(), handles[next++]);
  }
}

void save_file(const char* path, const char* const* names, const weft_tensor* tensors,
               std::uint32_t count, const char* const* text_names, const char* const* texts,
               std::uint32_t text_count) {
  required(path, "path");
  const std::vector<Tensor> given = tensors_of(tensors, count, "tensors");
  NamedTensors contents;
  for (std::uint32_t i = 0; i < count; ++i) add(contents.tensors, names, i, "names", given[i]);
  for (std::uint32_t i = 0; i < text_count; ++i) {
    add(contents.texts, text_names, i, "text_names",
        std::string(required(required(texts, "texts")[i], "texts[i]")));
  }
  std::unique_lock<std::recursive_mutex> lock;
  if (!given.empty()) lock = lock_values(given.front());
  save(path, contents);
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_save(const char* path, const char* const* names, const weft_tensor* tensors,
                      uint32_t count) {
  return call(__func__, [&] { save_file(path, names, tensors, count, nullptr, nullptr, 0); });
}

weft_status weft_save_with_texts(const char* path, const char* const* names,
                                 const weft_tensor* tensors, uint32_t count,
                                 const char* const* text_names, const char* const* texts,
                                 uint32_t text_count) {
  return call(__func__,
              [&] { save_file(path, names, tensors, count, text_names, texts, text_count); });
}

weft_status weft_load(weft_device device, const char* path, weft_receiver receiver, void* context) {
  return call(__func__, [&] { load_file(device, path, receiver, nullptr, context); });
}

weft_status weft_load_with_texts(weft_device device, const char* path, weft_receiver receiver,
                                 weft_text_receiver text_receiver, void* context) {
  return call(__func__, [&] { load_file(device, path, receiver, text_receiver, context); });
}
