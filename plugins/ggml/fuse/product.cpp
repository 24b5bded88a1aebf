// Products with the same x: queries, keys and values; the gate of a gated unit and what it lets
// through. And a product with what comes after it: a bias, an activation.
#include <algorithm>

#include "fuse/patterns.hpp"
#include "ops/mul_mat/mul_mat.hpp"
#include "ops/overlap.hpp"
#include "rows/common.hpp"
#include "rows/elementwise.hpp"
#include "rows/matmul.hpp"

namespace weft::plugin {
namespace {

using ops::View;
using ops::mul_mat::JoinArgs;

/// Whether a tensor has two dimensions at most.
bool is_matrix(const View& view) { return view.shape[0] == 1 && view.shape[1] == 1; }

/// The view of such a tensor with two dimensions.
View matrix(const View& view) { return drop_front(view, 2); }

bool all_allow_q8(std::span<const Node> nodes) { return std::ranges::all_of(nodes, allows_q8); }

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
    if (!node || !is_matrix(node->src[0]) || !is_matrix(node->src[1]) || !is_matrix(node->dst))
      break;
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
  if (!node || !is_matrix(node->dst)) return std::nullopt;
  const auto function = gated_function(*node);
  if (!function) return std::nullopt;
  const Node& gate = nodes[straight ? 0 : 1];
  const Node& through = nodes[straight ? 1 : 0];
  JoinArgs args{.weights = {matrix(gate.src[0]), matrix(through.src[0])},
                .x = matrix(gate.src[1]),
                .y = {matrix(node->dst)},
                .gated = function->name,
                .scalars = function->scalars,
                .allow_q8 = all_allow_q8(std::span(nodes).first(2)),
                .exact = exact_products(),
                .packed = candidates.packed.find(matrix(gate.src[1]))};
  return candidates.packing(3, node->dst, args.y.front(), args.packed, [&](const View& packed) {
    args.packed_y = packed;
    return plan(args, candidates.caps);
  });
}

/// The biases of the first `count` nodes, which are products, if the nodes behind them add one to
/// each; then y is where those lie.
bool add_biases(const Candidates& candidates, std::size_t count, JoinArgs& args) {
  std::vector<View> biases(count);
  std::vector<View> results(count);
  for (std::size_t i = count; i < 2 * count; ++i) {
    if (!candidates.is(i, GGML_OP_ADD)) return false;
    const ggml_tensor& sum = *candidates.at(i);
    const auto products = candidates.nodes.first(count);
    const auto found = std::ranges::find(products, sum.src[0]);
    const auto node = candidates.node(sum);
    if (found == products.end() || !candidates.uses.only_once(**found) || !node ||
        !is_matrix(node->dst) || sum.src[1]->ne[0] != sum.ne[0] ||
        node->src[1].count() != node->dst.shape[3]) {
      return false;
    }
    const auto at = static_cast<std::size_t>(found - products.begin());
    biases[at] = drop_front(node->src[1], 3);
    results[at] = matrix(node->dst);
  }
  args.bias = std::move(biases);
  args.y = std::move(results);
  return true;
}

bool meet(const std::vector<View>& views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ops::overlap(views[i], views[j])) return true;
    }
  }
  return false;
}

std::optional<Fusion> joined(const Candidates& candidates, const std::vector<Node>& nodes,
                             std::size_t count) {
  if (nodes.size() < count) return std::nullopt;
  JoinArgs args{.x = matrix(nodes[0].src[1]),
                .allow_q8 = all_allow_q8(std::span(nodes).first(count)),
                .exact = exact_products(),
                .packed = candidates.packed.find(matrix(nodes[0].src[1]))};
  for (std::size_t i = 0; i < count; ++i) {
    args.weights.push_back(matrix(nodes[i].src[0]));
    args.y.push_back(matrix(nodes[i].dst));
  }
  JoinArgs biased = args;
  if (add_biases(candidates, count, biased) && !meet(biased.y)) {
    if (auto fusion = fusion_of(2 * count, plan(biased, candidates.caps))) return fusion;
  }
  if (meet(args.y)) return std::nullopt;
  return fusion_of(count, plan(args, candidates.caps));
}

/// Whether the norm behind an addition takes it along.
bool belongs_to_norm(const Candidates& candidates, std::size_t index) {
  const ggml_tensor& sum = *candidates.at(index);
  const ggml_tensor* next = candidates.at(index + 1);
  return same_shape(*sum.src[0], *sum.src[1]) && next != nullptr &&
         (next->op == GGML_OP_RMS_NORM || next->op == GGML_OP_NORM) && next->src[0] == &sum;
}

/// A product, a bias or residual and an activation; two of them at least.
std::optional<Fusion> with_end(const Candidates& candidates) {
  const ggml_tensor& product = *candidates.at(0);
  const auto node = candidates.node(product);
  // Weights of several batches may be shared in ways that a bias does not follow.
  if (!node || product.src[0]->ne[2] != 1 || product.src[0]->ne[3] != 1) return std::nullopt;
  ops::mul_mat::Args args{.weights = node->src[0],
                          .x = node->src[1],
                          .y = node->dst,
                          .allow_q8 = allows_q8(*node),
                          .exact = exact_products(),
                          .packed = candidates.packed.find(node->src[1])};
  const ggml_tensor* last = &product;
  std::size_t used = 1;
  if (candidates.is(1, GGML_OP_ADD) && candidates.uses.only_once(product) &&
      !belongs_to_norm(candidates, 1)) {
    const ggml_tensor* bias = other_operand(*candidates.at(1), product);
    const auto sum = candidates.node(*candidates.at(1));
    if (bias != nullptr && sum && bias->type == GGML_TYPE_F32 && broadcasts(*bias, product)) {
      args.bias = sum->src[bias == candidates.at(1)->src[0] ? 0 : 1];
      args.y = sum->dst;
      last = candidates.at(used++);
    }
  }
  if (candidates.is(used, GGML_OP_UNARY) && candidates.at(used)->src[0] == last &&
      candidates.uses.only_once(*last)) {
    if (const auto unary = candidates.node(*candidates.at(used))) {
      if (const auto function = unary_function(*unary)) {
        args.activation = function->name;
        args.scalars = function->scalars;
        args.y = unary->dst;
        ++used;
      }
    }
  }
  if (used == 1 || ops::overlap(args.y, args.x) || ops::overlap(args.y, args.weights) ||
      !safe_in_rows({args.y}, {args.bias})) {
    return std::nullopt;
  }
  return fusion_of(used, plan(args, candidates.caps));
}

}  // namespace

std::optional<Fusion> fuse_products(const Candidates& candidates) {
  if (!candidates.is(0, GGML_OP_MUL_MAT)) return std::nullopt;
  const std::vector<Node> nodes = products(candidates, 3);
  if (auto fusion = gated(candidates, nodes)) return fusion;
  for (const std::size_t count : {3U, 2U}) {
    if (auto fusion = joined(candidates, nodes, count)) return fusion;
  }
  return with_end(candidates);
}

}  // namespace weft::plugin
