#include "ops/integer_gemm/result.hpp"

namespace weft::ops::integer_gemm {

bool in_words(const View& view, std::uint32_t along) {
  if (view.stride[along] != 1 || view.offset % 4 != 0) return false;
  for (std::uint32_t i = 0; i < view.rank; ++i) {
    if (i != along && view.shape[i] > 1 && view.stride[i] % 4 != 0) return false;
  }
  return true;
}

Status check_result(DType result, const View& factors, std::uint64_t channels) {
  const bool finishes = is_float(result) || is_byte(result);
  const bool fits = finishes
                        ? factors.given() && factors.dtype == DType::f32 && factors.rank == 2 &&
                              factors.shape[0] == 3 && factors.shape[1] == channels
                        : result == DType::i32 && !factors.given();
  if (fits) return {};
  return fail(ErrorCode::invalid_argument,
              "Sums of products of whole numbers are i32, or with factors f32 [3,{}] a float type, "
              "i8 or u8; {} with factors {} was asked for.",
              channels, name(result), factors.given() ? describe(factors) : "that were left out");
}

Range range_of(DType result) {
  if (result == DType::i8) return {-128, 127};
  if (result == DType::u8) return {0, 255};
  return {};
}

Operand result_operand(const View& y, bool vec) {
  if (vec) return {.name = "y", .view = y, .access = Access::write, .unit = size_of(y.dtype)};
  // Neighbours that share a word may belong to another invocation.
  return {.name = "y", .view = y, .access = size_of(y.dtype) < 4 ? Access::atomic : Access::write};
}

}  // namespace weft::ops::integer_gemm
