#include "packed_input.hpp"

#include <algorithm>

#include "fuse/patterns.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "rows/matmul.hpp"

namespace weft::plugin {

Status PackedInput::prepare(Node& node, ops::Plan& graph, const Caps& caps) {
  const auto x = packed_source(node, caps);
  if (!x) return {};
  if (!packed_.given() || !same_view(*x, x_)) {
    packed_ = ops::mul_mat::packed_view(*x);
    packed_.slot = ops::first_scratch_slot;
    packed_ = ops::lend(packed_);
    x_ = *x;
    auto plan = ops::mul_mat::plan(ops::mul_mat::PackArgs{.x = *x, .packed = packed_}, caps);
    if (!plan) return std::unexpected(plan.error());
    append_shared(graph, std::move(*plan));
    graph.scratch.front() = std::max(graph.scratch.front(), packed_.bytes().size());
  }
  node.packed = packed_;
  return {};
}

void PackedInput::written(const ggml_tensor& tensor, const PlaceFn& place) {
  if (!packed_.given()) return;
  const auto at = place(tensor);
  const auto view = at ? to_view(tensor, *at) : std::unexpected(at.error());
  const bool writes_sources =
      tensor.op == GGML_OP_OPT_STEP_ADAMW || tensor.op == GGML_OP_OPT_STEP_SGD;
  if (!view || writes_sources || overlaps(*view, x_)) packed_ = {};
}

void append_shared(ops::Plan& graph, ops::Plan node) {
  if (graph.scratch.empty()) graph.scratch.push_back(16);
  for (ops::Dispatch& dispatch : node.dispatches) {
    for (ops::BoundRange& range : dispatch.ranges) {
      if (range.slot >= ops::lent_slots) {
        range.slot -= ops::lent_slots;
      } else if (range.slot >= ops::first_scratch_slot) {
        ++range.slot;
      }
    }
    graph.dispatches.push_back(std::move(dispatch));
  }
  for (std::size_t i = 0; i < node.scratch.size(); ++i) {
    if (i + 1 == graph.scratch.size()) graph.scratch.push_back(0);
    graph.scratch[i + 1] = std::max(graph.scratch[i + 1], node.scratch[i]);
  }
}

}  // namespace weft::plugin
