#include "importer.hpp"

#include <cstdint>
#include <set>

#include "base/format.hpp"
#include "values.hpp"

namespace weft::ort {
namespace {

onnx::Type type_of(ONNXTensorElementDataType type) {  // the same numbers as in files
  return static_cast<onnx::Type>(type);
}

}  // namespace

std::string Importer::name(const OrtValueInfo* info) const {
  if (info == nullptr) return {};
  return api_->get<const char*>(api_->ort->GetValueInfoName, info);
}

std::string Importer::title(const OrtNode* node) const {
  std::string own = api_->get<const char*>(api_->ort->Node_GetName, node);
  if (!own.empty()) return own;
  for (const OrtValueInfo* output : api_->list<const OrtValueInfo*>(
           api_->ort->Node_GetNumOutputs, api_->ort->Node_GetOutputs, node)) {
    if (output != nullptr) return name(output);
  }
  return "without a name";
}

std::map<std::string, std::int64_t> Importer::opsets(const OrtGraph* graph) const {
  const auto count = api_->get<std::size_t>(api_->ort->Graph_GetNumOperatorSets, graph);
  std::vector<const char*> domains(count);
  std::vector<std::int64_t> versions(count);
  api_->check(
      api_->ort->Graph_GetOperatorSets(graph, domains.data(), versions.data(), domains.size()));
  std::map<std::string, std::int64_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string domain = domains[i];
    out[domain == "ai.onnx" ? "" : domain] = versions[i];
  }
  return out;
}

std::vector<const OrtGraph*> Importer::graphs_in(const OrtNode* node) const {
  std::vector<const OrtGraph*> out(api_->get<std::size_t>(api_->ort->Node_GetNumSubgraphs, node));
  if (!out.empty())
    api_->check(api_->ort->Node_GetSubgraphs(node, out.data(), out.size(), nullptr));
  return out;
}

onnx::ValueInfo Importer::value(const OrtValueInfo* info) const {
  onnx::ValueInfo out{.name = name(info), .kind = {}, .type = onnx::Type::none, .shape = {}};
  const auto* type = api_->get<const OrtTypeInfo*>(api_->ort->GetValueInfoTypeInfo, info);
  if (type == nullptr ||
      api_->get<ONNXType>(api_->ort->GetOnnxTypeFromTypeInfo, type) != ONNX_TYPE_TENSOR)
    return out;
  const auto* shape =
      api_->get<const OrtTensorTypeAndShapeInfo*>(api_->ort->CastTypeInfoToTensorInfo, type);
  out.kind = "tensor";
  out.type = type_of(api_->get<ONNXTensorElementDataType>(api_->ort->GetTensorElementType, shape));
  return out;
}

onnx::Type Importer::type_in_sequence(const OrtTypeInfo* type) const {
  if (type == nullptr ||
      api_->get<ONNXType>(api_->ort->GetOnnxTypeFromTypeInfo, type) != ONNX_TYPE_SEQUENCE)
    return onnx::Type::none;
  const auto* sequence =
      api_->get<const OrtSequenceTypeInfo*>(api_->ort->CastTypeInfoToSequenceTypeInfo, type);
  const Owned<OrtTypeInfo> member(
      api_->get<OrtTypeInfo*>(api_->ort->GetSequenceElementType, sequence),
      api_->ort->ReleaseTypeInfo);
  if (api_->get<ONNXType>(api_->ort->GetOnnxTypeFromTypeInfo, member.get()) != ONNX_TYPE_TENSOR)
    return onnx::Type::none;
  const auto* tensor = api_->get<const OrtTensorTypeAndShapeInfo*>(
      api_->ort->CastTypeInfoToTensorInfo, member.get());
  return type_of(api_->get<ONNXTensorElementDataType>(api_->ort->GetTensorElementType, tensor));
}

