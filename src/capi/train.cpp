#include "weft/c/train.h"

#include <vector>

#include "capi/make.hpp"
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

Tensor run_part(weft_part part, void* context, const std::vector<Tensor>& inputs) {
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
    raise(ErrorCode::invalid_argument, "The part to checkpoint returned {} ({}); {}",
          weft_status_name(status), static_cast<int>(status), weft_last_error());
  }
  return tensor_of(made.handle, "output");
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_checkpoint(weft_part part, void* context, const weft_tensor* inputs,
                                   uint32_t count, weft_tensor* y) {
  return make(__func__, y, inputs, count, "inputs", [&](const std::vector<Tensor>& from) {
    if (part == nullptr) raise(ErrorCode::invalid_argument, "`part` is NULL.");
    return checkpoint(
        [part, context](const std::vector<Tensor>& in) { return run_part(part, context, in); },
        from, nowhere);
  });
}
