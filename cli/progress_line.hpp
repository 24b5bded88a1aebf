#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace weft::cli {

/// "1:02:03" or "02:03".
std::string clock_text(double seconds);
/// 12345678 as "12,345,678".
std::string grouped(std::uint64_t number);

/// How fast a run goes, without what came before its first mark: the first steps compile kernels,
/// which says nothing about those that follow.
class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  [[nodiscard]] bool begun() const { return begun_; }
  void begin(std::uint64_t step, Time now) {
    begun_ = true;
    step_ = step;
    start_ = now;
  }
  /// The seconds that a step takes at present; nothing before there is one to tell by.
  [[nodiscard]] std::optional<double> seconds_per_step(std::uint64_t step, Time now) const {
    if (!begun_ || step <= step_) return std::nullopt;
    return std::chrono::duration<double>(now - start_).count() / static_cast<double>(step - step_);
  }

 private:
  bool begun_ = false;
  std::uint64_t step_ = 0;
  Time start_;
};

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
