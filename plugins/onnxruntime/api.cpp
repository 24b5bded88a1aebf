#include "api.hpp"

#include "base/format.hpp"

namespace weft::ort {

void Api::check(OrtStatus* status) const {
  if (status == nullptr) return;
  const Owned<OrtStatus> owned(status, ort->ReleaseStatus);
  throw Error(ErrorCode::internal,
              formatted("ONNX Runtime says: {}", ort->GetErrorMessage(status)));
}

OrtStatus* Api::status_of(ErrorCode code, const char* message) const noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return ort->CreateStatus(ORT_INVALID_ARGUMENT, message);
    case ErrorCode::unsupported: return ort->CreateStatus(ORT_NOT_IMPLEMENTED, message);
    case ErrorCode::not_found: return ort->CreateStatus(ORT_NOT_FOUND, message);
    default: return ort->CreateStatus(ORT_EP_FAIL, message);
  }
}

}  // namespace weft::ort
