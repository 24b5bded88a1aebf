#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "ops/plan.hpp"
#include "ops/view.hpp"

namespace weft::ops {

/// Puts plans together that hand tensors to one another through scratch.
class Stages {
 public:
  /// `given` are the views that the caller of the op passed in: scratch gets slots that none of
  /// them has.
  explicit Stages(std::initializer_list<View> given);

  /// Dense scratch; views of it are given to the plans of stages like any other.
  View scratch(DType dtype, std::span<const std::uint64_t> shape);
  View scratch(DType dtype, std::initializer_list<std::uint64_t> shape) {
    return scratch(dtype, std::span(shape.begin(), shape.size()));
  }

  /// Adds launches behind those before. The first error is kept, and comes back from finish().
  void add(Result<Plan> plan);
  void add(Result<Dispatch> dispatch);

  /// Everything that was added, as one plan.
  [[nodiscard]] Result<Plan> finish() &&;

 private:
  std::size_t first_ = 0;  // the number of the slot of scratch_[0]
  std::vector<std::uint64_t> scratch_;
  Plan plan_;
  std::optional<Failure> error_;
};

}  // namespace weft::ops
