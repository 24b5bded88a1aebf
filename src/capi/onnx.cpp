#include "weft/onnx.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/c/onnx.h"

namespace weft::capi {
namespace {

struct ModelObject {
  using Handle = weft_model;
  static constexpr Kind kind = Kind::model;
  onnx::Model model;
};

void run_model(weft_model model, const char* const* names, const weft_tensor* tensors,
               std::uint32_t count, weft_receiver receiver, void* context) {
  const auto object = get<ModelObject>(model, "model");
  if (receiver == nullptr) raise(ErrorCode::invalid_argument, "`receiver` is NULL.");
  const std::map<std::string, Tensor> inputs = named_tensors(names, tensors, count);
  std::unique_lock<std::recursive_mutex> lock;
  if (!inputs.empty()) lock = lock_values(inputs.begin()->second);
  give(object->model.run(inputs), receiver, context);
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_model_load(weft_device device, const char* path, weft_model* model) {
  return call(__func__, [&] {
    weft_model& out = result(model, "model");
    const auto object = get<DeviceObject>(device, "device");
    out = put(ModelObject{onnx::load(object->device, required(path, "path"))});
  });
}

weft_status weft_model_load_bytes(weft_device device, const void* bytes, uint64_t size,
                                  weft_model* model) {
  return call(__func__, [&] {
    weft_model& out = result(model, "model");
    const auto object = get<DeviceObject>(device, "device");
    const auto* first = static_cast<const std::byte*>(required(bytes, "bytes"));
    out = put(ModelObject{onnx::load(object->device, std::span(first, size))});
  });
}

weft_status weft_model_free(weft_model model) {
  return call(__func__, [&] { drop<ModelObject>(model, "model"); });
}

weft_status weft_model_to_text(weft_model model, bool dot, char* text, size_t capacity,
                               size_t* length) {
  return call(__func__, [&] {
    const auto object = get<ModelObject>(model, "model");
    give_text(dot ? object->model.dot() : object->model.to_json(), text, capacity, length);
  });
}

weft_status weft_model_run(weft_model model, const char* const* names, const weft_tensor* tensors,
                           uint32_t count, weft_receiver receiver, void* context) {
  return call(__func__, [&] { run_model(model, names, tensors, count, receiver, context); });
}
