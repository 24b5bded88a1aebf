#include "weft/c/train.h"

#include <array>
#include <vector>

#include "capi/make.hpp"
#include "weft/c/tensor.h"

namespace weft::capi {
namespace {

AdamOptions options_of(const weft_step_options* options) {
  const weft_step_options given = options != nullptr ? *options : weft_step_options{};
  AdamOptions out;
  out.scale = tensor_or_none(given.scale, "scale");
  if (given.has_working) out.working = capi::dtype_of(given.working, "working");
  out.coupled = given.coupled;
  return out;
}

/// Gives the tensors of a step to the caller, those that exist.
void give(weft_step& step, const std::array<Tensor, 4>& tensors) {
  std::vector<Tensor> there;
  for (const Tensor& tensor : tensors) {
    if (tensor) there.push_back(tensor);
  }
  std::array<weft_tensor, 4> handles{};
  put_all(there, handles.data());
  const std::array members{&step.weights, &step.m, &step.v, &step.working};
  std::size_t next = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]) *members[i] = handles[next++];
  }
}

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

weft_status weft_tensor_adamw(weft_tensor weights, weft_tensor gradients, weft_tensor m,
                              weft_tensor v, weft_tensor numbers, const weft_step_options* options,
                              weft_step* step) {
  return call(__func__, [&] {
    weft_step& out = *required(step, "step");
    out = {};
    const Tensor from = tensor_of(weights, "weights");
    const auto lock = lock_values(from);
    const AdamStep made =
        adamw({from, nowhere}, tensor_of(gradients, "gradients"), tensor_of(m, "m"),
              tensor_of(v, "v"), tensor_of(numbers, "numbers"), options_of(options));
    give(out, {made.weights, made.m, made.v, made.working});
  });
}

weft_status weft_tensor_sgd(weft_tensor weights, weft_tensor gradients, weft_tensor momentum,
                            weft_tensor numbers, const weft_step_options* options,
                            weft_step* step) {
  return call(__func__, [&] {
    weft_step& out = *required(step, "step");
    out = {};
    const Tensor from = tensor_of(weights, "weights");
    const auto lock = lock_values(from);
    const SgdStep made =
        sgd({from, nowhere}, tensor_of(gradients, "gradients"), tensor_of(numbers, "numbers"),
            tensor_or_none(momentum, "momentum"), options_of(options));
    give(out, {made.weights, made.momentum, Tensor(), made.working});
  });
}

weft_status weft_tensor_clip_by_norm(const weft_tensor* gradients, uint32_t count, float max_norm,
                                     weft_tensor loss_scale, weft_tensor* scale,
                                     weft_tensor* norm) {
  return call(__func__, [&] {
    result(scale, "scale");
    if (norm != nullptr) *norm = nullptr;
    const std::vector<Tensor> from = tensors_of(gradients, count, "gradients");
    if (from.empty()) raise(ErrorCode::invalid_argument, "`gradients` has no tensors.");
    const auto lock = lock_values(from.front());
    const Clip made =
        clip_by_norm(from, max_norm, tensor_or_none(loss_scale, "loss_scale"), nowhere);
    std::array<weft_tensor, 2> out{};
    put_all({made.scale, made.norm}, out.data());
    *scale = out[0];
    if (norm != nullptr) {
      *norm = out[1];
    } else {
      drop<TensorObject>(out[1], "norm");
    }
  });
}

weft_status weft_tensor_checkpoint(weft_part part, void* context, const weft_tensor* inputs,
                                   uint32_t count, weft_tensor* y) {
  return make(__func__, y, inputs, count, "inputs", [&](const std::vector<Tensor>& from) {
    if (part == nullptr) raise(ErrorCode::invalid_argument, "`part` is NULL.");
    return checkpoint(
        [part, context](const std::vector<Tensor>& in) { return run_part(part, context, in); },
        from, nowhere);
  });
}