onnx::Expected Importer::expected(const OrtValueInfo* info, bool is_input) {
  onnx::Expected out;
  if (info == nullptr) return out;
  out.type = value(info).type;
  const auto* type = api_->get<const OrtTypeInfo*>(api_->ort->GetValueInfoTypeInfo, info);
  if (out.type == onnx::Type::none) out.type = type_in_sequence(type);
  if (out.type == onnx::Type::none)  // an optional, a map
    throw Error(ErrorCode::unsupported, formatted("'{}' is not a tensor.", name(info)));
  out.is_sequence = value(info).type == onnx::Type::none;
  if (out.is_sequence) return out;
  const auto* shape =
      api_->get<const OrtTensorTypeAndShapeInfo*>(api_->ort->CastTypeInfoToTensorInfo, type);
  const auto extents =
      api_->list<std::int64_t>(api_->ort->GetDimensionsCount, api_->ort->GetDimensions, shape);
  if (!extents.empty()) out.shape = extents;  // none: a scalar, or nobody knows
  // Weft's own types are looked at only where they are few; the largest have 8 bytes.
  if (is_input)
    out.constant = constant(info, onnx::dtype_of(out.type) ? onnx::most_examined * 8 : SIZE_MAX);
  return out;
}

std::shared_ptr<onnx::TensorProto> Importer::tensor(const OrtValue* value, std::size_t most_bytes) {
  const Described described = describe(*api_, value);
  auto out = std::make_shared<onnx::TensorProto>();
  for (const std::uint64_t extent : described.shape)
    out->dims.push_back(static_cast<std::int64_t>(extent));
  out->type = described.type;
  if (out->type == onnx::Type::string || described.bytes > most_bytes) return out;
  bytes_->push_back(host_bytes(*api_, value));
  out->raw = bytes_->back();
  out->has_raw = true;
  return out;
}

std::shared_ptr<onnx::TensorProto> Importer::constant(const OrtValueInfo* info,
                                                      std::size_t most_bytes) {
  if (info == nullptr || !api_->get<bool>(api_->ort->ValueInfo_IsConstantInitializer, info))
    return nullptr;
  const auto* value = api_->get<const OrtValue*>(api_->ort->ValueInfo_GetInitializerValue, info);
  if (value == nullptr) return nullptr;
  auto out = tensor(value, most_bytes);
  out->name = name(info);
  return out;
}

template <class Element>
std::vector<Element> Importer::read(const OrtOpAttr* attribute, OrtOpAttrType type) const {
  std::size_t size = 0;
  Element none{};
  // With no room, the function fails and says how many bytes it needs.
  if (OrtStatus* status = api_->ort->ReadOpAttr(attribute, type, &none, 0, &size))
    api_->ort->ReleaseStatus(status);
  std::vector<Element> out(size / sizeof(Element));
  if (!out.empty()) api_->check(api_->ort->ReadOpAttr(attribute, type, out.data(), size, &size));
  return out;
}

onnx::Attribute Importer::attribute(const OrtOpAttr* attribute) {
  onnx::Attribute out;
  out.name = api_->get<const char*>(api_->ort->OpAttr_GetName, attribute);
  const auto type = api_->get<OrtOpAttrType>(api_->ort->OpAttr_GetType, attribute);
  switch (type) {
    case ORT_OP_ATTR_INT: out.i = read<std::int64_t>(attribute, type).at(0); break;
    case ORT_OP_ATTR_INTS: out.ints = read<std::int64_t>(attribute, type); break;
    case ORT_OP_ATTR_FLOAT: out.f = read<float>(attribute, type).at(0); break;
    case ORT_OP_ATTR_FLOATS: out.floats = read<float>(attribute, type); break;
    case ORT_OP_ATTR_STRING: {
      const auto text = read<char>(attribute, type);
      out.s.assign(text.begin(), text.end());
      break;
    }
    case ORT_OP_ATTR_STRINGS: {  // each with a zero at its end
      std::string one;
      for (const char letter : read<char>(attribute, type)) {
        if (letter != '\0') {
          one += letter;
          continue;
        }
        out.strings.push_back(one);
        one.clear();
      }
      break;
    }
    case ORT_OP_ATTR_TENSOR: {
      const Owned<OrtValue> value(
          api_->get<OrtValue*>(api_->ort->OpAttr_GetTensorAttributeAsOrtValue, attribute),
          api_->ort->ReleaseValue);
      out.t = tensor(value.get());
      break;
    }
    default:
      throw Error(ErrorCode::unsupported,
                  formatted("The attribute '{}' is of a kind that is not read ({}).", out.name,
                            static_cast<int>(type)));
  }
  return out;
}

