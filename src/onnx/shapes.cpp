#include "onnx/shapes.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "onnx/extents.hpp"

namespace weft::onnx {
namespace {

using Sizes = std::vector<std::uint64_t>;

constexpr std::uint64_t most_elements = 4096;  // of constants that shapes may follow from
constexpr std::size_t most_probes = 120;
constexpr std::size_t most_names = 8;
constexpr auto longest = std::chrono::seconds(2);
constexpr std::uint32_t weight =
    std::numeric_limits<std::uint32_t>::max();  // not an input's number

struct Seen {
  Type type = Type::none;
  std::size_t rank = 0;
  std::vector<std::vector<Sighting>> extents;
  bool varies = false;  ///< Not of one rank, or no tensor.
};

/// The graph at some sizes, and what was seen of its values.
class Probes {
 public:
  Probes(const Context& like, const GraphProto& graph, const std::vector<Port>& inputs,
         std::uint64_t scale)
      : context_{.device = like.device}, graph_(graph), inputs_(inputs), scale_(scale) {
    context_.shapes_only = true;
    context_.model = like.model;
    context_.keep = like.keep;
    context_.open = like.open;
    context_.functions = like.functions;
    context_.opsets = like.opsets;
    for (const auto& tensor : graph.initializers) stand_in(*tensor);
    stand_in(graph.nodes);
    for (const Port& port : inputs) {
      if (!port.shape || port.optional) continue;
      const std::vector<Extent>& extents = *port.shape;
      for (std::size_t d = 0; d < extents.size(); ++d) {
        if (!extents[d].value) number_of(port.name, extents[d].symbol, d);
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::uint64_t scale() const { return scale_; }
  [[nodiscard]] const std::map<std::string, Seen>& seen() const { return seen_; }
  [[nodiscard]] std::size_t count() const { return done_.size(); }
  [[nodiscard]] bool has_traced(const Sizes& sizes) const { return done_.contains(sizes); }

  void trace(const Sizes& sizes) {
    if (!done_.insert(sizes).second) return;
    Scope scope;
    for (const auto& tensor : graph_.initializers) {
      try {
        scope.values[tensor->name] = context_.constant(*tensor);
      } catch (const Error&) {  // What follows from it is not known.
      }
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) put_input(scope, i, sizes);
    for (const Node& node : graph_.nodes) {
      if (!std::ranges::all_of(node.inputs, [&](const std::string& name) {
            return name.empty() || scope.find(name) != nullptr;
          }))
        continue;
      try {
        run_nodes(context_, {node}, scope);
      } catch (const Error&) {  // Its results are not known.
      }
    }
    for (const auto& [name, value] : scope.values) note(name, value, sizes);
  }

 private:
  /// Large constants are only shapes here: nothing is read from the file, and nothing goes to the
  /// device.
  void stand_in(const TensorProto& tensor) {
    const auto dtype = dtype_of(tensor.type);
    Shape shape;
    std::uint64_t count = 1;
    for (const std::int64_t extent : tensor.dims) {
      if (extent < 0 ||
          (extent > 0 && count > (std::uint64_t{1} << 40) / static_cast<std::uint64_t>(extent)))
        return;
      shape.push_back(static_cast<std::uint64_t>(extent));
      count *= shape.back();
    }
    if (!dtype || count <= most_elements) return;
    Value value(context_.device.full(shape, 0, *dtype));
    value.set_sources({weight});
    context_.constants[&tensor] = value;
  }
  void stand_in(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      for (const Attribute& attribute : node.attributes) {
        if (node.op == "Constant" && attribute.t) stand_in(*attribute.t);
        if (!attribute.g) continue;
        for (const auto& tensor : attribute.g->initializers) stand_in(*tensor);
        stand_in(attribute.g->nodes);
      }
    }
  }

  /// The number of the name of an open extent; one that has none is called after its place.
  std::size_t number_of(std::string_view input, const std::string& symbol, std::size_t dimension) {
    const std::string name = symbol.empty() ? formatted("{}.{}", input, dimension) : symbol;
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    names_.push_back(name);
    return names_.size() - 1;
  }

  void put_input(Scope& scope, std::size_t i, const Sizes& sizes) {
    const Port& port = inputs_[i];
    if (!port.dtype || !port.shape || port.optional) return;
    Shape shape;
    for (std::size_t d = 0; d < port.shape->size(); ++d) {
      const Extent& extent = (*port.shape)[d];
      shape.push_back(extent.value ? *extent.value : sizes[number_of(port.name, extent.symbol, d)]);
    }
    try {
      Value value(context_.device.full(shape, 0, *port.dtype));
      value.set_sources({static_cast<std::uint32_t>(i)});
      scope.values[port.name] = value;
    } catch (const Error&) {  // too large
    }
  }

  void note(const std::string& name, const Value& value, const Sizes& sizes) {
    if (!value.exists() || value.is_sequence()) return;
    const Shape& shape = value.shape();
    Seen& seen = seen_[name];
    if (seen.type == Type::none) {
      seen.type = value.type();
      seen.rank = shape.size();
      seen.extents.resize(shape.size());
    }
    seen.varies = seen.varies || seen.type != value.type() || seen.rank != shape.size();
    if (seen.varies) return;
    for (std::size_t d = 0; d < shape.size(); ++d) seen.extents[d].push_back({sizes, shape[d]});
  }

  Context context_;
  const GraphProto& graph_;
  const std::vector<Port>& inputs_;
  std::uint64_t scale_ = 1;
  std::vector<std::string> names_;
  std::set<Sizes> done_;
  std::map<std::string, Seen> seen_;
};

/// A value with what is known about its extents; `ask` gets the sizes that would tell more.
Port described(const std::string& name, const Seen& seen, const Probes& probes,
               std::vector<Sizes>& ask) {
  Port port{.name = name,
            .type = onnx::name(seen.type),
            .dtype = dtype_of(seen.type),
            .shape = std::vector<Extent>(),
            .optional = false};
  for (const std::vector<Sighting>& extent : seen.extents) {
    const auto formula = fitted(probes.names(), extent, probes.scale());
    Extent& shown = port.shape->emplace_back();
    if (!formula) continue;
    shown.value = formula->number;
    // The graph may not be for the sizes that would tell more.
    const bool is_open = std::ranges::any_of(
        formula->ask, [&](const Sizes& sizes) { return !probes.has_traced(sizes); });
    if (is_open) ask.insert(ask.end(), formula->ask.begin(), formula->ask.end());
    if (!formula->number && !is_open && formula->is_sure) shown.symbol = formula->text;
  }
  return port;
}

std::size_t open_extents(const Port& port) {
  if (!port.shape) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::ranges::count_if(
      *port.shape, [](const Extent& extent) { return !extent.value && extent.symbol.empty(); }));
}

}  // namespace

std::map<std::string, Port> inferred_shapes(const Context& like, const GraphProto& graph,
                                            const std::vector<Port>& inputs) {
  std::map<std::string, Port> out;
  const auto start = std::chrono::steady_clock::now();
  for (const std::uint64_t scale : {1U, 16U}) {  // Some models are for long inputs only.
    Probes probes(like, graph, inputs, scale);
    if (probes.names().size() > most_names) return {};
    const auto may_go_on = [&] {
      return probes.count() < most_probes && std::chrono::steady_clock::now() - start < longest;
    };
    std::size_t before = 0;
    std::vector<Sizes> next = extent_probes(probes.names().size(), scale);
    do {
      before = probes.count();
      for (const Sizes& sizes : next) {
        if (before == 0 || may_go_on()) probes.trace(sizes);
      }
      next.clear();
      for (const auto& [name, seen] : probes.seen()) {
        if (seen.varies) continue;
        Port port = described(name, seen, probes, next);
        Port& best = out[name];
        if (open_extents(port) <= open_extents(best)) best = std::move(port);
      }
    } while (probes.count() > before && !next.empty());
    const bool known = std::ranges::all_of(graph.outputs, [&](const ValueInfo& one) {
      const auto found = out.find(one.name);
      return found != out.end() && open_extents(found->second) == 0;
    });
    if (known || probes.names().empty() || std::chrono::steady_clock::now() - start > longest)
      break;
  }
  return out;
}

}  // namespace weft::onnx
