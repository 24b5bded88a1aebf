#include <algorithm>
#include <numeric>
#include <optional>

#include "describe/attributes/attention.hpp"
#include "describe/attributes/permute.hpp"
#include "describe/attributes/shape.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/products.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"

namespace weft::graph::passes {
namespace {

/// The inputs of softmax(scale · q·kᵀ + mask)·v.
struct Match {
  Edge q;
  Edge k;
  Edge v;
  Edge mask;
  float scale = 1;
};

bool is_plain_product(const Operation& operation) {
  if (operation.rule != &kinds::matmul || operation.inputs.size() != 2) return false;
  const auto& a = as<MatmulAttributes>(operation.attributes);
  return a.alpha == 1 && a.activation == "none";
}

/// Looks at a graph from the last product of an attention towards its inputs. What lies between
/// must have no other reader, as is the case unless gradients are computed too.
class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<int>& readers) : graph_(graph), readers_(readers) {}

  std::optional<Match> match(const Operation& last) const {
    if (!is_plain_product(last)) return std::nullopt;
    const Operation* soft = only_read(last.inputs[0], kinds::softmax);
    if (soft == nullptr || soft->inputs.size() != 1) return std::nullopt;
    if (as<SoftmaxAttributes>(soft->attributes).log) return std::nullopt;
    Match match{.v = last.inputs[1], .scale = as<SoftmaxAttributes>(soft->attributes).scale};
    Edge logits = soft->inputs[0];
    if (const Operation* sum = only_read(logits, kinds::map);
        sum != nullptr && function(*sum) == "add") {
      if (match.scale != 1) return std::nullopt;  // would scale the mask, too
      const bool first = graph_.type(sum->inputs[0]).shape == graph_.type(logits).shape &&
                         graph_.at(sum->inputs[0].node).rule != &kinds::value;
      match.mask = sum->inputs[first ? 1 : 0];
      logits = sum->inputs[first ? 0 : 1];
    }
    logits = without_scale(logits, match.scale);
    const Operation* product = only_read(logits, kinds::matmul);
    if (product == nullptr || !is_plain_product(*product)) return std::nullopt;
    match.q = without_scale(product->inputs[0], match.scale);
    const Operation& turned = graph_.at(product->inputs[1].node);
    if (turned.rule != &kinds::permute) return std::nullopt;
    if (as<PermuteAttributes>(turned.attributes).order != std::vector<std::uint32_t>{0, 1, 3, 2})
      return std::nullopt;
    match.k = turned.inputs[0];
    return fits(match, last) ? std::optional(match) : std::nullopt;
  }

 private:
  const Operation* only_read(Edge edge, const Rule& rule) const {
    const Operation& operation = graph_.at(edge.node);
    const bool only = readers_[static_cast<std::size_t>(edge.node)] == 1;
    return only && operation.rule == &rule ? &operation : nullptr;
  }

  static std::string_view function(const Operation& operation) {
    return as<MapAttributes>(operation.attributes).function;
  }

  /// What lies below a multiplication by a number, which goes to `scale`.
  Edge without_scale(Edge edge, float& scale) const {
    const Operation* map = only_read(edge, kinds::map);
    if (map == nullptr) return edge;
    const auto& scalars = as<MapAttributes>(map->attributes).scalars;
    if (function(*map) == "div_scalar") {
      scale /= static_cast<float>(scalars[0]);
      return map->inputs[0];
    }
    if (function(*map) != "scale" || scalars[1] != 0) return edge;
    scale *= static_cast<float>(scalars[0]);
    return map->inputs[0];
  }

  bool fits(const Match& match, const Operation& last) const {
    const Type& q = graph_.type(match.q);
    const Type& k = graph_.type(match.k);
    const Type& v = graph_.type(match.v);
    if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4 || q.dtype != last.types.front().dtype ||
        k.shape[0] != v.shape[0] || k.shape[1] != v.shape[1]) {
      return false;
    }
    const auto shared = [](std::uint64_t of_q, std::uint64_t of_k) {
      return of_q == of_k || of_k == 1;
    };
    if (!shared(q.shape[0], k.shape[0]) || !shared(q.shape[1], k.shape[1])) return false;
    if (!match.mask.given()) return true;
    const Type& mask = graph_.type(match.mask);
    const Shape rows{q.shape[2], k.shape[2]};
    return mask.rank() >= 2 && mask.rank() <= 4 && is_float(mask.dtype) &&
           std::ranges::equal(std::span(mask.shape).last(2), rows);
  }

  const Graph& graph_;
  const std::vector<int>& readers_;
};

/// The mask with four dimensions, as attention takes it.
Edge with_four_dims(Graph& graph, Edge mask) {
  const Type type = graph.type(mask);
  if (type.rank() == 4) return mask;
  Shape shape(4 - type.rank(), 1);
  shape.insert(shape.end(), type.shape.begin(), type.shape.end());
  Operation reshape;
  reshape.rule = &kinds::reshape;
  reshape.attributes = ShapeAttributes{shape};
  reshape.inputs = {mask};
  reshape.types = {{type.dtype, shape}};
  graph.operations.push_back(std::move(reshape));
  return {static_cast<int>(graph.operations.size()) - 1, 0};
}

}  // namespace

Status attend(Graph& graph, DeviceData&) {
  const std::vector<int> readers = count_readers(graph);
  const std::size_t count = graph.operations.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = Matcher(graph, readers).match(graph.operations[i]);
    if (!found) continue;
    Operation attention;
    attention.rule = &kinds::attention;
    attention.attributes = AttentionAttributes{.scale = found->scale};
    attention.inputs = {found->q, found->k, found->v,
                        found->mask.given() ? with_four_dims(graph, found->mask) : Edge{}, Edge{}};
    attention.where = graph.operations[i].where;
    const Shape& y = graph.operations[i].types.front().shape;
    attention.types = {graph.operations[i].types.front(), {DType::f32, {y[0], y[1], y[2]}}};
    graph.operations[i] = std::move(attention);
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
