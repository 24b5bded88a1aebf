#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/value.hpp"
#include "weft/device.hpp"

namespace weft::onnx {

using Values = std::vector<Value>;
class Call;
using Op = Values (*)(Call& call);
/// Operations by name; those of other domains as "com.microsoft.Attention".
using Table = std::map<std::string, Op, std::less<>>;

/// Thrown where the elements of a value are needed that have none yet, because the graph is being
/// traced.
struct NeedsElements : Error {
  NeedsElements(std::vector<std::uint32_t> which, const std::string& message)
      : Error(ErrorCode::invalid_argument, message), sources(std::move(which)) {}
  std::vector<std::uint32_t> sources;
};

/// What all calls of a run share.
struct Context {
  Device device;
  const ModelProto* model = nullptr;
  std::shared_ptr<const void> keep;  ///< Owns the bytes of the file.
  OpenExternal open;
  std::map<std::pair<std::string, std::string>, const Function*> functions;
  std::map<const TensorProto*, Value> constants;  ///< Tensors of the file that were asked for.
  /// Weights that were packed in another way, by the bytes they were made from, which they hold.
  struct Packed {
    std::vector<Value> from;
    std::vector<Tensor> weights;
  };
  using PackedKey = std::array<const void*, 3>;
  std::map<PackedKey, Packed> packed;
  std::map<std::string, std::int64_t> opsets;
  std::uint64_t drawn = 0;  ///< Random numbers asked for so far.
  int depth = 0;            ///< Functions and graphs inside of each other.
  std::uint64_t nodes = 0;  ///< Nodes run so far, those of loops and functions included.
  /// The most of them: a loop may have no end, and functions that call others twice are 2^depth
  /// calls.
  std::uint64_t most_nodes = 1 << 21;
  bool shapes_only = false;  ///< Nothing is computed: results of branches whose condition is not
                             ///< known matter by their shapes.

  Value constant(const TensorProto& tensor);
  /// Starts counting for a run.
  void begin() { drawn = nodes = 0; }
};

/// Values by name, with those of the graph around it.
struct Scope {
  const Scope* parent = nullptr;
  std::map<std::string, Value, std::less<>> values;
  const std::map<std::string, Attribute>* attributes =
      nullptr;  ///< Of the function whose body this is.
  const std::map<std::string, std::int64_t>* opsets = nullptr;
  [[nodiscard]] const Value* find(std::string_view name) const;
};

/// One node with its inputs.
class Call {
 public:
  Call(Context& run, const Node& what, Scope& around, Values values, std::int64_t version)
      : context(run), node(what), scope(around), inputs(std::move(values)), opset(version) {}

  Context& context;
  const Node& node;
  Scope& scope;
  Values inputs;
  std::int64_t opset;

  [[nodiscard]] const Device& device() const { return context.device; }
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs.size() && inputs[i].exists(); }
  [[nodiscard]] std::size_t outputs() const { return node.outputs.size(); }
  [[nodiscard]] bool wants(std::size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty();
  }
  /// An input that must be there.
  [[nodiscard]] const Value& in(std::size_t i) const;
  /// The same as a tensor.
  [[nodiscard]] Tensor t(std::size_t i) const { return in(i).on(context.device); }
  /// The same, or an empty tensor where it is left out.
  [[nodiscard]] Tensor maybe(std::size_t i) const { return has(i) ? t(i) : Tensor(); }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return in(i).shape(); }
  /// Its elements, read from the device if need be.
  [[nodiscard]] const Array& host(std::size_t i) const;
  [[nodiscard]] const Array& host(const Value& value) const;
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t i) const { return host(i).ints(); }
  [[nodiscard]] std::int64_t scalar_int(std::size_t i) const;
  [[nodiscard]] double scalar(std::size_t i) const;

  [[nodiscard]] const Attribute* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t i(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double f(std::string_view name, double otherwise) const;
  /// An element type by its number; an error where there is no such type.
  [[nodiscard]] Type type(std::string_view name, Type otherwise) const;
  [[nodiscard]] std::string s(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> is(std::string_view name,
                                             std::vector<std::int64_t> otherwise = {}) const;
  [[nodiscard]] std::vector<double> fs(std::string_view name,
                                       std::vector<double> otherwise = {}) const;
  [[nodiscard]] const GraphProto& graph(std::string_view name) const;

  /// Whole numbers that are an attribute before some version and an input from then on; nothing
  /// where they are left out.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_of(std::size_t input,
                                                                 std::string_view name) const;

  /// Ends the call with a sentence about it.
  [[noreturn]] void refuse(const std::string& why, ErrorCode code = ErrorCode::unsupported) const;
  [[noreturn]] void wrong(const std::string& why) const {
    refuse(why, ErrorCode::invalid_argument);
  }
};

/// Runs a graph with values for its inputs.
Values run_graph(Context& context, const GraphProto& graph, const Scope* around,
                 const Values& inputs);
/// Runs nodes in a scope.
void run_nodes(Context& context, const std::vector<Node>& nodes, Scope& scope);

/// The operations of all families.
const Table& table();
/// The function for a node; nothing where there is none.
Op find_op(const Node& node);

}  // namespace weft::onnx
