#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "base/format.hpp"

extern char** environ;

namespace weft::test {
namespace {

/// Starts a program; `output` takes what it writes, its errors as well. -1: it did not start.
pid_t start(std::vector<std::string>& command, int output = -1) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  pid_t id = -1;
  if (posix_spawn(&id, words[0], &actions, nullptr, words.data(), environ) != 0) id = -1;
  posix_spawn_file_actions_destroy(&actions);
  return id;
}

int status_of(pid_t id) {
  int status = 0;
  waitpid(id, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A value of /proc/ID/status in bytes; 0 where there is none.
std::size_t memory_of(pid_t id, std::string_view name) {
  std::ifstream file(formatted("/proc/{}/status", id));
  for (std::string key; file >> key;) {
    std::size_t kibibytes = 0;
    if (key == name && file >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

Process::Process(std::vector<std::string> command) : id_(start(command)) {}

Process::~Process() {
  if (id_ <= 0) return;
  kill(id_, SIGTERM);
  waitpid(id_, nullptr, 0);
}

Outcome run_command(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    outcome.text += static_cast<char>(c);
  }
  outcome.status = WEXITSTATUS(pclose(pipe));
  return outcome;
}

Outcome run_and_interrupt(std::vector<std::string> command) {
  Outcome outcome;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return outcome;
  const pid_t id = start(command, ends[1]);
  close(ends[1]);
  if (id <= 0) return outcome;
  std::array<char, 256> piece{};
  bool interrupted = false;
  for (ssize_t size = 0; (size = read(ends[0], piece.data(), piece.size())) > 0;) {
    outcome.text.append(piece.data(), static_cast<std::size_t>(size));
    // The first line is about the model; what follows is text.
    const std::size_t line = outcome.text.find('\n');
    if (!interrupted && line != std::string::npos && line + 4 < outcome.text.size()) {
      kill(id, SIGINT);
      interrupted = true;
    }
  }
  close(ends[0]);
  outcome.status = status_of(id);
  return outcome;
}

Outcome run_on_terminal(std::vector<std::string> command) {
  Outcome outcome;
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return outcome;
  std::array<char, 256> piece{};
  if (ptsname_r(terminal, piece.data(), piece.size()) != 0) return outcome;
  const int programs_end = open(piece.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const pid_t id = start(command, programs_end);
  close(programs_end);
  if (id <= 0) return outcome;
  for (ssize_t size = 0; (size = read(terminal, piece.data(), piece.size())) > 0;) {
    outcome.text.append(piece.data(), static_cast<std::size_t>(size));
  }
  close(terminal);
  outcome.status = status_of(id);
  return outcome;
}

std::size_t peak_private_bytes(std::vector<std::string> command) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t id = start(command, nowhere);
  close(nowhere);
  if (id <= 0) return 0;
  std::size_t peak = 0;
  int status = 0;
  while (waitpid(id, &status, WNOHANG) == 0) {
    peak = std::max(peak, memory_of(id, "RssAnon:"));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? peak : 0;
}

}  // namespace weft::test
