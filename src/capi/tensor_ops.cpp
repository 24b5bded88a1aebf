#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "capi/arrays.hpp"
#include "capi/make.hpp"
#include "weft/c/tensor.h"

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_reshape(weft_tensor x, uint32_t rank, const int64_t* shape,
                                weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return from.reshape(shape_of(rank, shape, "shape"), nowhere);
  });
}

weft_status weft_tensor_permute(weft_tensor x, uint32_t rank, const uint32_t* order,
                                weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return from.permute(dims_of(order, rank, "order"), nowhere);
  });
}

weft_status weft_tensor_transpose(weft_tensor x, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) { return from.transpose(nowhere); });
}

weft_status weft_tensor_slice(weft_tensor x, uint32_t dim, int64_t first, int64_t count,
                              int64_t step, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return from.slice(dim, positive(first, "first"), positive(count, "count"),
                      positive(step, "step"), nowhere);
  });
}

weft_status weft_tensor_broadcast(weft_tensor x, uint32_t rank, const int64_t* shape,
                                  weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return from.broadcast_to(shape_of(rank, shape, "shape"), nowhere);
  });
}

weft_status weft_tensor_cast(weft_tensor x, weft_dtype dtype, weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return from.to(any_dtype_of(dtype, "dtype"), nowhere); });
}

weft_status weft_tensor_map(const char* function, const weft_tensor* inputs, uint32_t count,
                            const double* parameters, weft_tensor* y) {
  return make(__func__, y, inputs, count, "inputs", [&](const std::vector<Tensor>& from) {
    return map(required(function, "function"), from, parameters_of(parameters), nowhere);
  });
}

weft_status weft_tensor_reduce(const char* function, weft_tensor x, const uint32_t* dims,
                               uint32_t count, bool keep_dims, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return reduce(required(function, "function"), {from, nowhere}, dims_of(dims, count, "dims"),
                  keep_dims);
  });
}

weft_status weft_tensor_cumsum(weft_tensor x, uint32_t dim, bool exclusive, bool reverse,
                               weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return cumsum({from, nowhere}, dim, exclusive, reverse); });
}

weft_status weft_tensor_softmax(weft_tensor x, float scale, weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return softmax({from, nowhere}, scale); });
}

weft_status weft_tensor_log_softmax(weft_tensor x, weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return log_softmax({from, nowhere}); });
}

weft_status weft_tensor_layer_norm(weft_tensor x, weft_tensor weight, weft_tensor bias, float eps,
                                   weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return layer_norm({from, nowhere}, tensor_or_none(weight, "weight"),
                      tensor_or_none(bias, "bias"), eps);
  });
}

weft_status weft_tensor_rms_norm(weft_tensor x, weft_tensor weight, float eps, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return rms_norm({from, nowhere}, tensor_or_none(weight, "weight"), eps);
  });
}

weft_status weft_tensor_matmul(weft_tensor a, weft_tensor b, weft_tensor* y) {
  return make(__func__, y, a, "a",
              [&](const Tensor& from) { return matmul({from, nowhere}, tensor_of(b, "b")); });
}

weft_status weft_tensor_concat(const weft_tensor* tensors, uint32_t count, uint32_t dim,
                               weft_tensor* y) {
  return make(__func__, y, tensors, count, "tensors",
              [&](const std::vector<Tensor>& from) { return concat(from, dim, nowhere); });
}

weft_status weft_tensor_pad(weft_tensor x, uint32_t rank, const int64_t* low, const int64_t* high,
                            double value, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return pad({from, nowhere}, shape_of(rank, low, "low"), shape_of(rank, high, "high"), value);
  });
}

weft_status weft_tensor_embedding(weft_tensor table, weft_tensor indices, weft_tensor* y) {
  return make(__func__, y, table, "table", [&](const Tensor& from) {
    return embedding({from, nowhere}, tensor_of(indices, "indices"));
  });
}

weft_status weft_tensor_gather(weft_tensor x, weft_tensor index, uint32_t dim, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return gather({from, nowhere}, tensor_of(index, "index"), dim);
  });
}

weft_status weft_tensor_scatter_add(weft_tensor x, weft_tensor index, weft_tensor source,
                                    uint32_t dim, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return scatter_add({from, nowhere}, tensor_of(index, "index"), tensor_of(source, "source"),
                       dim);
  });
}

weft_status weft_tensor_cross_entropy(weft_tensor logits, weft_tensor labels, weft_tensor* y) {
  return make(__func__, y, logits, "logits", [&](const Tensor& from) {
    return cross_entropy({from, nowhere}, tensor_of(labels, "labels"));
  });
}

weft_status weft_tensor_rope(weft_tensor x, weft_tensor positions, bool halves, float base,
                             weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return rope({from, nowhere},
                {.mode = halves ? RopeMode::halves : RopeMode::pairs, .base = base},
                tensor_or_none(positions, "positions"));
  });
}

weft_status weft_tensor_dropout(weft_tensor x, float rate, weft_tensor seed, uint32_t stream,
                                weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return dropout({from, nowhere}, rate, tensor_of(seed, "seed"), stream);
  });
}
