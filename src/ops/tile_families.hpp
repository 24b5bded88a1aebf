#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/format.hpp"
#include "device/traits.hpp"
#include "ops/fields.hpp"

namespace weft::ops {

/// Kernels with a list of tiles that a device may be tuned to.
struct TileFamily {
  std::string_view name;                    ///< "products on matrix units"
  std::string_view op;                      ///< Whose cases reach them.
  std::uint32_t Traits::* trait = nullptr;  ///< The number in the list; 0: their own choice.
  std::uint32_t count = 0;                  ///< Numbers go from 1 up to this.
  std::vector<std::string> tiles{};         ///< Each as text, in order.
};

// The lists of the ops.
namespace gemm {
std::vector<std::string> gemm_tiles();
std::vector<std::string> matrix_tiles();
std::vector<std::string> vector_tiles();
}  // namespace gemm
namespace mul_mat {
std::vector<std::string> quantized_tiles();
std::vector<std::string> few_tiles();
}  // namespace mul_mat
namespace attention {
std::vector<std::string> attention_tiles();
}
namespace reduce {
std::vector<std::string> reduce_tiles();
}
namespace conv {
std::vector<std::string> conv_tiles();
}

/// All of them, in the order in which tuning tries them.
std::vector<TileFamily> tile_families();

/// Equal as long as all numbers mean the same tiles. device/tile_lists.hpp has it for the files of
/// `weft tune`, and a test that it is right.
std::uint64_t tile_lists_hash();

/// The tiles of a list as text: "BM=64 BN=64 …", or a number.
template <class List>
std::vector<std::string> texts_of_tiles(const List& list) {
  std::vector<std::string> texts;
  for (const auto& tile : list) {
    std::string& text = texts.emplace_back();
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(tile)>>) {
      text = formatted("{}", tile);
    } else {
      for (const auto& [name, value] : constants_of(tile)) {
        text += std::visit([&](const auto& v) { return formatted(" {}={}", name, v); }, value);
      }
    }
  }
  return texts;
}

}  // namespace weft::ops
