#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace weft {

/// What kind of thing went wrong; the message says the rest.
enum class ErrorCode {
  invalid_argument,  ///< The caller's values cannot work on any device.
  unsupported,       ///< This device (or its masked capabilities) cannot do it.
  out_of_memory,     ///< An allocation failed or would pass a limit.
  not_found,         ///< A named thing (adapter, op, file, kernel) does not exist.
  shader,            ///< A template or WGSL text is invalid.
  device_lost,       ///< The device went away; nothing queued on it will finish.
  io,                ///< Reading or writing a file failed.
  internal,          ///< A bug in Weft.
};

/// The name of a code as it appears in messages, for example "out_of_memory".
constexpr std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::shader: return "shader";
    case ErrorCode::device_lost: return "device_lost";
    case ErrorCode::io: return "io";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

/// What the C++ API throws: a code to branch on, and what() is a sentence with the values in it.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace weft
