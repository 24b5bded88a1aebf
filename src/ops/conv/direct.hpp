#pragma once

#include <array>
#include <string_view>

#include "ops/conv/conv.hpp"

namespace weft::ops::conv {

/// The three tensors of a convolution, whichever of them is computed: `image` [N, C, spatial…] has
/// the windows, `out` [N, OC, o…] one element for each, and `w` is [OC, C / groups, k…].
struct Problem {
  View image;
  View out;
  View w;
  View bias{};  ///< Of the tensor that is computed.
  std::vector<Axis> axes;
  std::uint64_t groups = 1;
  bool allow_f16 = false;

  [[nodiscard]] std::uint32_t spatial() const { return static_cast<std::uint32_t>(axes.size()); }
  /// The parts of the tensors that images [first, first + count) need.
  [[nodiscard]] Problem images(std::uint64_t first, std::uint64_t count) const;
  /// The parts of the tensors that groups [first, first + count) need; `bias_of_out` says whose
  /// channels the bias has.
  [[nodiscard]] Problem part(std::uint64_t first, std::uint64_t count, bool bias_of_out) const;
};

/// Which tensor is computed.
enum class Mode : std::uint8_t { forward, transposed, weight };

/// Computes each element by itself. Fails where a tensor does not fit one binding.
Result<Plan> plan_direct(const Problem& problem, Mode mode, const Caps& caps);

/// As matrix products with unfolded or folded windows, in parts that keep scratch small.
Result<Plan> plan_gemm(const Problem& problem, Mode mode, const Caps& caps);

}  // namespace weft::ops::conv
