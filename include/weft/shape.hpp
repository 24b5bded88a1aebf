#pragma once

#include <cstdint>
#include <vector>

#include "weft/ops.hpp"

namespace weft {

// Other shapes and other orders of elements. Axes count from the front, negative ones from the end
// (-1 is the last). What is called a view copies nothing by itself.

/// Without the dimensions of extent 1, or without those that are named. A view.
Tensor squeeze(In x);
Tensor squeeze(In x, const Dims& axes);
/// With a dimension of extent 1 that is then number `axis`. A view.
Tensor unsqueeze(In x, int axis);
Tensor expand_dims(In x, int axis);

/// The dimensions from `first` to `last` as one. A view where strides allow it.
Tensor flatten(In x, int first = 0, int last = -1);
/// One dimension as several; one of the extents may be -1 and follows from the others. A view.
Tensor unflatten(In x, int axis, const Extents& extents);

/// One dimension, or several, at other places; the others keep their order. A view.
Tensor movedim(In x, int from, int to);
Tensor movedim(In x, const Dims& from, const Dims& to);
/// Two dimensions exchanged. A view.
Tensor swapaxes(In x, int a, int b);
/// Extents of 1 repeated to those of `shape`, which may have more dimensions in front; -1 stands
/// for the extent as it is. A view.
Tensor expand(In x, const Extents& extents);

/// Tensors of one shape along a new dimension, in the type that holds the values of all.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0, Where where = Where::current());

/// Equal parts of a dimension. Views.
std::vector<Tensor> split(In x, std::uint64_t parts, int axis = 0);
/// The parts between some places of a dimension, which must not decrease: [0, places[0]),
/// [places[0], places[1]), … Views.
std::vector<Tensor> split(In x, const std::vector<std::uint64_t>& places, int axis = 0);
/// At most so many parts; all but the last have the same extent, and the last has no more. Views.
std::vector<Tensor> chunk(In x, std::uint64_t parts, int axis = 0);

/// Each element so often in a row.
Tensor repeat_interleave(In x, std::uint64_t times, int axis);
/// Each element along the axis as often as its number says.
Tensor repeat_interleave(In x, const std::vector<std::uint64_t>& times, int axis);

/// In reverse order along some axes, or along all of them when none are named.
Tensor flip(In x, const Dims& axes = {});

/// Elements along an axis by integer indices, whose dimensions take the place of the axis;
/// negative indices count from the end. An index outside of x gives zeros (an error on a device in
/// safe mode).
Tensor take(In x, const Tensor& indices, int axis);
/// The same from all elements of x in a row.
Tensor take(In x, const Tensor& indices);
/// y[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on. Extents of 1 of x and of the
/// indices repeat, except along the axis; negative indices count from the end.
Tensor take_along(In x, const Tensor& indices, int axis);

/// `value` where the mask, which broadcasts to x, is not 0, else x. What is masked has no influence
/// on gradients, not even as NaN.
Tensor masked_fill(In x, const Tensor& mask, double value);

/// The elements on a diagonal of the matrices that two axes span, as the last dimension: 0 is the
/// main diagonal, 1 the one above it. A view where strides allow it.
Tensor diagonal(In x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
/// The sum of a diagonal.
Tensor trace(In x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);

}  // namespace weft
