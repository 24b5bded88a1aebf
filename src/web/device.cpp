#include <charconv>
#include <utility>

#include "base/format.hpp"
#include "web/object.hpp"

namespace weft::web {
namespace {

/// "name=value;…" with the shortest digits that give the values back.
std::string constants_of(const WGPUComputeState& compute) {
  std::string out;
  for (size_t i = 0; i < compute.constantCount; ++i) {
    out += text_of(compute.constants[i].key);
    out += formatted("={};", compute.constants[i].value);
  }
  return out;
}

/// The messages of a module: "type line position text", each ended by a character that no text has.
std::vector<WGPUCompilationMessage> messages_of(std::string_view text) {
  std::vector<WGPUCompilationMessage> messages;
  while (!text.empty()) {
    std::string_view one = text.substr(0, text.find('\x01'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto take = [&] {
      std::uint64_t number = 0;
      const auto [rest, error] = std::from_chars(one.data(), one.data() + one.size(), number);
      one.remove_prefix(std::min(one.size(), static_cast<size_t>(rest - one.data()) + 1));
      return number;
    };
    WGPUCompilationMessage message = WGPU_COMPILATION_MESSAGE_INIT;
    message.type = static_cast<WGPUCompilationMessageType>(take());
    message.lineNum = take();
    message.linePos = take();
    message.message = view_of(one);
    messages.push_back(message);
  }
  return messages;
}

void report_loss(WGPUDevice device, WGPUDeviceLostReason reason, WGPUStringView message) {
  const WGPUDeviceLostCallbackInfo lost = std::exchange(object_of(device)->lost, {});
  if (lost.callback != nullptr) {
    lost.callback(&device, reason, message, lost.userdata1, lost.userdata2);
  }
}

}  // namespace
}  // namespace weft::web

using namespace weft::web;

extern "C" {

WGPUQueue wgpuDeviceGetQueue(WGPUDevice device) {
  return make<WGPUQueue>(weft_js_queue(js(device)));
}

void wgpuDeviceDestroy(WGPUDevice device) {
  weft_js_destroy(js(device));
  report_loss(device, WGPUDeviceLostReason_Destroyed, view_of("it was destroyed"));
  object_of(device)->error = {};
}

void wgpuDeviceForceLoss(WGPUDevice device, WGPUDeviceLostReason reason, WGPUStringView message) {
  weft_js_destroy(js(device));
  report_loss(device, reason, message);
}

void wgpuDeviceInjectError(WGPUDevice device, WGPUErrorType type, WGPUStringView message) {
  const WGPUUncapturedErrorCallbackInfo& error = object_of(device)->error;
  if (error.callback != nullptr) {
    error.callback(&device, type, message, error.userdata1, error.userdata2);
  }
}

WGPUQuerySet wgpuDeviceCreateQuerySet(WGPUDevice device, const WGPUQuerySetDescriptor* descriptor) {
  return make<WGPUQuerySet>(weft_js_query_set(js(device), static_cast<int>(descriptor->count)));
}

WGPUBindGroupLayout wgpuDeviceCreateBindGroupLayout(
    WGPUDevice device, const WGPUBindGroupLayoutDescriptor* descriptor) {
  std::vector<int> rows;
  for (size_t i = 0; i < descriptor->entryCount; ++i) {
    const WGPUBindGroupLayoutEntry& entry = descriptor->entries[i];
    rows.insert(rows.end(), {static_cast<int>(entry.binding), static_cast<int>(entry.buffer.type),
                             static_cast<int>(entry.buffer.hasDynamicOffset),
                             static_cast<int>(entry.buffer.minBindingSize)});
  }
  return make<WGPUBindGroupLayout>(
      weft_js_group_layout(js(device), rows.data(), static_cast<int>(descriptor->entryCount)));
}

WGPUPipelineLayout wgpuDeviceCreatePipelineLayout(WGPUDevice device,
                                                  const WGPUPipelineLayoutDescriptor* descriptor) {
  std::vector<int> layouts;
  for (size_t i = 0; i < descriptor->bindGroupLayoutCount; ++i) {
    layouts.push_back(js(descriptor->bindGroupLayouts[i]));
  }
  return make<WGPUPipelineLayout>(
      weft_js_pipeline_layout(js(device), layouts.data(), static_cast<int>(layouts.size())));
}

WGPUBindGroup wgpuDeviceCreateBindGroup(WGPUDevice device,
                                        const WGPUBindGroupDescriptor* descriptor) {
  std::vector<double> rows;
  for (size_t i = 0; i < descriptor->entryCount; ++i) {
    const WGPUBindGroupEntry& entry = descriptor->entries[i];
    rows.insert(rows.end(),
                {static_cast<double>(entry.binding), static_cast<double>(js(entry.buffer)),
                 static_cast<double>(entry.offset), static_cast<double>(entry.size)});
  }
  return make<WGPUBindGroup>(weft_js_bind_group(js(device), js(descriptor->layout), rows.data(),
                                                static_cast<int>(descriptor->entryCount)));
}

WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice device,
                                              const WGPUShaderModuleDescriptor* descriptor) {
  const auto* source = reinterpret_cast<const WGPUShaderSourceWGSL*>(descriptor->nextInChain);
  return make<WGPUShaderModule>(weft_js_module(js(device), source->code.data, size_of(source->code),
                                               descriptor->label.data, size_of(descriptor->label)));
}

WGPUFuture wgpuShaderModuleGetCompilationInfo(WGPUShaderModule module,
                                              WGPUCompilationInfoCallbackInfo info) {
  const WGPUFuture future = later([info](const Answer& answer) {
    const std::vector<WGPUCompilationMessage> messages = messages_of(answer.text);
    WGPUCompilationInfo found = WGPU_COMPILATION_INFO_INIT;
    found.messageCount = messages.size();
    found.messages = messages.data();
    info.callback(WGPUCompilationInfoRequestStatus_Success, &found, info.userdata1, info.userdata2);
  });
  weft_js_module_info(js(module), number(future));
  return future;
}

WGPUFuture wgpuDeviceCreateComputePipelineAsync(WGPUDevice device,
                                                const WGPUComputePipelineDescriptor* descriptor,
                                                WGPUCreateComputePipelineAsyncCallbackInfo info) {
  const WGPUFuture future = later([info](const Answer& answer) {
    info.callback(answer.value != 0 ? WGPUCreatePipelineAsyncStatus_Success
                                    : WGPUCreatePipelineAsyncStatus_ValidationError,
                  make_if<WGPUComputePipeline>(answer.value), view_of(answer.text), info.userdata1,
                  info.userdata2);
  });
  const WGPUComputeState& compute = descriptor->compute;
  weft_js_pipeline(js(device), number(future), js(descriptor->layout), js(compute.module),
                   compute.entryPoint.data, size_of(compute.entryPoint),
                   constants_of(compute).c_str(), descriptor->label.data,
                   size_of(descriptor->label));
  return future;
}

void wgpuDevicePushErrorScope(WGPUDevice device, WGPUErrorFilter filter) {
  weft_js_push_scope(js(device), static_cast<int>(filter));
}

WGPUFuture wgpuDevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info) {
  if (info.mode != WGPUCallbackMode_WaitAnyOnly) {
    // Nobody waits for this answer. The callback is called all the same, because it frees what it
    // holds.
    weft_js_pop_scope(js(device), 0);
    info.callback(WGPUPopErrorScopeStatus_Success, WGPUErrorType_NoError, view_of(""),
                  info.userdata1, info.userdata2);
    return {0};
  }
  const WGPUFuture future = later([info](const Answer& answer) {
    info.callback(WGPUPopErrorScopeStatus_Success, static_cast<WGPUErrorType>(answer.value),
                  view_of(answer.text), info.userdata1, info.userdata2);
  });
  weft_js_pop_scope(js(device), number(future));
  return future;
}

}  // extern "C"
