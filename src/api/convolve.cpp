#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "weft/image.hpp"
#include "weft/shape.hpp"
#include "weft/transforms.hpp"

namespace weft {
namespace {

/// Which elements of the whole convolution are wanted along one axis.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

std::vector<Part> parts_of(In a, const Tensor& b, std::string_view mode) {
  const Shape& kernel = b.shape();
  const std::size_t outer = a.tensor.shape().size() - kernel.size();
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::uint64_t n = a.tensor.shape()[outer + i];
    const std::uint64_t k = kernel[i];
    if (mode == "full") {
      parts.push_back({0, n + k - 1});
    } else if (mode == "same") {
      parts.push_back({(k - 1) / 2, n});
    } else if (mode == "valid" && k <= n) {
      parts.push_back({k - 1, n - k + 1});
    } else {
      refuse(
          "convolve", a.where,
          formatted("convolve has the modes \"full\", \"same\", and \"valid\" where b is nowhere "
                    "longer than a; it was given \"{}\" for {} and {}.",
                    mode, describe(a.tensor), describe(b)));
    }
  }
  return parts;
}

/// The next length whose transform needs no prime factor above 13.
std::uint64_t quick_length(std::uint64_t n) {
  const auto is_quick = [](std::uint64_t length) {
    for (const std::uint64_t factor : {2U, 3U, 5U, 7U, 11U, 13U}) {
      while (length % factor == 0) length /= factor;
    }
    return length == 1;
  };
  while (!is_quick(n)) ++n;
  return n;
}

/// Windows of a, which lie so that they begin with the first wanted element.
Tensor by_windows(const Tensor& a, const Tensor& b, const std::vector<Part>& parts,
                  const Where& at) {
  const std::size_t axes = parts.size();
  Shape image(a.shape().end() - static_cast<std::ptrdiff_t>(axes), a.shape().end());
  std::uint64_t inside = 1;
  for (const std::uint64_t extent : image) inside *= extent;
  image.insert(image.begin(), {a.size() / inside, 1});
  Shape kernel = b.shape();
  kernel.insert(kernel.begin(), {1, 1});
  std::vector<int> turned;
  for (std::size_t i = 0; i < axes; ++i) turned.push_back(static_cast<int>(i) + 2);
  Windows windows;
  for (std::size_t i = 0; i < axes; ++i) {
    // Element f of the whole convolution is the window that ends at f: it begins k - 1 before.
    const std::uint64_t pad = b.shape()[i] - 1 - parts[i].first;
    windows.pad.push_back(pad);
    windows.pad_high.push_back(parts[i].count + b.shape()[i] - 1 - pad - image[i + 2]);
  }
  const Tensor weights = flip(In(b.reshape(kernel, at), at), turned);
  return conv(In(a.reshape(image, at), at), weights, {.windows = windows});
}

Tensor by_transforms(const Tensor& a, const Tensor& b, const std::vector<Part>& parts,
                     const Where& at) {
  const std::size_t axes = parts.size();
  const std::size_t outer = a.shape().size() - axes;
  std::vector<std::uint64_t> lengths;
  std::vector<int> along;
  for (std::size_t i = 0; i < axes; ++i) {
    lengths.push_back(quick_length(a.shape()[outer + i] + b.shape()[i] - 1));
    along.push_back(static_cast<int>(i) - static_cast<int>(axes));
  }
  const auto transformed = [&](const Tensor& x) {
    Shape more(x.shape().size(), 0);
    const std::size_t first = x.shape().size() - axes;
    for (std::size_t i = 0; i < axes; ++i) more[first + i] = lengths[i] - x.shape()[first + i];
    return rfftn(In(pad(In(x, at), Shape(more.size(), 0), more), at), along);
  };
  const Tensor left = transformed(a);
  const Tensor right = transformed(b);
  const auto side = [&](const Tensor& x, std::int64_t which) {
    return x.slice(-1, which, 1, 1, at);
  };
  const auto times = [&](std::int64_t i, std::int64_t j) {
    return side(left, i) * In(side(right, j), at);
  };
  const Tensor product =
      concat({times(0, 0) - In(times(1, 1), at), times(0, 1) + In(times(1, 0), at)}, -1, at);
  Tensor y = irfftn(In(product, at), lengths.back(), along);
  for (std::size_t i = 0; i < axes; ++i) {
    y = y.slice(along[i], static_cast<std::int64_t>(parts[i].first), parts[i].count, 1, at);
  }
  return y;
}

/// Whether transforms need less time than windows: they read and write everything some thirty
/// times, windows multiply each element as often as b has elements, and are quick at it.
bool transforms_are_faster(const Tensor& a, const Tensor& b) {
  constexpr double products_of_a_transform = 400;
  const std::size_t outer = a.shape().size() - b.shape().size();
  double grown = 1;
  for (std::size_t i = 0; i < b.shape().size(); ++i) {
    grown *= static_cast<double>(a.shape()[outer + i] + b.shape()[i]) /
             static_cast<double>(a.shape()[outer + i]);
  }
  return static_cast<double>(b.size()) > products_of_a_transform * grown;
}

}  // namespace

Tensor convolve(In a, const Tensor& b, std::string_view mode, std::string_view method) {
  need("convolve", "a", a.tensor, a.where);
  need("convolve", "b", b, a.where);
  const Where& at = a.where;
  const std::size_t axes = b.shape().size();
  if (axes < 1 || axes > 3 || a.tensor.shape().size() < axes || !is_float(a.tensor.dtype()) ||
      b.dtype() != a.tensor.dtype() || a.tensor.size() == 0 || b.size() == 0) {
    refuse("convolve", at,
           formatted("convolve needs a […, n…] and b [k…] of one float type, with 1 to 3 axes and "
                     "at least one element; it was given {} and {}.",
                     describe(a.tensor), describe(b)));
  }
  if (method != "auto" && method != "direct" && method != "fft") {
    refuse("convolve", at,
           formatted("convolve has the methods \"auto\", \"direct\" and \"fft\"; it was given "
                     "\"{}\".",
                     method));
  }
  const std::vector<Part> parts = parts_of(a, b, mode);
  const bool fft = method == "fft" || (method == "auto" && transforms_are_faster(a.tensor, b));
  Shape shape(a.tensor.shape().begin(), a.tensor.shape().end() - static_cast<std::ptrdiff_t>(axes));
  for (const Part& part : parts) shape.push_back(part.count);
  if (!fft) return by_windows(a.tensor, b, parts, at).reshape(shape, at);
  return by_transforms(a.tensor.to(DType::f32, at), b.to(DType::f32, at), parts, at)
      .to(a.tensor.dtype(), at)
      .reshape(shape, at);
}

}  // namespace weft
