#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <webgpu/webgpu_cpp.h>

#include "web/imports.h"

// What the handles of webgpu.h point to in a page, and the futures. One thread runs everything.

namespace weft::web {

/// An object of the browser with its count of references.
struct Object {
  int js = 0;
  std::uint32_t references = 1;
};

struct Buffer : Object {
  std::uint64_t size = 0;
  std::unique_ptr<std::byte[]> mapped;  ///< A copy of the mapped range, once somebody looks at it.
};

struct Device : Object {
  WGPUDeviceLostCallbackInfo lost{};
  WGPUUncapturedErrorCallbackInfo error{};
};

/// What the handles of a kind point to.
template <class Handle>
struct Target {
  using Type = Object;
};
template <>
struct Target<WGPUBuffer> {
  using Type = Buffer;
};
template <>
struct Target<WGPUDevice> {
  using Type = Device;
};

template <class Handle>
typename Target<Handle>::Type* object_of(Handle handle) {
  return reinterpret_cast<typename Target<Handle>::Type*>(handle);
}

template <class Handle>
int js(Handle handle) {
  return handle == nullptr ? 0 : object_of(handle)->js;
}

template <class Handle>
Handle make(int id) {
  auto* object = new typename Target<Handle>::Type;
  object->js = id;
  return reinterpret_cast<Handle>(object);
}

/// A handle for an object that a future brought, or nothing for 0.
template <class Handle>
Handle make_if(int id) {
  return id == 0 ? nullptr : make<Handle>(id);
}

inline std::string_view text_of(WGPUStringView view) {
  if (view.data == nullptr) return {};
  if (view.length == WGPU_STRLEN) return view.data;
  return {view.data, view.length};
}

inline int size_of(WGPUStringView view) { return static_cast<int>(text_of(view).size()); }
inline WGPUStringView view_of(std::string_view text) { return {text.data(), text.size()}; }

/// The text that `read(to, room)` copies; called with no room it gives the length.
template <class Read>
std::string read_text(const Read& read) {
  std::string text(static_cast<std::size_t>(read(nullptr, 0)), '\0');
  read(text.data(), static_cast<int>(text.size()));
  return text;
}

/// What a future was answered with: an object or a status, and a text.
struct Answer {
  int value = 0;
  std::string text;
};

/// A new future. `then` is called by the wait that finds it answered.
WGPUFuture later(std::function<void(const Answer&)> then);
inline int number(WGPUFuture future) { return static_cast<int>(future.id); }

/// Devices whose events are handed out while something waits.
void watch(WGPUDevice device);
void unwatch(WGPUDevice device);

/// Calls the callbacks of devices for what has happened to them.
void hand_out_events();

}  // namespace weft::web
