#include "weft/compile.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/format.hpp"
#include "gpu/lifetime.hpp"
#include "graph/adopt.hpp"
#include "graph/evaluate.hpp"
#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graph/node.hpp"
#include "graph/passes.hpp"
#include "graph/program.hpp"
#include "graph/recover.hpp"

namespace weft {
namespace graph {
namespace {

/// A function for one set of input shapes and types, ready to be replayed.
struct Variant {
  std::shared_ptr<DeviceData> device;
  std::vector<Type> inputs;
  std::vector<gpu::Slice> input_slices;  ///< Empty where the function does not read the input.
  std::vector<std::pair<gpu::Buffer, ops::View>> outputs;
  std::vector<std::shared_ptr<Node>> updated;
  gpu::Recording recording;
  bool one_buffer = false;  ///< See Placed.
  std::uint64_t opened =
      0;  ///< Which of the devices that took each other's place it was recorded for.
  CompileReport report;
  std::string text;
  std::string dot;
};

/// The node of a variable, or a sentence about what was given instead.
const std::shared_ptr<Node>& variable_node(const Value& value) {
  if (value.node->rule != &kinds::variable) {
    throw Error(ErrorCode::invalid_argument,
                formatted("Only variables can be updated; a tensor {} was given, made by {}.",
                          describe(value.type()),
                          describe_place(value.node->rule->name, value.node->where)));
  }
  return value.node;
}

std::vector<std::pair<Value, Value>> checked(const std::vector<Update>& updates) {
  std::vector<std::pair<Value, Value>> out;
  std::set<const Node*> seen;
  for (const Update& update : updates) {
    const Value variable = Access::value(update.variable);
    const Value value = Access::value(update.value);
    if (!seen.insert(variable_node(variable).get()).second) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("A variable {} is updated twice.", describe(variable.type())));
    }
    if (variable.type() != value.type() || variable.node->device != value.node->device) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("A variable {} cannot take values {} (of {}).",
                            describe(variable.type()), describe(value.type()),
                            describe_place(value.node->rule->name, value.node->where)));
    }
    out.emplace_back(variable, value);
  }
  return out;
}

/// The graph of one call of the function. Results get memory of their own.
Graph trace(const Function& function, const std::shared_ptr<DeviceData>& device,
            const std::vector<Type>& types) {
  std::vector<Tensor> inputs;
  std::vector<Value> stand_ins;
  for (const Type& type : types) {
    inputs.push_back(make_input(device, type));
    stand_ins.push_back(Access::value(inputs.back()));
  }
  const Outputs outputs = function(inputs);
  std::vector<Value> values;
  for (const Tensor& tensor : outputs.values) {
    const Value value = Access::value(tensor);
    const bool own = value.node->rule->lower != nullptr && !value.node->computed();
    values.push_back(own ? value
                         : Access::value(make(kinds::copy, {}, {tensor}, value.node->where)));
  }
  const auto updates = checked(outputs.updates);
  Graph graph = collect(values, updates, stand_ins);
  // A recording knows where variables lie, and with them views of them that were computed before.
  bool moved = false;
  for (const Operation& operation : graph.operations) {
    if (!operation.variable) continue;
    moved = moved || operation.variable->shares;
    make_private(*operation.variable);
  }
  return moved ? collect(values, updates, stand_ins) : graph;
}

}  // namespace
}  // namespace graph

namespace {

/// Set for as long as the object lives.
class Building {
 public:
  explicit Building(bool& flag) : flag_(flag) { flag_ = true; }
  Building(const Building&) = delete;
  Building& operator=(const Building&) = delete;
  ~Building() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace

struct CompiledData {
  Function function;
  CompileOptions options;
  std::recursive_mutex mutex;  // on_pass may look at the function that is being compiled
  bool building = false;
  std::vector<std::shared_ptr<graph::Variant>>
      variants;  ///< The one that was used last comes last.
  std::size_t built = 0;

