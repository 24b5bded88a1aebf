#include "api/labels.hpp"

#include <mutex>
#include <vector>

#include "api/arguments.hpp"
#include "base/format.hpp"
#include "gpu/lifetime.hpp"
#include "graph/node.hpp"
#include "ops/view.hpp"
#include "weft/ops.hpp"

namespace weft {

Tensor as_indices(const Tensor& indices, const Where& where) {
  const DType type = indices ? indices.dtype() : DType::i32;
  if (!is_integer(type) || type == DType::i32 || type == DType::i64) return indices;
  return indices.to(type == DType::u32 ? DType::i64 : DType::i32, where);
}

void check_labels(std::string_view function, const Tensor& labels, std::uint64_t classes,
                  const Where& where) {
  const Node& node = *Access::value(labels).node;
  if (!gpu::checks_elements(node.device->device) || labels.dtype() != DType::i32) return;
  const std::scoped_lock lock(node.device->mutex);
  if (!node.computed()) return;
  const std::vector<std::int32_t> values = labels.to_vector<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || static_cast<std::uint64_t>(values[i]) < classes) continue;
    refuse(function, where,
           formatted("Label {}, element {} of {} in shape {}, is not below the number of classes, "
                     "{}.",
                     values[i], i, values.size(), ops::describe(labels.shape()), classes));
  }
}

Tensor counted_labels(const Tensor& labels, std::uint64_t classes, std::int32_t ignored,
                      const Where& where) {
  const auto number = [&](double value) {
    return labels.device().full({}, value, DType::i32, where);
  };
  const auto at = [&](const Tensor& t) { return In(t, where); };
  // Anything else becomes -1, which is less than 0.
  const Tensor below =
      weft::where(at(less(at(labels), number(static_cast<double>(classes)))), labels, number(-1));
  const Tensor kept = weft::where(at(not_equal(at(labels), number(ignored))), below, number(-1));
  return greater_equal(at(kept), number(0));
}

Tensor counted_numbers(const Tensor& counted, const Where& where) {
  const auto number = [&](double value) {
    return counted.device().full({}, value, DType::f32, where);
  };
  return weft::where(In(counted, where), number(1).broadcast_to(counted.shape(), where), number(0));
}

}  // namespace weft
