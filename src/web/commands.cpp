#include "web/object.hpp"

using namespace weft::web;

extern "C" {

WGPUCommandEncoder wgpuDeviceCreateCommandEncoder(WGPUDevice device,
                                                  const WGPUCommandEncoderDescriptor*) {
  return make<WGPUCommandEncoder>(weft_js_encoder(js(device)));
}

WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(
    WGPUCommandEncoder encoder, const WGPUComputePassDescriptor* descriptor) {
  const WGPUPassTimestampWrites* times =
      descriptor == nullptr ? nullptr : descriptor->timestampWrites;
  if (times == nullptr) return make<WGPUComputePassEncoder>(weft_js_pass(js(encoder), 0, 0, 0));
  return make<WGPUComputePassEncoder>(weft_js_pass(
      js(encoder), js(times->querySet), static_cast<int>(times->beginningOfPassWriteIndex),
      static_cast<int>(times->endOfPassWriteIndex)));
}

void wgpuComputePassEncoderSetPipeline(WGPUComputePassEncoder pass, WGPUComputePipeline pipeline) {
  weft_js_set_pipeline(js(pass), js(pipeline));
}

void wgpuComputePassEncoderSetBindGroup(WGPUComputePassEncoder pass, uint32_t index,
                                        WGPUBindGroup group, size_t count,
                                        const uint32_t* offsets) {
  weft_js_set_group(js(pass), static_cast<int>(index), js(group), offsets, static_cast<int>(count));
}

void wgpuComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder pass, uint32_t x, uint32_t y,
                                              uint32_t z) {
  weft_js_dispatch(js(pass), x, y, z);
}

void wgpuComputePassEncoderEnd(WGPUComputePassEncoder pass) { weft_js_end(js(pass)); }

void wgpuCommandEncoderCopyBufferToBuffer(WGPUCommandEncoder encoder, WGPUBuffer from,
                                          uint64_t from_offset, WGPUBuffer to, uint64_t to_offset,
                                          uint64_t size) {
  weft_js_copy(js(encoder), js(from), static_cast<double>(from_offset), js(to),
               static_cast<double>(to_offset), static_cast<double>(size));
}

void wgpuCommandEncoderClearBuffer(WGPUCommandEncoder encoder, WGPUBuffer buffer, uint64_t offset,
                                   uint64_t size) {
  weft_js_clear(js(encoder), js(buffer), static_cast<double>(offset), static_cast<double>(size));
}

void wgpuCommandEncoderResolveQuerySet(WGPUCommandEncoder encoder, WGPUQuerySet queries,
                                       uint32_t first, uint32_t count, WGPUBuffer to,
                                       uint64_t offset) {
  weft_js_resolve(js(encoder), js(queries), static_cast<int>(first), static_cast<int>(count),
                  js(to), static_cast<double>(offset));
}

WGPUCommandBuffer wgpuCommandEncoderFinish(WGPUCommandEncoder encoder,
                                           const WGPUCommandBufferDescriptor*) {
  return make<WGPUCommandBuffer>(weft_js_finish(js(encoder)));
}

void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* commands) {
  std::vector<int> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(js(commands[i]));
  weft_js_submit(js(queue), ids.data(), static_cast<int>(count));
}

WGPUFuture wgpuQueueOnSubmittedWorkDone(WGPUQueue queue, WGPUQueueWorkDoneCallbackInfo info) {
  const WGPUFuture future = later([info](const Answer& answer) {
    info.callback(
        answer.value != 0 ? WGPUQueueWorkDoneStatus_Success : WGPUQueueWorkDoneStatus_Error,
        view_of(answer.text), info.userdata1, info.userdata2);
  });
  weft_js_work_done(js(queue), number(future));
  return future;
}

}  // extern "C"
