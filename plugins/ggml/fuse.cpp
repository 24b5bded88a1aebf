#include "fuse.hpp"

#include <algorithm>
#include <initializer_list>

#include "ops/norm/norm.hpp"

namespace weft::plugin {
namespace {

using ops::View;
using PlaceFn = std::function<Result<Place>(const ggml_tensor&)>;

bool same_shape(const ggml_tensor& a, const ggml_tensor& b) {
  return std::ranges::equal(a.ne, b.ne);
}

bool same_view(const View& a, const View& b) {
  return a.slot == b.slot && a.offset == b.offset && a.dtype == b.dtype &&
         std::ranges::equal(a.extents(), b.extents()) && a.stride == b.stride;
}

bool overlaps(const View& a, const View& b) {
  if (a.slot != b.slot || a.empty() || b.empty()) return false;
  return a.bytes().begin < b.bytes().end && b.bytes().begin < a.bytes().end;
}

/// A fused kernel writes results before later rows of the inputs have been read: an output may lie exactly on an input,
/// row on row, but not elsewhere on it.
bool safe(std::initializer_list<View> outputs, std::initializer_list<View> inputs) {
  return std::ranges::all_of(outputs, [&](const View& output) {
    return std::ranges::all_of(inputs, [&](const View& input) {
      return !input.given() || !output.given() || !overlaps(output, input) ||
             same_view(output, input);
    });
  });
}

bool is_norm(ggml_op op) { return op == GGML_OP_NORM || op == GGML_OP_RMS_NORM; }

/// The other operand of a binary node that takes `tensor` in the shape of its result, or null.
const ggml_tensor* other_operand(const ggml_tensor& node, const ggml_tensor& tensor) {
  if (node.src[0] == node.src[1] || !same_shape(node, tensor)) return nullptr;
  if (node.src[0] == &tensor) return node.src[1];
  return node.src[1] == &tensor ? node.src[0] : nullptr;
}

/// Extents are equal or 1: what an op broadcasts by itself (ggml also repeats).
bool broadcasts(const ggml_tensor& small, const ggml_tensor& whole) {
  for (int i = 0; i < GGML_MAX_DIMS; ++i) {
    if (small.ne[i] != whole.ne[i] && small.ne[i] != 1) return false;
  }
  return true;
}

/// The tensors of an addition, a norm, a multiplication and an addition in a row; only the norm is always there.
struct NormChain {
  const ggml_tensor* sum = nullptr;
  const ggml_tensor* norm = nullptr;
  const ggml_tensor* weight = nullptr;
  const ggml_tensor* bias = nullptr;
  const ggml_tensor* result = nullptr;
  std::size_t nodes = 0;
};

std::optional<NormChain> find_chain(std::span<const ggml_tensor* const> nodes, const Uses& uses) {
  NormChain chain;
  std::size_t at = 0;
  const auto next = [&]() -> const ggml_tensor* { return at < nodes.size() ? nodes[at] : nullptr; };
  if (next()->op == GGML_OP_ADD && nodes.size() > 1 && nodes[1]->src[0] == next() &&
      same_shape(*next()->src[0], *next()->src[1])) {
    chain.sum = nodes[at++];
  }
  if (!is_norm(next()->op)) return std::nullopt;
  chain.norm = chain.result = nodes[at++];
  if (next() != nullptr && next()->op == GGML_OP_MUL && uses.only_once(*chain.result)) {
    chain.weight = other_operand(*next(), *chain.result);
    if (chain.weight != nullptr && broadcasts(*chain.weight, *next())) {
      chain.result = nodes[at++];
      if (next() != nullptr && next()->op == GGML_OP_ADD && uses.only_once(*chain.result)) {
        chain.bias = other_operand(*next(), *chain.result);
        if (chain.bias != nullptr && broadcasts(*chain.bias, *next())) {
          chain.result = nodes[at++];
        } else {
          chain.bias = nullptr;
        }
      }
    } else {
      chain.weight = nullptr;
    }
  }
  chain.nodes = at;
  if (at < 2) return std::nullopt;
  return chain;
}

std::optional<ops::Plan> plan_chain(const NormChain& chain, const PlaceFn& place,
                                    const Caps& caps) {
  bool placed = true;
  const auto view_of = [&](const ggml_tensor* tensor) -> View {
    if (tensor == nullptr) return {};
    const Result<Place> at = place(*tensor);
    const auto view = at ? to_view(*tensor, *at) : std::unexpected(at.error());
    placed = placed && view;
    return view ? *view : View{};
  };
  const bool adds = chain.sum != nullptr;
  ops::norm::Args args;
  args.kind = chain.norm->op == GGML_OP_NORM ? ops::norm::Kind::layer : ops::norm::Kind::rms;
  args.x = view_of(adds ? chain.sum->src[0] : chain.norm->src[0]);
  args.y = view_of(chain.result);
  args.weight = view_of(chain.weight);
  args.bias = view_of(chain.bias);
  args.residual = view_of(adds ? chain.sum->src[1] : nullptr);
  args.sum = view_of(chain.sum);
  args.eps = std::bit_cast<float>(chain.norm->op_params[0]);
  if (!placed || !safe({args.y, args.sum}, {args.x, args.residual, args.weight, args.bias}) ||
      overlaps(args.y, args.sum)) {
    return std::nullopt;
  }
  auto plan = ops::norm::plan(args, caps);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

}  // namespace

Uses::Uses(std::span<ggml_tensor* const> nodes) {
  for (const ggml_tensor* node : nodes) {
    for (const ggml_tensor* source : node->src) {
      if (source != nullptr) ++counts_[source];
    }
    if (node->view_src != nullptr) ++counts_[node->view_src];
  }
}

bool Uses::only_once(const ggml_tensor& tensor) const {
  if ((tensor.flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || tensor.view_src != nullptr) return false;
  const auto found = counts_.find(&tensor);
  return found != counts_.end() && found->second == 1;
}

std::optional<Fusion> fuse(std::span<const ggml_tensor* const> nodes, const Uses& uses,
                           const PlaceFn& place, const Caps& caps) {
  std::optional<NormChain> chain = find_chain(nodes, uses);
  if (!chain) return std::nullopt;
  if (auto plan = plan_chain(*chain, place, caps)) return Fusion{chain->nodes, std::move(*plan)};
  return std::nullopt;
}

}  // namespace weft::plugin
