#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"  // IWYU pragma: export

namespace weft {

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
  return std::unexpected(Failure{code, formatted(text, std::forward<Args>(args)...)});
}

/// Adds what was being done in front of an error's message: "while X: message".
inline std::unexpected<Failure> wrap(Failure failure, std::string_view doing) {
  failure.message = formatted("While {}: {}", doing, failure.message);
  return std::unexpected(std::move(failure));
}

}  // namespace weft
