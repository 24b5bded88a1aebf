#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "formats/mapped_file.hpp"

namespace weft::json {
class Reader;
}

// Safetensors files: an 8-byte length, a JSON header, then the tensors one after the other without
// gaps.

namespace weft::safetensors {

/// A tensor of a file.
struct TensorView {
  std::string name;
  std::string type;  ///< As in files: "F32", "BF16", "I64", …
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  ///< In the mapped file.
};

/// Bytes of one element of a type of files, or nothing where there is no such type.
std::optional<std::uint32_t> element_bytes(std::string_view type);
/// The element type of Weft, where it has that one.
std::optional<DType> dtype_of(std::string_view type);
/// The name that files know an element type by.
std::string_view type_name(DType dtype);

/// A parsed file; tensors point into the mapping that it holds.
class File {
 public:
  /// Maps and parses a file.
  static Result<File> open(const std::filesystem::path& path);
  /// An error where the file that was opened was written to since (MappedFile::check_unchanged).
  [[nodiscard]] Status check_unchanged() const { return mapping_.check_unchanged(); }
  /// Parses bytes that outlive the result.
  static Result<File> parse(std::span<const std::byte> bytes);

  /// Free texts of the header.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the order of their bytes.
  [[nodiscard]] const std::vector<TensorView>& tensors() const { return tensors_; }
  /// The tensor with that name, or nullptr.
  [[nodiscard]] const TensorView* tensor(std::string_view name) const;

 private:
  Status read_metadata(json::Reader& header);

  MappedFile mapping_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string, std::size_t> index_;  ///< Of tensors_, by name.
};

/// Writes a file atomically; tensors keep their order.
Status write(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
             std::span<const TensorView> tensors);

}  // namespace weft::safetensors
