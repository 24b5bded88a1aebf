#include "onnx/model.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>

#include "formats/mapped_file.hpp"
#include "onnx/array_file.hpp"
#include "onnx/functions.hpp"
#include "onnx/shapes.hpp"
#include "weft/compile.hpp"

namespace weft::onnx {

struct ModelData {
  explicit ModelData(const Device& device) : context{.device = device} {}

  std::mutex mutex;
  Context context;
  ModelProto proto;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::map<std::string, std::size_t> operations;
  std::vector<std::string> unsupported;

  std::set<std::uint32_t> by_value;          ///< Inputs whose elements count like shapes.
  std::map<std::string, Compiled> compiled;  ///< By the elements of these.
  std::string not_compiled;  ///< Why the graph cannot be compiled, once that is known.
  RunReport report;
  Compiled last;
};

namespace {

constexpr std::uint64_t most_elements = 4096;  // of an input whose elements count like shapes
constexpr std::size_t most_compiled = 16;

[[noreturn]] void raise(const Failure& failure, std::string_view doing) {
  throw Error(failure.code, formatted("While {}: {}", doing, failure.message));
}

Port port_of(const ValueInfo& info) {
  Port out{.name = info.name,
           .type = info.kind == "tensor" ? name(info.type) : info.kind,
           .dtype = {},
           .shape = {},
           .optional = false};
  if (info.kind == "tensor") out.dtype = dtype_of(info.type);
  if (info.kind == "tensor" && info.shape) {
    out.shape.emplace();
    for (const Dimension& d : *info.shape) {
      out.shape->push_back({d.value && *d.value >= 0
                                ? std::optional(static_cast<std::uint64_t>(*d.value))
                                : std::nullopt,
                            d.symbol});
    }
  }
  return out;
}

std::string full_name(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

void count(ModelData& data, const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    ++data.operations[full_name(node)];
    if (!data.context.functions.contains(function_key(node.domain, node.op, node.overload)) &&
        find_op(node) == nullptr) {
      data.unsupported.push_back(
          formatted("Node '{}' ({}) is an operation that Weft does not know.",
                    node.name.empty() && !node.outputs.empty() ? node.outputs.front() : node.name,
                    full_name(node)));
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.g) count(data, attribute.g->nodes);
    }
  }
}

Model put_together(const Device& device, ModelProto proto, std::shared_ptr<const void> keep,
                   OpenExternal open) {
  auto data = std::make_shared<ModelData>(device);
  data->proto = std::move(proto);
  Context& context = data->context;
  context.model = &data->proto;
  context.keep = std::move(keep);
  context.open = std::move(open);
  context.opsets = data->proto.opsets;
  for (const Function& function : data->proto.functions)
    context.functions[function_key(function.domain, function.name, function.overload)] = &function;
  std::set<std::string> given;
  for (const auto& tensor : data->proto.graph.initializers) given.insert(tensor->name);
  for (const ValueInfo& info : data->proto.graph.inputs) {
    data->inputs.push_back(port_of(info));
    data->inputs.back().optional = given.contains(info.name) || info.kind.starts_with("optional");
  }
  for (const ValueInfo& info : data->proto.graph.outputs) data->outputs.push_back(port_of(info));
  count(*data, data->proto.graph.nodes);
  for (const Function& function : data->proto.functions) count(*data, function.nodes);
  Model out;
  ModelAccess::set(out, std::move(data));
  return out;
}

Model opened(const Device& device, std::span<const std::byte> bytes,
             std::shared_ptr<const void> keep, OpenExternal open, std::string_view doing) {
  Result<ModelProto> proto = read_model(bytes);
  if (!proto) raise(proto.error(), doing);
  return put_together(device, std::move(*proto), std::move(keep), std::move(open));
}

/// Extents by the names that inputs give them, and the input that had each first.
using Named = std::map<std::string, std::pair<std::uint64_t, std::string>>;

/// An error where an extent with a name is another one than before. Tensors without elements are
/// left out: empty caches have extents of 0 where others of the name do not (Moonshine's decoder).
void check_names(Named& named, const Port& port, const std::vector<Extent>& extents,
                 const Value& value) {
  for (std::size_t d = 0; d < value.shape().size(); ++d) {
    const std::string& symbol = extents[d].symbol;
    const std::uint64_t extent = value.shape()[d];
    if (symbol.empty()) continue;
    const auto& [first, input] = named.emplace(symbol, std::pair(extent, port.name)).first->second;
    if (first != extent)
      throw Error(ErrorCode::invalid_argument,
                  formatted("The input '{}' is {}: '{}' is {} in it, but {} in the input '{}'.",
                            port.name, describe(value), symbol, extent, first, input));
  }
}

/// Values for the inputs, in their order; an error where one is missing, unknown or of another type
/// or shape.
Values ordered(const ModelData& data, const std::map<std::string, Value>& given) {
  for (const auto& [name, value] : given) {
    if (std::ranges::none_of(data.inputs, [&](const Port& port) { return port.name == name; })) {
      throw Error(ErrorCode::invalid_argument, formatted("The model has no input '{}'.", name));
    }
  }
  Values out;
  Named named;
  for (const Port& port : data.inputs) {
    const auto found = given.find(port.name);
    if (found == given.end()) {
      if (!port.optional)
        throw Error(ErrorCode::invalid_argument,
                    formatted("The input '{}' is missing.", port.name));
      out.emplace_back();
      continue;
    }
    const Value& value = found->second;
    out.push_back(value);
    if (!value.exists() || value.is_sequence()) continue;
    if (port.dtype && value.type() != type_of(*port.dtype)) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("The input '{}' is {}; the model takes {}.", port.name, describe(value),
                            port.type));
    }
    if (!port.shape) continue;
    const std::vector<Extent>& extents = *port.shape;
    const Shape& shape = value.shape();
    bool fits = shape.size() == extents.size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d) {
      const Extent& extent = extents[d];
      fits = !extent.value || *extent.value == shape[d];
    }
    if (!fits) {
      std::string wanted;
      for (const Extent& extent : extents)
        wanted += (wanted.empty() ? "" : ",") + (extent.value ? std::to_string(*extent.value)
                                                 : extent.symbol.empty() ? "?"
                                                                         : extent.symbol);
      throw Error(ErrorCode::invalid_argument,
                  formatted("The input '{}' is {}; the model takes [{}].", port.name,
                            describe(value), wanted));
    }
    if (value.size() > 0) check_names(named, port, extents, value);
  }
  return out;
}

