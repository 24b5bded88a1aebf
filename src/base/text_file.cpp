#include "base/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace weft {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

std::optional<std::string> read_text_file(const std::filesystem::path& file, std::size_t most) {
  // Opening a pipe would wait for somebody who writes to it.
  const int number = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) return std::nullopt;
  struct stat status{};
  const bool regular = ::fstat(number, &status) == 0 && S_ISREG(status.st_mode);
  const File opened(regular ? ::fdopen(number, "rb") : nullptr);
  if (!opened) {
    ::close(number);
    return std::nullopt;
  }
  std::string text(most, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), opened.get()));
  if (std::ferror(opened.get()) != 0 || text.size() == most) return std::nullopt;
  return text;
}

bool write_text_file(const std::filesystem::path& file, std::string_view text) {
  File opened(std::fopen(file.c_str(), "wb"));
  if (!opened) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), opened.get()) == text.size();
  return std::fclose(opened.release()) == 0 && written;
}

}  // namespace weft
