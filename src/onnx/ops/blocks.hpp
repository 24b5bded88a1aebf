#pragma once

#include <cstdint>
#include <vector>

#include "onnx/call.hpp"

namespace weft::onnx {

/// A matrix of whole numbers without a sign, rows of blocks that have a scale and perhaps a zero
/// point each, as com.microsoft has it: numbers of 4 bits lie two in each byte, the lower one
/// first.
struct Blocks {
  Value numbers;  ///< u8: the rows' bytes one after the other.
  Value scales;   ///< One for each block.
  Value zeros;    ///< u8, packed row by row like the numbers, or floats; may be left out.
  std::int64_t bits = 4;
  std::uint64_t rows = 0;
  std::uint64_t blocks = 0;  ///< Of each row.
  std::uint64_t block = 0;   ///< Numbers in each.

  /// The zero point of blocks without one.
  [[nodiscard]] double middle() const { return bits == 4 ? 8 : 128; }
};

/// The whole numbers of packed bytes, f32 [rows, columns].
Tensor unpacked(const Tensor& bytes, std::int64_t bits, std::uint64_t rows, std::uint64_t columns);
/// The numbers that blocks stand for, f32 [rows, blocks * block].
Tensor expanded(const Device& device, const Blocks& from);

/// Weights that add up to those of blocks, the second after a multiplication by `second`: a type of
/// GGUF files that has the same whole numbers takes as little memory, and the engine multiplies it
/// without expanding it. Its scales are f16, so that scales of f32 take two of them.
struct Repacked {
  static constexpr double second = 1.0 / 4096;
  std::vector<Tensor> weights;
};
/// Made once for each model; no weights where no such type holds exactly these numbers (or, for
/// scales of f32, all but their last bits), or they are not known yet. `shape` is that of the
/// weights, rows * blocks * block elements.
Repacked repacked(Context& context, const Blocks& from, const Shape& shape);

}  // namespace weft::onnx
