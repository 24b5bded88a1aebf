#include "packed_input.hpp"

#include <algorithm>

#include "fuse/patterns.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/overlap.hpp"
#include "rows/matmul.hpp"

namespace weft::plugin {
namespace {

constexpr std::size_t own_buffers = 2;

/// Whether both are the same rows, however many dimensions these have.
bool same_rows(const ops::View& a, const ops::View& b) {
  return same_view(a, b) ||
         (a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype && a.is_dense() &&
          b.is_dense() && a.count() == b.count() && a.shape[a.rank - 1] == b.shape[b.rank - 1]);
}

/// The packed form of x in one of the buffers.
ops::View packed_in(std::size_t buffer, const ops::View& x) {
  ops::View out = ops::mul_mat::packed_view(x);
  out.slot = ops::Slot::shared(buffer);
  return out;
}

}  // namespace

ops::View PackedInput::find(const ops::View& x) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].packed.given() && same_rows(entries_[i].x, x)) return packed_in(i, x);
  }
  return {};
}

ops::View PackedInput::room(const ops::View& x, const ops::View& busy) const {
  const ops::View next = packed_in(next_, x);
  return busy.given() && busy.slot == next.slot ? packed_in(1 - next_, x) : next;
}

void PackedInput::made(const ops::View& x, const ops::View& packed) {
  const std::size_t buffer = packed.slot.number();
  entries_.at(buffer) = {x, packed};
  next_ = 1 - buffer;
}

Result<std::optional<ops::View>> PackedInput::prepare(Node& node, ops::Plan& graph,
                                                      const Caps& caps) const {
  const auto x = packed_source(node, caps, true);
  if (!x) return std::nullopt;
  node.packed = find(*x);
  if (node.packed.given() || !packed_source(node, caps)) return std::nullopt;
  node.packed = room(*x);
  auto plan = ops::mul_mat::plan(ops::mul_mat::PackArgs{.x = *x, .packed = node.packed}, caps);
  if (!plan) return std::unexpected(plan.error());
  append_shared(graph, std::move(*plan));
  return *x;
}

void PackedInput::written(const ggml_tensor& tensor, const PlaceFn& place) {
  const auto at = place(tensor);
  const auto view = at ? to_view(tensor, *at) : std::unexpected(at.error());
  const bool writes_sources =
      tensor.op == GGML_OP_OPT_STEP_ADAMW || tensor.op == GGML_OP_OPT_STEP_SGD;
  for (Entry& entry : entries_) {
    if (!view || writes_sources || ops::overlap(*view, entry.x)) entry.packed = {};
  }
}

void append_shared(ops::Plan& graph, ops::Plan node) {
  graph.scratch.resize(std::max(graph.scratch.size(), own_buffers), 16);
  for (ops::Dispatch& dispatch : node.dispatches) {
    for (ops::BoundRange& range : dispatch.ranges) {
      // The shared buffers are the first scratch of the graph's plan.
      if (range.slot.kind() == ops::Slot::Kind::scratch) {
        range.slot = ops::Slot::scratch(range.slot.number() + own_buffers);
      } else if (range.slot.kind() == ops::Slot::Kind::shared) {
        range.slot = ops::Slot::scratch(range.slot.number());
      }
    }
    graph.dispatches.push_back(std::move(dispatch));
  }
  for (std::size_t i = 0; i < node.scratch.size(); ++i) {
    const std::size_t at = i + own_buffers;
    if (at == graph.scratch.size()) graph.scratch.push_back(0);
    graph.scratch[at] = std::max(graph.scratch[at], node.scratch[i]);
  }
}

}  // namespace weft::plugin
