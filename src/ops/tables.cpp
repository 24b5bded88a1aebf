#include "ops/tables.hpp"

#include <utility>

#include "ops/quant/tables.hpp"
#include "ops/random/tables.hpp"

namespace weft::ops {

// Codebooks are numbered by their types.
std::span<const std::uint32_t> table_words(Slot slot) {
  if (slot == normal_table_slot) return random::normal_table;
  if (slot == gumbel_table_slot) return random::gumbel_table;
  const bool known =
      slot.kind() == Slot::Kind::table && slot.number() <= std::to_underlying(DType::nvfp4);
  return known ? quant::codebook_of(static_cast<DType>(slot.number()))
               : std::span<const std::uint32_t>{};
}

void add_codebook(Launch& launch, DType type) {
  const auto words = quant::codebook_of(type);
  if (words.empty()) return;
  launch.operands.push_back(
      {.name = "codebook",
       .view = View::dense(DType::u32, {words.size()}, Slot::table(std::to_underlying(type)))});
}

}  // namespace weft::ops
