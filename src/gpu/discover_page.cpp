#include <string>
#include <utility>

#include "gpu/adapter.hpp"

// A page cannot list adapters: it asks for one, and the browser chooses.

namespace weft::gpu {

Result<Discovery> discover() {
  Discovery discovery;
  discovery.host = {.unchecked = false, .pipeline_blobs = false, .blocking = false};
  discovery.instance = wgpu::CreateInstance(nullptr);
  wgpu::RequestAdapterOptions options;
  options.powerPreference = wgpu::PowerPreference::HighPerformance;
  wgpu::Adapter adapter;
  std::string problem;
  const wgpu::Future future = discovery.instance.RequestAdapter(
      &options, wgpu::CallbackMode::WaitAnyOnly,
      [&](wgpu::RequestAdapterStatus, wgpu::Adapter found, wgpu::StringView message) {
        adapter = std::move(found);
        problem = text(message);
      });
  if (Status status = wait_for(discovery.instance, future, "an adapter"); !status) {
    return std::unexpected(status.error());
  }
  if (adapter == nullptr) {
    return fail(ErrorCode::not_found, "WebGPU gives no adapter here: {}", problem);
  }
  AdapterInfo info = describe(adapter, 0);
  discovery.candidates.push_back({std::move(adapter), std::move(info)});
  return discovery;
}

}  // namespace weft::gpu
