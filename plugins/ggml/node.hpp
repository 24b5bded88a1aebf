#pragma once

#include <ggml.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "device/caps.hpp"
#include "ops/plan.hpp"
#include "ops/view.hpp"

/// The ggml backend: an adapter from ggml tensors to Weft's ops. Nothing outside of plugins/ggml
/// knows ggml.
namespace weft::plugin {

/// A node of a ggml graph as ops see it. Views have four dimensions, outermost first: dimension 3 -
/// i is ggml's dimension i. Strides are in elements; equal slots mean the same ggml buffer.
struct Node {
  const ggml_tensor* tensor = nullptr;
  ops::View dst;
  std::vector<ops::View>
      src;           ///< One per ggml source; one that is absent is a view that is not given().
  ops::View packed;  ///< For products: the right side as ops::mul_mat::PackArgs packs it, where it
                     ///< is already packed.

  /// Source `index`, or a view that is not given() when the node has none there.
  [[nodiscard]] ops::View source(std::size_t index) const {
    return index < src.size() ? src[index] : ops::View{};
  }
  /// Word `index` of the op's parameters as an integer.
  [[nodiscard]] std::int32_t param(std::size_t index) const { return tensor->op_params[index]; }
  /// Word `index` of the op's parameters as a float.
  [[nodiscard]] float param_f32(std::size_t index) const {
    return std::bit_cast<float>(tensor->op_params[index]);
  }
};

/// What a ggml op becomes: the launches, or why it cannot be done. Pure; it is the only answer to
/// "supported?".
using PlanFn = Result<ops::Plan> (*)(const Node& node, const Caps& caps);

/// One ggml op.
struct Row {
  ggml_op op = GGML_OP_NONE;
  PlanFn plan = nullptr;
};

/// The families of rows, one file each in rows/.
std::span<const Row> elementwise_rows();
std::span<const Row> copy_rows();
std::span<const Row> reduce_rows();
std::span<const Row> norm_rows();
std::span<const Row> matmul_rows();
std::span<const Row> attention_rows();
std::span<const Row> conv_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> training_rows();
std::span<const Row> index_rows();
std::span<const Row> spatial_rows();

/// The row of an op, or null when there is none.
const Row* find_row(ggml_op op);

/// True for ops that compute nothing: the result is a view of a source.
bool is_view_op(ggml_op op);

/// Weft's type for ggml's, where there is one.
std::optional<DType> to_dtype(ggml_type type);

/// Where a tensor lies: its buffer's slot and the offset in bytes.
struct Place {
  ops::Slot slot{};
  std::uint64_t offset = 0;
};

/// The view of a tensor that lies at `place`.
Result<ops::View> to_view(const ggml_tensor& tensor, Place place);

/// The node of a tensor; `place` says where each tensor lies.
Result<Node> make_node(const ggml_tensor& tensor,
                       const std::function<Result<Place>(const ggml_tensor&)>& place);

/// The launches for a tensor that has no memory yet: every tensor that is no view of another one
/// gets a slot.
Result<ops::Plan> plan_unplaced(const ggml_tensor& tensor, const Caps& caps);

/// The launches for a node, from the row of its op.
Result<ops::Plan> plan_node(const Node& node, const Caps& caps);

}  // namespace weft::plugin
