#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/device.hpp"
#include "weft/ops.hpp"

namespace weft {

// New tensors.

[[nodiscard]] Tensor zeros(const Device& device, const Shape& shape, DType dtype = DType::f32,
                           Where where = Where::current());
[[nodiscard]] Tensor ones(const Device& device, const Shape& shape, DType dtype = DType::f32,
                          Where where = Where::current());
[[nodiscard]] Tensor full(const Device& device, const Shape& shape, double value,
                          DType dtype = DType::f32, Where where = Where::current());

/// The same for the shape, the type (where no other is given) and the device of another tensor.
Tensor zeros_like(In x, std::optional<DType> dtype = {});
Tensor ones_like(In x, std::optional<DType> dtype = {});
Tensor full_like(In x, double value, std::optional<DType> dtype = {});
/// Elements that are not set.
Tensor empty_like(In x, std::optional<DType> dtype = {});

/// start, start + step, … as long as it is before `stop`. Integer types need whole numbers.
[[nodiscard]] Tensor arange(const Device& device, double start, double stop, double step = 1,
                            DType dtype = DType::f32, Where where = Where::current());
/// 0, 1, … stop - 1.
[[nodiscard]] Tensor arange(const Device& device, double stop, DType dtype = DType::f32,
                            Where where = Where::current());

/// `count` numbers at equal distances from start to stop, both included; without `endpoint`, stop
/// would be the next one.
[[nodiscard]] Tensor linspace(const Device& device, double start, double stop, std::uint64_t count,
                              bool endpoint = true, DType dtype = DType::f32,
                              Where where = Where::current());

/// A matrix with 1 on a diagonal (0 the main one, 1 the one above it) and 0 elsewhere; square
/// without a number of columns.
[[nodiscard]] Tensor eye(const Device& device, std::uint64_t rows,
                         std::optional<std::uint64_t> columns = {}, std::int64_t diagonal = 0,
                         DType dtype = DType::f32, Where where = Where::current());
/// A matrix with 1 on and below a diagonal.
[[nodiscard]] Tensor tri(const Device& device, std::uint64_t rows,
                         std::optional<std::uint64_t> columns = {}, std::int64_t diagonal = 0,
                         DType dtype = DType::f32, Where where = Where::current());

/// Each of some vectors along a dimension of its own and repeated along those of the others. By
/// "xy" the first two dimensions change places, as in pictures; by "ij" they follow the order of
/// the vectors.
[[nodiscard]] std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                                           std::string_view indexing = "xy",
                                           Where where = Where::current());

}  // namespace weft
