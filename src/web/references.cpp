#include "web/object.hpp"

// AddRef and Release of every kind of handle.

namespace weft::web {
namespace {

template <class Handle>
void add(Handle handle) {
  if (handle != nullptr) ++object_of(handle)->references;
}

template <class Handle>
void release(Handle handle) {
  if (handle == nullptr || --object_of(handle)->references > 0) return;
  if constexpr (std::is_same_v<Handle, WGPUDevice>) unwatch(handle);
  weft_js_free(object_of(handle)->js);
  delete object_of(handle);
}

}  // namespace
}  // namespace weft::web

#define WEFT_WEB_REFERENCES(KIND)                                        \
  void wgpu##KIND##AddRef(WGPU##KIND handle) { weft::web::add(handle); } \
  void wgpu##KIND##Release(WGPU##KIND handle) { weft::web::release(handle); }

extern "C" {
WEFT_WEB_REFERENCES(Adapter)
WEFT_WEB_REFERENCES(BindGroup)
WEFT_WEB_REFERENCES(BindGroupLayout)
WEFT_WEB_REFERENCES(Buffer)
WEFT_WEB_REFERENCES(CommandBuffer)
WEFT_WEB_REFERENCES(CommandEncoder)
WEFT_WEB_REFERENCES(ComputePassEncoder)
WEFT_WEB_REFERENCES(ComputePipeline)
WEFT_WEB_REFERENCES(Device)
WEFT_WEB_REFERENCES(Instance)
WEFT_WEB_REFERENCES(PipelineLayout)
WEFT_WEB_REFERENCES(QuerySet)
WEFT_WEB_REFERENCES(Queue)
WEFT_WEB_REFERENCES(Sampler)
WEFT_WEB_REFERENCES(ShaderModule)
WEFT_WEB_REFERENCES(Surface)
WEFT_WEB_REFERENCES(TextureView)
}  // extern "C"

#undef WEFT_WEB_REFERENCES
