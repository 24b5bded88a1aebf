#include "ops/unfold/windows.hpp"

#include <algorithm>

#include "base/math.hpp"

namespace weft::ops::unfold {
namespace {

/// Numbers up to this size cannot overflow the 32-bit arithmetic of the kernels when they are
/// added.
constexpr std::uint64_t most = 1ULL << 28;

Status check_axis(std::string_view op, const Axis& axis) {
  const bool small = axis.stride <= most && axis.dilation <= most &&
                     static_cast<std::uint64_t>(axis.pad < 0 ? -axis.pad : axis.pad) <= most;
  if (axis.stride > 0 && axis.dilation > 0 && small) return {};
  return fail(ErrorCode::invalid_argument,
              "{} takes strides and dilations from 1 to {}; they are {} and {}, with padding {}.",
              op, most, axis.stride, axis.dilation, axis.pad);
}

/// Keeps elements [first, last) of an image dimension, which may be no element at all.
void keep_of_image(Windows& windows, std::uint32_t axis, std::int64_t first, std::int64_t last) {
  const auto extent = static_cast<std::int64_t>(windows.image.shape[2 + axis]);
  // One element at least stays, because an empty tensor has no place to be bound.
  const std::int64_t from = std::clamp<std::int64_t>(first, 0, extent - 1);
  const std::int64_t to = std::clamp<std::int64_t>(last, from + 1, extent);
  windows.image = windows.image.slice(2 + axis, static_cast<std::uint64_t>(from),
                                      static_cast<std::uint64_t>(to - from));
  windows.axes[axis].pad += from;
}

}  // namespace

Result<Windows> normalize(std::string_view op, const View& image, const View& columns,
                          std::span<const Axis> axes) {
  if (const Status ok = validate(image, "image"); !ok) return std::unexpected(ok.error());
  if (const Status ok = validate(columns, "columns"); !ok) return std::unexpected(ok.error());
  const auto spatial = static_cast<std::uint32_t>(axes.size());
  const bool fits = spatial >= 1 && spatial <= 3 && image.rank == spatial + 2 &&
                    columns.rank == 2 * spatial + 2 && image.shape[0] == columns.shape[0] &&
                    image.shape[1] == columns.shape[1 + spatial];
  if (!fits) {
    return fail(ErrorCode::invalid_argument,
                "{} with {} spatial dimensions needs an image [N, C, …] and columns [N, o…, C, "
                "k…]; they are {} and {}.",
                op, spatial, describe(image), describe(columns));
  }
  if (!is_float(image.dtype) || !is_float(columns.dtype)) {
    return fail(ErrorCode::unsupported, "{} takes f32, f16 and bf16; the tensors are {} and {}.",
                op, describe(image), describe(columns));
  }
  Windows out{.image = image, .columns = columns, .axes = {}};
  for (std::uint32_t missing = spatial; missing < 3; ++missing) {
    out.image = out.image.unsqueeze(2);
    out.columns = out.columns.unsqueeze(1);
    out.columns = out.columns.unsqueeze(out.columns.rank - missing);
  }
  for (std::uint32_t i = 0; i < spatial; ++i) {
    if (const Status ok = check_axis(op, axes[i]); !ok) return std::unexpected(ok.error());
    out.axes[3 - spatial + i] = axes[i];
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Axis& axis = out.axes[i];
    const std::uint64_t reach =
        std::max({out.image.shape[2 + i], out.columns.shape[1 + i] * axis.stride,
                  out.columns.shape[5 + i] * axis.dilation});
    if (reach > most) {
      return fail(ErrorCode::unsupported,
                  "{} reaches past {} elements along a dimension; the tensors are {} and {}.", op,
                  most, describe(image), describe(columns));
    }
  }
  return out;
}

Steps steps_of(const View& view) {
  Steps out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow(view.stride[i]);
  return out;
}

void WindowParams::set(std::size_t i, std::uint64_t image, std::uint64_t windows,
                       std::uint64_t extent, const Axis& axis) {
  size[i] = static_cast<std::int32_t>(image);
  out[i] = static_cast<std::int32_t>(windows);
  kernel[i] = static_cast<std::int32_t>(extent);
  stride[i] = static_cast<std::int32_t>(axis.stride);
  pad[i] = static_cast<std::int32_t>(axis.pad);
  dilation[i] = static_cast<std::int32_t>(axis.dilation);
}

bool in_pairs(const View& y) {
  bool even = y.shape[4] % 2 == 0 && y.stride[4] == 1 && y.offset % 4 == 0;
  for (std::uint32_t i = 0; i < 4; ++i) even = even && (y.shape[i] == 1 || y.stride[i] % 2 == 0);
  return even;
}

Windows cut_columns(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                    std::uint64_t count) {
  Windows out = whole;
  out.columns = whole.columns.slice(dim, first, count);
  const auto skipped = static_cast<std::int64_t>(first);
  if (dim == 0) out.image = whole.image.slice(0, first, count);
  if (dim == 4) out.image = whole.image.slice(1, first, count);
  if (dim >= 1 && dim <= 3)
    out.axes[dim - 1].pad -= skipped * static_cast<std::int64_t>(whole.axes[dim - 1].stride);
  if (dim >= 5)
    out.axes[dim - 5].pad -= skipped * static_cast<std::int64_t>(whole.axes[dim - 5].dilation);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Axis& axis = out.axes[i];
    const auto reach = static_cast<std::int64_t>((out.columns.shape[1 + i] - 1) * axis.stride +
                                                 (out.columns.shape[5 + i] - 1) * axis.dilation);
    keep_of_image(out, i, -axis.pad, reach - axis.pad + 1);
  }
  return out;
}

Windows cut_image(const Windows& whole, std::uint32_t dim, std::uint64_t first,
                  std::uint64_t count) {
  Windows out = whole;
  out.image = whole.image.slice(dim, first, count);
  if (dim == 0) out.columns = whole.columns.slice(0, first, count);
  if (dim == 1) out.columns = whole.columns.slice(4, first, count);
  if (dim >= 2) out.axes[dim - 2].pad += static_cast<std::int64_t>(first);
  for (std::uint32_t i = 0; i < 3; ++i) {
    Axis& axis = out.axes[i];
    const auto stride = static_cast<std::int64_t>(axis.stride);
    const auto windows = static_cast<std::int64_t>(out.columns.shape[1 + i]);
    const auto reach = static_cast<std::int64_t>((out.columns.shape[5 + i] - 1) * axis.dilation);
    // Window o covers o * stride - pad to that plus reach.
    const std::int64_t low = axis.pad - reach;
    const std::int64_t from =
        std::clamp<std::int64_t>(low <= 0 ? 0 : (low + stride - 1) / stride, 0, windows - 1);
    const std::int64_t high = axis.pad + static_cast<std::int64_t>(out.image.shape[2 + i]) - 1;
    const std::int64_t to =
        std::clamp<std::int64_t>(high < 0 ? 0 : high / stride + 1, from + 1, windows);
    out.columns = out.columns.slice(1 + i, static_cast<std::uint64_t>(from),
                                    static_cast<std::uint64_t>(to - from));
    axis.pad -= from * stride;
  }
  return out;
}

}  // namespace weft::ops::unfold