  [[nodiscard]] std::shared_ptr<graph::Variant> last() {
    const std::lock_guard lock(mutex);
    return variants.empty() ? nullptr : variants.back();
  }
};

namespace graph {
namespace {

std::shared_ptr<Variant> build(const CompiledData& compiled,
                               const std::shared_ptr<DeviceData>& device,
                               const std::vector<Type>& types) {
  auto variant = std::make_shared<Variant>();
  variant->device = device;
  variant->inputs = types;
  Graph graph = trace(compiled.function, device, types);
  const auto report = [&](std::string_view name, const Graph& now) {
    if (compiled.options.on_pass)
      compiled.options.on_pass({std::string(name), to_text(now), to_dot(now)});
  };
  report("trace", graph);
  Caps caps = device->device.caps();
  caps.check_indices = caps.check_indices || compiled.options.check_indices;
  if (caps.check_indices) device->checks = true;
  unwrap(run_passes(graph, *device, compiled.options.without, report));
  const Program program = unwrap(lower(graph, caps, {.own_outputs = true}));
  const Placed placed = unwrap(place(program, device->device));
  variant->one_buffer = placed.one_buffer;
  variant->opened = gpu::identity(device->device);
  unwrap(device->executor.prepare(program.dispatches));
  gpu::Stream stream = device->device.stream();
  unwrap(stream.begin_recording());
  unwrap(device->executor.run(stream, program.dispatches, placed.slices));
  variant->recording = unwrap(stream.end_recording());

  variant->input_slices.resize(types.size());
  for (std::size_t i = 0; i < program.blocks.size(); ++i) {
    const Block& block = program.blocks[i];
    if (block.place != Block::Place::input) continue;
    variant->input_slices[static_cast<std::size_t>(block.input)] = {placed.slices[i].buffer, 0,
                                                                    block.bytes};
  }
  for (const ops::View& view : program.outputs) {
    variant->outputs.emplace_back(placed.slices[view.slot.number()].buffer, view);
  }
  for (const GraphUpdate& update : graph.updates) {
    variant->updated.push_back(graph.at(update.variable).variable);
  }
  variant->report = {.nodes = graph.operations.size(),
                     .dispatches = program.dispatches.size(),
                     .arena_bytes = placed.arena_bytes,
                     .bound_bytes = placed.bound_bytes};
  variant->text = to_text(graph);
  variant->dot = to_dot(graph);
  return variant;
}

std::vector<Tensor> replay(const Variant& variant, const std::vector<Tensor>& inputs) {
  DeviceData& device = *variant.device;
  // Memory for the results first: a call that fails for want of it has changed no variable.
  std::vector<gpu::Buffer> copies;
  for (const auto& [buffer, view] : variant.outputs) {
    copies.push_back(unwrap(device.device.allocate(view.bytes().size())));
  }
  finish_readers(variant.updated);
  for (const auto& node : variant.updated) note_change(node);
  gpu::Stream stream = device.device.stream();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const gpu::Slice& to = variant.input_slices[i];
    if (!to.buffer || to.size == 0) continue;
    const Storage from = dense_storage_of(inputs[i]);
    unwrap(stream.copy({from.buffer, from.view.offset, to.size}, to));
  }
  unwrap(stream.replay(variant.recording));
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& [buffer, view] = variant.outputs[i];
    const std::uint64_t bytes = view.bytes().size();
    if (bytes > 0) unwrap(stream.copy({buffer, 0, bytes}, gpu::whole(copies[i])));
    results.push_back(make_leaf(kinds::value, variant.device, std::move(copies[i]), view));
  }
  unwrap(stream.submit());
  return results;
}

}  // namespace
}  // namespace graph

Compiled Access::compiled(std::shared_ptr<CompiledData> data) {
  Compiled out;
  out.data_ = std::move(data);
  return out;
}

Compiled compile(Function function, CompileOptions options) {
  if (!function) throw Error(ErrorCode::invalid_argument, "The function to compile is empty.");
  auto data = std::make_shared<CompiledData>();
  data->function = std::move(function);
  data->options = std::move(options);
  return Access::compiled(std::move(data));
}

namespace {

/// One attempt. `changes` becomes whether the function updates variables.
std::vector<Tensor> call(CompiledData& data, const std::shared_ptr<DeviceData>& device,
                         const std::vector<Tensor>& inputs, const std::vector<graph::Type>& types,
                         bool& changes) {
  auto& variants = data.variants;
  // What was recorded for a device that was lost since, or while it took any binding and does not
  // any more, is recorded anew.
  std::erase_if(variants, [&](const auto& variant) {
    return variant->device == device &&
           (variant->opened != gpu::identity(device->device) ||
            (variant->one_buffer && gpu::checks_aliases(device->device)));
  });
  const auto found = std::ranges::find_if(variants, [&](const auto& variant) {
    return variant->device == device && variant->inputs == types;
  });
  if (found != variants.end()) {
    std::rotate(found, found + 1, variants.end());
  } else {
    // Memory of the one that was not used for the longest time goes first, so that the new one can
    // have it.
    const std::size_t most = std::max<std::size_t>(data.options.most_variants, 1);
    while (variants.size() >= most) variants.erase(variants.begin());
    const Building now(data.building);
    variants.push_back(graph::build(data, device, types));
    ++data.built;
  }
  changes = !variants.back()->updated.empty();
  return graph::replay(*variants.back(), inputs);
}

}  // namespace

