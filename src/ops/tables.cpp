#include "ops/tables.hpp"

#include <utility>

#include "ops/quant/tables.hpp"

namespace weft::ops {

// The only tables so far are the codebooks, numbered by their types.
std::span<const std::uint32_t> table_words(int slot) {
  const int number = first_table_slot - slot;
  if (number < 0 || number > std::to_underlying(DType::nvfp4)) return {};
  return quant::codebook_of(static_cast<DType>(number));
}

void add_codebook(Launch& launch, DType type) {
  const auto words = quant::codebook_of(type);
  if (words.empty()) return;
  launch.operands.push_back({.name = "codebook",
                             .view = View::dense(DType::u32, {words.size()},
                                                 first_table_slot - std::to_underlying(type))});
}

}  // namespace weft::ops
