#pragma once

#include <cstdint>
#include <vector>

namespace weft::ops::unfold {

/// The shapes of convolutions in cases: of weights [OC, C / groups, k…], and of the result [N, OC,
/// o…] for an image [N, C, spatial…]. `Setup` has image, channels (of the result), kernel, axes and
/// groups.
template <class Setup>
std::vector<std::uint64_t> weights_of(const Setup& setup) {
  std::vector<std::uint64_t> shape{setup.channels, setup.image[1] / setup.groups};
  shape.insert(shape.end(), setup.kernel.begin(), setup.kernel.end());
  return shape;
}

template <class Setup>
std::vector<std::uint64_t> windows_of(const Setup& setup) {
  std::vector<std::uint64_t> shape{setup.image[0], setup.channels};
  for (std::size_t i = 0; i < setup.axes.size(); ++i) {
    const auto& axis = setup.axes[i];
    const auto room = static_cast<std::int64_t>(setup.image[2 + i]) + 2 * axis.pad -
                      static_cast<std::int64_t>(axis.dilation * (setup.kernel[i] - 1)) - 1;
    shape.push_back(room < 0 ? 0 : static_cast<std::uint64_t>(room) / axis.stride + 1);
  }
  return shape;
}

}  // namespace weft::ops::unfold
