#include "late_notice.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/format.hpp"
#include "commands.hpp"

namespace weft::cli {
namespace {

std::chrono::duration<double> delay() {
  const char* value = std::getenv("WEFT_NOTICE");
  const std::string_view text = value != nullptr ? value : "";
  if (text.empty()) return std::chrono::seconds(1);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double longest = 1e6;
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds >= 0 && seconds <= longest)) {
    throw CommandError(formatted(
        "WEFT_NOTICE is \"{}\", but it must be a number of seconds, at most {}.", text, longest));
  }
  return std::chrono::duration<double>(seconds);
}

}  // namespace

LateNotice::LateNotice(std::string text)
    : thread_([this, text = std::move(text), after = delay()](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        // Without a delay it is said even if this thread begins late.
        if (after.count() > 0) wake_.wait_for(lock, stop, after, [] { return false; });
        if (after.count() > 0 && stop.stop_requested()) return;
        std::fprintf(stderr, "weft: %s …\n", text.c_str());
      }) {}

}  // namespace weft::cli
