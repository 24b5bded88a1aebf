#include "web/object.hpp"

using namespace weft::web;

extern "C" {

WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* descriptor) {
  for (const WGPUChainedStruct* part = descriptor->nextInChain; part != nullptr;
       part = part->next) {
    if (part->sType != WGPUSType_DawnFakeBufferOOMForTesting) continue;
    if (reinterpret_cast<const WGPUDawnFakeBufferOOMForTesting*>(part)->fakeOOMAtDevice) {
      const std::string message =
          "the buffer \"" + std::string(text_of(descriptor->label)) + "\" was refused on purpose";
      wgpuDeviceInjectError(device, WGPUErrorType_OutOfMemory, view_of(message));
    }
  }
  const int id = weft_js_buffer(js(device), static_cast<double>(descriptor->size),
                                static_cast<int>(descriptor->usage), descriptor->label.data,
                                size_of(descriptor->label));
  if (id == 0) return nullptr;
  WGPUBuffer buffer = make<WGPUBuffer>(id);
  object_of(buffer)->size = descriptor->size;
  return buffer;
}

uint64_t wgpuBufferGetSize(WGPUBuffer buffer) { return object_of(buffer)->size; }

void wgpuBufferDestroy(WGPUBuffer buffer) { weft_js_destroy(js(buffer)); }

WGPUFuture wgpuBufferMapAsync(WGPUBuffer buffer, WGPUMapMode, size_t offset, size_t size,
                              WGPUBufferMapCallbackInfo info) {
  const WGPUFuture future = later([info](const Answer& answer) {
    info.callback(answer.value != 0 ? WGPUMapAsyncStatus_Success : WGPUMapAsyncStatus_Error,
                  view_of(answer.text), info.userdata1, info.userdata2);
  });
  weft_js_map(js(buffer), number(future), static_cast<double>(offset), static_cast<double>(size));
  return future;
}

const void* wgpuBufferGetConstMappedRange(WGPUBuffer buffer, size_t offset, size_t size) {
  Buffer& object = *object_of(buffer);
  if (!object.mapped) {
    object.mapped = std::make_unique_for_overwrite<std::byte[]>(size);
    if (weft_js_copy_mapped(object.js, static_cast<double>(offset), static_cast<double>(size),
                            object.mapped.get()) == 0) {
      object.mapped.reset();
    }
  }
  return object.mapped.get();
}

void wgpuBufferUnmap(WGPUBuffer buffer) {
  weft_js_unmap(js(buffer));
  object_of(buffer)->mapped.reset();
}

void wgpuQueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, uint64_t offset, const void* data,
                          size_t size) {
  weft_js_write(js(queue), js(buffer), static_cast<double>(offset), data,
                static_cast<double>(size));
}

}  // extern "C"
