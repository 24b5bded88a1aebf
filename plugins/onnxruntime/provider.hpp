#pragma once

#include <filesystem>
#include <memory>

#include "memory.hpp"

namespace weft::ort {

constexpr const char* provider_name = "WeftExecutionProvider";

/// The provider of one session.
class Provider : public OrtEp {
 public:
  /// `profile` is a file to write at the end; empty for none.
  Provider(const Api& api, Memory& memory, std::shared_ptr<Accelerator> where,
           const OrtLogger* logger, std::filesystem::path profile);
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;
  ~Provider();

 private:
  static const char* ORT_API_CALL name(const OrtEp* self) noexcept;
  static OrtStatus* ORT_API_CALL claim(OrtEp* self, const OrtGraph* graph,
                                       OrtEpGraphSupportInfo* support) noexcept;
  static OrtStatus* ORT_API_CALL compile(OrtEp* self, const OrtGraph** graphs,
                                         const OrtNode** fused, std::size_t count,
                                         OrtNodeComputeInfo** infos, OrtNode** contexts) noexcept;
  static void ORT_API_CALL release_infos(OrtEp* self, OrtNodeComputeInfo** infos,
                                         std::size_t count) noexcept;

  void log(OrtLoggingLevel level, const std::string& message) const;

  const Api* api_;
  Memory* memory_;
  std::shared_ptr<Accelerator> where_;
  const OrtLogger* logger_;
  std::filesystem::path profile_;
  bool has_compiled_ = false;
};

}  // namespace weft::ort
