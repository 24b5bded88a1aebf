#pragma once

#include <cstdint>

#include "ops/plan.hpp"

namespace weft::ops::integer_gemm {

/// Whether a type is one that is multiplied.
constexpr bool is_byte(DType type) { return type == DType::i8 || type == DType::u8; }

/// Whether four neighbours along a dimension are a whole word, wherever one begins.
bool in_words(const View& view, std::uint32_t along);

/// Sums as they are (i32) need no factors; floats and whole numbers of 8 bits need f32 [3,
/// channels].
Status check_result(DType result, const View& factors, std::uint64_t channels);

/// The least and the largest whole number of a result of 8 bits; 0 and 0 for others.
struct Range {
  std::int32_t low = 0;
  std::int32_t high = 0;
};
Range range_of(DType result);

/// The operand of a result that is stored four elements at a time where `vec` says so.
Operand result_operand(const View& y, bool vec);

}  // namespace weft::ops::integer_gemm
