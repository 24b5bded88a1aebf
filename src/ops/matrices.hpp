#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "device/matrix_types.hpp"
#include "ops/plan.hpp"

namespace weft::ops {

/// Subgroup matrices that a kernel multiplies with, and the subgroups that they need.
struct Matrices {
  MatrixConfig shape;
  std::uint32_t subgroup = 0;

  /// Elements of a float operand in 16 bytes of workgroup memory.
  [[nodiscard]] std::uint32_t per_load() const {
    return shape.component == MatrixType::f32 ? 4 : 8;
  }
  /// What WGSL calls the type of the operands.
  [[nodiscard]] std::string_view component() const { return name(shape.component); }
  bool operator==(const Matrices&) const = default;
};

/// Which of a device's matrices of one kind a kernel can use, the largest of them; none where
/// subgroups of the right size are not sure to come.
using MatrixTest = std::function<bool(const Matrices&)>;
std::optional<Matrices> find_matrices(const Caps& caps, MatrixType component, MatrixType result,
                                      const MatrixTest& fits = {});

/// Matrices that multiply floats into f32: f16 operands before f32 ones, which need twice the
/// memory. Kernels that take f16 operands run on either, since f32 holds what f16 does.
std::optional<Matrices> float_matrices(const Caps& caps, const MatrixTest& fits = {});

/// Matrices that multiply whole numbers of 8 bits into 32: with a sign before those without.
std::optional<Matrices> byte_matrices(const Caps& caps, const MatrixTest& fits = {});

/// What a kernel with these matrices enables. Where subgroups come in several sizes it asks for the
/// right one.
Features features_of(const Matrices& matrices, const Caps& caps);

}  // namespace weft::ops
