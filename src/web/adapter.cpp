#include <algorithm>
#include <array>

#include "web/object.hpp"

namespace weft::web {
namespace {

/// The name that the WebGPU specification has for a feature; empty for what a page does not have.
const char* feature_name(WGPUFeatureName feature) {
  switch (feature) {
    case WGPUFeatureName_ShaderF16: return "shader-f16";
    case WGPUFeatureName_Subgroups: return "subgroups";
    case WGPUFeatureName_TimestampQuery: return "timestamp-query";
    case WGPUFeatureName_ChromiumExperimentalSubgroupMatrix:
      return "chromium-experimental-subgroup-matrix";
    default: return "";
  }
}

/// A text of GPUAdapterInfo; wgpuAdapterInfoFreeMembers frees it.
WGPUStringView info_text(WGPUAdapter adapter, const char* name) {
  const std::string text = read_text(
      [&](char* to, int room) { return weft_js_adapter_text(js(adapter), name, to, room); });
  char* copy = new char[text.size() + 1];
  std::ranges::copy(text, copy);
  copy[text.size()] = '\0';
  return {copy, text.size()};
}

void fill_in(WGPUAdapter adapter, WGPUAdapterPropertiesSubgroupMatrixConfigs& matrices) {
  std::vector<WGPUSubgroupMatrixConfig> found;
  std::array<int, 5> row{};
  for (int i = 0; weft_js_adapter_matrix(js(adapter), i, row.data()) != 0; ++i) {
    found.push_back({static_cast<WGPUSubgroupMatrixComponentType>(row[0]),
                     static_cast<WGPUSubgroupMatrixComponentType>(row[1]),
                     static_cast<uint32_t>(row[2]), static_cast<uint32_t>(row[3]),
                     static_cast<uint32_t>(row[4])});
  }
  auto* configs = new WGPUSubgroupMatrixConfig[found.size()];
  std::ranges::copy(found, configs);
  matrices.configCount = found.size();
  matrices.configs = configs;
}

}  // namespace
}  // namespace weft::web

using namespace weft::web;

extern "C" {

WGPUBool wgpuAdapterHasFeature(WGPUAdapter adapter, WGPUFeatureName feature) {
  const char* name = feature_name(feature);
  return *name != '\0' && weft_js_adapter_has(js(adapter), name) != 0;
}

WGPUStatus wgpuAdapterGetLimits(WGPUAdapter adapter, WGPULimits* limits) {
  const auto get = [&](auto& limit, const char* name) {
    limit = static_cast<std::remove_reference_t<decltype(limit)>>(
        weft_js_adapter_limit(js(adapter), name));
  };
  get(limits->maxBufferSize, "maxBufferSize");
  get(limits->maxStorageBufferBindingSize, "maxStorageBufferBindingSize");
  get(limits->maxUniformBufferBindingSize, "maxUniformBufferBindingSize");
  get(limits->minStorageBufferOffsetAlignment, "minStorageBufferOffsetAlignment");
  get(limits->minUniformBufferOffsetAlignment, "minUniformBufferOffsetAlignment");
  get(limits->maxStorageBuffersPerShaderStage, "maxStorageBuffersPerShaderStage");
  get(limits->maxComputeWorkgroupStorageSize, "maxComputeWorkgroupStorageSize");
  get(limits->maxComputeInvocationsPerWorkgroup, "maxComputeInvocationsPerWorkgroup");
  get(limits->maxComputeWorkgroupsPerDimension, "maxComputeWorkgroupsPerDimension");
  return WGPUStatus_Success;
}

WGPUStatus wgpuAdapterGetInfo(WGPUAdapter adapter, WGPUAdapterInfo* info) {
  info->vendor = info_text(adapter, "vendor");
  info->architecture = info_text(adapter, "architecture");
  info->device = info_text(adapter, "device");
  info->description = info_text(adapter, "description");
  info->backendType = WGPUBackendType_WebGPU;
  // A page is told neither the kind of adapter nor how much memory it has, only whether it is a
  // fallback.
  info->adapterType = weft_js_adapter_number(js(adapter), "isFallbackAdapter") != 0
                          ? WGPUAdapterType_CPU
                          : WGPUAdapterType_Unknown;
  const auto subgroup = [&](const char* name) {
    return static_cast<uint32_t>(weft_js_adapter_number(js(adapter), name));
  };
  info->subgroupMinSize = subgroup("subgroupMinSize");
  info->subgroupMaxSize = subgroup("subgroupMaxSize");
  for (WGPUChainedStruct* part = info->nextInChain; part != nullptr; part = part->next) {
    if (part->sType == WGPUSType_AdapterPropertiesSubgroupMatrixConfigs) {
      fill_in(adapter, *reinterpret_cast<WGPUAdapterPropertiesSubgroupMatrixConfigs*>(part));
    }
  }
  return WGPUStatus_Success;
}

void wgpuAdapterInfoFreeMembers(WGPUAdapterInfo info) {
  for (const WGPUStringView text :
       {info.vendor, info.architecture, info.device, info.description}) {
    delete[] text.data;
  }
}

void wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers(
    WGPUAdapterPropertiesSubgroupMatrixConfigs matrices) {
  delete[] matrices.configs;
}

void wgpuAdapterPropertiesMemoryHeapsFreeMembers(WGPUAdapterPropertiesMemoryHeaps) {}

WGPUFuture wgpuAdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                    WGPURequestDeviceCallbackInfo info) {
  std::string features;
  for (size_t i = 0; i < descriptor->requiredFeatureCount; ++i) {
    features += std::string(feature_name(descriptor->requiredFeatures[i])) + ",";
  }
  const WGPUFuture future =
      later([info, lost = descriptor->deviceLostCallbackInfo,
             error = descriptor->uncapturedErrorCallbackInfo](const Answer& answer) {
        WGPUDevice device = make_if<WGPUDevice>(answer.value);
        if (device != nullptr) {
          object_of(device)->lost = lost;
          object_of(device)->error = error;
          watch(device);
        }
        info.callback(
            device != nullptr ? WGPURequestDeviceStatus_Success : WGPURequestDeviceStatus_Error,
            device, view_of(answer.text), info.userdata1, info.userdata2);
      });
  weft_js_request_device(js(adapter), number(future), features.c_str(), descriptor->label.data,
                         size_of(descriptor->label));
  return future;
}

}  // extern "C"
