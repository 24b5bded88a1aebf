#include "standard_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include "base/format.hpp"
#include "commands.hpp"

namespace weft::cli {
namespace {

[[noreturn]] void fail_output(int error) {
  throw CommandError(formatted("The output cannot be written: {}.",
                               std::generic_category().message(error != 0 ? error : EIO)));
}

}  // namespace

void keep_standard_files() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. Opened the wrong way round, so that using it stays an
    // error.
    if (open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void write_output(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail_output(errno);
  }
}

void finish_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return;
  // What failed before now left no reason; one more byte does.
  if (errno == 0) [[maybe_unused]]
    const ssize_t written = ::write(STDOUT_FILENO, "\n", 1);
  fail_output(errno);
}

}  // namespace weft::cli
