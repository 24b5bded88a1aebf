// Products of the same x are not neighbours in the graphs of language models: the first of queries,
// keys and values is rotated before the next is computed, and may then lie where the first did.
#include <algorithm>

#include "fuse/patterns.hpp"

namespace weft::plugin {
namespace {

/// How far ahead to look for nodes to join.
constexpr std::size_t window = 32;

bool reads(const ggml_tensor& node, const ggml_tensor& root) {
  return std::ranges::any_of(node.src, [&](const ggml_tensor* source) {
    return source != nullptr && &root_of(*source) == &root;
  });
}

/// Whether two nodes give the same results in either order. What tensors share is told by what they
/// are views of: this is before they have memory.
bool independent(const ggml_tensor& a, const ggml_tensor& b) {
  const auto writes_sources = [](const ggml_tensor& node) {
    return node.op == GGML_OP_OPT_STEP_ADAMW || node.op == GGML_OP_OPT_STEP_SGD;
  };
  return &root_of(a) != &root_of(b) && !reads(a, root_of(b)) && !reads(b, root_of(a)) &&
         !writes_sources(a) && !writes_sources(b);
}

/// Products with few columns, whose time is that of a launch, and which one launch can make.
bool belong_together(const ggml_tensor& a, const ggml_tensor& b) {
  return a.op == GGML_OP_MUL_MAT && b.op == GGML_OP_MUL_MAT && a.src[1] == b.src[1] &&
         a.ne[1] <= most_joined_columns;
}

}  // namespace

void bring_together(std::span<ggml_tensor*> nodes) {
  for (std::size_t first = 0; first < nodes.size(); ++first) {
    std::size_t to = first + 1;
    const auto pull = [&](const auto& wanted) {
      for (std::size_t i = to; i < std::min(nodes.size(), first + window); ++i) {
        if (!wanted(*nodes[i])) continue;
        const auto passed = nodes.subspan(to, i - to);
        if (!std::ranges::all_of(
                passed, [&](const ggml_tensor* node) { return independent(*node, *nodes[i]); })) {
          continue;
        }
        std::ranges::rotate(nodes.subspan(to, i + 1 - to),
                            nodes.begin() + static_cast<std::ptrdiff_t>(i));
        ++to;
      }
    };
    pull([&](const ggml_tensor& node) { return belong_together(*nodes[first], node); });
    const auto joined = nodes.subspan(first, to - first);
    if (joined.size() > 1) {
      pull([&](const ggml_tensor& node) {
        return node.op == GGML_OP_ADD && std::ranges::contains(joined, node.src[0]) &&
               node.src[1]->op == GGML_OP_NONE;
      });
    }
    first = to - 1;
  }
}

void keep_inputs(std::span<ggml_tensor* const> nodes,
                 const std::function<void(ggml_tensor&, ggml_tensor&)>& keep) {
  for (ggml_tensor* node : nodes) {
    const ggml_tensor* gate = node->src[0];
    const ggml_tensor* up = node->src[1];
    if (node->op == GGML_OP_GLU && up != nullptr && belong_together(*gate, *up)) {
      keep(*gate->src[1], *node);
    }
    if (ggml_tensor* queries = attention_queries(*node)) keep(*queries, *node);
    if (node->op != GGML_OP_ADD && node->op != GGML_OP_UNARY) continue;
    for (const ggml_tensor* source : {node->src[0], node->src[1]}) {
      if (source != nullptr && source->op == GGML_OP_ADD) source = source->src[0];
      if (source != nullptr && source->op == GGML_OP_MUL_MAT) keep(*source->src[1], *node);
    }
  }
}

}  // namespace weft::plugin
