#pragma once

#include <string>
#include <vector>

#include "memory.hpp"
#include "weft/onnx.hpp"

namespace weft::ort {

/// A group of nodes that became one: what ONNX Runtime calls to compute it. Threads may; they run
/// one after the other.
class Subgraph : public OrtNodeComputeInfo {
 public:
  /// `fused` is the node that takes the place of the graph: it says in which order inputs and
  /// results are given.
  Subgraph(const Api& api, Memory& memory, std::shared_ptr<Accelerator> where,
           const OrtGraph* graph, const OrtNode* fused);

 private:
  static OrtStatus* ORT_API_CALL create_state(OrtNodeComputeInfo* self,
                                              OrtNodeComputeContext* context,
                                              void** state) noexcept;
  static OrtStatus* ORT_API_CALL compute(OrtNodeComputeInfo* self, void* state,
                                         OrtKernelContext* context) noexcept;
  static void ORT_API_CALL release_state(OrtNodeComputeInfo* self, void* state) noexcept;

  void run(OrtKernelContext* context) const;
  void give(OrtKernelContext* context, std::size_t place, const onnx::Value& value) const;

  const Api* api_;
  Memory* memory_;
  std::shared_ptr<Accelerator> where_;
  onnx::Model model_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
};

}  // namespace weft::ort
