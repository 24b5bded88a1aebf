#include "weft/c/device.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "capi/objects.hpp"
#include "weft/profile.hpp"

namespace weft::capi {
namespace {

/// Copies a text into an array that ends with 0.
template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& from) {
  const std::size_t length = std::min(from.size(), Size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, Size - length);
}

void fill_in(weft_device_info& info, const gpu::AdapterInfo& adapter, const Caps& caps) {
  info = {};
  info.index = adapter.index;
  copy_text(info.name, adapter.name);
  copy_text(info.vendor, adapter.vendor);
  copy_text(info.architecture, adapter.architecture);
  copy_text(info.driver, adapter.driver);
  copy_text(info.backend, adapter.backend);
  copy_text(info.kind, adapter.kind);
  info.software = adapter.is_software();
  info.f16 = caps.f16;
  info.subgroups = caps.subgroups;
  info.subgroup_matrix = caps.subgroup_matrix;
  info.timestamps = caps.timestamps;
  info.max_buffer_bytes = caps.max_buffer;
  info.max_binding_bytes = caps.max_binding;
  info.binding_alignment = caps.binding_alignment;
}

}  // namespace
}  // namespace weft::capi

using namespace weft;
using namespace weft::capi;

weft_status weft_list_adapters(weft_device_info* infos, uint32_t capacity, uint32_t* count) {
  return call(__func__, [&] {
    required(count, "count");
    if (capacity > 0) required(infos, "infos");
    const auto adapters = value_of(gpu::list_adapters());
    const std::size_t shown = std::min<std::size_t>(capacity, adapters.size());
    for (std::size_t i = 0; i < shown; ++i) fill_in(infos[i], adapters[i], adapters[i].caps);
    *count = static_cast<std::uint32_t>(adapters.size());
  });
}

weft_status weft_device_open(const weft_device_options* options, weft_device* device) {
  return call(__func__, [&] {
    weft_device& out = result(device, "device");
    gpu::DeviceOptions wanted;
    if (options != nullptr) {
      if (options->adapter != nullptr) wanted.adapter = options->adapter;
      if (options->caps_mask != nullptr) wanted.caps_mask = options->caps_mask;
      if (options->cache_dir != nullptr) wanted.cache_dir = options->cache_dir;
      if (options->safe) wanted.mode = gpu::Mode::safe;
      wanted.disk_cache = !options->no_disk_cache;
      wanted.check_indices = options->check_indices;
      wanted.profile = options->profile;
    }
    out = put(DeviceObject{open_device(wanted)});
  });
}

weft_status weft_device_close(weft_device device) {
  return call(__func__, [&] { drop<DeviceObject>(device, "device"); });
}

weft_status weft_device_get_info(weft_device device, weft_device_info* info) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    const gpu::Device& opened = device_of(object->device);
    fill_in(*required(info, "info"), opened.info(), opened.caps());
  });
}

weft_status weft_device_synchronize(weft_device device) {
  return call(__func__, [&] { get<DeviceObject>(device, "device")->device.synchronize(); });
}

weft_status weft_device_get_memory(weft_device device, weft_memory_info* memory) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    const gpu::MemoryStats stats = device_of(object->device).memory();
    *required(memory, "memory") = {stats.in_use, stats.pooled, stats.peak};
  });
}

weft_status weft_device_trim(weft_device device) {
  return call(__func__, [&] { device_of(get<DeviceObject>(device, "device")->device).trim(); });
}

weft_status weft_device_take_profile(weft_device device, weft_profile_receiver receive,
                                     void* context) {
  return call(__func__, [&] {
    const auto object = get<DeviceObject>(device, "device");
    required(receive, "receive");
    const ProfileReport found = take_profile(object->device);
    receive(context, found.table.c_str(), found.trace.c_str());
  });
}
