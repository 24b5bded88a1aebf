#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::nn {

/// Inputs and labels of some sequences, one after the other; the label of a position is the token
/// that follows it.
struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
};

/// Tokens cut into windows of `context`, in an order that is shuffled anew in every pass over the
/// data. What window number i holds depends only on the seed and i, so that a training can go on
/// anywhere.
class Windows {
 public:
  /// The tokens must outlive the object. Throws weft::Error where they do not fill a single window.
  Windows(std::span<const std::uint32_t> tokens, std::uint64_t context, std::uint64_t seed);

  /// Windows in one pass over the data.
  [[nodiscard]] std::uint64_t per_epoch() const { return per_epoch_; }
  /// Appends window number `index` (of any pass) to a batch.
  void append(std::uint64_t index, Batch& batch);
  /// Windows first … first + count - 1.
  Batch batch(std::uint64_t first, std::uint64_t count);
  /// Windows in the order of the text, as validation wants them: number i of at most per_epoch().
  void append_in_order(std::uint64_t index, Batch& batch) const;

 private:
  void copy(std::uint64_t start, Batch& batch) const;
  void shuffle(std::uint64_t epoch);

  std::span<const std::uint32_t> tokens_;
  std::uint64_t context_;
  std::uint64_t seed_;
  std::uint64_t per_epoch_ = 0;
  std::uint64_t epoch_ = ~std::uint64_t{0};  ///< The pass that order_ and shift_ belong to.
  std::uint64_t shift_ = 0;
  std::vector<std::uint64_t> order_;
};

}  // namespace weft::nn
