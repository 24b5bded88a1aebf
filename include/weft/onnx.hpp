#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/device.hpp"
#include "weft/tensor.hpp"

/// Models in ONNX files.
namespace weft::onnx {

struct ModelData;  // internal

/// An extent of an input or a result: a number, a name that stands for one, or neither.
struct Extent {
  std::optional<std::uint64_t> value;
  std::string symbol;
};

/// An input or a result of a model.
struct Port {
  std::string name;
  std::string type;            ///< "f32", "i64", "string", …, or "sequence", "optional", …
  std::optional<DType> dtype;  ///< The type that Weft has for it.
  std::optional<std::vector<Extent>> shape;  ///< Where the file says one.
  bool optional = false;                     ///< An input that has a value in the file.
};

/// How the last call of Model::run() went.
struct RunReport {
  bool replayed = false;       ///< The whole graph was compiled for these shapes, and replayed.
  std::string why;             ///< If not: what kept it from being compiled.
  std::size_t dispatches = 0;  ///< Kernel launches of the compiled graph.
};

/// A model, ready to run. A cheap handle. Threads may share it; they run one after the other.
class Model {
 public:
  [[nodiscard]] const std::vector<Port>& inputs() const;
  [[nodiscard]] const std::vector<Port>& outputs() const;
  /// The versions of the sets of operations that the file names; "" is ONNX's own.
  [[nodiscard]] const std::map<std::string, std::int64_t>& opsets() const;
  /// How often each operation is there, graphs inside of others included; "com.microsoft.Attention"
  /// for other domains.
  [[nodiscard]] const std::map<std::string, std::size_t>& operations() const;
  /// Nodes that Weft cannot run, as sentences with their names.
  [[nodiscard]] const std::vector<std::string>& unsupported() const;

  /// The types and shapes of all values of the graph, results of nodes included, by name. Extents
  /// that follow from those that inputs leave open are formulas of their names: "batch",
  /// "2*sequence + 1", "floor((width + 1)/2)". An open extent without a name is called after its
  /// place ("x.0"). What follows from elements, and not from shapes, is left out. Nothing is
  /// computed.
  [[nodiscard]] std::map<std::string, Port> shapes() const;

  /// Runs the model. The graph is compiled once for each set of shapes and then replayed; where
  /// shapes follow from elements of inputs, the elements of small inputs count like shapes, and
  /// else every node is run by itself.
  [[nodiscard]] std::map<std::string, Tensor> run(
      const std::map<std::string, Tensor>& inputs) const;
  [[nodiscard]] RunReport report() const;
  /// All of the above as JSON.
  [[nodiscard]] std::string to_json() const;
  /// The graph that was compiled last, in the DOT language.
  [[nodiscard]] std::string dot() const;

 private:
  friend struct ModelAccess;
  std::shared_ptr<ModelData> data_;
};

/// Reads a model. Its weights stay in the mapped file until they are needed; external data must lie
/// in the model's folder.
[[nodiscard]] Model load(const Device& device, const std::filesystem::path& path);
/// The same from bytes, which are copied.
[[nodiscard]] Model load(const Device& device, std::span<const std::byte> bytes);

}  // namespace weft::onnx
