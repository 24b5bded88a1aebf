#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

/// Tensors in the type that holds the values of all (promote), for those that become parts of one.
std::vector<Tensor> alike(const std::vector<Tensor>& tensors, const Where& where);

/// The function that stands for another one with an input of this type: whole numbers are rounded
/// already, and the bits of booleans are what they are. Numbers that take the place of infinities
/// are brought into the range of the type.
std::string_view adapted(std::string_view function, const std::vector<Tensor>& inputs,
                         std::array<double, 4>& scalars);

/// `inputs` as an elementwise function takes them: integers become f32 where it is defined for
/// floats alone, or where 64 bits meet a float, and a condition of floats becomes booleans beside
/// integers.
std::vector<Tensor> fitted(std::string_view function, const std::vector<Tensor>& inputs,
                           Where where);

/// A tensor as it meets a number: booleans become i32, and integers f32 where the number has a
/// fraction.
Tensor beside(In x, double number);

/// What `f`, which only moves elements of f32, f16, bf16 and i32, makes of elements of any plain
/// type. Others travel as i32, and those of 64 bits in two halves.
Tensor moved(In x, const std::function<Tensor(const Tensor&)>& f);

/// The low and the high words of 64-bit integers, both as i32.
Tensor low_words(In x);
Tensor high_words(In x);

/// The reduction of that name of 64-bit integers, from elementwise functions.
Tensor reduce_wide(std::string_view function, In x, const std::vector<std::uint32_t>& dims,
                   bool keep_dims);

}  // namespace weft
