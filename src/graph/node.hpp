#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/gpu.hpp"
#include "graph/executor.hpp"
#include "graph/rule.hpp"
#include "ops/view.hpp"
#include "weft/compile.hpp"
#include "weft/device.hpp"
#include "weft/tensor.hpp"

namespace weft {

namespace graph {
class PlanCache;
}  // namespace graph

/// What a Device handle points to.
struct DeviceData {
  explicit DeviceData(gpu::Device opened)
      : device(std::move(opened)), executor(device), checks(device.caps().check_indices) {}
  gpu::Device device;
  graph::Executor executor;
  /// Held by whoever looks at what changes about nodes (values, inputs, readers) or queues changes
  /// of variables.
  std::recursive_mutex mutex;
  std::atomic<std::uint64_t> nodes = 0;
  std::uint64_t walks = 0;                  ///< Over nodes, so far; see Node::walk.
  std::atomic<bool> checks;                 ///< Some launches report indices that are out of range.
  std::shared_ptr<graph::PlanCache> plans;  ///< Made at the first use.
};

namespace graph {

/// One output of a node.
struct Value {
  std::shared_ptr<Node> node;
  std::uint32_t output = 0;
  explicit operator bool() const { return node != nullptr; }
  [[nodiscard]] const Type& type() const;
};

/// Where an output's elements lie, once they are computed.
struct Storage {
  gpu::Buffer buffer;
  ops::View view;
};

}  // namespace graph

/// One operation and its results: what Tensor handles point to. Everything but `storage`, `inputs`
/// (dropped when they are not needed any more) and `readers` stays as it was made.
struct Node : std::enable_shared_from_this<Node> {
  const graph::Rule* rule = nullptr;
  graph::Attributes attributes;
  std::vector<graph::Value> inputs;
  std::vector<graph::Type> types;
  std::shared_ptr<DeviceData> device;
  Where where;
  std::uint64_t number =
      0;  ///< Nodes of a device are numbered as they are made, inputs before their users.
  bool tracked = false;  ///< A variable or computed from one: keeps its inputs, for gradients.
  bool without_history = false;   ///< Its inputs were let go: gradients cannot be taken any more.
  bool aliases_variable = false;  ///< A variable or a view of one.
  bool traced = false;            ///< An input of a compiled function, or computed from one.
  bool shares = false;            ///< A tensor and a variable that have one memory; see adopt.hpp.
  bool fixed = false;  ///< A variable whose memory others know by heart: updates are copied to it.
  std::vector<graph::Storage> storage;  ///< Per output; empty until computed.
  /// What it was computed from, where it has let go of its inputs: a gradient by one of these would
  /// be wrong.
  std::vector<std::weak_ptr<Node>> origins;
  std::vector<std::weak_ptr<Node>> readers;  ///< Who must run before the values change, by an
                                             ///< update or a kernel of the user's own.

  // What a walk over nodes notes; guarded by the device's mutex, as what follows from it.
  std::uint64_t walk = 0;   ///< The last walk that came here.
  std::uint32_t place = 0;  ///< In its list of nodes.
  std::uint32_t reads = 0;  ///< How often others of the list read this one.

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();
  [[nodiscard]] bool computed() const { return !storage.empty(); }
};

/// What a Kernel handle points to.
struct KernelData {
  std::shared_ptr<DeviceData> device;
  gpu::KernelDesc desc;  ///< To compile it again after the device was lost.
  std::vector<bool> writes;
  std::uint32_t scalars = 0;
  mutable gpu::Kernel kernel;         ///< Guarded by the device's mutex, as the next member.
  mutable std::uint64_t made_by = 0;  ///< The identity of the device that compiled it.

  /// The kernel on the device as it is now. To be called with the device's mutex held.
  [[nodiscard]] const gpu::Kernel& current() const;
};

/// The way from the public handles to their state.
struct Access {
  static graph::Value value(const Tensor& tensor);  ///< Throws for an empty tensor.
  static graph::Value value_or_none(const Tensor& tensor) { return {tensor.node_, tensor.output_}; }
  static Tensor tensor(graph::Value value);
  static const std::shared_ptr<DeviceData>& data(const Device& device) { return device.data_; }
  static Device device(std::shared_ptr<DeviceData> data) { return Device(std::move(data)); }
  static Kernel kernel(KernelData data);
  static const KernelData& data(const Kernel& kernel) { return *kernel.data_; }
  static Compiled compiled(std::shared_ptr<CompiledData> data);
};

/// The value of a result, or its failure thrown as weft::Error.
template <class T>
T unwrap(Result<T> result) {
  if (!result) throw Error(result.error().code, result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

namespace graph {

/// A new node; throws where the inputs do not fit, and the message names `where`.
std::shared_ptr<Node> make_node(const Rule& rule, Attributes attributes,
                                const std::vector<Tensor>& inputs, Where where,
                                std::shared_ptr<DeviceData> device = nullptr);

/// The first (only) output of a new node.
Tensor make(const Rule& rule, Attributes attributes, const std::vector<Tensor>& inputs, Where where,
            std::shared_ptr<DeviceData> device = nullptr);

/// A leaf with elements that are somewhere already.
Tensor make_leaf(const Rule& rule, const std::shared_ptr<DeviceData>& device, gpu::Buffer buffer,
                 ops::View view);

/// A leaf without elements, which stands for an input.
Tensor make_input(const std::shared_ptr<DeviceData>& device, const Type& type);

/// Dense leaves in one buffer, whose elements are not set.
std::vector<Tensor> new_tensors(const std::shared_ptr<DeviceData>& device, DType dtype,
                                std::span<const Shape> shapes);
/// One of them.
Tensor new_tensor(const std::shared_ptr<DeviceData>& device, DType dtype, const Shape& shape);

/// The tensor's elements, computed if need be.
Storage storage_of(const Tensor& tensor);

/// The tensor's elements as a dense array that starts at a multiple of the binding alignment.
Storage dense_storage_of(const Tensor& tensor);

/// Computes the tensor if need be and copies its elements, in row-major order, to the host.
void read_elements(const Tensor& tensor, std::span<std::byte> bytes);

/// Throws what launches that check indices have reported; to be called when the device has been
/// waited for.
void take_report(DeviceData& device);

/// "matmul at model.cpp:12", or "matmul" where the place is not known.
std::string describe_place(std::string_view what, const Where& where);

}  // namespace graph
}  // namespace weft
