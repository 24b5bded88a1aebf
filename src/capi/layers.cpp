#include "weft/c/layers.h"

#include <array>
#include <vector>

#include "capi/make.hpp"
#include "ops/view.hpp"

namespace weft::capi {
namespace {

using Numbers = std::vector<std::uint64_t>;

/// One number for each of `count` dimensions; a 0 stands for `standard`.
Numbers numbers_of(const std::int64_t* values, std::size_t count, std::uint64_t standard,
                   std::string_view argument) {
  Numbers out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = positive(values[i], argument);
    out.push_back(value == 0 ? standard : value);
  }
  return out;
}

/// The spatial dimensions of an image [N, C, spatial…].
std::size_t spatial_of(const Tensor& image, std::size_t least) {
  const std::size_t rank = image.shape().size();
  if (rank < least + 2 || rank > 5) {
    raise(ErrorCode::invalid_argument,
          "An image has a batch, channels and {} to 3 further dimensions; the shape is {}.", least,
          ops::describe(image.shape()));
  }
  return rank - 2;
}

Windows windows_of(const weft_windows& given, std::size_t count, const Numbers& stride) {
  Windows windows;
  windows.stride = numbers_of(given.stride, count, 0, "stride");
  for (std::size_t i = 0; i < count; ++i) {
    if (windows.stride[i] == 0) windows.stride[i] = stride[i];
  }
  windows.pad = numbers_of(given.pad, count, 0, "pad");
  if (given.uneven) windows.pad_high = numbers_of(given.pad_high, count, 0, "pad_high");
  windows.dilation = numbers_of(given.dilation, count, 1, "dilation");
  return windows;
}

Windows windows_of(const weft_windows* given, std::size_t count, const Numbers& stride) {
  return windows_of(given != nullptr ? *given : weft_windows{}, count, stride);
}

ConvOptions conv_options(const weft_conv_options* given, std::size_t count) {
  const weft_conv_options options = given != nullptr ? *given : weft_conv_options{};
  ConvOptions out;
  out.windows = windows_of(options.windows, count, Numbers(count, 1));
  out.groups = options.groups == 0 ? 1 : positive(options.groups, "groups");
  out.allow_f16 = options.allow_f16;
  out.more = numbers_of(options.more, count, 0, "more");
  return out;
}

Numbers kernel_of(const std::int64_t* kernel, std::size_t count) {
  return numbers_of(required(kernel, "kernel"), count, 0, "kernel");
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_tensor_conv(weft_tensor x, weft_tensor weights, weft_tensor bias,
                             const weft_conv_options* options, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return conv({from, nowhere}, tensor_of(weights, "weights"),
                conv_options(options, spatial_of(from, 1)), tensor_or_none(bias, "bias"));
  });
}

weft_status weft_tensor_conv_transposed(weft_tensor x, weft_tensor weights, weft_tensor bias,
                                        const weft_conv_options* options, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return conv_transposed({from, nowhere}, tensor_of(weights, "weights"),
                           conv_options(options, spatial_of(from, 1)),
                           tensor_or_none(bias, "bias"));
  });
}

weft_status weft_tensor_pool(weft_pool_function function, weft_tensor x, const int64_t* kernel,
                             const weft_windows* windows, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const int which = choice<int>(function, WEFT_POOL_MEAN_ALL, "function");
    const std::size_t count = spatial_of(from, 1);
    const Numbers extents = kernel_of(kernel, count);
    const Windows lie = windows_of(windows, count, extents);
    return which == WEFT_POOL_MAX
               ? max_pool({from, nowhere}, extents, lie)
               : mean_pool({from, nowhere}, extents, lie, which == WEFT_POOL_MEAN_ALL);
  });
}

weft_status weft_tensor_unfold(weft_tensor x, const int64_t* kernel, const weft_windows* windows,
                               weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const std::size_t count = spatial_of(from, 1);
    return unfold({from, nowhere}, kernel_of(kernel, count),
                  windows_of(windows, count, Numbers(count, 1)));
  });
}

