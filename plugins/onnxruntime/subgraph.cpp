#include "subgraph.hpp"

#include <map>

#include "base/format.hpp"
#include "importer.hpp"
#include "onnx/model.hpp"
#include "transfer.hpp"

namespace weft::ort {

Subgraph::Subgraph(const Api& api, Memory& memory, std::shared_ptr<Accelerator> where,
                   const OrtGraph* graph, const OrtNode* fused)
    : OrtNodeComputeInfo{}, api_(&api), memory_(&memory), where_(std::move(where)) {
  ort_version_supported = ORT_API_VERSION;
  CreateState = create_state;
  Compute = compute;
  ReleaseState = release_state;

  Importer importer(api);
  onnx::ModelProto proto;
  proto.graph = importer.graph(graph);
  proto.has_graph = true;
  proto.opsets = importer.opsets(graph);
  // Inputs and results in the order of the node that takes the graph's place.
  const auto in_order = [&](auto count, auto list, std::vector<std::string>& names) {
    std::vector<onnx::ValueInfo> out;
    for (const OrtValueInfo* info : api.list<const OrtValueInfo*>(count, list, fused)) {
      names.push_back(importer.name(info));
      if (!names.back().empty()) out.push_back(importer.value(info));
    }
    return out;
  };
  proto.graph.inputs = in_order(api.ort->Node_GetNumInputs, api.ort->Node_GetInputs, inputs_);
  proto.graph.outputs = in_order(api.ort->Node_GetNumOutputs, api.ort->Node_GetOutputs, outputs_);
  model_ = onnx::ModelAccess::made(where_->device, std::move(proto), importer.keep());
}

void Subgraph::give(OrtKernelContext* context, std::size_t place, const onnx::Value& value) const {
  std::vector<std::int64_t> extents(value.shape().begin(), value.shape().end());
  auto* to = api_->get<OrtValue*>(api_->ort->KernelContext_GetOutput, context, place,
                                  extents.data(), extents.size());
  if (to == nullptr) return;  // Nobody asks for it.
  if (!is_ours(*api_, to)) return write_host(*api_, to, value.read());
  const Described described = describe(*api_, to);
  if (described.type != value.type()) {
    throw Error(ErrorCode::internal, formatted("The result is {}; there is room for {}.",
                                               onnx::describe(value), onnx::name(described.type)));
  }
  store(*api_, *memory_, to, std::make_shared<Stored>(value, where_));
}

void Subgraph::run(OrtKernelContext* context) const {
  std::map<std::string, onnx::Value> given;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto* value = api_->get<const OrtValue*>(api_->ort->KernelContext_GetInput, context, i);
    if (value == nullptr || inputs_[i].empty()) continue;
    given[inputs_[i]] = is_ours(*api_, value)
                            ? stored_in(*api_, *memory_, value)->on(where_, describe(*api_, value))
                            : from_host(*api_, value, where_->device);
  }
  const std::map<std::string, onnx::Value> results = onnx::ModelAccess::replay(model_, given);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].empty()) give(context, i, results.at(outputs_[i]));
  }
}

OrtStatus* Subgraph::create_state(OrtNodeComputeInfo* self, OrtNodeComputeContext* /*context*/,
                                  void** state) noexcept {
  *state = self;  // There is none but the subgraph itself.
  return nullptr;
}

OrtStatus* Subgraph::compute(OrtNodeComputeInfo* self, void* /*state*/,
                             OrtKernelContext* context) noexcept {
  const Subgraph& me = *static_cast<Subgraph*>(self);
  return me.api_->guarded([&] { me.run(context); });
}

void Subgraph::release_state(OrtNodeComputeInfo* /*self*/, void* /*state*/) noexcept {}

}  // namespace weft::ort
