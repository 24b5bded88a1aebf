// Products with the same x: queries, keys and values; the gate of a gated unit and what it lets through.
#include "fuse/patterns.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "rows/common.hpp"
#include "rows/elementwise.hpp"

namespace weft::plugin {
namespace {

using ops::View;
using ops::mul_mat::JoinArgs;

/// A tensor of two dimensions as a view of two; empty for those of more.
std::optional<View> matrix(const View& view) {
  if (view.shape[0] != 1 || view.shape[1] != 1) return std::nullopt;
  return drop_front(drop_front(view));
}

/// The products at the start of the nodes that take the same x, up to `most`.
std::vector<Node> products(const Candidates& candidates, std::size_t most) {
  std::vector<Node> out;
  for (std::size_t i = 0; i < most && candidates.is(i, GGML_OP_MUL_MAT); ++i) {
    const ggml_tensor& tensor = *candidates.at(i);
    if (tensor.src[1] != candidates.at(0)->src[1] ||
        tensor.src[0]->type != candidates.at(0)->src[0]->type ||
        tensor.ne[1] > most_joined_columns) {
      break;
    }
    auto node = candidates.node(tensor);
    if (!node || !matrix(node->src[0]) || !matrix(node->src[1]) || !matrix(node->dst)) break;
    out.push_back(std::move(*node));
  }
  return out;
}

std::optional<Fusion> gated(const Candidates& candidates, const std::vector<Node>& nodes) {
  if (nodes.size() < 2 || !candidates.is(2, GGML_OP_GLU)) return std::nullopt;
  const ggml_tensor& unit = *candidates.at(2);
  const bool straight = unit.src[0] == nodes[0].tensor && unit.src[1] == nodes[1].tensor;
  const bool turned = unit.src[0] == nodes[1].tensor && unit.src[1] == nodes[0].tensor;
  if ((!straight && !turned) || !candidates.uses.only_once(*nodes[0].tensor) ||
      !candidates.uses.only_once(*nodes[1].tensor)) {
    return std::nullopt;
  }
  const auto node = candidates.node(unit);
  if (!node || !matrix(node->dst)) return std::nullopt;
  const auto function = gated_function(*node);
  if (!function) return std::nullopt;
  const Node& gate = nodes[straight ? 0 : 1];
  const Node& through = nodes[straight ? 1 : 0];
  return fusion_of(3, plan(JoinArgs{.weights = {*matrix(gate.src[0]), *matrix(through.src[0])},
                                    .x = *matrix(gate.src[1]),
                                    .y = {*matrix(node->dst)},
                                    .gated = function->name,
                                    .scalars = function->scalars,
                                    .allow_q8 = true},
                           candidates.caps));
}

std::optional<Fusion> joined(const Candidates& candidates, const std::vector<Node>& nodes,
                             std::size_t count) {
  if (nodes.size() < count) return std::nullopt;
  JoinArgs args{.x = *matrix(nodes[0].src[1]), .allow_q8 = true};
  for (std::size_t i = 0; i < count; ++i) {
    const View y = *matrix(nodes[i].dst);
    for (const View& other : args.y) {
      if (overlaps(other, y)) return std::nullopt;
    }
    args.weights.push_back(*matrix(nodes[i].src[0]));
    args.y.push_back(y);
  }
  return fusion_of(count, plan(args, candidates.caps));
}

}  // namespace

std::optional<Fusion> fuse_products(const Candidates& candidates) {
  const std::vector<Node> nodes = products(candidates, 3);
  if (nodes.size() < 2) return std::nullopt;
  if (auto fusion = gated(candidates, nodes)) return fusion;
  if (auto fusion = joined(candidates, nodes, 3)) return fusion;
  return joined(candidates, nodes, 2);
}

}  // namespace weft::plugin