weft_status weft_tensor_fold(weft_tensor columns, uint32_t count, const int64_t* spatial,
                             const weft_windows* windows, weft_tensor* y) {
  return make(__func__, y, columns, "columns", [&](const Tensor& from) {
    if (count < 1 || count > 3) {
      raise(ErrorCode::invalid_argument, "An image has 1 to 3 spatial dimensions; `count` is {}.",
            count);
    }
    return fold({from, nowhere}, numbers_of(required(spatial, "spatial"), count, 0, "spatial"),
                windows_of(windows, count, Numbers(count, 1)));
  });
}

weft_status weft_tensor_resize(weft_tensor x, int64_t height, int64_t width,
                               weft_interpolation mode, bool align_corners, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const int which = choice<int>(mode, WEFT_LINEAR_ANTIALIAS, "mode");
    const bool antialias = which == WEFT_LINEAR_ANTIALIAS;
    return resize({from, nowhere}, positive(height, "height"), positive(width, "width"),
                  {.mode = static_cast<Interpolation>(antialias ? WEFT_LINEAR : which),
                   .align_corners = align_corners,
                   .antialias = antialias});
  });
}

weft_status weft_tensor_pad_edge(weft_tensor x, uint32_t rank, const int64_t* low,
                                 const int64_t* high, weft_edge edge, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return pad({from, nowhere}, shape_of(rank, low, "low"), shape_of(rank, high, "high"),
               choice<Edge>(edge, WEFT_EDGE_REFLECT, "edge"));
  });
}

weft_status weft_tensor_roll(weft_tensor x, uint32_t rank, const int64_t* places, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    if (rank != from.shape().size()) {
      raise(ErrorCode::invalid_argument, "`rank` is {}; the shape of `x` is {}.", rank,
            ops::describe(from.shape()));
    }
    if (rank > 0) required(places, "places");
    return roll({from, nowhere}, {places, places + rank});
  });
}

weft_status weft_tensor_tile(weft_tensor x, uint32_t rank, const int64_t* times, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return tile({from, nowhere}, shape_of(rank, times, "times"));
  });
}

weft_status weft_tensor_band(weft_tensor x, int64_t low, int64_t high, double value,
                             weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return band({from, nowhere}, low, high, value); });
}

weft_status weft_tensor_sort(weft_tensor x, int64_t count, bool descending, weft_tensor* values,
                             weft_tensor* indices) {
  return call(__func__, [&] {
    if (values != nullptr) *values = nullptr;
    result(indices, "indices");
    const Tensor from = tensor_of(x, "x");
    const auto lock = lock_values(from);
    const Sorted made = count < 0
                            ? sort({from, nowhere}, descending)
                            : top_k({from, nowhere}, static_cast<std::uint64_t>(count), descending);
    std::array<weft_tensor, 2> out{};
    put_all({made.values, made.indices}, out.data());
    if (values != nullptr) {
      *values = out[0];
    } else {
      drop<TensorObject>(out[0], "values");
    }
    *indices = out[1];
  });
}

weft_status weft_tensor_scan(const char* function, weft_tensor x, uint32_t dim, bool reverse,
                             weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    const std::string_view name = required(function, "function");
    const In in{from, nowhere};
    if (name == "sum") return cumsum(in, dim, false, reverse);
    if (name == "prod") return cumprod(in, dim, reverse);
    if (name == "max") return cummax(in, dim, reverse);
    if (name == "min") return cummin(in, dim, reverse);
    if (name == "logsumexp") return logcumsumexp(in, dim, reverse);
    raise(ErrorCode::not_found, "There is no scan named `{}`.", name);
  });
}

weft_status weft_tensor_fft(weft_tensor x, bool inverse, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) {
    return inverse ? ifft({from, nowhere}) : fft({from, nowhere});
  });
}

weft_status weft_tensor_rfft(weft_tensor x, weft_tensor* y) {
  return make(__func__, y, x, "x", [&](const Tensor& from) { return rfft({from, nowhere}); });
}

weft_status weft_tensor_irfft(weft_tensor x, int64_t n, weft_tensor* y) {
  return make(__func__, y, x, "x",
              [&](const Tensor& from) { return irfft({from, nowhere}, positive(n, "n")); });
}

weft_status weft_tensor_set_rows(weft_tensor table, weft_tensor indices, weft_tensor source,
                                 weft_tensor* y) {
  return make(__func__, y, table, "table", [&](const Tensor& from) {
    return set_rows({from, nowhere}, tensor_of(indices, "indices"), tensor_of(source, "source"));
  });
}
