#include "python.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "commands.hpp"

namespace weft::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw CommandError("There is no folder for temporary files.");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void run_python(const TemporaryFolder& folder, const char* script,
                const std::vector<std::string>& arguments, const std::string& what_failed) {
  const std::filesystem::path errors = folder.path() / "errors";
  std::ofstream(folder.path() / "run.py") << script;
  std::string command = "python3 " + quoted((folder.path() / "run.py").string());
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += " 2>" + quoted(errors.string());
  if (std::system(command.c_str()) == 0) return;  // NOLINT: one process, whose arguments are quoted
  std::ifstream file(errors);
  std::string last;
  for (std::string line; std::getline(file, line);) last = line.empty() ? last : line;
  throw CommandError(formatted("{}: {}", what_failed, last));
}

}  // namespace weft::cli
