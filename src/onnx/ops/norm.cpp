#include <numeric>

#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/places.hpp"
#include "weft/create.hpp"
#include "weft/elementwise.hpp"
#include "weft/math.hpp"
#include "weft/norms.hpp"
#include "weft/ops.hpp"
#include "weft/shape.hpp"

namespace weft::onnx {
namespace {

using U = std::uint64_t;

/// Numbers for each channel, as [1, C, 1, …].
Tensor by_channel(const Tensor& t, std::size_t rank) {
  Shape shape(std::max<std::size_t>(rank, 2), 1);
  shape[1] = t.size();
  return as(t, DType::f32).reshape(shape);
}

Values batch_normalization(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  if (rank < 2) c.wrong(formatted("{} has no channels.", describe(c.in(0))));
  const double eps = c.f("epsilon", 1e-5);
  const bool training = c.i("training_mode", 0) != 0;
  if (c.opset < 9 && c.i("spatial", 1) == 0) c.refuse("Norms that are not spatial are not done.");
  if (c.opset < 7 && c.i("is_test", 0) == 0 && c.outputs() > 1)
    c.refuse("Training of opset 6 and before is not done.");
  const Tensor wide = as(x, DType::f32);
  Tensor average = by_channel(c.t(3), rank);
  Tensor variance = by_channel(c.t(4), rank);
  Values more;
  if (training) {
    std::vector<int> axes{0};
    for (std::size_t d = 2; d < rank; ++d) axes.push_back(static_cast<int>(d));
    const double momentum = c.f("momentum", 0.9);
    const Tensor now = mean(wide, axes, true);
    const Tensor spread = var(wide, axes, {.correction = 0, .keep_dims = true});
    more.emplace_back(
        as((average * momentum + now * (1 - momentum)).reshape(c.shape(3)), c.t(3).dtype()));
    more.emplace_back(
        as((variance * momentum + spread * (1 - momentum)).reshape(c.shape(4)), c.t(4).dtype()));
    average = now;
    variance = spread;
  }
  const Tensor factor = by_channel(c.t(1), rank) * rsqrt(variance + eps);
  const Tensor y = (wide - average) * factor + by_channel(c.t(2), rank);
  Values out{as(y, x.dtype())};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Values instance_normalization(Call& c) {
  return {instance_norm(c.t(0), c.t(1), c.t(2), static_cast<float>(c.f("epsilon", 1e-5)))};
}

/// Over all dimensions from an axis on.
Values layer_normalization(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  const std::size_t axis = axis_of(c, c.i("axis", -1), rank);
  U columns = 1;
  for (std::size_t d = axis; d < rank; ++d) columns *= x.shape().at(d);
  const U rows = columns == 0 ? 0 : x.size() / columns;
  const auto eps = static_cast<float>(c.f("epsilon", 1e-5));
  if (columns == 0 || rows == 0) return {x};
  const Shape inner(x.shape().begin() + static_cast<std::ptrdiff_t>(axis), x.shape().end());
  const auto flat = [&](std::size_t i) { return c.t(i).broadcast_to(inner).reshape({columns}); };
  const Tensor table = x.reshape({rows, columns});
  const bool fits = c.in(1).size() == columns && (!c.has(2) || c.in(2).size() == columns);
  Tensor y;
  if (fits) {
    y = layer_norm(table, flat(1), c.has(2) ? flat(2) : Tensor(), eps).reshape(x.shape());
  } else {
    y = layer_norm(table, {}, {}, eps).reshape(x.shape()) * c.t(1);
    if (c.has(2)) y = y + c.t(2);
  }
  Values out{as(y, x.dtype())};
  if (c.outputs() > 1) {
    Shape kept = x.shape();
    for (std::size_t d = axis; d < rank; ++d) kept[d] = 1;
    const Tensor wide = as(table, DType::f32);
    out.emplace_back(mean(wide, {1}).reshape(kept));
    out.emplace_back(rsqrt(var(wide, {1}) + static_cast<double>(eps)).reshape(kept));
  }
  return out;
}

Values rms_normalization(Call& c) {
  const Tensor x = c.t(0);
  const std::size_t rank = x.shape().size();
  const std::size_t axis = axis_of(c, c.i("axis", -1), rank);
  U columns = 1;
  for (std::size_t d = axis; d < rank; ++d) columns *= x.shape().at(d);
  if (x.size() == 0) return {x};
  const Tensor y = rms_norm(x.reshape({x.size() / columns, columns}), {},
                            static_cast<float>(c.f("epsilon", 1e-5)))
                       .reshape(x.shape());
  return {as(y * c.t(1), x.dtype())};
}

Values group_normalization(Call& c) {
  const Tensor x = c.t(0);
  const auto groups = static_cast<U>(c.i("num_groups", 1));
  const std::size_t rank = x.shape().size();
  if (rank < 2 || groups == 0 || x.shape().at(1) % groups != 0)
    c.wrong(formatted("{} has no {} groups of channels.", describe(c.in(0)), groups));
  const U each = x.shape().at(1) / groups;
  const auto spread = [&](std::size_t i) {  // before opset 21 a number for each group
    const Tensor t = c.t(i);
    if (t.size() == x.shape().at(1)) return Tensor(t);
    return t.reshape({groups, 1}).broadcast_to({groups, each}).reshape({x.shape().at(1)});
  };
  const Tensor y = group_norm(x, groups, {}, {}, static_cast<float>(c.f("epsilon", 1e-5)));
  return {as(
      y * as(by_channel(spread(1), rank), x.dtype()) + as(by_channel(spread(2), rank), x.dtype()),
      x.dtype())};
}

Values lrn(Call& c) {
  const Tensor x = c.t(0);
  const auto size = static_cast<U>(c.i("size", 1));
  const std::size_t rank = x.shape().size();
  if (rank < 2 || size == 0 || size > 4096)
    c.wrong(formatted("{} neighbours of the channels of {} are none.", size, describe(c.in(0))));
  Shape low(rank, 0);
  Shape high(rank, 0);
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const Tensor squares = pad(square(as(x, DType::f32)), low, high);
  Tensor sums;
  for (U i = 0; i < size; ++i) {
    const Tensor part = squares.slice(1, static_cast<std::int64_t>(i), x.shape().at(1));
    sums = sums ? sums + part : part;
  }
  const Tensor base = sums * (c.f("alpha", 1e-4) / static_cast<double>(size)) + c.f("bias", 1);
  return {as(as(x, DType::f32) / pow(base, c.device().full({}, c.f("beta", 0.75))), x.dtype())};
}

Values mean_variance(Call& c) {
  const Tensor x = c.t(0);
  const auto axes = int_axes(c, c.is("axes", {0, 2, 3}), x.shape().size());
  const Tensor wide = as(x, DType::f32);
  const Tensor centred = wide - mean(wide, axes, true);
  return {as(centred / (sqrt(mean(square(centred), axes, true)) + 1e-9), x.dtype())};
}

Values lp_normalization(Call& c) {
  const Tensor x = c.t(0);
  const int axis = int_axis(c, c.i("axis", -1), x.shape().size());
  const Tensor wide = as(x, DType::f32);
  const Tensor length =
      c.i("p", 2) == 1 ? sum(abs(wide), {axis}, true) : sqrt(sum(square(wide), {axis}, true));
  return {as(wide / length, x.dtype())};
}

}  // namespace

void add_norm(Table& table) {
  table["BatchNormalization"] = batch_normalization;
  table["InstanceNormalization"] = instance_normalization;
  table["LayerNormalization"] = layer_normalization;
  table["RMSNormalization"] = rms_normalization;
  table["GroupNormalization"] = group_normalization;
  table["LRN"] = lrn;
  table["MeanVarianceNormalization"] = mean_variance;
  table["LpNormalization"] = lp_normalization;
}

}  // namespace weft::onnx
