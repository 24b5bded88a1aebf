#pragma once

#include <csignal>

namespace weft::cli {

/// While it lives, SIGINT (Ctrl-C) and SIGTERM are noted instead of ending the process; a second
/// one ends it at once.
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  /// The signal that came, or 0.
  [[nodiscard]] int number() const;

 private:
  struct sigaction interrupt_{};  ///< What was there before.
  struct sigaction terminate_{};
};

}  // namespace weft::cli
