#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "describe/attributes/linear.hpp"
#include "describe/attributes/slice.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/products.hpp"
#include "graph/kinds.hpp"
#include "graph/passes.hpp"
#include "ops/map/functions.hpp"
#include "ops/mul_mat/mul_mat.hpp"

namespace weft::graph::passes {
namespace {

/// Where the elements of weights lie, before anything runs: a leaf, or rows of one.
struct Weights {
  std::uint64_t buffer = 0;
  ops::View view;
};

std::optional<Weights> weights_of(const Graph& graph, Edge edge) {
  const Operation& operation = graph.at(edge.node);
  if (!operation.storage.empty()) {
    const Storage& storage = operation.storage[edge.output];
    return Weights{storage.buffer.id(), storage.view};
  }
  if (operation.rule != &kinds::slice) return std::nullopt;
  auto below = weights_of(graph, operation.inputs.front());
  if (!below) return std::nullopt;
  const auto view = operation.rule->view(below->view, operation.attributes);
  if (!view) return std::nullopt;
  below->view = *view;
  return below;
}

/// Finds products with quantized weights that one launch can make, and puts one operation in their
/// place.
class Joiner {
 public:
  Joiner(Graph& graph, const Caps& caps)
      : graph_(graph), caps_(caps), readers_(count_readers(graph)), apart_(readers_.size(), false) {
    for (const Operation& operation : graph.operations) {
      if (operation.rule != &kinds::map || operation.inputs.size() != 2 ||
          as<MapAttributes>(operation.attributes).function != "add") {
        continue;
      }
      for (const Edge& input : operation.inputs) {
        apart_[static_cast<std::size_t>(input.node)] =
            readers_[static_cast<std::size_t>(input.node)] == 1;
      }
    }
    // A part of a joined result has no memory of its own, which results have.
    for (const Edge& output : graph.outputs) apart_[static_cast<std::size_t>(output.node)] = true;
    for (const GraphUpdate& update : graph.updates) {
      apart_[static_cast<std::size_t>(update.value.node)] = true;
    }
  }

  void run() {
    const std::size_t count = graph_.operations.size();
    for (std::size_t i = 0; i < count; ++i) gate(static_cast<int>(i));
    // Products of the same x, in the order of the graph.
    std::map<Edge, std::vector<int>> by_x;
    for (std::size_t i = 0; i < count; ++i) {
      const Operation& operation = graph_.operations[i];
      // What is added to a product is added by its own kernel, which is as good as joining it.
      if (operation.rule == &kinds::linear && !gone_.contains(static_cast<int>(i)) && !apart_[i]) {
        by_x[operation.inputs[0]].push_back(static_cast<int>(i));
      }
    }
    for (auto& [x, products] : by_x) {
      while (products.size() >= 2) join_first(products);
    }
  }

 private:
  [[nodiscard]] const Operation* product(Edge edge) const {
    const Operation& operation = graph_.at(edge.node);
    return operation.rule == &kinds::linear && !gone_.contains(edge.node) ? &operation : nullptr;
  }

  /// Whether one launch makes these products. The weights lie in one buffer then, and x has few
  /// rows.
  [[nodiscard]] bool fit(std::span<const int> products, std::string_view gated) const {
    const Operation& first = graph_.at(products.front());
    const Type& x = graph_.type(first.inputs[0]);
    const auto& a = as<LinearAttributes>(first.attributes);
    if (x.rank() < 2 || x.count() == 0 || x.dtype != DType::f32) return false;
    const std::uint64_t rows = x.count() / x.shape.back();
    ops::mul_mat::JoinArgs args{
        .weights = {},
        .x = ops::View::dense(x.dtype, {rows, x.shape.back()}, ops::Slot(0)),
        .y = {},
        .gated = gated,
        .allow_q8 = a.allow_q8,
        .exact = a.exact};
    std::uint64_t buffer = 0;
    std::uint64_t width = 0;
    for (const int number : products) {
      const Operation& operation = graph_.at(number);
      auto weights = weights_of(graph_, operation.inputs[1]);
      if (!weights || weights->view.rank != 2 || operation.inputs[0] != first.inputs[0] ||
          as<LinearAttributes>(operation.attributes) != a ||
          (number != products.front() && weights->buffer != buffer)) {
        return false;
      }
      buffer = weights->buffer;
      weights->view.slot = ops::Slot(1);
      args.weights.push_back(weights->view);
      width += weights->view.shape[0];
    }
    const bool unit = gated != "none";
    const std::uint64_t columns = unit ? width / 2 : width;
    const ops::View y = ops::View::dense(DType::f32, {rows, columns}, ops::Slot(2));
    std::uint64_t at = 0;
    for (const ops::View& weights : args.weights) {
      args.y.push_back(unit ? y : y.slice(1, at, weights.shape[0]));
      at += weights.shape[0];
      if (unit) break;
    }
    return ops::mul_mat::plan(args, caps_).has_value();
  }

