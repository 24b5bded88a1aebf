#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "formats/mapped_file.hpp"

// GGUF files (version 3, little-endian): named values, then named tensors of any ggml type. Reading
// trusts nothing: every count, size and offset is checked against the file before it is used.

namespace weft::gguf {

/// An array value. The alternative's position is the number of the element type in files; arrays of
/// arrays (9) are not supported.
using Array =
    std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                 std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                 std::vector<float>, std::vector<bool>, std::vector<std::string>, std::monostate,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

/// A metadata value. The alternative's position is its type number in files.
using Value = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                           std::int32_t, float, bool, std::string, Array, std::uint64_t,
                           std::int64_t, double>;

/// Named values in the order of the file.
using Metadata = std::vector<std::pair<std::string, Value>>;

/// The value with that key, or nullptr.
const Value* find(const Metadata& metadata, std::string_view key);

/// A tensor of a file: `shape` has the innermost dimension last, as everywhere in Weft (files list
/// it first).
struct TensorView {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type = 0;            ///< Number in `type_table`.
  std::span<const std::byte> bytes;  ///< In the mapped file.
};

/// A parsed file; tensors point into the mapping that it holds.
class File {
 public:
  /// Maps and parses a file.
  static Result<File> open(const std::filesystem::path& path);
  /// An error where the file that was opened was written to since (MappedFile::check_unchanged).
  [[nodiscard]] Status check_unchanged() const { return mapping_.check_unchanged(); }
  /// Parses bytes that outlive the result.
  static Result<File> parse(std::span<const std::byte> bytes);

  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  [[nodiscard]] const std::vector<TensorView>& tensors() const { return tensors_; }
  /// The tensor with that name, or nullptr.
  [[nodiscard]] const TensorView* tensor(std::string_view name) const;

  /// The value with that key as T; an error where it is missing or has another type.
  template <class T>
  [[nodiscard]] Result<T> get(std::string_view key) const {
    const Value* value = find(metadata_, key);
    if (value == nullptr) return fail(ErrorCode::not_found, "The file has no value '{}'.", key);
    if (const T* typed = std::get_if<T>(value)) return *typed;
    return fail(ErrorCode::invalid_argument, "The value '{}' has type {}, which was not expected.",
                key, value->index());
  }
  /// The array with that key and elements of type T.
  template <class T>
  [[nodiscard]] Result<std::vector<T>> get_array(std::string_view key) const {
    const auto array = get<Array>(key);
    if (!array) return std::unexpected(array.error());
    if (const auto* typed = std::get_if<std::vector<T>>(&*array)) return *typed;
    return fail(ErrorCode::invalid_argument,
                "The array '{}' has elements of type {}, which was not expected.", key,
                array->index());
  }

 private:
  friend class Parser;
  MappedFile mapping_;
  Metadata metadata_;
  std::vector<TensorView> tensors_;
};

/// Writes a file atomically. Values keep their order, tensors too; their bytes must have the size
/// that type and shape ask for.
Status write(const std::filesystem::path& path, const Metadata& metadata,
             std::span<const TensorView> tensors);

/// What a file has in front of the padding before its tensors, without the first 8 bytes.
std::string head_bytes(const Metadata& metadata, std::span<const TensorView> tensors,
                       std::uint64_t alignment);

/// Adds two values: a hash of every tensor's bytes, and one of all keys, values, names, types and
/// shapes.
void add_hashes(Metadata& metadata, std::span<const TensorView> tensors);
/// Whether a file still is what add_hashes() saw, with an error that names the part that is not.
Status check_hashes(const File& file);

}  // namespace weft::gguf
