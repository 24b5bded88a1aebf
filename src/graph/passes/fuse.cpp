#include <algorithm>
#include <optional>

#include "describe/attributes/norm.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/fused.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"
#include "ops/fused/fused.hpp"

namespace weft::graph::passes {
namespace {

namespace fused = ops::fused;

/// In a chain booleans are 1 and 0.
bool fits_chain(DType dtype) { return is_float(dtype) || dtype == DType::boolean; }

bool all_float(const Graph& graph, const Operation& operation) {
  return fits_chain(operation.types.front().dtype) &&
         std::ranges::all_of(operation.inputs,
                             [&](Edge input) { return fits_chain(graph.type(input).dtype); });
}

/// Sums of booleans would not be booleans in a chain.
bool is_arithmetic_of_booleans(const Operation& operation) {
  const auto* map = operation.attributes.get_if<MapAttributes>();
  return operation.types.front().dtype == DType::boolean && map != nullptr &&
         !ops::map::gives_boolean(map->function) && map->function != "where";
}

bool is_fill(const Operation& operation) {
  const auto* map = operation.attributes.get_if<MapAttributes>();
  return map != nullptr && operation.rule == &kinds::map && map->function == "fill";
}

/// Whether an operation can be a step of a chain of that shape: it has no other reader, and no
/// rounding to a 16-bit type is lost.
bool can_join(const Graph& graph, const std::vector<int>& readers, Edge edge, const Shape& shape) {
  const Operation& operation = graph.at(edge.node);
  if (is_fill(operation)) return is_float(operation.types.front().dtype);
  const bool map = operation.rule == &kinds::map && !operation.inputs.empty();
  const bool widens = operation.rule == &kinds::cast && operation.types.front().dtype == DType::f32;
  // A smaller result is cheaper computed once than for every place it is repeated at.
  return (map || widens) && readers[static_cast<std::size_t>(edge.node)] == 1 &&
         operation.types.front().shape == shape && all_float(graph, operation) &&
         !is_arithmetic_of_booleans(operation);
}

/// A chain that grows from its last operation towards its inputs.
class Chain {
 public:
  Chain(const Graph& graph, const std::vector<int>& readers, int last, std::size_t most_inputs)
      : graph_(graph),
        readers_(readers),
        shape_(graph.at(last).types.front().shape),
        most_inputs_(most_inputs) {
    plan(last);
  }

  /// What the chain reads.
  [[nodiscard]] const std::vector<Edge>& inputs() const { return inputs_; }

  /// The operations that became part of the chain.
  [[nodiscard]] const std::vector<int>& members() const { return members_; }

  /// The operation that computes the whole chain, if it is worth one and fits.
  std::optional<Operation> fuse(const Operation& last) const {
    if (!fits_ || members_.size() < 2) return std::nullopt;
    FusedAttributes attributes;
    attributes.dtype = last.types.front().dtype;
    attributes.shape = shape_;
    attributes.steps = steps();
    Operation out;
    out.rule = &kinds::fused;
    out.attributes = std::move(attributes);
    out.inputs = inputs_;
    out.types = last.types;
    out.where = last.where;
    return out;
  }

  /// The reduction, softmax or norm of the whole chain, if that fits.
  std::optional<Operation> fuse_tail(const Operation& tail) const {
    if (!fits_ || inputs_.empty()) return std::nullopt;
    FusedTailAttributes attributes;
    attributes.steps = steps();
    attributes.inputs = static_cast<std::uint32_t>(inputs_.size());
    attributes.shape = shape_;
    if (const auto* reduce = tail.attributes.get_if<ReduceAttributes>()) {
      attributes.tail = *reduce;
    } else if (const auto* softmax = tail.attributes.get_if<SoftmaxAttributes>()) {
      attributes.tail = *softmax;
    } else {
      attributes.tail = as<NormAttributes>(tail.attributes);
    }
    Operation out = tail;
    out.rule = &kinds::fused_tail;
    out.attributes = std::move(attributes);
    out.inputs = inputs_;
    out.inputs.insert(out.inputs.end(), tail.inputs.begin() + 1, tail.inputs.end());
    return out;
  }

 private:
  [[nodiscard]] std::vector<fused::Step> steps() const {
    std::vector<fused::Step> out;
    const auto inputs = static_cast<std::uint32_t>(inputs_.size());
    for (const auto& [step, sources] : steps_) {
      fused::Step next = step;
      for (const Source& source : sources) {
        next.inputs.push_back(source.is_input ? source.number : inputs + source.number);
      }
      out.push_back(std::move(next));
    }
    return out;
  }

  struct Source {
    bool is_input = true;
    std::uint32_t number = 0;
  };

