#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "capi/objects.hpp"
#include "ops/plan.hpp"
#include "weft/c/buffer_ops.h"

namespace weft::capi {

/// The arrays of one operation on buffers: checks each against its buffer, numbers the buffers, and
/// runs the plan.
class Arrays {
 public:
  /// The view of an input.
  ops::View input(const weft_array* array, std::string_view argument);
  /// The view of an output, whose elements must not overlap each other.
  ops::View output(const weft_array* array, std::string_view argument);

  /// The view of elements of a buffer: `offset`, shape and strides count elements. Checks
  /// everything.
  ops::View view(weft_buffer buffer, weft_dtype dtype, std::int64_t offset, const Shape& shape,
                 const std::vector<std::int64_t>& strides, std::string_view argument);

  /// What the device of the arrays can do; needs one array at least.
  [[nodiscard]] const Caps& caps() const;

  /// Runs a plan that was made of these views.
  void run(Result<ops::Plan> plan) const;

 private:
  [[nodiscard]] const Device& device() const;

  std::optional<Device> device_;
  std::vector<gpu::Buffer> buffers_;
};

/// Throws where two elements of an output share memory.
void check_apart(const ops::View& view, std::string_view argument);

/// The four parameters of a function; NULL means zeros.
std::array<double, 4> parameters_of(const double* parameters);

}  // namespace weft::capi
