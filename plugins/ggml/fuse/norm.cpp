// An addition, a norm, a multiplication and an addition in a row.
#include "ops/norm/norm.hpp"

#include "fuse/patterns.hpp"
#include "ops/overlap.hpp"

namespace weft::plugin {
namespace {

using ops::View;

bool is_norm(ggml_op op) { return op == GGML_OP_NORM || op == GGML_OP_RMS_NORM; }

/// The tensors of an addition, a norm, a multiplication and an addition in a row; only the norm is
/// always there.
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

std::optional<Fusion> plan_chain(const NormChain& chain, const Candidates& candidates) {
  bool placed = true;
  const auto view_of = [&](const ggml_tensor* tensor) -> View {
    if (tensor == nullptr) return {};
    const Result<Place> at = candidates.place(*tensor);
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
  if (!placed ||
      !safe_in_rows({args.y, args.sum}, {args.x, args.residual, args.weight, args.bias}) ||
      ops::overlap(args.y, args.sum)) {
    return std::nullopt;
  }
  return candidates.packing(chain.nodes, args.y, args.y, {}, [&](const View& packed) {
    args.packed = packed;
    return ops::norm::plan(args, candidates.caps);
  });
}

}  // namespace

std::optional<Fusion> fuse_norm(const Candidates& candidates) {
  const std::optional<NormChain> chain = find_chain(candidates.nodes, candidates.uses);
  return chain ? plan_chain(*chain, candidates) : std::nullopt;
}

}  // namespace weft::plugin
