#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>

#include "fuse/fuse.hpp"

/// What the patterns of fuse() share.
namespace weft::plugin {

/// The nodes from the first one on that a pattern may join, and what it needs to know about them.
struct Candidates {
  std::span<const ggml_tensor* const> nodes;
  const Uses& uses;
  const PlaceFn& place;
  const PackedInput& packed;
  const Caps& caps;

  /// Node `index`, or null past the end.
  [[nodiscard]] const ggml_tensor* at(std::size_t index) const {
    return index < nodes.size() ? nodes[index] : nullptr;
  }
  /// Whether node `index` is of this op.
  [[nodiscard]] bool is(std::size_t index, ggml_op op) const {
    return index < nodes.size() && nodes[index]->op == op;
  }
  /// The node as ops see it; empty where a tensor has no place.
  [[nodiscard]] std::optional<Node> node(const ggml_tensor& tensor) const;
  /// The right side of one of the next products, from node `from` on, that has the elements of
  /// `result` and is multiplied in packed form where that is there.
  [[nodiscard]] std::optional<ops::View> packed_reader(std::size_t from,
                                                       const ops::View& result) const;
  /// The first `count` nodes by `plan`, which is told where to write what it makes in packed form
  /// too: where a product that comes next takes it so, and the plan can; else nowhere. `rows` is
  /// the result as products see it, and `busy` what the plan reads packed.
  [[nodiscard]] std::optional<Fusion> packing(
      std::size_t count, const ops::View& result, const ops::View& rows, const ops::View& busy,
      const std::function<Result<ops::Plan>(const ops::View& room)>& plan) const;
};

/// A pattern: a sequence at the start of the nodes as one plan, if it is there and its tensors
/// allow it.
using Pattern = std::optional<Fusion> (*)(const Candidates& candidates);

/// Products with up to this many columns are joined.
inline constexpr std::int64_t most_joined_columns = 8;

std::optional<Fusion> fuse_attention(const Candidates& candidates);
std::optional<Fusion> fuse_norm(const Candidates& candidates);
std::optional<Fusion> fuse_rope(const Candidates& candidates);
std::optional<Fusion> fuse_products(const Candidates& candidates);
std::optional<Fusion> fuse_router(const Candidates& candidates);

/// The queries of attention that fuse_attention() may find to end with `result`, or null.
ggml_tensor* attention_queries(const ggml_tensor& result);

/// The tensor whose memory a tensor shows: itself, unless it is a view.
inline const ggml_tensor& root_of(const ggml_tensor& tensor) {
  return tensor.view_src != nullptr ? *tensor.view_src : tensor;
}
const ggml_tensor& root_of(const ggml_tensor&& tensor) = delete;

bool same_shape(const ggml_tensor& a, const ggml_tensor& b);

/// Extents are equal or 1: what an op broadcasts by itself (ggml also repeats).
bool broadcasts(const ggml_tensor& small, const ggml_tensor& whole);

/// The other operand of a binary node that takes `tensor` in the shape of its result, or null.
const ggml_tensor* other_operand(const ggml_tensor& node, const ggml_tensor& tensor);

/// True for views of the same elements in the same order.
bool same_view(const ops::View& a, const ops::View& b);

/// A fused kernel writes results before later rows of the inputs have been read: an output may lie
/// exactly on an input, row on row, but not elsewhere on it.
bool safe_in_rows(std::initializer_list<ops::View> outputs,
                  std::initializer_list<ops::View> inputs);

/// The plan of a pattern, if there is one.
inline std::optional<Fusion> fusion_of(std::size_t nodes, Result<ops::Plan> plan) {
  if (!plan) return std::nullopt;
  return Fusion{nodes, std::move(*plan)};
}

}  // namespace weft::plugin
