#include "capi/nn/modules.hpp"

#include <map>
#include <string>
#include <vector>

#include "weft/c/nn.h"

namespace weft::capi {

namespace {

/// The module as what the function needs, or an error that says so.
template <class... Kinds>
void require_one_of(const nn::Layer& layer, std::string_view needed) {
  if (!((dynamic_cast<const Kinds*>(&layer) != nullptr) || ...)) {
    raise(ErrorCode::invalid_argument, "`module` is not {}.", needed);
  }
}

/// Puts a tensor in the place of one that a handle stands for.
void replace(weft_tensor* place, const Tensor& tensor) {
  const weft_tensor made = put(TensorObject{tensor});
  if (*place != nullptr) drop<TensorObject>(*place, "keys or values");
  *place = made;
}

void attend(nn::Layer& layer, const Tensor& x, const Tensor& mask, weft_tensor* keys,
            weft_tensor* values, weft_tensor& y) {
  require_one_of<nn::MultiheadAttention, nn::TransformerBlock>(layer,
                                                               "attention or a transformer block");
  if ((keys == nullptr) != (values == nullptr)) {
    raise(ErrorCode::invalid_argument, "`keys` and `values` are given together, or both NULL.");
  }
  nn::AttentionCache cache;
  if (keys != nullptr) {
    cache = {tensor_or_none(*keys, "keys"), tensor_or_none(*values, "values")};
  }
  nn::AttentionCache* const kept = keys == nullptr ? nullptr : &cache;
  auto* attention = dynamic_cast<nn::MultiheadAttention*>(&layer);
  const Tensor made = attention != nullptr
                          ? attention->forward(x, mask, kept)
                          : dynamic_cast<nn::TransformerBlock&>(layer).forward(x, mask, kept);
  if (kept != nullptr) {
    replace(keys, cache.k);
    replace(values, cache.v);
  }
  y = put(TensorObject{made});
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_module_free(weft_module module) {
  return call(__func__, [&] { drop<ModuleObject>(module, "module"); });
}

weft_status weft_module_forward(weft_module module, weft_tensor x, weft_tensor* y) {
  return call(__func__, [&] {
    weft_tensor& out = result(y, "y");
    const auto object = get<ModuleObject>(module, "module");
    const Tensor from = tensor_of(x, "x");
    const auto lock = lock_values(from);
    out = put(TensorObject{object->layer->forward(from)});
  });
}

weft_status weft_module_attend(weft_module module, weft_tensor x, weft_tensor mask,
                               weft_tensor* keys, weft_tensor* values, weft_tensor* y) {
  return call(__func__, [&] {
    weft_tensor& out = result(y, "y");
    const auto object = get<ModuleObject>(module, "module");
    const Tensor from = tensor_of(x, "x");
    const auto lock = lock_values(from);
    attend(*object->layer, from, tensor_or_none(mask, "mask"), keys, values, out);
  });
}

weft_status weft_module_recur(weft_module module, weft_tensor x, weft_tensor state,
                              weft_tensor cell, weft_tensor lengths, weft_tensor* y,
                              weft_tensor* last_state, weft_tensor* last_cell) {
  return call(__func__, [&] {
    weft_tensor& out = result(y, "y");
    for (weft_tensor* place : {last_state, last_cell}) {
      if (place != nullptr) *place = nullptr;
    }
    const auto object = get<ModuleObject>(module, "module");
    const Tensor from = tensor_of(x, "x");
    const auto lock = lock_values(from);
    require_one_of<nn::RecurrentLayers>(*object->layer, "an LSTM, a GRU or an RNN");
    const Recurrent made =
        dynamic_cast<nn::RecurrentLayers&>(*object->layer)
            .forward(from, {tensor_or_none(state, "state"), tensor_or_none(cell, "cell"),
                            tensor_or_none(lengths, "lengths")});
    if (last_state != nullptr) *last_state = put(TensorObject{made.state});
    if (last_cell != nullptr && made.cell) *last_cell = put(TensorObject{made.cell});
    out = put(TensorObject{made.y});
  });
}

weft_status weft_module_parameters(weft_module module, weft_receiver receiver, void* context) {
  return call(__func__, [&] {
    give(get<ModuleObject>(module, "module")->layer->parameters(), receiver, context);
  });
}

weft_status weft_module_state(weft_module module, weft_receiver receiver, void* context) {
  return call(__func__, [&] {
    give(get<ModuleObject>(module, "module")->layer->state(), receiver, context);
  });
}

weft_status weft_module_load_state(weft_module module, const char* const* names,
                                   const weft_tensor* tensors, uint32_t count) {
  return call(__func__, [&] {
    const auto object = get<ModuleObject>(module, "module");
    object->layer->load_state(named_tensors(names, tensors, count));
  });
}

weft_status weft_module_save(weft_module module, const char* path) {
  return call(__func__,
              [&] { get<ModuleObject>(module, "module")->layer->save(required(path, "path")); });
}

weft_status weft_module_load(weft_module module, const char* path) {
  return call(__func__,
              [&] { get<ModuleObject>(module, "module")->layer->load(required(path, "path")); });
}

weft_status weft_module_keep(weft_module module) {
  return call(__func__, [&] { get<ModuleObject>(module, "module")->layer->keep(); });
}

weft_status weft_module_train(weft_module module, bool on) {
  return call(__func__, [&] { get<ModuleObject>(module, "module")->layer->train(on); });
}

weft_status weft_module_set_key(weft_module module, weft_tensor key) {
  return call(__func__, [&] {
    const auto object = get<ModuleObject>(module, "module");
    object->layer->set_key(tensor_of(key, "key"));
  });
}

weft_status weft_module_apply_updates(weft_module module) {
  return call(__func__, [&] {
    const auto object = get<ModuleObject>(module, "module");
    const std::vector<Update> updates = object->layer->take_updates();
    if (updates.empty()) return;
    const auto lock = lock_values(updates.front().variable);
    apply(updates);
  });
}
