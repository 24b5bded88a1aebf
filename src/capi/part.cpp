#include "capi/part.hpp"

#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

/// Frees a handle that a callback was given.
struct Given {
  weft_tensor handle = nullptr;
  Given() = default;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() {
    if (handle != nullptr) weft_tensor_free(handle);
  }
};

}  // namespace

Tensor run_part(weft_part part, void* context, const std::vector<Tensor>& inputs,
                std::string_view what) {
  std::vector<Given> given(inputs.size());
  std::vector<weft_tensor> handles;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given[i].handle = put(TensorObject{inputs[i]});
    handles.push_back(given[i].handle);
  }
  Given made;
  const weft_status status =
      part(context, handles.data(), static_cast<std::uint32_t>(handles.size()), &made.handle);
  if (status != WEFT_OK) {
    raise(ErrorCode::invalid_argument, "{} returned {} ({}); {}", what, weft_status_name(status),
          static_cast<int>(status), weft_last_error());
  }
  return tensor_of(made.handle, "output");
}

}  // namespace weft::capi
