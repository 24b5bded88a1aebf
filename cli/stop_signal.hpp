#pragma once

#include <array>
#include <csignal>

namespace weft::cli {

/// While it lives, SIGINT (Ctrl-C), SIGTERM and SIGHUP (a terminal that was closed, unless nohup
/// keeps it away) are noted instead of ending the process; a second one ends it at once.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  /// The signal that came, or 0.
  [[nodiscard]] int number() const;

  static constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP};
  /// "SIGINT", …
  [[nodiscard]] static const char* name(int number);

 private:
  std::array<struct sigaction, numbers.size()> before_{};  ///< What was there before.
};

}  // namespace weft::cli
