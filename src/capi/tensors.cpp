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

GivenElements elements_of(weft_dtype dtype, std::uint32_t rank, const std::int64_t* shape,
                          const void* data, std::uint64_t bytes) {
  const DType type = any_dtype_of(dtype, "dtype");
  const ops::View view = ops::View::dense(type, shape_of(rank, shape, "shape"));
  value_of(ops::validate(view, "tensor", ops::Types::quantized_too));
  if (view.bytes().size() != bytes) {
    raise(ErrorCode::invalid_argument, "A tensor {} takes {} bytes; {} bytes were given.",
          ops::describe(view), view.bytes().size(), bytes);
  }
  if (bytes > 0) required(data, "data");
  GivenElements out{.dtype = type,
                    .shape = Shape(view.extents().begin(), view.extents().end()),
                    .bytes = {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)},
                    .truths = {}};
  if (type == DType::boolean) {
    out.truths = std::make_shared<std::vector<std::byte>>();
    for (const std::byte byte : out.bytes) {
      out.truths->push_back(std::byte{byte != std::byte{0}});
    }
    out.bytes = *out.truths;
  }
  return out;
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

void give(const std::vector<nn::Named>& tensors, weft_receiver receiver, void* context) {
  if (receiver == nullptr) raise(ErrorCode::invalid_argument, "`receiver` is NULL.");
  std::vector<Tensor> all;
  for (const nn::Named& named : tensors) all.push_back(named.tensor);
  std::vector<weft_tensor> handles(all.size());
  put_all(all, handles.data());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    receiver(context, tensors[i].name.c_str(), handles[i]);
  }
}

std::map<std::string, Tensor> named_tensors(const char* const* names, const weft_tensor* tensors,
                                            std::uint32_t count) {
  const std::vector<Tensor> given = tensors_of(tensors, count, "tensors");
  std::map<std::string, Tensor> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* name = required(required(names, "names")[i], formatted("names[{}]", i));
    if (!out.emplace(name, given[i]).second) {
      raise(ErrorCode::invalid_argument, "`names` has `{}` twice.", name);
    }
  }
  return out;
}

void give(const std::map<std::string, Tensor>& tensors, weft_receiver receiver, void* context) {
  std::vector<nn::Named> all;
  for (const auto& [name, tensor] : tensors) all.push_back({name, tensor});
  give(all, receiver, context);
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
