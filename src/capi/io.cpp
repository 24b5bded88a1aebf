#include <string>
#include <utility>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/c/tensor.h"

using namespace weft;
using namespace weft::capi;

weft_status weft_save(const char* path, const char* const* names, const weft_tensor* tensors,
                      uint32_t count) {
  return call(__func__, [&] {
    required(path, "path");
    const std::vector<Tensor> given = tensors_of(tensors, count, "tensors");
    NamedTensors contents;
    for (std::uint32_t i = 0; i < count; ++i) {
      const char* name = required(required(names, "names")[i], "names[i]");
      if (!contents.tensors.emplace(name, given[i]).second) {
        raise(ErrorCode::invalid_argument, "Two tensors are named `{}`.", name);
      }
    }
    std::unique_lock<std::recursive_mutex> lock;
    if (!given.empty()) lock = lock_values(given.front());
    save(path, contents);
  });
}

weft_status weft_load(weft_device device, const char* path, weft_receiver receiver, void* context) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    if (receiver == nullptr) raise(ErrorCode::invalid_argument, "`receiver` is NULL.");
    const NamedTensors contents = load(object->device, required(path, "path"));
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : contents.tensors) tensors.push_back(tensor);
    std::vector<weft_tensor> handles(tensors.size());
    put_all(tensors, handles.data());
    std::size_t next = 0;
    for (const auto& [name, tensor] : contents.tensors) {
      receiver(context, name.c_str(), handles[next++]);
    }
  });
}
