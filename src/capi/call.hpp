#pragma once

#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "capi/handles.hpp"
#include "weft/c/status.h"

namespace weft::capi {

/// An error whose status is WEFT_INVALID_HANDLE; thrown by the helpers below, caught by call().
struct HandleError {
  std::string message;
};

/// Keeps the message for weft_last_error() and gives the status back.
weft_status report(std::string_view function, weft_status status,
                   std::string_view message) noexcept;
weft_status report(std::string_view function, ErrorCode code, std::string_view message) noexcept;

/// Runs the body of an entry point, which `run` calls: whatever it throws becomes a status and a
/// message. Not a template: there are hundreds of entry points, and what catches need not be in
/// each of them.
weft_status call_body(std::string_view function, void (*run)(const void* body),
                      const void* body) noexcept;

template <class Body>
weft_status call(std::string_view function, const Body& body) noexcept {
  return call_body(
      function, [](const void* given) { (*static_cast<const Body*>(given))(); }, &body);
}

/// Throws weft::Error with a formatted message.
template <class... Args>
[[noreturn]] void raise(ErrorCode code, std::format_string<Args...> text, Args&&... args) {
  throw Error(code, formatted(text, std::forward<Args>(args)...));
}

/// The value of a result, or its failure thrown.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw Error(result.error().code, result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A pointer argument that must not be NULL.
template <class T>
T* required(T* pointer, std::string_view argument) {
  if (pointer == nullptr) raise(ErrorCode::invalid_argument, "`{}` is NULL.", argument);
  return pointer;
}

/// What handles of each kind stand for: Object::kind and Object::Handle.
template <class Object>
std::shared_ptr<Object> get(typename Object::Handle handle, std::string_view argument) {
  auto found = handles().find(std::bit_cast<Handle>(handle), Object::kind, argument);
  if (!found) throw HandleError{std::move(found.error().message)};
  return std::static_pointer_cast<Object>(std::move(*found));
}

/// A new handle for an object.
template <class Object>
typename Object::Handle put(Object object) {
  auto shared = std::make_shared<Object>(std::move(object));
  return std::bit_cast<typename Object::Handle>(
      value_of(handles().add(Object::kind, std::move(shared))));
}

/// The body of every …_free and …_close.
template <class Object>
void drop(typename Object::Handle handle, std::string_view argument) {
  auto done = handles().remove(std::bit_cast<Handle>(handle), Object::kind, argument);
  if (!done) throw HandleError{std::move(done.error().message)};
}

/// Where a result goes: NULL until there is one.
template <class T>
T& result(T* place, std::string_view argument) {
  *required(place, argument) = nullptr;
  return *place;
}

}  // namespace weft::capi
