#include <algorithm>

#include "onnx/ops/families.hpp"
#include "onnx/ops/windows.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/image.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {

namespace {

using I = std::int64_t;
using U = std::uint64_t;

}  // namespace

std::vector<U> counts(const Call& call, std::string_view name, std::size_t rank, U otherwise) {
  const auto given = call.is(name);
  if (given.empty()) return std::vector<U>(rank, otherwise);
  if (given.size() != rank)
    call.wrong(formatted("{} has {} numbers for {} dimensions.", name, given.size(), rank));
  for (const I number : given) {
    if (number < 0 || number > I{1} << 31) call.wrong(formatted("{} has {}.", name, number));
  }
  return {given.begin(), given.end()};
}

Grid grid_of(const Call& call, const Shape& image, std::vector<U> kernel) {
  const std::size_t rank = kernel.size();
  if (image.size() != rank + 2)
    call.wrong(formatted("{} has no {} spatial dimensions.", text_of(image), rank));
  Grid grid{.kernel = std::move(kernel),
            .stride = counts(call, "strides", rank, 1),
            .dilation = counts(call, "dilations", rank, 1),
            .low = {},
            .high = {},
            .out = {},
            .more = {}};
  const auto pads = counts(call, "pads", 2 * rank, 0);
  const std::string automatic = call.s("auto_pad", "NOTSET");
  const bool ceil = call.i("ceil_mode", 0) != 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const U extent = image[d + 2];
    const U reach = (grid.kernel[d] - (grid.kernel[d] == 0 ? 0 : 1)) * grid.dilation[d] + 1;
    if (grid.kernel[d] == 0 || grid.stride[d] == 0 || grid.dilation[d] == 0)
      call.wrong("A kernel, stride or dilation is 0.");
    U low = pads[d];
    U high = pads[d + rank];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const U wanted = (extent + grid.stride[d] - 1) / grid.stride[d];
      const U needed = (std::max<U>(wanted, 1) - 1) * grid.stride[d] + reach;
      const U total = needed > extent ? needed - extent : 0;
      low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else if (automatic == "VALID") {
      low = high = 0;
    }
    const U whole = extent + low + high;
    if (whole < reach)
      call.wrong(formatted("A window of {} does not fit in {} elements of {}.", reach, whole,
                           text_of(image)));
    U out = (whole - reach) / grid.stride[d] + 1;
    U more = 0;
    if (ceil && (whole - reach) % grid.stride[d] != 0 &&
        out * grid.stride[d] < extent + low) {  // a last window starts inside
      ++out;
      more = (out - 1) * grid.stride[d] + reach - whole;
    }
    grid.low.push_back(low);
    grid.high.push_back(high);
    grid.out.push_back(out);
    grid.more.push_back(more);
  }
  return grid;
}

ConvOptions conv_options(const Call& call, const Shape& image, const Shape& weights) {
  if (weights.size() < 3)
    call.wrong(formatted("Weights {} are not those of a convolution.", text_of(weights)));
  const Grid grid = grid_of(call, image, {weights.begin() + 2, weights.end()});
  return {.windows = Windows{.stride = grid.stride,
                             .pad = grid.low,
                             .pad_high = grid.high,
                             .dilation = grid.dilation},
          .groups = static_cast<U>(call.i("group", 1))};
}

Tensor convolve(const Call& call, const Tensor& x, const Tensor& weights, const Tensor& bias) {
  return conv(x, weights, conv_options(call, x.shape(), weights.shape()), bias);
}