  Source add_input(Edge edge) {
    const auto found = std::ranges::find(inputs_, edge);
    const auto number = static_cast<std::uint32_t>(found - inputs_.begin());
    if (found == inputs_.end()) inputs_.push_back(edge);
    if (inputs_.size() > most_inputs_) fits_ = false;
    return {true, number};
  }

  /// Whether taking in the inputs of an operation keeps the chain within its limits, with `left`
  /// inputs still to come.
  bool has_room(const Operation& operation, std::size_t left) const {
    std::size_t more = 0;
    for (const Edge& input : operation.inputs) {
      if (std::ranges::find(inputs_, input) == inputs_.end()) ++more;
    }
    return inputs_.size() + more + left <= most_inputs_ &&
           steps_.size() + pending_ + 2 < fused::max_steps;
  }

  Source plan(int node, std::size_t left = 0) {
    const Operation& operation = graph_.at(node);
    std::vector<Source> sources;
    ++pending_;
    members_.push_back(node);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const Edge input = operation.inputs[i];
      const std::size_t rest = left + operation.inputs.size() - 1 - i;
      const bool join =
          can_join(graph_, readers_, input, shape_) && has_room(graph_.at(input.node), rest);
      sources.push_back(join ? plan(input.node, rest) : add_input(input));
    }
    --pending_;
    const bool cast = operation.rule == &kinds::cast;
    fused::Step step;
    step.function = cast ? "copy" : as<MapAttributes>(operation.attributes).function;
    if (!cast) step.scalars = as<MapAttributes>(operation.attributes).scalars;
    if (cast && !sources.front().is_input) return sources.front();
    steps_.emplace_back(std::move(step), std::move(sources));
    return {false, static_cast<std::uint32_t>(steps_.size() - 1)};
  }

  const Graph& graph_;
  const std::vector<int>& readers_;
  Shape shape_;
  std::size_t most_inputs_;
  std::vector<Edge> inputs_;
  std::vector<std::pair<fused::Step, std::vector<Source>>> steps_;
  std::vector<int> members_;
  std::size_t pending_ = 0;
  bool fits_ = true;
};

/// Whether an operation reads its first input once, row by row or as a whole, and can compute it
/// while it reads.
bool is_tail(const Operation& operation) {
  if (const auto* norm = operation.attributes.get_if<NormAttributes>()) {
    return operation.rule == &kinds::norm && norm->kind != ops::norm::Kind::group;
  }
  return operation.rule == &kinds::reduce ||
         (operation.rule == &kinds::softmax && operation.inputs.size() == 1);
}

}  // namespace

Status fuse(Graph& graph, DeviceData& device) {
  const std::vector<int> readers = count_readers(graph);
  // Each input is a binding, and so is the result.
  const std::size_t most_inputs =
      std::min<std::size_t>(fused::max_inputs, device.device.caps().max_bindings - 1);
  // From the end, so that chains are as long as can be; what became a step of one is not looked at
  // again.
  std::vector<bool> gone(graph.operations.size(), false);
  for (std::size_t i = graph.operations.size(); i-- > 0;) {
    const Operation& operation = graph.operations[i];
    if (is_tail(operation)) {
      const Edge x = operation.inputs.front();
      if (!can_join(graph, readers, x, graph.type(x).shape) || !is_float(graph.type(x).dtype))
        continue;
      const auto more = static_cast<std::size_t>(
          std::count_if(operation.inputs.begin() + 1, operation.inputs.end(),
                        [](const Edge& input) { return input.given(); }));
      if (more >= most_inputs) continue;
      const Chain chain(graph, readers, x.node, most_inputs - more);
      std::optional<Operation> whole = chain.fuse_tail(operation);
      if (!whole) continue;
      // The kernels of rows read floats alone, and reductions of booleans count.
      const bool plain = std::ranges::all_of(
          chain.inputs(), [&](Edge input) { return is_float(graph.type(input).dtype); });
      if (!plain && operation.rule != &kinds::reduce) continue;
      for (const int node : chain.members()) gone[static_cast<std::size_t>(node)] = true;
      graph.operations[i] = std::move(*whole);
      continue;
    }
    const bool elementwise = operation.rule == &kinds::map || operation.rule == &kinds::cast;
    if (gone[i] || !elementwise || operation.inputs.empty() || !all_float(graph, operation) ||
        !is_float(operation.types.front().dtype))
      continue;
    const Chain chain(graph, readers, static_cast<int>(i), most_inputs);
    std::optional<Operation> whole = chain.fuse(operation);
    if (!whole) continue;
    for (const int node : chain.members()) gone[static_cast<std::size_t>(node)] = true;
    graph.operations[i] = std::move(*whole);
  }
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
