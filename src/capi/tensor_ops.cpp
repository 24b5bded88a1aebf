#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "capi/objects.hpp"
#include "weft/c/tensor.h"
#include "weft/weft.hpp"

namespace weft::capi {
namespace {

/// Runs an entry point that makes one tensor.
template <class Body>
weft_status make(std::string_view function, weft_tensor* y, const Body& body) noexcept {
  return call(function, [&] {
    weft_tensor& out = result(y, "y");
    out = put(TensorObject{body()});
  });
}

Tensor tensor_of(weft_tensor handle, std::string_view argument) {
  return get<TensorObject>(handle, argument)->tensor;
}

/// An argument that may be left out.
Tensor tensor_or_none(weft_tensor handle, std::string_view argument) {
  return handle == nullptr ? Tensor() : tensor_of(handle, argument);
}

std::vector<Tensor> tensors_of(const weft_tensor* handles, std::uint32_t count,
                               std::string_view argument) {
  if (count > 0) required(handles, argument);
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    tensors.push_back(tensor_of(handles[i], std::format("{}[{}]", argument, i)));
  }
  return tensors;
}

std::vector<std::uint32_t> dims_of(const std::uint32_t* dims, std::uint32_t count,
                                   std::string_view argument) {
  if (count > ops::max_rank) {
    raise(ErrorCode::invalid_argument, "`{}` has {} dimensions; at most {} are possible.", argument,
          count, ops::max_rank);
  }
  if (count == 0) return {};
  required(dims, argument);
  return {dims, dims + count};
}

}  // namespace

std::array<double, 4> parameters_of(const double* parameters) {
  std::array<double, 4> values{};
  if (parameters != nullptr) std::copy_n(parameters, values.size(), values.begin());
  return values;
}

}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_reshape(weft_tensor x, uint32_t rank, const int64_t* shape,
                                weft_tensor* y) {
  return make(__func__, y,
              [&] { return tensor_of(x, "x").reshape(shape_of(rank, shape, "shape")); });
}

weft_status weft_tensor_permute(weft_tensor x, uint32_t rank, const uint32_t* order,
                                weft_tensor* y) {
  return make(__func__, y,
              [&] { return tensor_of(x, "x").permute(dims_of(order, rank, "order")); });
}

weft_status weft_tensor_transpose(weft_tensor x, weft_tensor* y) {
  return make(__func__, y, [&] { return tensor_of(x, "x").transpose(); });
}

weft_status weft_tensor_slice(weft_tensor x, uint32_t dim, int64_t first, int64_t count,
                              weft_tensor* y) {
  return make(__func__, y, [&] {
    const Tensor from = tensor_of(x, "x");
    if (first < 0 || count < 0) {
      raise(ErrorCode::invalid_argument,
            "A slice of {} elements from element {} on is not possible; neither may be negative.",
            count, first);
    }
    return from.slice(dim, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(count));
  });
}

weft_status weft_tensor_broadcast(weft_tensor x, uint32_t rank, const int64_t* shape,
                                  weft_tensor* y) {
  return make(__func__, y,
              [&] { return tensor_of(x, "x").broadcast_to(shape_of(rank, shape, "shape")); });
}

weft_status weft_tensor_cast(weft_tensor x, weft_dtype dtype, weft_tensor* y) {
  return make(__func__, y, [&] { return tensor_of(x, "x").to(capi::dtype_of(dtype, "dtype")); });
}

weft_status weft_tensor_map(const char* function, const weft_tensor* inputs, uint32_t count,
                            const double* parameters, weft_tensor* y) {
  return make(__func__, y, [&] {
    const std::vector<Tensor> tensors = tensors_of(inputs, count, "inputs");
    return map(required(function, "function"), tensors, parameters_of(parameters));
  });
}

weft_status weft_tensor_reduce(const char* function, weft_tensor x, const uint32_t* dims,
                               uint32_t count, bool keep_dims, weft_tensor* y) {
  return make(__func__, y, [&] {
    const Tensor from = tensor_of(x, "x");
    return reduce(required(function, "function"), from, dims_of(dims, count, "dims"), keep_dims);
  });
}

weft_status weft_tensor_cumsum(weft_tensor x, uint32_t dim, weft_tensor* y) {
  return make(__func__, y, [&] { return cumsum(tensor_of(x, "x"), dim); });
}

weft_status weft_tensor_softmax(weft_tensor x, float scale, weft_tensor* y) {
  return make(__func__, y, [&] { return softmax(tensor_of(x, "x"), scale); });
}

weft_status weft_tensor_log_softmax(weft_tensor x, weft_tensor* y) {
  return make(__func__, y, [&] { return log_softmax(tensor_of(x, "x")); });
}

weft_status weft_tensor_layer_norm(weft_tensor x, weft_tensor weight, weft_tensor bias, float eps,
                                   weft_tensor* y) {
  return make(__func__, y, [&] {
    return layer_norm(tensor_of(x, "x"), tensor_or_none(weight, "weight"),
                      tensor_or_none(bias, "bias"), eps);
  });
}

weft_status weft_tensor_rms_norm(weft_tensor x, weft_tensor weight, float eps, weft_tensor* y) {
  return make(__func__, y,
              [&] { return rms_norm(tensor_of(x, "x"), tensor_or_none(weight, "weight"), eps); });
}

weft_status weft_tensor_matmul(weft_tensor a, weft_tensor b, weft_tensor* y) {
  return make(__func__, y, [&] { return matmul(tensor_of(a, "a"), tensor_of(b, "b")); });
}

weft_status weft_tensor_concat(const weft_tensor* tensors, uint32_t count, uint32_t dim,
                               weft_tensor* y) {
  return make(__func__, y, [&] { return concat(tensors_of(tensors, count, "tensors"), dim); });
}
