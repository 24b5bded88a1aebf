#include "progress_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/format.hpp"

namespace weft::cli {

std::string clock_text(double seconds) {
  const auto total = static_cast<std::uint64_t>(std::max(0.0, seconds));
  const std::uint64_t hours = total / 3600;
  const std::string minutes = formatted("{:02}:{:02}", total / 60 % 60, total % 60);
  return hours > 0 ? formatted("{}:{}", hours, minutes) : minutes;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(digits.begin() + at, ',');
  }
  return digits;
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && shown_) std::fputs("\n", stderr);
}

void ProgressLine::clear() {
  if (terminal_ && shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void ProgressLine::show(double share, const std::string& text, bool last) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_) {  // A log: a plain line for each tenth of the way, or each minute.
    if (!last && share - logged_share_ < 0.1 && now - last_ < std::chrono::minutes(1)) return;
    if (text == logged_) return;
    logged_ = text;
    logged_share_ = share;
    last_ = now;
    std::fputs((text + "\n").c_str(), stderr);
    return;
  }
  if (!last && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  constexpr int width = 24;
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * width);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
  clear();
  std::fputs(formatted("{} {}", bar, text).c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::print(const std::string& text) {
  clear();
  std::fputs((text + "\n").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace weft::cli
