#pragma once

// ggml calls a plug-in as C does, where an exception would end the program. There is one that any
// function may throw: the host has no memory left.

namespace weft::plugin {

/// Writes what was thrown to ggml's log. To be called in a handler.
void log_exception() noexcept;

template <auto function, auto otherwise, class Type = decltype(function)>
struct Guard;

template <auto function, auto otherwise, class Answer, class... Arguments>
struct Guard<function, otherwise, Answer (*)(Arguments...)> {
  static Answer call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (...) {
      log_exception();
      return otherwise(arguments...);
    }
  }
};

/// A function as ggml may call it. Where it throws, `otherwise` is called with the same arguments
/// and gives the answer; it must not throw.
template <auto function, auto otherwise>
constexpr auto guarded = &Guard<function, otherwise>::call;

/// For functions that give an address, or a truth: none, and no.
constexpr auto gives_nothing = [](auto...) { return nullptr; };
constexpr auto gives_no = [](auto...) { return false; };

}  // namespace weft::plugin