onnx::Node Importer::head(const OrtNode* node) {
  onnx::Node out;
  out.name = title(node);
  out.op = api_->get<const char*>(api_->ort->Node_GetOperatorType, node);
  out.domain = api_->get<const char*>(api_->ort->Node_GetDomain, node);
  if (out.domain == "ai.onnx") out.domain.clear();
  for (const OrtValueInfo* input : api_->list<const OrtValueInfo*>(api_->ort->Node_GetNumInputs,
                                                                   api_->ort->Node_GetInputs, node))
    out.inputs.push_back(name(input));
  for (const OrtValueInfo* output : api_->list<const OrtValueInfo*>(
           api_->ort->Node_GetNumOutputs, api_->ort->Node_GetOutputs, node))
    out.outputs.push_back(name(output));
  for (const OrtOpAttr* one : api_->list<const OrtOpAttr*>(api_->ort->Node_GetNumAttributes,
                                                           api_->ort->Node_GetAttributes, node)) {
    if (api_->get<OrtOpAttrType>(api_->ort->OpAttr_GetType, one) != ORT_OP_ATTR_GRAPH)
      out.attributes.push_back(attribute(one));
  }
  return out;
}

onnx::Node Importer::node(const OrtNode* node) {
  onnx::Node out = head(node);
  const std::vector<const OrtGraph*> graphs = graphs_in(node);
  std::vector<const OrtGraph*> again(graphs.size());
  std::vector<const char*> names(graphs.size());
  if (!graphs.empty())
    api_->check(api_->ort->Node_GetSubgraphs(node, again.data(), again.size(), names.data()));
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    onnx::Attribute& inside = out.attributes.emplace_back();
    inside.name = names[i];
    inside.g = std::make_shared<onnx::GraphProto>(graph(again[i]));
  }
  return out;
}

onnx::Prospect Importer::prospect(const OrtNode* node) {
  onnx::Prospect out{.node = head(node), .inputs = {}, .outputs = {}};
  if (!graphs_in(node).empty())
    out.node.attributes.emplace_back().g = std::make_shared<onnx::GraphProto>();
  for (const OrtValueInfo* input : api_->list<const OrtValueInfo*>(api_->ort->Node_GetNumInputs,
                                                                   api_->ort->Node_GetInputs, node))
    out.inputs.push_back(expected(input, true));
  for (const OrtValueInfo* output : api_->list<const OrtValueInfo*>(
           api_->ort->Node_GetNumOutputs, api_->ort->Node_GetOutputs, node))
    out.outputs.push_back(expected(output, false));
  return out;
}

onnx::GraphProto Importer::graph(const OrtGraph* graph) {
  onnx::GraphProto out;
  out.name = api_->get<const char*>(api_->ort->Graph_GetName, graph);
  std::set<std::string> constants;
  const auto note = [&](const OrtValueInfo* info) {
    if (info == nullptr || constants.contains(name(info))) return;
    if (const auto found = constant(info)) {
      constants.insert(found->name);
      out.initializers.push_back(found);
    }
  };
  for (const OrtValueInfo* info : api_->list<const OrtValueInfo*>(
           api_->ort->Graph_GetNumInputs, api_->ort->Graph_GetInputs, graph))
    out.inputs.push_back(value(info));
  for (const OrtNode* one :
       api_->list<const OrtNode*>(api_->ort->Graph_GetNumNodes, api_->ort->Graph_GetNodes, graph)) {
    out.nodes.push_back(node(one));
    for (const OrtValueInfo* input : api_->list<const OrtValueInfo*>(
             api_->ort->Node_GetNumInputs, api_->ort->Node_GetInputs, one))
      note(input);
  }
  for (const OrtValueInfo* info : api_->list<const OrtValueInfo*>(
           api_->ort->Graph_GetNumOutputs, api_->ort->Graph_GetOutputs, graph)) {
    out.outputs.push_back(value(info));
    const auto known =
        out.outputs.back().kind == "tensor" ? expected(info, false).shape : std::nullopt;
    if (known) {  // what a loop gives that has no steps
      auto& shape = out.outputs.back().shape.emplace();
      for (const std::int64_t extent : *known) {
        onnx::Dimension& one = shape.emplace_back();
        if (extent >= 0) one.value = extent;
      }
    }
    note(info);
  }
  return out;
}

}  // namespace weft::ort
