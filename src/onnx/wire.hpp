#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"

namespace weft::onnx {

/// One field of a message in the wire format of protocol buffers.
struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;   ///< 0: varint, 1: 8 bytes, 2: bytes with their length, 5: 4 bytes.
  std::uint64_t value = 0;  ///< Of a varint, or 4 or 8 bytes.
  std::span<const std::byte> bytes;  ///< Of wire type 2.
  std::uint64_t at = 0;              ///< Where the field's contents begin in the file.
};

/// Reads the fields of a message one after the other. Every length is held against the bytes that
/// are there; what does not fit is an error that names the byte, and ends all reading: a reader and
/// those made from it share one state of failure.
class Wire {
 public:
  Wire(std::span<const std::byte> bytes, std::uint64_t base, std::optional<Failure>& failure)
      : bytes_(bytes), base_(base), failure_(&failure) {}

  /// The next field; nothing at the end, and after an error.
  std::optional<Field> next();

  /// A reader for the message inside of a field.
  [[nodiscard]] Wire inside(const Field& field) const { return {field.bytes, field.at, *failure_}; }

  /// Whether the field has the wire type; else an error.
  bool expect(const Field& field, std::uint32_t wire, const char* what);
  void fail_at(std::uint64_t at, const std::string& what);
  [[nodiscard]] bool failed() const { return failure_->has_value(); }

  /// A varint at the front of some bytes, which it leaves behind; for packed numbers.
  static std::optional<std::uint64_t> varint(std::span<const std::byte>& bytes);

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t base_ = 0;
  std::uint64_t at_ = 0;
  std::optional<Failure>* failure_;
};

}  // namespace weft::onnx
