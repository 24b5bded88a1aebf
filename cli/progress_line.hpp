#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::cli {

/// "1:02:03" or "02:03".
std::string clock_text(double seconds);
/// 12345678 as "12,345,678".
std::string grouped(std::uint64_t number);

/// One line on stderr that is written over and over on a terminal; elsewhere (a log) a line for
/// each tenth of the way.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows a bar and a text, unless the last time is too short ago. `last` always shows.
  void show(double share, const std::string& text, bool last = false);
  /// Prints lines that stay, above the progress.
  void print(const std::string& text);

 private:
  void clear();
  bool terminal_;
  bool shown_ = false;
  std::string logged_;
  double logged_share_ = -1;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace weft::cli
