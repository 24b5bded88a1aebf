#include "ops/conv/conv.hpp"

#include <array>

#include "capi/arrays.hpp"

namespace weft::capi {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 31;

/// A number of the options that must be positive; 0 means 1.
std::int64_t positive(std::int64_t value, std::string_view label) {
  if (value < 0 || value > most) {
    raise(ErrorCode::invalid_argument, "The {} is {}; it lies between 1 and {}.", label, value,
          most);
  }
  return value == 0 ? 1 : value;
}

/// How windows lie along one dimension, after a check that the output has as many as there are.
ops::conv::Axis axis_of(const ops::conv::Args& args, const weft_conv2d_options& options,
                        std::uint32_t number) {
  const std::int64_t stride = positive(options.stride[number], "stride");
  const std::int64_t dilation = positive(options.dilation[number], "dilation");
  const std::int64_t pad = options.padding[number];
  if (pad < 0 || pad > most) {
    raise(ErrorCode::invalid_argument, "The padding is {}; it lies between 0 and {}.", pad, most);
  }
  const auto image = static_cast<std::int64_t>(args.x.shape[2 + number]);
  const auto window = static_cast<std::int64_t>(args.w.shape[2 + number]);
  if (image > most || window < 1 || window > most) {
    raise(ErrorCode::invalid_argument,
          "Dimension {} has {} elements and windows of {}; both lie between 1 and {}.", 2 + number,
          image, window, most);
  }
  if (window > 1 && dilation > most / (window - 1)) {
    raise(ErrorCode::invalid_argument, "A window of {} elements with dilation {} is too wide.",
          window, dilation);
  }
  const std::int64_t room = image + 2 * pad - dilation * (window - 1) - 1;
  const std::int64_t count = room < 0 ? 0 : room / stride + 1;
  if (!std::cmp_equal(args.y.shape[2 + number], count)) {
    raise(ErrorCode::invalid_argument,
          "Dimension {} of `y` has {} elements, but there are {} windows: {} elements with padding "
          "{} on both sides, windows of {} with dilation {}, stride {}.",
          2 + number, args.y.shape[2 + number], count, image, pad, window, dilation, stride);
  }
  return {.stride = static_cast<std::uint64_t>(stride),
          .pad = pad,
          .dilation = static_cast<std::uint64_t>(dilation)};
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_conv2d(const weft_array* x, const weft_array* w, const weft_array* bias,
                        const weft_conv2d_options* options, const weft_array* y) {
  return call(__func__, [&] {
    Arrays arrays;
    ops::conv::Args args;
    args.x = arrays.input(x, "x");
    args.w = arrays.input(w, "w");
    if (bias != nullptr) args.bias = arrays.input(bias, "bias");
    args.y = arrays.output(y, "y");
    if (args.x.rank != 4 || args.w.rank != 4 || args.y.rank != 4) {
      raise(ErrorCode::invalid_argument,
            "A convolution takes x [N,C,H,W], w [OC,C/groups,KH,KW] and y [N,OC,OH,OW]; given were "
            "{}, {} and {}.",
            ops::describe(args.x), ops::describe(args.w), ops::describe(args.y));
    }
    const weft_conv2d_options given = options != nullptr ? *options : weft_conv2d_options{};
    for (std::uint32_t i = 0; i < 2; ++i) args.axes.push_back(axis_of(args, given, i));
    args.groups = static_cast<std::uint64_t>(positive(given.groups, "number of groups"));
    arrays.run(ops::conv::plan(args, arrays.caps()));
  });
}
