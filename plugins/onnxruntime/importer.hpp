#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api.hpp"
#include "onnx/refusal.hpp"

namespace weft::ort {

/// Turns graphs that ONNX Runtime shows into what the translator takes. Elements of constants are
/// copied, because they are gone when ONNX Runtime has compiled a graph.
class Importer {
 public:
  explicit Importer(const Api& api) : api_(&api), bytes_(std::make_shared<Bytes>()) {}

  /// A node as the translator knows it, with the graphs inside of it.
  [[nodiscard]] onnx::Node node(const OrtNode* node);
  /// A node with what is known of its inputs and results; graphs inside of it are left empty.
  [[nodiscard]] onnx::Prospect prospect(const OrtNode* node);
  /// Nodes, and the constants that they read.
  [[nodiscard]] onnx::GraphProto graph(const OrtGraph* graph);
  /// The sets of operations that a graph is written with.
  [[nodiscard]] std::map<std::string, std::int64_t> opsets(const OrtGraph* graph) const;
  /// The graphs inside of a node.
  [[nodiscard]] std::vector<const OrtGraph*> graphs_in(const OrtNode* node) const;

  [[nodiscard]] std::string name(const OrtValueInfo* info) const;
  /// The name and the type of a value, without its shape.
  [[nodiscard]] onnx::ValueInfo value(const OrtValueInfo* info) const;
  /// The type of the tensors of a sequence; none where it is no sequence of tensors.
  [[nodiscard]] onnx::Type type_in_sequence(const OrtTypeInfo* type) const;
  /// The name of a node, or that of its first result.
  [[nodiscard]] std::string title(const OrtNode* node) const;
  /// Owns the elements of everything that was read.
  [[nodiscard]] std::shared_ptr<const void> keep() const { return bytes_; }

 private:
  using Bytes = std::deque<std::vector<std::byte>>;

  [[nodiscard]] onnx::Node head(const OrtNode* node);
  [[nodiscard]] onnx::Attribute attribute(const OrtOpAttr* attribute);
  [[nodiscard]] onnx::Expected expected(const OrtValueInfo* info, bool is_input);
  /// The tensor of a constant; nothing for other values. Elements are copied if there are at most
  /// so many bytes of them.
  [[nodiscard]] std::shared_ptr<onnx::TensorProto> constant(const OrtValueInfo* info,
                                                            std::size_t most_bytes = SIZE_MAX);
  [[nodiscard]] std::shared_ptr<onnx::TensorProto> tensor(const OrtValue* value,
                                                          std::size_t most_bytes = SIZE_MAX);
  template <class Element>
  [[nodiscard]] std::vector<Element> read(const OrtOpAttr* attribute, OrtOpAttrType type) const;

  const Api* api_;
  std::shared_ptr<Bytes> bytes_;
};

}  // namespace weft::ort
