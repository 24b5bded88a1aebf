#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace weft::cli {

/// Prints a line on stderr if it still lives after a second: nobody shall wait in front of a silent
/// program.
class LateNotice {
 public:
  explicit LateNotice(std::string text, std::chrono::milliseconds after = std::chrono::seconds(1));
  ~LateNotice() = default;  // asks the thread to stop and joins it
  LateNotice(const LateNotice&) = delete;
  LateNotice& operator=(const LateNotice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  ///< Last: it uses the members above.
};

}  // namespace weft::cli
