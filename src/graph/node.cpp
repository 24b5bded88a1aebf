#include "graph/node.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "base/math.hpp"
#include "describe/attributes/border.hpp"
#include "describe/attributes/cumsum.hpp"
#include "describe/attributes/norm.hpp"
#include "describe/attributes/recurrence.hpp"
#include "describe/attributes/softmax.hpp"
#include "graph/attributes/map.hpp"
#include "graph/attributes/reduce.hpp"
#include "graph/attributes/windows.hpp"
#include "graph/called.hpp"
#include "graph/evaluate.hpp"
#include "graph/kinds.hpp"
#include "graph/node_memory.hpp"
#include "graph/recover.hpp"

namespace weft {

namespace {

/// Lets go of a value, and of all that only it kept. A long chain must not be taken down by as many
/// nested destructors, and there may be no memory for a list of what is left to do (this happens in
/// handlers of errors): nodes that are on their way out lie on a stack, and the last input of each
/// is the one below.
void let_go(graph::Value value) noexcept {
  std::shared_ptr<Node> top;
  for (;;) {
    while (value.node && value.node.use_count() == 1 && !value.node->inputs.empty()) {
      const std::shared_ptr<Node> node = std::move(value.node);
      value = std::exchange(node->inputs.back(), {std::move(top)});
      top = node;
    }
    value = {};
    if (!top) return;
    std::vector<graph::Value>& left = top->inputs;
    if (left.size() > 1) {
      value = std::exchange(left[left.size() - 2], std::move(left.back()));
      left.pop_back();
    } else {
      std::shared_ptr<Node> below = std::move(left.back().node);
      left.clear();
      top = std::move(below);
    }
  }
}

}  // namespace

Node::~Node() {
  if (inputs.empty() || !device) return;
  // Who looks at the inputs of a node, which other threads may have handles to, holds this lock.
  const std::lock_guard lock(device->mutex);
  for (graph::Value& input : inputs) let_go(std::move(input));
}

graph::Value Access::value(const Tensor& tensor) {
  if (!tensor.node_)
    throw Error(ErrorCode::invalid_argument, "The tensor is empty: it was never given a value.");
  return {tensor.node_, tensor.output_};
}

Tensor Access::tensor(graph::Value value) {
  Tensor tensor;
  tensor.node_ = std::move(value.node);
  tensor.output_ = value.output;
  return tensor;
}

namespace graph {

const Type& Value::type() const { return node->types[output]; }

std::uint64_t Type::count() const {
  std::uint64_t n = 1;
  for (const std::uint64_t extent : shape) n *= extent;
  return n;
}

std::string describe(const Type& type) {
  if (!type.given) return "none";
  return std::string(name(type.dtype)) + ops::describe(type.shape);
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::uint64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return fail(ErrorCode::invalid_argument,
                  "Shapes {} and {} do not broadcast: {} and {} differ.", ops::describe(a),
                  ops::describe(b), x, y);
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

namespace {

/// What the outermost Called of this thread says.
struct CalledNow {
  std::string_view name;
  Where where;
};
thread_local CalledNow called_now;

}  // namespace

Called::Called(std::string_view name, const Where& where) noexcept
    : outermost_(called_now.name.empty()) {
  if (outermost_) called_now = {name, where};
}

std::string_view called_or(std::string_view function) noexcept {
  return called_now.name.empty() ? function : called_now.name;
}

Called::~Called() {
  if (outermost_) called_now.name = {};
}

std::string describe_place(std::string_view function, const Where& from) {
  const std::string_view what = called_or(function);
  const Where& where = called_now.name.empty() ? from : called_now.where;
  if (where.line() == 0) return std::string(what);  // not called from C++
  std::string_view file = where.file_name();
  const std::size_t slash = file.find_last_of('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return formatted("{} at {}:{}", what, file, where.line());
}

namespace {

std::string_view title_of_norm(ops::norm::Kind kind) {
  switch (kind) {
    case ops::norm::Kind::layer: return "layer_norm";
    case ops::norm::Kind::rms: return "rms_norm";
    case ops::norm::Kind::l2: return "normalize";
    case ops::norm::Kind::group: return "group_norm";
  }
  return "norm";
}

/// The name of the function that was called, for kinds that several functions share.
std::string_view title_of(const Rule& rule, const Attributes& attributes) {
  constexpr std::array<std::string_view, 5> scans{"cumsum", "cumprod", "cummax", "cummin",
                                                  "logcumsumexp"};
  if (const auto* map = attributes.get_if<MapAttributes>()) return map->function;
  if (const auto* reduce = attributes.get_if<ReduceAttributes>()) return name(reduce->function);
  if (const auto* recurrence = attributes.get_if<RecurrenceAttributes>()) {
    return name(recurrence->kind);
  }
  if (const auto* scan = attributes.get_if<CumsumAttributes>()) {
    return scans[static_cast<std::size_t>(scan->function)];
  }
  if (const auto* softmax = attributes.get_if<SoftmaxAttributes>()) {
    return &rule == &kinds::softmax && softmax->log ? "log_softmax" : rule.name;
  }
  if (const auto* norm = attributes.get_if<NormAttributes>()) {
    return &rule == &kinds::norm ? title_of_norm(norm->kind) : rule.name;
  }
  if (const auto* window = attributes.get_if<WindowAttributes>()) {
    if (&rule != &kinds::pool) return rule.name;
    return window->function == ops::pool::Function::max ? "max_pool" : "avg_pool";
  }
  return attributes.get_if<BorderAttributes>() != nullptr ? "pad" : rule.name;
}

[[noreturn]] void raise(const Failure& failure, std::string_view what, const Where& where) {
  throw Error(failure.code, formatted("{} ({})", failure.message, describe_place(what, where)));
}

void check_types(const std::vector<Type>& types, std::string_view what, const Where& where) {
  for (const Type& type : types) {
    if (type.rank() > ops::max_rank) {
      raise({ErrorCode::invalid_argument,
             formatted("A tensor has at most {} dimensions; shape {} was asked for.", ops::max_rank,
                       ops::describe(type.shape))},
            what, where);
    }
    const Status ok = ops::validate(ops::View::dense(type.dtype, type.shape), "result",
                                    ops::Types::quantized_too);
    if (!ok) raise(ok.error(), what, where);
  }
}

void note_reader(const std::shared_ptr<Node>& node) {
  for (const Value& in : node->inputs) {
    if (!in.node) continue;
    auto& readers = in.node->readers;
    if (readers.empty()) readers.reserve(4);
    if (readers.size() >= 64 && std::has_single_bit(readers.size())) {
      std::erase_if(readers, [](const auto& r) { return r.expired(); });
    }
    readers.push_back(node);
  }
}

}  // namespace

std::shared_ptr<Node> make_node(const Rule& rule, Attributes attributes,
                                const std::vector<Tensor>& inputs, Where where,
                                std::shared_ptr<DeviceData> device) {
  auto node = std::allocate_shared<Node>(NodeMemory<Node>());
  node->rule = &rule;
  node->attributes = std::move(attributes);
  node->where = where;
  // The types of the inputs, in memory that the next node takes too.
  thread_local std::vector<Type> known;
  if (known.size() < inputs.size()) known.resize(inputs.size());
  const std::span<Type> types = std::span(known).first(inputs.size());
  node->inputs.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value value = Access::value_or_none(inputs[i]);
    types[i] = value ? value.type() : Type{.given = false};
    if (value) {
      if (!device) device = value.node->device;
      if (device != value.node->device) {
        raise(
            {ErrorCode::invalid_argument, "The tensors of one operation lie on different devices."},
            title_of(rule, node->attributes), where);
      }
      node->traced = node->traced || value.node->traced;
      node->tracked = node->tracked || (value.node->tracked && rule.gradient != nullptr);
      if (rule.view != nullptr && node->inputs.empty()) {
        node->aliases_variable = value.node->aliases_variable;
      }
    }
    node->inputs.push_back(std::move(value));
  }
  if (!device || (!types.empty() && !types.front().given)) {
    raise({ErrorCode::invalid_argument, "The tensor is empty: it was never given a value."},
          title_of(rule, node->attributes), where);
  }
  auto inferred = rule.infer({.attributes = node->attributes, .inputs = types});
  const std::string_view title = title_of(rule, node->attributes);
  if (!inferred) raise(inferred.error(), title, where);
  check_types(*inferred, title, where);
  node->types = std::move(*inferred);
  node->number = device->nodes.fetch_add(1);
  node->device = std::move(device);
  const std::lock_guard lock(node->device->mutex);
  note_reader(node);
  return node;
}

Tensor make(const Rule& rule, Attributes attributes, const std::vector<Tensor>& inputs, Where where,
            std::shared_ptr<DeviceData> device) {
  return Access::tensor({make_node(rule, std::move(attributes), inputs, where, std::move(device))});
}

namespace {

std::shared_ptr<Node> bare_leaf(const Rule& rule, const std::shared_ptr<DeviceData>& device,
                                Type type) {
  auto node = std::allocate_shared<Node>(NodeMemory<Node>());
  node->rule = &rule;
  node->types.push_back(std::move(type));
  node->number = device->nodes.fetch_add(1);
  node->device = device;
  node->tracked = node->aliases_variable = &rule == &kinds::variable;
  node->traced = &rule == &kinds::input;
  return node;
}

}  // namespace

Tensor make_leaf(const Rule& rule, const std::shared_ptr<DeviceData>& device, gpu::Buffer buffer,
                 ops::View view) {
  view.slot = {};  // numbered anew for every program
  auto node =
      bare_leaf(rule, device, {view.dtype, Shape(view.extents().begin(), view.extents().end())});
  node->storage.push_back({std::move(buffer), view});
  return Access::tensor({node});
}

Tensor make_input(const std::shared_ptr<DeviceData>& device, const Type& type) {
  return Access::tensor({bare_leaf(kinds::input, device, type)});
}

std::vector<Tensor> new_tensors(const std::shared_ptr<DeviceData>& device, DType dtype,
                                std::span<const Shape> shapes) {
  // Whole blocks lie between any two of them, and bindings can start at each.
  const std::uint64_t step = std::lcm<std::uint64_t>(256, block_bytes(dtype));
  std::vector<ops::View> views;
  std::uint64_t bytes = 0;
  for (const Shape& shape : shapes) {
    if (shape.size() > ops::max_rank) {
      throw Error(ErrorCode::invalid_argument,
                  formatted("A tensor has at most {} dimensions; {} were asked for.", ops::max_rank,
                            shape.size()));
    }
    ops::View& view = views.emplace_back(ops::View::dense(dtype, shape));
    unwrap(ops::validate(view, "new tensor", ops::Types::quantized_too));
    const std::uint64_t first = round_up(bytes, step);
    bytes = first + view.bytes().size();
    view.offset = first;
  }
  const std::lock_guard lock(device->mutex);
  Result<gpu::Buffer> buffer = device->device.allocate(bytes);
  if (!buffer && recovered_from(*device, Error(buffer.error().code, buffer.error().message))) {
    buffer = device->device.allocate(bytes);
  }
  const gpu::Buffer memory = unwrap(std::move(buffer));
  std::vector<Tensor> out;
  for (const ops::View& view : views) out.push_back(make_leaf(kinds::value, device, memory, view));
  return out;
}

Tensor new_tensor(const std::shared_ptr<DeviceData>& device, DType dtype, const Shape& shape) {
  return new_tensors(device, dtype, {&shape, 1}).front();
}

Storage storage_of(const Tensor& tensor) {
  const Value value = Access::value(tensor);
  const std::lock_guard lock(value.node->device->mutex);
  renew(*value.node);
  if (!value.node->computed()) evaluate({&value, 1});
  return value.node->storage[value.output];
}

Storage dense_storage_of(const Tensor& tensor) {
  Storage found = storage_of(tensor);
  const Value value = Access::value(tensor);
  const std::uint64_t alignment = value.node->device->device.caps().binding_alignment;
  if (found.view.is_dense() && found.view.offset % alignment == 0) return found;
  return storage_of(make(kinds::copy, {}, {tensor}, value.node->where));
}

void take_report(DeviceData& device) {
  if (!device.checks) return;
  const std::lock_guard lock(device.mutex);
  unwrap(device.executor.take_report());
}

namespace {

void read_once(const Tensor& tensor, std::span<std::byte> bytes) {
  const std::shared_ptr<Node> node = Access::value(tensor).node;
  std::unique_lock lock(node->device->mutex);
  const Storage dense = dense_storage_of(tensor);
  gpu::Device device = node->device->device;  // another may take its place
  // Only variables change once they have values: their updates stay apart from this read.
  if (!node->aliases_variable) lock.unlock();
  if (bytes.empty()) return;  // a view without elements may start behind the end of its buffer
  unwrap(device.read({dense.buffer, dense.view.offset, bytes.size()}, bytes));
  take_report(*node->device);
}

}  // namespace

void read_elements(const Tensor& tensor, std::span<std::byte> bytes) {
  insist(*Access::value(tensor).node->device, [&] { read_once(tensor, bytes); });
}

}  // namespace graph
}  // namespace weft
