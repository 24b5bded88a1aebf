#pragma once

#include <cstdint>
#include <span>

#include "ops/cross_entropy/cross_entropy.hpp"
#include "ops/stages.hpp"

namespace weft::ops::cross_entropy {

/// f32 words of the state of a row, see states.wgsl.
inline constexpr std::uint64_t state_words = 4;

/// The extents of the logits without the classes.
std::span<const std::uint64_t> row_shape(const Problem& problem);

/// The number of rows.
std::uint64_t rows_of(const Problem& problem);

/// Adds the launches of both directions to stages. Every tensor with one element per row is dense.
class Launches {
 public:
  /// All three must outlive this.
  Launches(const Problem& problem, const Caps& caps, Stages& stages);

  /// A dense copy of a tensor, of that type.
  View copied(const View& from, DType dtype);
  void copy(const View& from, const View& to);

  /// Reduces every row to `state`, [rows, state_words].
  void states(const View& state);
  /// Turns states into losses, log-sum-exps and the share of a row in the result, as far as these
  /// are given.
  void finish(const View& state, const View& loss, const View& lse, const View& share);
  /// The share of a row in a mean over the rows that count.
  void count_rows(const View& share);
  /// The gradient of dense logits x, with dense probabilities t where there are some.
  void back(const View& x, const View& t, const View& lse, const View& dloss, const View& share,
            const View& dx);

 private:
  View matrix(const View& view);
  void launch_states(const View& x, const View& t, const View& state, std::uint64_t row,
                     std::uint64_t column);
  void launch_back(const View& x, const View& t, const View& dx, const View& lse, const View& dloss,
                   const View& share, std::uint64_t first);
  [[nodiscard]] bool mean() const { return problem_.reduction == Reduction::mean; }

  const Problem& problem_;
  const Caps& caps_;
  Stages& stages_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  View classes_;
};

}  // namespace weft::ops::cross_entropy
