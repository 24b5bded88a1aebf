#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace weft::cli {

/// Prints a line on stderr if it still lives after a second (WEFT_NOTICE: so many seconds): nobody
/// shall wait in front of a silent program.
class LateNotice {
 public:
  /// What takes long where nothing else is known.
  static constexpr const char* compiling =
      "compiling kernels for this device (kept for the next time)";

  explicit LateNotice(std::string text);
  ~LateNotice() = default;  // asks the thread to stop and joins it
  LateNotice(const LateNotice&) = delete;
  LateNotice& operator=(const LateNotice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< Last: it uses the members above.
};

}  // namespace weft::cli
