#include "graph/autodiff.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/format.hpp"
#include "describe/attributes/shape.hpp"
#include "graph/attributes/checkpoint.hpp"
#include "graph/attributes/map.hpp"
#include "graph/kinds.hpp"
#include "graph/sum_parts.hpp"

namespace weft {
namespace graph {

std::uint64_t product(const Shape& shape) { return Type{DType::f32, shape}.count(); }

Tensor sum_to(const Tensor& x, const Shape& shape) {
  const Shape& from = x.shape();
  if (from == shape) return x;
  const std::size_t missing = from.size() - shape.size();
  Dims dims;
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    if (i < missing || (shape[i - missing] == 1 && from[i] != 1))
      dims.push_back(static_cast<int>(i));
  }
  const Tensor out = dims.empty() ? x : sum(x, dims);
  return out.shape() == shape ? out : out.reshape(shape);
}

Tensor full_like(const Tensor& like, const Shape& shape, DType dtype, double value) {
  const Value base = Access::value(like);
  return make(kinds::map,
              MapAttributes{.function = "fill", .scalars = {value}, .dtype = dtype, .shape = shape},
              {}, base.node->where, base.node->device);
}

namespace {

/// Some nodes, in the order of their addresses.
class Some {
 public:
  explicit Some(std::span<const Value> values) {
    for (const Value& value : values) nodes_.push_back(value.node.get());
    std::ranges::sort(nodes_);
  }
  [[nodiscard]] bool contains(const Node* node) const {
    return std::ranges::binary_search(nodes_, node);
  }

 private:
  std::vector<const Node*> nodes_;
};

/// An error where a node was computed from what a derivative is wanted by, and does not know any
/// more how.
void check_origins(const Node& node, const Some& wanted) {
  if (!node.inputs.empty()) return;  // it knows
  for (const std::weak_ptr<Node>& origin : node.origins) {
    const std::shared_ptr<Node> target = origin.lock();
    if (!target || !wanted.contains(target.get())) continue;
    throw Error(ErrorCode::invalid_argument,
                formatted("A tensor {}, made by {}, was computed already, and only tensors that "
                          "come from variables remember how: the derivative by {}, made by {}, is "
                          "lost. Take it before values are read, or make that tensor a variable().",
                          describe(node.types.front()), describe_place(node.rule->name, node.where),
                          describe(target->types.front()),
                          describe_place(target->rule->name, target->where)));
  }
}

/// The nodes that lead from `targets` to `y`, newest first. With `stop` none that lie before a
/// target.
std::vector<Node*> path(const Value& y, const Some& wanted, bool stop) {
  const std::uint64_t walk = ++y.node->device->walks;
  const auto visit = [walk](Node& node) {
    if (node.walk == walk) return false;
    node.walk = walk;
    node.place = 0;  // whether it leads from a target
    return true;
  };
  std::vector<Node*> all;
  std::vector<Node*> pending{y.node.get()};
  visit(*y.node);
  while (!pending.empty()) {
    Node* node = pending.back();
    pending.pop_back();
    all.push_back(node);
    if ((stop && wanted.contains(node)) || node->rule == &kinds::detach) continue;
    if (node->without_history && !wanted.contains(node)) {
      throw Error(
          ErrorCode::invalid_argument,
          formatted("A tensor {}, made by {}, has no history any more: variables that it was "
                    "computed from have got new values since. Take gradients before the "
                    "update, or detach() it if none shall flow there.",
                    describe(node->types.front()), describe_place(node->rule->name, node->where)));
    }
    if (!wanted.contains(node)) check_origins(*node, wanted);
    for (const Value& input : node->inputs) {
      if (input && visit(*input.node)) pending.push_back(input.node.get());
    }
  }
  std::ranges::sort(all, {}, &Node::number);
  std::vector<Node*> out;
  for (Node* node : all) {
    const bool reads =
        node->rule != &kinds::detach && std::ranges::any_of(node->inputs, [&](const Value& input) {
          return input && input.node->walk == walk && input.node->place != 0;
        });
    if (!reads && !wanted.contains(node)) continue;
    node->place = 1;
    out.push_back(node);
  }
  std::ranges::reverse(out);
  return out;
}

/// The parts of each derivative, from every node that reads the tensor.
class Parts {
 public:
  /// Of the nodes that path() gave.
  explicit Parts(std::span<Node* const> path) : path_(path), lists_(path.size()) {}

  [[nodiscard]] bool on_path(const Node& node) const { return place_of(node) < path_.size(); }

