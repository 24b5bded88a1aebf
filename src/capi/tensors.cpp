#include "capi/tensors.hpp"

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "graph/node.hpp"

namespace weft::capi {

Tensor tensor_of(weft_tensor handle, std::string_view argument) {
  return get<TensorObject>(handle, argument)->tensor;
}

Tensor tensor_or_none(weft_tensor handle, std::string_view argument) {
  return handle == nullptr ? Tensor() : tensor_of(handle, argument);
}

std::vector<Tensor> tensors_of(const weft_tensor* handles, std::uint32_t count,
                               std::string_view argument) {
  if (count > 0) required(handles, argument);
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    tensors.push_back(tensor_of(handles[i], formatted("{}[{}]", argument, i)));
  }
  return tensors;
}

std::unique_lock<std::recursive_mutex> lock_values(const Tensor& tensor) {
  return std::unique_lock(Access::data(tensor.device())->mutex);
}

std::unique_lock<std::recursive_mutex> lock_of(const Tensor& tensor) { return lock_values(tensor); }

std::unique_lock<std::recursive_mutex> lock_of(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) raise(ErrorCode::invalid_argument, "The list of tensors is empty.");
  return lock_values(tensors.front());
}

std::unique_lock<std::recursive_mutex> lock_of(const Device& device) {
  return std::unique_lock(Access::data(device)->mutex);
}

void put_all(const std::vector<Tensor>& tensors, weft_tensor* results) {
  std::vector<weft_tensor> made;
  try {
    made.reserve(tensors.size());
    for (const Tensor& tensor : tensors) made.push_back(put(TensorObject{tensor}));
  } catch (...) {
    for (weft_tensor handle : made) drop<TensorObject>(handle, "result");
    throw;
  }
  std::ranges::copy(made, results);
}

void give_text(std::string_view whole, char* text, std::size_t capacity, std::size_t* length) {
  if (capacity > 0) {
    const std::size_t copied = std::min(whole.size(), capacity - 1);
    std::memcpy(required(text, "text"), whole.data(), copied);
    text[copied] = '\0';
  }
  if (length != nullptr) *length = whole.size();
}

}  // namespace weft::capi