  /// Adds the operation that makes products, with the attributes of the first one.
  int add(std::span<const int> products, ProductsAttributes attributes, const Type& y) {
    const Operation& first = graph_.at(products.front());
    attributes.parts = static_cast<std::uint32_t>(products.size());
    attributes.allow_q8 = as<LinearAttributes>(first.attributes).allow_q8;
    attributes.exact = as<LinearAttributes>(first.attributes).exact;
    Operation joined;
    joined.rule = &kinds::products;
    joined.attributes = std::move(attributes);
    joined.inputs = {first.inputs[0], Edge{}};
    joined.where = first.where;
    for (const int number : products) {
      joined.inputs.push_back(graph_.at(number).inputs[1]);
      gone_.insert(number);
    }
    joined.types = {y};
    graph_.operations.push_back(std::move(joined));
    return static_cast<int>(graph_.operations.size()) - 1;
  }

  /// unit(x · gateᵀ, x · upᵀ), where nothing else reads the two: also written as silu(x · gateᵀ) ·
  /// (x · upᵀ).
  void gate(int number) {
    const Operation& operation = graph_.at(number);
    if (operation.rule != &kinds::map || operation.inputs.size() != 2) return;
    const MapAttributes map = as<MapAttributes>(operation.attributes);
    const ops::map::Function* function = ops::map::find_function(map.function);
    ProductsAttributes attributes{.scalars = map.scalars, .gated = true};
    std::array<Edge, 2> sides{operation.inputs[0], operation.inputs[1]};
    if (function != nullptr && function->family == ops::map::Family::gated) {
      attributes.function = map.function;
    } else if (map.function == "mul") {
      attributes.function = "swiglu";
      for (int turn = 0; turn < 2 && !take_silu(sides[0]); ++turn) std::swap(sides[0], sides[1]);
      if (sides[0] == operation.inputs[0] || sides[0] == operation.inputs[1]) return;
    } else {
      return;
    }
    if (sides[0] == sides[1] || !only_product(sides[0]) || !only_product(sides[1]) ||
        operation.types != graph_.at(sides[0].node).types) {
      return;
    }
    const std::array products{sides[0].node, sides[1].node};
    if (!fit(products, attributes.function)) return;
    const Type y = operation.types.front();
    const int joined = add(products, std::move(attributes), y);
    redirect(graph_, {number, 0}, {joined, 0});
  }

  [[nodiscard]] bool only_product(Edge edge) const {
    return product(edge) != nullptr && readers_[static_cast<std::size_t>(edge.node)] == 1;
  }

  /// Goes from silu(x) to x, if nothing else reads the former.
  [[nodiscard]] bool take_silu(Edge& edge) const {
    const Operation& operation = graph_.at(edge.node);
    if (operation.rule != &kinds::map || operation.inputs.size() != 1 ||
        as<MapAttributes>(operation.attributes).function != "silu" ||
        readers_[static_cast<std::size_t>(edge.node)] != 1) {
      return false;
    }
    edge = operation.inputs.front();
    return true;
  }

  /// Joins the first product of a list with one or two others, and takes them from it.
  void join_first(std::vector<int>& products) {
    std::vector<int> chosen{products.front()};
    for (std::size_t i = 1; i < products.size() && chosen.size() < 3; ++i) {
      chosen.push_back(products[i]);
      if (!fit(chosen, "none")) chosen.pop_back();
    }
    if (chosen.size() > 1) {
      Type y = graph_.at(chosen.front()).types.front();
      y.shape.back() = 0;
      for (const int number : chosen)
        y.shape.back() += graph_.at(number).types.front().shape.back();
      const int joined = add(chosen, {}, y);
      std::uint64_t first = 0;
      for (const int number : chosen) {
        const Type type = graph_.at(number).types.front();
        Operation slice;
        slice.rule = &kinds::slice;
        slice.attributes = SliceAttributes{
            .axis = type.rank() - 1, .first = first, .count = type.shape.back(), .step = 1};
        slice.inputs = {{joined, 0}};
        slice.types = {type};
        slice.where = graph_.at(number).where;
        first += type.shape.back();
        graph_.operations.push_back(std::move(slice));
        redirect(graph_, {number, 0}, {static_cast<int>(graph_.operations.size()) - 1, 0});
      }
    }
    std::erase_if(products, [&](int number) { return std::ranges::contains(chosen, number); });
  }

  Graph& graph_;
  const Caps& caps_;
  std::vector<int> readers_;
  std::vector<bool> apart_;  // not to be joined
  std::set<int> gone_;       // products that another operation makes now
};

}  // namespace

Status join(Graph& graph, DeviceData& device) {
  if (std::ranges::none_of(graph.operations, [](const Operation& operation) {
        return operation.rule == &kinds::linear;
      })) {
    return {};
  }
  Joiner(graph, device.device.caps()).run();
  compact(graph);
  return {};
}

}  // namespace weft::graph::passes