  void add(const Value& value, Tensor part) {
    const std::size_t place = place_of(*value.node);
    if (place == path_.size()) return;  // nobody will ask
    List& list = lists_[place];
    (list.last == none ? list.first : parts_[list.last].next) = parts_.size();
    list.last = parts_.size();
    parts_.push_back({.output = value.output, .tensor = std::move(part)});
  }

  /// A derivative of which all parts are there; none where it has no parts. It becomes its only
  /// part.
  Tensor total(const Node& node, std::uint32_t output) {
    const std::size_t place = place_of(node);
    if (place == path_.size()) return {};
    Part* only = nullptr;
    std::vector<Tensor> all;
    for (std::size_t i = lists_[place].first; i != none; i = parts_[i].next) {
      Part& part = parts_[i];
      if (part.output != output || !part.tensor) continue;
      if (only == nullptr) {
        only = &part;
        continue;
      }
      if (all.empty()) all.push_back(only->tensor);
      all.push_back(std::exchange(part.tensor, {}));
    }
    if (only == nullptr) return {};
    if (!all.empty()) only->tensor = sum_parts(std::move(all));
    return only->tensor;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  struct Part {
    std::uint32_t output = 0;
    std::size_t next = none;
    Tensor tensor{};
  };
  struct List {
    std::size_t first = none;
    std::size_t last = none;
  };

  /// The path is sorted.
  [[nodiscard]] std::size_t place_of(const Node& node) const {
    const auto found = std::ranges::lower_bound(path_, node.number, std::greater{}, &Node::number);
    return found != path_.end() && *found == &node ? static_cast<std::size_t>(found - path_.begin())
                                                   : path_.size();
  }

  std::span<Node* const> path_;
  std::vector<List> lists_;
  std::vector<Part> parts_;
};

void backward(Node& node, Parts& sums) {
  GradientArgs args{.attributes = node.attributes};
  const std::shared_ptr<Node> handle = node.shared_from_this();
  bool any = false;
  for (std::uint32_t i = 0; i < node.types.size(); ++i) {
    args.outputs.push_back(Access::tensor({handle, i}));
    args.dy.push_back(sums.total(node, i));
    any = any || args.dy.back();
  }
  bool reads = false;
  for (const Value& input : node.inputs) {
    args.inputs.push_back(input ? Access::tensor(input) : Tensor());
    args.wanted.push_back(input && is_float(input.type().dtype) && sums.on_path(*input.node));
    reads = reads || args.wanted.back();
  }
  if (!any || !reads) return;
  if (node.rule->gradient == nullptr) {
    throw Error(ErrorCode::unsupported,
                formatted("No derivative of {} is known; detach() its input if none is wanted.",
                          describe_place(node.rule->name, node.where)));
  }
  const std::vector<Tensor> parts = node.rule->gradient(args);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i] || !args.wanted[i]) continue;
    if (parts[i].shape() != args.inputs[i].shape() || parts[i].dtype() != args.inputs[i].dtype()) {
      throw Error(ErrorCode::internal,
                  formatted("The derivative of {} by its input {} is {}{}, the input {}.",
                            describe_place(node.rule->name, node.where), i, name(parts[i].dtype()),
                            ops::describe(parts[i].shape()), describe(node.inputs[i].type())));
    }
    sums.add(node.inputs[i], parts[i]);
  }
}

std::vector<Tensor> derive(const Tensor& y, const Tensor& weights, const std::vector<Tensor>& by,
                           bool independent) {
  const Value top = Access::value(y);
  const std::lock_guard lock(top.node->device->mutex);
  if (y.shape() != weights.shape() || !is_float(y.dtype())) {
    throw Error(ErrorCode::invalid_argument,
                formatted("grad needs floats and weights of their shape; they are {} and {}.",
                          describe(top.type()), describe(Access::value(weights).type())));
  }
  std::vector<Value> targets;
  for (const Tensor& tensor : by) targets.push_back(Access::value(tensor));
  const Some wanted(targets);
  const std::vector<Node*> nodes = path(top, wanted, independent);
  // Newest first; the nodes stay alive through `y`.
  Parts sums(nodes);
  sums.add(top, weights.to(y.dtype()));
  for (Node* node : nodes) {
    if (!independent || !wanted.contains(node)) backward(*node, sums);
  }
  std::vector<Tensor> out;
  for (const Value& target : targets) {
    const Tensor sum = sums.total(*target.node, target.output);
    const bool zeros = !sum && !independent;
    out.push_back(zeros ? full_like(y, target.type().shape, target.type().dtype) : sum);
  }
  return out;
}

}  // namespace

