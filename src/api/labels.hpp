#pragma once

#include <cstdint>
#include <string_view>

#include "weft/tensor.hpp"

namespace weft {

/// Indices (or labels) of any type of whole numbers as i32 or i64, which kernels take; what is none
/// stays as it is, for an error.
Tensor as_indices(const Tensor& indices, const Where& where);

/// On a device in safe mode, a label that is known already and not below `classes` is an error. In
/// fast mode nothing waits for the device: such a row counts for nothing.
void check_labels(std::string_view function, const Tensor& labels, std::uint64_t classes,
                  const Where& where);

/// Where a label is at least 0, below `classes` and not the ignored one.
Tensor counted_labels(const Tensor& labels, std::uint64_t classes, std::int32_t ignored,
                      const Where& where);

/// The same as f32: 1 and 0.
Tensor counted_numbers(const Tensor& counted, const Where& where);

}  // namespace weft
