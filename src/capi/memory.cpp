#include "weft/c/memory.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "capi/tensors.hpp"
#include "weft/memory.hpp"

namespace weft::capi {
namespace {

/// An upload, and the bytes that it reads where they are not the caller's.
struct UploadObject {
  using Handle = weft_upload;
  static constexpr Kind kind = Kind::upload;
  std::shared_ptr<std::vector<std::byte>> truths;
  std::shared_ptr<Upload> upload;
};

void need(const Status& status) {
  if (!status) throw Error(status.error().code, status.error().message);
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_device_get_memory_report(weft_device device, weft_memory_report* report,
                                          weft_memory_class* classes, uint64_t capacity) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    required(report, "report");
    if (capacity > 0) required(classes, "classes");
    const MemoryReport found = memory_report(object->device);
    *report = {found.in_use,  found.asked, found.pooled,         found.peak,
               found.staging, found.limit, found.classes.size(), found.fragmentation};
    for (std::size_t i = 0; i < std::min<std::size_t>(capacity, found.classes.size()); ++i) {
      classes[i] = {found.classes[i].bytes, found.classes[i].used, found.classes[i].kept};
    }
  });
}

weft_status weft_device_defragment(weft_device device, uint64_t* bytes) {
  return call(__func__, [&] {
    const std::uint64_t freed = defragment(get<DeviceObject>(device, "device")->device);
    if (bytes != nullptr) *bytes = freed;
  });
}

weft_status weft_device_set_memory_limit(weft_device device, uint64_t bytes, double near,
                                         weft_memory_listener listener, void* context) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    std::function<void(const MemoryEvent&)> told;
    if (listener != nullptr) {
      told = [listener, context](const MemoryEvent& event) {
        const weft_memory_event given{event.full, event.in_use, event.pooled, event.limit,
                                      event.asked};
        listener(context, &given);
      };
    }
    set_memory_limit(object->device, bytes, std::move(told), near);
  });
}

weft_status weft_scope_begin(void) {
  return call(__func__, [] { begin_scope(); });
}

weft_status weft_scope_keep(weft_tensor tensor) {
  return call(__func__, [&] {
    (void)tensor_of(tensor, "tensor");
    need(keep_from_scope(std::bit_cast<Handle>(tensor)));
  });
}

weft_status weft_scope_end(void) {
  return call(__func__, [] { need(end_scope()); });
}

weft_status weft_upload_start(weft_device device, weft_dtype dtype, uint32_t rank,
                              const int64_t* shape, const void* data, uint64_t bytes,
                              weft_upload* upload) {
  return call(__func__, [&] {
    weft_upload& out = result(upload, "upload");
    const auto object = get<DeviceObject>(device, "device");
    const GivenElements given = elements_of(dtype, rank, shape, data, bytes);
    UploadObject made{.truths = given.truths, .upload = {}};
    made.upload = std::make_shared<Upload>(
        weft::upload(object->device, given.dtype, given.shape, given.bytes));
    out = put(std::move(made));
  });
}

weft_status weft_upload_is_ready(weft_upload upload, bool* ready) {
  return call(__func__, [&] {
    const auto object = get<UploadObject>(upload, "upload");
    *required(ready, "ready") = object->upload->ready();
  });
}

weft_status weft_upload_get(weft_upload upload, weft_tensor* tensor) {
  return call(__func__, [&] {
    weft_tensor& out = result(tensor, "tensor");
    const auto object = get<UploadObject>(upload, "upload");
    drop<UploadObject>(upload, "upload");
    out = put(TensorObject{object->upload->get()});
  });
}

weft_status weft_device_get_hints(weft_device device, weft_device_hints* hints) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    const DeviceHints found = device_hints(object->device);
    weft_device_hints& out = *required(hints, "hints");
    out = {};
    out.workgroup = found.workgroup;
    out.most_invocations = found.most_invocations;
    out.workgroup_bytes = found.workgroup_bytes;
    out.most_workgroups = found.most_workgroups;
    out.subgroup_min = found.subgroup_min;
    out.subgroup_max = found.subgroup_max;
    out.binding_alignment = found.binding_alignment;
    out.most_bindings = found.most_bindings;
    out.max_binding_bytes = found.max_binding_bytes;
    out.max_buffer_bytes = found.max_buffer_bytes;
    out.processors = found.processors;
    out.matrix_units = found.matrix_units;
    out.memory_rate = found.memory_rate;
    out.cache_bytes = found.cache_bytes;
    out.launch_bytes = found.launch_bytes;
    out.f16_rate = found.f16_rate;
  });
}
