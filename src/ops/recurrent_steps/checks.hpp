#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/plan.hpp"
#include "ops/recurrent_steps/layer.hpp"

namespace weft::ops::recurrent_steps {

enum class Need : std::uint8_t { always, optional, none, output };

/// What a tensor has to be.
struct Wanted {
  std::string_view name;
  const View& view;
  DType dtype;
  std::vector<std::uint64_t> shape;
  Need need = Need::always;
};

/// An error for the first tensor that is not what it has to be.
Status check_all(std::string_view what, std::span<const Wanted> all);

/// The extents of a layer with these states, or of none where they have another rank.
Layer layer_of(const View& states, bool reverse);

/// Whether the directions of a layer have to take launches of their own, because their steps lie
/// too far apart for one binding.
bool one_by_one(const Layer& layer, std::span<const View* const> tensors, const Caps& caps);

/// A part of a tensor, if it is given.
void cut(View& view, std::uint32_t dim, std::uint64_t first, std::uint64_t count);

}  // namespace weft::ops::recurrent_steps
