#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

/// Throws weft::Error with the text and, in brackets, which function was called and where.
[[noreturn]] void refuse(std::string_view function, const Where& where, const std::string& text);

/// The number of an axis from the front, of a tensor or a result with so many dimensions; negative
/// ones count from the end.
std::uint32_t axis_in(std::string_view function, int axis, const Shape& shape, const Where& where);
/// The same for several, of which none may come twice.
std::vector<std::uint32_t> axes_in(std::string_view function, const std::vector<int>& axes,
                                   const Shape& shape, const Where& where);

/// Extents as a shape of `count` elements: one that is -1 follows from the others. Nothing where
/// that cannot be; extents without -1 are not compared with the count.
std::optional<Shape> resolved(const Extents& extents, std::uint64_t count);

/// `x` with its dimensions in another order.
Tensor reorder(const Tensor& x, const std::vector<std::uint32_t>& order, const Where& where);
/// The order that moves one dimension to another place.
std::vector<std::uint32_t> move_order(std::size_t rank, std::uint32_t from, std::uint32_t to);

/// "[2,-1]".
std::string list(const std::vector<std::int64_t>& values);

/// "f32[2,3]".
std::string describe(const Tensor& x);

/// Throws where a tensor that `function` was given as `what` is empty.
void need(std::string_view function, std::string_view what, const Tensor& x, const Where& where);

}  // namespace weft