/// What distinguishes calls besides the shapes of what is given: which inputs are there, and
/// elements that count like shapes.
std::string key_of(const ModelData& data, const Values& inputs) {
  std::string key;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    key += inputs[i].exists() ? '1' : '0';
    if (!inputs[i].exists() || !data.by_value.contains(static_cast<std::uint32_t>(i))) continue;
    const Array& elements = inputs[i].read();
    key += text_of(elements.shape);
    for (const std::byte byte : elements.bytes) key += static_cast<char>(byte);
  }
  return key;
}

/// The graph with inputs that have no elements yet, except for those that count like shapes.
Outputs traced(ModelData& data, const Values& known, const std::vector<std::size_t>& places,
               const std::vector<Tensor>& stand_ins) {
  Values inputs = known;
  for (std::size_t k = 0; k < places.size(); ++k) {
    Value value(stand_ins[k]);
    value.set_sources({static_cast<std::uint32_t>(places[k])});
    inputs[places[k]] = value;
  }
  data.context.begin();
  const Values results = run_graph(data.context, data.proto.graph, nullptr, inputs);
  std::vector<Tensor> out;
  for (const Value& value : results) out.push_back(value.on(data.context.device));
  return out;
}

/// The results by replaying the compiled graph; nothing where it cannot be compiled.
std::optional<Values> replayed(ModelData& data, const Values& inputs) {
  while (data.not_compiled.empty()) {
    std::vector<std::size_t> places;
    std::vector<Tensor> tensors;
    Values known(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].exists()) continue;
      if (data.by_value.contains(static_cast<std::uint32_t>(i))) {
        known[i] = inputs[i].read();
        continue;
      }
      places.push_back(i);
      tensors.push_back(inputs[i].on(data.context.device));
    }
    if (tensors.empty()) return std::nullopt;
    const std::string key = key_of(data, inputs);
    auto found = data.compiled.find(key);
    if (found == data.compiled.end()) {
      if (data.compiled.size() >= most_compiled) data.compiled.clear();
      found = data.compiled
                  .emplace(key, compile([&data, known, places](const std::vector<Tensor>& in) {
                             return traced(data, known, places, in);
                           }))
                  .first;
    }
    try {
      const std::vector<Tensor> results = found->second(tensors);
      data.last = found->second;
      data.report = {.replayed = true, .why = {}, .dispatches = found->second.report().dispatches};
      Values out;
      for (const Tensor& result : results) out.emplace_back(result);
      return out;
    } catch (const NeedsElements& needs) {
      data.compiled.erase(key);
      bool small = true;
      for (const std::uint32_t source : needs.sources)
        small =
            small && inputs.at(source).size() <= most_elements && !data.by_value.contains(source);
      if (small)
        data.by_value.insert(needs.sources.begin(), needs.sources.end());
      else
        data.not_compiled = needs.what();
    } catch (...) {
      data.compiled.erase(key);
      throw;
    }
  }
  return std::nullopt;
}

}  // namespace

void ModelAccess::set(Model& model, std::shared_ptr<ModelData> data) {
  model.data_ = std::move(data);
}

const ModelProto& ModelAccess::proto(const Model& model) { return model.data_->proto; }