std::vector<Tensor> Compiled::operator()(const std::vector<Tensor>& inputs) const {
  if (!data_) throw Error(ErrorCode::invalid_argument, "The compiled function is empty.");
  if (inputs.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "A compiled function needs at least one input, which says what device to run on.");
  }
  const std::shared_ptr<DeviceData> device = Access::value(inputs.front()).node->device;
  std::vector<graph::Type> types;
  for (const Tensor& tensor : inputs) {
    const graph::Value value = Access::value(tensor);
    if (value.node->device != device) {
      throw Error(ErrorCode::invalid_argument,
                  "The inputs of a compiled function lie on different devices.");
    }
    types.push_back(value.type());
  }
  // The device's lock first: a function that is being compiled has it, and may call another one.
  const std::lock_guard device_lock(device->mutex);
  const std::lock_guard lock(data_->mutex);
  if (data_->building) {
    throw Error(ErrorCode::invalid_argument, "A compiled function cannot call itself.");
  }
  bool changes = false;
  try {
    return call(*data_, device, inputs, types, changes);
  } catch (const Error& error) {
    if (!graph::recovered_from(*device, error)) throw;
    if (changes) {
      throw Error(ErrorCode::device_lost,
                  "The device was lost while a compiled function was updating variables. It was "
                  "recovered, and those that were kept have the values of then.");
    }
  }
  return call(*data_, device, inputs, types, changes);
}

Tensor Compiled::one(const std::vector<Tensor>& inputs) const {
  const std::vector<Tensor> results = (*this)(inputs);
  if (!results.empty()) return results.front();
  throw Error(ErrorCode::invalid_argument,
              "one() needs a function with a result; this one only updates variables.");
}

CompileReport Compiled::report() const {
  const auto last = data_ ? data_->last() : nullptr;
  if (!last) return {};
  CompileReport report = last->report;
  const std::lock_guard lock(data_->mutex);
  report.variants = data_->variants.size();
  report.built = data_->built;
  return report;
}

std::string Compiled::text() const {
  const auto last = data_ ? data_->last() : nullptr;
  return last ? last->text : "";
}

std::string Compiled::dot() const {
  const auto last = data_ ? data_->last() : nullptr;
  return last ? last->dot : "";
}

Tensor variable(const Tensor& initial) {
  const graph::Value value = Access::value(initial);
  const graph::Type& type = value.type();
  const ops::View view = ops::View::dense(type.dtype, type.shape);
  graph::Restore restore = graph::restorer_of(value);
  // Computed into memory that nobody else has.
  const Tensor copy = graph::make(graph::kinds::copy, {}, {initial}, value.node->where);
  const graph::Storage storage = graph::storage_of(copy);
  Tensor made = graph::make_leaf(graph::kinds::variable, value.node->device, storage.buffer, view);
  graph::keep_until_changed(Access::value(made).node, std::move(restore));
  return made;
}

namespace {

void apply_once(std::span<const std::pair<graph::Value, graph::Value>> pairs, DeviceData& device) {
  std::vector<graph::Value> values;
  std::vector<graph::Restore> restorers;
  for (const auto& [variable, value] : pairs) {
    values.push_back(value);
    restorers.push_back(graph::restorer_of(value));
  }
  graph::evaluate(values);
  std::vector<std::shared_ptr<Node>> variables;
  for (const auto& [variable, value] : pairs) variables.push_back(variable.node);
  graph::finish_readers(variables);
  for (const auto& node : variables) graph::note_change(node);
  // Values that look at a variable's memory are copied out before any variable changes.
  std::vector<Tensor> safe;
  for (const graph::Value& value : values) {
    const Tensor tensor = Access::tensor(value);
    safe.push_back(value.node->aliases_variable
                       ? graph::make(graph::kinds::copy, {}, {tensor}, value.node->where)
                       : tensor);
  }
  std::vector<graph::Storage> sources;
  for (const Tensor& tensor : safe) sources.push_back(graph::dense_storage_of(tensor));
  gpu::Stream stream = device.device.stream();
  bool copied = false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Node& variable = *pairs[i].first.node;
    if (graph::adopt(variable, Access::value(safe[i]))) continue;
    graph::make_room(variable);
    graph::unshare(variable);
    const graph::Storage& to = variable.storage.front();
    const std::uint64_t bytes = to.view.bytes().size();
    if (bytes == 0) continue;
    unwrap(stream.copy({sources[i].buffer, sources[i].view.offset, bytes}, {to.buffer, 0, bytes}));
    copied = true;
  }
  if (copied) unwrap(stream.submit());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    graph::keep_until_changed(pairs[i].first.node, std::move(restorers[i]));
  }
}

}  // namespace

void apply(const std::vector<Update>& updates) {
  const auto pairs = graph::checked(updates);
  if (pairs.empty()) return;
  const std::shared_ptr<DeviceData> device = pairs.front().first.node->device;
  const std::lock_guard lock(device->mutex);
  for (const auto& [variable, value] : pairs) {
    if (value.node->device != device) {
      throw Error(ErrorCode::invalid_argument,
                  "The variables of one update lie on different devices.");
    }
  }
  graph::insist(*device, [&] { apply_once(pairs, *device); });
}

}  // namespace weft
