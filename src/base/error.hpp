#pragma once

#include <expected>
#include <format>
#include <string>
#include <string_view>
#include <utility>

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

/// An error: a code to branch on and a sentence, with the values in it, to read.
struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// A value or the reason why there is none.
template <class T>
using Result = std::expected<T, Failure>;

/// Success without a value, or the reason for failure.
using Status = Result<void>;

/// `return fail(ErrorCode::x, "… {} …", value);` from any function that returns a Result.
template <class... Args>
std::unexpected<Failure> fail(ErrorCode code, std::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Failure{code, std::format(text, std::forward<Args>(args)...)});
}

/// Adds what was being done in front of an error's message: "while X: message".
inline std::unexpected<Failure> wrap(Failure failure, std::string_view doing) {
  failure.message = std::format("While {}: {}", doing, failure.message);
  return std::unexpected(std::move(failure));
}

}  // namespace weft
