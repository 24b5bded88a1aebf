#include <algorithm>
#include <map>
#include <utility>

#include "web/object.hpp"

// Instances: futures and events. Callbacks are only ever called from a wait or from ProcessEvents,
// as in Dawn.

namespace weft::web {
namespace {

struct Pending {
  int last = 0;
  std::map<int, std::function<void(const Answer&)>> callbacks;
  std::vector<WGPUDevice> devices;
};

/// The state of the page's one thread.
Pending& pending() {
  static Pending state;
  return state;
}

}  // namespace

WGPUFuture later(std::function<void(const Answer&)> then) {
  const int future = ++pending().last;
  pending().callbacks.emplace(future, std::move(then));
  return {static_cast<std::uint64_t>(future)};
}

void watch(WGPUDevice device) { pending().devices.push_back(device); }
void unwatch(WGPUDevice device) { std::erase(pending().devices, device); }

void hand_out_events() {
  constexpr int room = 4096;
  const std::vector<WGPUDevice> devices = pending().devices;  // a callback may open another one
  for (WGPUDevice device : devices) {
    const Device& object = *object_of(device);
    std::vector<char> text(room);
    for (int kind = 0; (kind = weft_js_event(object.js, text.data(), room)) != 0;) {
      const WGPUStringView message = view_of(text.data());
      if (kind == 1) {
        if (object.lost.callback == nullptr) continue;
        object.lost.callback(&device, WGPUDeviceLostReason_Unknown, message, object.lost.userdata1,
                             object.lost.userdata2);
      } else if (object.error.callback != nullptr) {
        object.error.callback(&device, static_cast<WGPUErrorType>(kind), message,
                              object.error.userdata1, object.error.userdata2);
      }
    }
  }
}

}  // namespace weft::web

using namespace weft::web;

extern "C" {

WGPUInstance wgpuCreateInstance(const WGPUInstanceDescriptor*) { return make<WGPUInstance>(0); }

void wgpuInstanceProcessEvents(WGPUInstance) { hand_out_events(); }

WGPUWaitStatus wgpuInstanceWaitAny(WGPUInstance, size_t count, WGPUFutureWaitInfo* infos,
                                   uint64_t timeout) {
  if (count != 1) return WGPUWaitStatus_Error;
  const int future = number(infos->future);
  auto& callbacks = pending().callbacks;
  if (callbacks.contains(future)) {
    if (timeout == 0) {
      if (weft_js_ready(future) == 0) return WGPUWaitStatus_TimedOut;
    } else {
      weft_js_wait(future);  // Suspends: other calls may run before it returns.
    }
    auto entry = callbacks.extract(future);
    const Answer answer{weft_js_answer(future), read_text([&](char* to, int room) {
                          return weft_js_answer_text(future, to, room);
                        })};
    weft_js_forget(future);
    if (!entry.empty()) entry.mapped()(answer);
  }
  infos->completed = true;
  hand_out_events();
  return WGPUWaitStatus_Success;
}

WGPUFuture wgpuInstanceRequestAdapter(WGPUInstance, const WGPURequestAdapterOptions* options,
                                      WGPURequestAdapterCallbackInfo info) {
  const WGPUFuture future = later([info](const Answer& answer) {
    info.callback(
        answer.value != 0 ? WGPURequestAdapterStatus_Success : WGPURequestAdapterStatus_Unavailable,
        make_if<WGPUAdapter>(answer.value), view_of(answer.text), info.userdata1, info.userdata2);
  });
  const bool low = options != nullptr && options->powerPreference == WGPUPowerPreference_LowPower;
  weft_js_request_adapter(number(future), low ? 1 : 0);
  return future;
}

}  // extern "C"