std::vector<Tensor> partial_derivatives(const Tensor& y, const Tensor& weights,
                                        const std::vector<Tensor>& by) {
  return derive(y, weights, by, true);
}

std::vector<Tensor> total_derivatives(const Tensor& y, const Tensor& weights,
                                      const std::vector<Tensor>& by) {
  return derive(y, weights, by, false);
}

std::vector<Tensor> derivatives_through(
    const GradientArgs& g,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>& f) {
  // Each input is looked at through a node of its own, so that one tensor in two places counts once
  // in each.
  std::vector<Tensor> inputs = g.inputs;
  std::vector<Tensor> by;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!g.wanted[i]) continue;
    inputs[i] =
        make(kinds::reshape, ShapeAttributes{inputs[i].shape()}, {inputs[i]}, Where::current());
    by.push_back(inputs[i]);
    places.push_back(i);
  }
  const std::vector<Tensor> outputs = f(inputs);
  std::vector<Tensor> sums(g.inputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!g.dy[k] || !outputs[k]) continue;
    const std::vector<Tensor> parts = partial_derivatives(outputs[k], g.dy[k], by);
    for (std::size_t j = 0; j < parts.size(); ++j) {
      Tensor& sum = sums[places[j]];
      sum = sum && parts[j] ? sum + parts[j] : parts[j] ? parts[j] : sum;
    }
  }
  return sums;
}

std::vector<float> alibi_slopes(std::uint64_t heads, float max_bias) {
  std::vector<float> slopes(heads, 1.0F);
  if (!(max_bias > 0)) return slopes;
  const auto whole = static_cast<float>(std::bit_floor(heads));
  const float bias = -max_bias / whole;
  for (std::uint64_t i = 0; i < heads; ++i) {
    const auto head = static_cast<float>(i);
    slopes[i] = std::exp2(head < whole ? bias * (head + 1) : bias * (head - whole + 0.5F));
  }
  return slopes;
}

}  // namespace graph

namespace {

/// The floats that a function used besides its inputs, as weights are: what its result was computed
/// from and what was there before its first node.
void append_captured(const Tensor& result, std::uint64_t first, std::vector<Tensor>& to) {
  const graph::Value top = Access::value(result);
  const std::lock_guard lock(top.node->device->mutex);
  std::unordered_set<const Node*> inputs;
  for (const Tensor& input : to) inputs.insert(Access::value(input).node.get());
  std::set<std::pair<const Node*, std::uint32_t>> seen{{top.node.get(), top.output}};
  std::vector<graph::Value> pending{top};
  while (!pending.empty()) {
    const graph::Value value = pending.back();
    pending.pop_back();
    if (value.node->number < first) {
      if (is_float(value.type().dtype) && !inputs.contains(value.node.get()))
        to.push_back(Access::tensor(value));
      continue;
    }
    for (const graph::Value& input : value.node->inputs) {
      if (input && seen.emplace(input.node.get(), input.output).second) pending.push_back(input);
    }
  }
}

}  // namespace

Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                  const std::vector<Tensor>& inputs, Where where) {
  if (!f) throw Error(ErrorCode::invalid_argument, "checkpoint needs a function; it is empty.");
  if (inputs.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "checkpoint needs at least one tensor that the function works on.");
  }
  const std::uint64_t first = Access::value(inputs.front()).node->device->nodes;
  const Tensor result = f(inputs);
  std::vector<Tensor> all = inputs;
  append_captured(result, first, all);
  all.insert(all.begin(), result);
  // The function is given as many inputs as it had, whatever it captured.
  const auto again = [f, count = inputs.size()](const std::vector<Tensor>& given) {
    return f({given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count)});
  };
  return graph::make(
      graph::kinds::checkpoint,
      graph::CheckpointAttributes{
          std::make_shared<const std::function<Tensor(const std::vector<Tensor>&)>>(again)},
      all, where);
}

std::vector<Tensor> grad(const Tensor& y, const Tensor& weights, const std::vector<Tensor>& by) {
  return graph::total_derivatives(y, weights, by);
}

std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& by) {
  if (loss.size() != 1) {
    throw Error(ErrorCode::invalid_argument,
                formatted("grad needs a loss with one element; its shape is {}.",
                          ops::describe(loss.shape())));
  }
  return grad(loss, graph::full_like(loss, loss.shape(), loss.dtype(), 1), by);
}

}  // namespace weft
