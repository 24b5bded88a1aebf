#include "ops/matrices.hpp"

namespace weft::ops {

std::optional<Matrices> find_matrices(const Caps& caps, MatrixType component, MatrixType result,
                                      const MatrixTest& fits) {
  if (!caps.subgroup_matrix || !caps.subgroups) return std::nullopt;
  const bool halves = component == MatrixType::f16 || result == MatrixType::f16;
  if (halves && !caps.f16) return std::nullopt;
  std::optional<Matrices> best;
  const auto size = [](const Matrices& m) { return m.shape.m * m.shape.n * m.shape.k; };
  for (const MatrixConfig& config : caps.matrix_configs) {
    if (config.component != component || config.result != result) continue;
    const Matrices found{config, subgroup_of(caps, config)};
    if (found.subgroup == 0 || (fits && !fits(found))) continue;
    if (!best || size(found) > size(*best)) best = found;
  }
  return best;
}

std::optional<Matrices> float_matrices(const Caps& caps, const MatrixTest& fits) {
  const auto halves = find_matrices(caps, MatrixType::f16, MatrixType::f32, fits);
  return halves ? halves : find_matrices(caps, MatrixType::f32, MatrixType::f32, fits);
}

std::optional<Matrices> byte_matrices(const Caps& caps, const MatrixTest& fits) {
  const auto with_sign = find_matrices(caps, MatrixType::i8, MatrixType::i32, fits);
  return with_sign ? with_sign : find_matrices(caps, MatrixType::u8, MatrixType::u32, fits);
}

Features features_of(const Matrices& matrices, const Caps& caps) {
  return {.f16 = matrices.shape.component == MatrixType::f16 ||
                 matrices.shape.result == MatrixType::f16,
          .subgroups = true,
          .subgroup_matrix = true,
          .subgroup_size = caps.subgroup_min == caps.subgroup_max ? 0 : matrices.subgroup};
}

}  // namespace weft::ops
