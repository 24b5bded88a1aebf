#include "files.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "base/format.hpp"
#include "commands.hpp"
#include "formats/file_writer.hpp"

namespace weft::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail_with(const std::filesystem::path& path, const char* what, int error) {
  throw CommandError(formatted("{} cannot be {}: {}.", path.string(), what,
                               std::generic_category().message(error != 0 ? error : EIO)));
}

}  // namespace

std::string read_whole(const std::filesystem::path& path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) fail_with(path, "read", errno);
  std::string text;
  constexpr std::size_t piece = 1 << 16;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + piece);
    errno = 0;
    const std::size_t count = std::fread(text.data() + before, 1, piece, file.get());
    text.resize(before + count);
    if (text.size() > longest_text) {
      throw CommandError(
          formatted("{} has more than the {} bytes that are read.", path.string(), longest_text));
    }
    if (count == piece) continue;
    if (std::ferror(file.get()) != 0) fail_with(path, "read", errno);
    return text;
  }
}

void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::not_found ||
      kind == std::filesystem::file_type::regular) {
    FileWriter file(path);
    file.write(bytes);
    value_or_exit(file.commit());
    return;
  }
  errno = 0;
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file) fail_with(path, "written", errno);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (std::fclose(file.release()) != 0 || !written) fail_with(path, "written", errno);
}

std::string shown(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  return out;
}

}  // namespace weft::cli
