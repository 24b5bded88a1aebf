#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::test {

/// A process that ends with the object.
class Process {
 public:
  explicit Process(std::vector<std::string> command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] bool started() const { return id_ > 0; }

 private:
  pid_t id_ = -1;
};

/// The exit status of a command and what it wrote.
struct Outcome {
  int status = -1;
  std::string text;
};

/// Runs a shell command; `text` is its output and its errors.
Outcome run_command(const std::string& command);

/// Runs a program and interrupts it as Ctrl-C does, once it has written something to its output.
/// Errors go to `text` too.
Outcome run_and_interrupt(std::vector<std::string> command);

/// Runs a program whose output and errors are a terminal.
Outcome run_on_terminal(std::vector<std::string> command);

/// Runs a program and returns the most memory of its own that it had (pages of no file and shared
/// with nobody).
std::size_t peak_private_bytes(std::vector<std::string> command);

}  // namespace weft::test