std::map<std::string, Value> ModelAccess::run(const Model& model,
                                              const std::map<std::string, Value>& inputs) {
  ModelData& data = *model.data_;
  const std::lock_guard lock(data.mutex);
  data.context.begin();
  const Values results = run_graph(data.context, data.proto.graph, nullptr, ordered(data, inputs));
  std::map<std::string, Value> out;
  for (std::size_t i = 0; i < results.size(); ++i) out[data.outputs[i].name] = results[i];
  return out;
}

void ModelAccess::run_timed(
    const Model& model, const std::map<std::string, Value>& inputs,
    const std::function<void(const Node& node, const NodeTime& took)>& tell) {
  ModelData& data = *model.data_;
  const std::lock_guard lock(data.mutex);
  const GraphProto& graph = data.proto.graph;
  const Values given = ordered(data, inputs);
  data.context.begin();
  Scope scope;
  for (const auto& tensor : graph.initializers)
    scope.values[tensor->name] = data.context.constant(*tensor);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].exists()) scope.values[graph.inputs[i].name] = given[i];
  }
  for (const Node& node : graph.nodes) {
    data.context.device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    run_nodes(data.context, {node}, scope);
    for (const std::string& name : node.outputs) {
      const Value* value = scope.find(name);
      if (value == nullptr || !value->exists() || value->is_sequence() || value->known()) continue;
      value->on(data.context.device).eval();
    }
    data.context.device.synchronize();
    NodeTime took = work_of(node, scope);
    took.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    tell(node, took);
  }
}

Model ModelAccess::made(const Device& device, ModelProto proto, std::shared_ptr<const void> keep) {
  return put_together(device, std::move(proto), std::move(keep), {});
}

std::map<std::string, Value> ModelAccess::replay(const Model& model,
                                                 const std::map<std::string, Value>& inputs) {
  ModelData& data = *model.data_;
  const std::lock_guard lock(data.mutex);
  const Values given = ordered(data, inputs);
  std::optional<Values> results = replayed(data, given);
  if (!results) {
    data.report = {
        .replayed = false,
        .why = data.not_compiled.empty() ? "All inputs count like shapes." : data.not_compiled,
        .dispatches = 0};
    data.context.begin();
    results = run_graph(data.context, data.proto.graph, nullptr, given);
  }
  std::map<std::string, Value> out;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Value& value = (*results)[i];
    if (!value.exists() || value.is_sequence()) {
      throw Error(ErrorCode::unsupported, formatted("The result '{}' is {}, not a tensor.",
                                                    data.outputs[i].name, describe(value)));
    }
    out[data.outputs[i].name] = value;
  }
  return out;
}

namespace {

/// What a handle stands for; an error where it stands for nothing.
ModelData& data_of(const std::shared_ptr<ModelData>& data) {
  if (!data) throw Error(ErrorCode::invalid_argument, "The model is empty.");
  return *data;
}

}  // namespace

std::map<std::string, Tensor> Model::run(const std::map<std::string, Tensor>& inputs) const {
  const ModelData& data = data_of(data_);
  std::map<std::string, Value> values;
  for (const auto& [name, tensor] : inputs) {
    if (!tensor)
      throw Error(ErrorCode::invalid_argument,
                  formatted("The tensor for input '{}' is empty.", name));
    values.emplace(name, Value(tensor));
  }
  std::map<std::string, Tensor> out;
  for (const auto& [name, value] : ModelAccess::replay(*this, values))
    out[name] = value.on(data.context.device);
  return out;
}

const std::vector<Port>& Model::inputs() const { return data_of(data_).inputs; }
const std::vector<Port>& Model::outputs() const { return data_of(data_).outputs; }
const std::map<std::string, std::int64_t>& Model::opsets() const {
  return data_of(data_).proto.opsets;
}
const std::map<std::string, std::size_t>& Model::operations() const {
  return data_of(data_).operations;
}
const std::vector<std::string>& Model::unsupported() const { return data_of(data_).unsupported; }
std::map<std::string, Port> Model::shapes() const {
  const ModelData& data = data_of(data_);
  return inferred_shapes(data.context, data.proto.graph, data.inputs);
}
RunReport Model::report() const {
  ModelData& data = data_of(data_);
  const std::lock_guard lock(data.mutex);
  return data.report;
}
std::string Model::dot() const {
  ModelData& data = data_of(data_);
  const std::lock_guard lock(data.mutex);
  return data.last.dot();
}

Model load(const Device& device, const std::filesystem::path& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped) raise(mapped.error(), formatted("opening {}", path.string()));
  const auto file = std::make_shared<MappedFile>(std::move(*mapped));
  return opened(device, file->bytes(), owner_of(file), files_beside(path.parent_path()),
                formatted("reading {}", path.string()));
}

Model load(const Device& device, std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return opened(device, *copy, copy, {}, "reading a model");
}

}  // namespace weft::onnx