namespace {

Values conv_op(Call& c) { return {convolve(c, c.t(0), c.t(1), c.maybe(2))}; }

Values conv_transpose_op(Call& c) {
  const Tensor x = c.t(0);
  const Tensor w = c.t(1);
  const std::size_t rank = x.shape().size() - 2;
  if (x.shape().size() < 3 || w.shape().size() != rank + 2)
    c.wrong(formatted("{} and {} are not those of a convolution.", describe(c.in(0)),
                      describe(c.in(1))));
  const auto stride = counts(c, "strides", rank, 1);
  const auto dilation = counts(c, "dilations", rank, 1);
  const auto added = counts(c, "output_padding", rank, 0);
  const auto pads = counts(c, "pads", 2 * rank, 0);
  auto wanted = counts(c, "output_shape", rank, 0);
  if (c.is("output_shape").size() == rank + 2) wanted = {};
  const std::string automatic = c.s("auto_pad", "NOTSET");
  // The whole result, then what of it is wanted: pads cut it (or, where they are negative, add
  // zeros).
  Tensor y = conv_transpose(
      x, w,
      {.windows = Windows{.stride = stride, .pad = {}, .pad_high = {}, .dilation = dilation},
       .groups = static_cast<U>(c.i("group", 1)),
       .more = {}},
      {});
  Shape low(rank + 2, 0);
  Shape high(rank + 2, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto whole = static_cast<I>(y.shape().at(d + 2));
    I before = static_cast<I>(pads[d]);
    I after = static_cast<I>(pads[d + rank]) - static_cast<I>(added[d]);
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    I extent = 0;
    if (!wanted.empty() && wanted[d] != 0)
      extent = static_cast<I>(wanted[d]);
    else if (same)
      extent = static_cast<I>(x.shape().at(d + 2) * stride[d]);
    if (extent != 0) {
      const I total = whole + static_cast<I>(added[d]) - extent;
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      before = std::max<I>(before, 0);
      after = whole - extent - before;
    }
    const I first = std::max<I>(before, 0);
    const I count = whole - first - std::max<I>(after, 0);
    if (count <= 0)
      c.wrong(formatted("Pads of {} and {} leave nothing of {} elements.", before, after, whole));
    y = y.slice(static_cast<int>(d + 2), first, static_cast<U>(count));
    low[d + 2] = static_cast<U>(std::max<I>(-before, 0));
    high[d + 2] = static_cast<U>(std::max<I>(-after, 0));
  }
  if (std::ranges::any_of(low, [](U n) { return n != 0; }) ||
      std::ranges::any_of(high, [](U n) { return n != 0; }))
    y = pad(y, low, high);
  if (c.has(2)) {
    Shape shape(rank + 2, 1);
    shape[1] = c.in(2).size();
    y = y + c.t(2).reshape(shape);
  }
  return {y};
}

/// Windows added up to an image.
Values col2im(Call& c) {
  const Tensor x = c.t(0);  // [N, C * kernel, windows]
  const Shape image = shape_from(c, c.ints(1));
  const Shape block = shape_from(c, c.ints(2));
  const std::size_t rank = image.size();
  const U size = count_of(block);
  if (x.shape().size() != 3 || size == 0 || x.shape().at(1) % size != 0 || block.size() != rank)
    c.wrong(formatted("{} has no windows of {}.", describe(c.in(0)), text_of(block)));
  Shape whole{x.shape().at(0), x.shape().at(1) / size};
  whole.insert(whole.end(), image.begin(), image.end());
  const Grid grid = grid_of(c, whole, block);
  if (count_of(grid.out) != x.shape().at(2))
    c.wrong(formatted("There are {} windows, not {}.", x.shape().at(2), count_of(grid.out)));
  Shape parts{x.shape().at(0), x.shape().at(1) / size};
  parts.insert(parts.end(), block.begin(), block.end());
  parts.insert(parts.end(), grid.out.begin(), grid.out.end());
  std::vector<int> order{0};
  for (std::size_t d = 0; d < rank; ++d) order.push_back(static_cast<int>(2 + rank + d));
  for (std::size_t d = 0; d <= rank; ++d) order.push_back(static_cast<int>(1 + d));
  return {fold(
      x.reshape(parts).permute(order), image,
      {.stride = grid.stride, .pad = grid.low, .pad_high = grid.high, .dilation = grid.dilation})};
}

}  // namespace

void add_conv(Table& table) {
  table["Conv"] = conv_op;
  table["ConvTranspose"] = conv_transpose_op;
  table["Col2Im"] = col2im;
}

}  // namespace weft::onnx
