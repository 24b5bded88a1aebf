#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

// Transforms along several axes, of signals in pieces, and cosine transforms, computed in f32.
// Complex numbers are […, 2]; axes count the dimensions of those. `norm` is "backward" (the inverse
// divides by n), "ortho" (both by sqrt(n)) or "forward" (the transform divides by n).

/// The transform along some axes, or along all when none are named, and its inverse.
Tensor fftn(In x, const Dims& axes = {}, std::string_view norm = "backward");
Tensor ifftn(In x, const Dims& axes = {}, std::string_view norm = "backward");
/// The same along two axes, the last two when none are named.
Tensor fft2(In x, const Dims& axes = {}, std::string_view norm = "backward");
Tensor ifft2(In x, const Dims& axes = {}, std::string_view norm = "backward");
/// The transform of real numbers along some axes, with half of the elements of the last one; and
/// its inverse, which has n elements along the last axis.
Tensor rfftn(In x, const Dims& axes = {}, std::string_view norm = "backward");
Tensor irfftn(In x, std::uint64_t n, const Dims& axes = {}, std::string_view norm = "backward");
Tensor rfft2(In x, const Dims& axes = {}, std::string_view norm = "backward");
Tensor irfft2(In x, std::uint64_t n, const Dims& axes = {}, std::string_view norm = "backward");

/// Choices for stft() and istft().
struct StftOptions {
  std::uint64_t hop = 0;  ///< Samples from one frame to the next; 0: a quarter of a frame.
  Tensor window;          ///< Floats [n]; left out: ones.
  bool center =
      true;  ///< The signal is mirrored at its ends by half a frame, so that frames are centered.
  std::string_view norm = "backward";
};
/// The transforms [..., n / 2 + 1, frames, 2] of overlapping frames of n samples of a signal […,
/// samples].
Tensor stft(In x, std::uint64_t n, const StftOptions& options = {});
/// The signal […, samples] of which x is the stft(), with n samples to a frame, as far as the
/// windows cover it.
Tensor istft(In x, std::uint64_t n, std::uint64_t samples, const StftOptions& options = {});

/// The cosine transform of real numbers along an axis, of type 1, 2, 3 or 4, and its inverse; for
/// type 2 y[k] = 2 Σ x[i] cos(π k (2 i + 1) / 2n). "ortho" makes the matrix orthogonal.
Tensor dct(In x, int axis = -1, std::string_view norm = "backward", std::uint64_t type = 2);
Tensor idct(In x, int axis = -1, std::string_view norm = "backward", std::uint64_t type = 2);

/// The convolution Σ a[…, n - k] · b[k] of a […, n…] with b [k…] along the last 1 to 3 axes, as
/// many as b has: "full" (n + k - 1 elements), "same" (the n in the middle of these) or "valid"
/// (those where all of b meets elements of a). `method` is "direct" (conv()), "fft" (products of
/// transforms, in f32), or "auto": the one that is expected to be faster, transforms for some
/// hundred elements of b.
Tensor convolve(In a, const Tensor& b, std::string_view mode = "full",
                std::string_view method = "auto");

}  // namespace weft
