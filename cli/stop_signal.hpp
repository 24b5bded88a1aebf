#pragma once

#include <array>
#include <csignal>

namespace weft::cli {

/// While it lives, SIGINT (Ctrl-C), SIGTERM, SIGHUP (a terminal that was closed, unless nohup keeps
/// it away), SIGXCPU (`ulimit -t`) and SIGPIPE are noted instead of ending the process. A second
/// one of the first three ends it at once. SIGPIPE is that nobody reads any more what is printed:
/// Ctrl-C ends the `tee` behind a pipe first.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  /// The signal that came, or 0.
  [[nodiscard]] int number() const;

  static constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE};
  /// "SIGINT", …
  [[nodiscard]] static const char* name(int number);

 private:
  std::array<struct sigaction, numbers.size()> before_{};  ///< What was there before.
};

}  // namespace weft::cli
