#pragma once

#include <cstddef>

namespace weft::wgsl {

/// Bounds that turn a runaway template into an error instead of a hang. Real kernels stay far
/// below.
struct Limits {
  static constexpr std::size_t output_bytes = std::size_t{8} << 20;  ///< Generated text.
  static constexpr std::size_t string_bytes = std::size_t{1} << 20;  ///< One string value.
  static constexpr std::size_t work_bytes = std::size_t{64} << 20;  ///< Text and strings looked at.
  static constexpr std::size_t include_depth = 32;                  ///< Files inside files.
  static constexpr std::size_t block_depth = 64;                    ///< #if and #for in one file.
  static constexpr std::size_t expression_depth = 128;              ///< Parentheses and the like.
};

/// Counts what an expansion has processed, because a loop can be endless without writing anything.
class Budget {
 public:
  /// Adds `bytes` of work; false once the limit is passed.
  bool charge(std::size_t bytes) {
    work_ += bytes;
    return work_ <= Limits::work_bytes;
  }

 private:
  std::size_t work_ = 0;
};

}  // namespace weft::wgsl
