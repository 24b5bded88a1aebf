#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::cli {

/// A folder for temporary files that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Runs a script with python3, whose packages do what Weft does not. Where that fails, a
/// CommandError with what failed and the last line that Python wrote.
void run_python(const TemporaryFolder& folder, const char* script,
                const std::vector<std::string>& arguments, const std::string& what_failed);

}  // namespace weft::cli
