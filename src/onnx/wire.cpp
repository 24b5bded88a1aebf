#include "onnx/wire.hpp"

namespace weft::onnx {

std::optional<std::uint64_t> Wire::varint(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    value |= (byte & 0x7fU) << (7 * i);
    if (byte < 0x80U) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

void Wire::fail_at(std::uint64_t at, const std::string& what) {
  if (failure_->has_value()) return;
  *failure_ = Failure{ErrorCode::invalid_argument, formatted("Byte {}: {}", at, what)};
}

bool Wire::expect(const Field& field, std::uint32_t wire, const char* what) {
  if (field.wire == wire) return true;
  fail_at(field.at, formatted("{} has wire type {}, not {}.", what, field.wire, wire));
  return false;
}

std::optional<Field> Wire::next() {
  if (failed() || at_ >= bytes_.size()) return std::nullopt;
  const std::uint64_t start = base_ + at_;
  std::span<const std::byte> rest = bytes_.subspan(at_);
  const auto key = varint(rest);
  if (!key || *key >> 3 == 0 || *key >> 3 > 0x1fffffff) {
    fail_at(start, "there is no key of a field here.");
    return std::nullopt;
  }
  Field field{static_cast<std::uint32_t>(*key >> 3), static_cast<std::uint32_t>(*key & 7)};
  field.at = base_ + (bytes_.size() - rest.size());
  if (field.wire == 0) {
    const auto value = varint(rest);
    if (!value) {
      fail_at(field.at, formatted("the number of field {} does not end.", field.number));
      return std::nullopt;
    }
    field.value = *value;
  } else if (field.wire == 1 || field.wire == 5) {
    const std::size_t size = field.wire == 1 ? 8 : 4;
    if (rest.size() < size) {
      fail_at(field.at,
              formatted("field {} needs {} bytes; {} are left.", field.number, size, rest.size()));
      return std::nullopt;
    }
    for (std::size_t i = 0; i < size; ++i)
      field.value |= std::to_integer<std::uint64_t>(rest[i]) << (8 * i);
    rest = rest.subspan(size);
  } else if (field.wire == 2) {
    const auto size = varint(rest);
    if (!size || *size > rest.size()) {
      fail_at(field.at, formatted("field {} says it has {} bytes; {} are left.", field.number,
                                  size.value_or(0), rest.size()));
      return std::nullopt;
    }
    field.at = base_ + (bytes_.size() - rest.size());
    field.bytes = rest.first(*size);
    rest = rest.subspan(*size);
  } else {
    fail_at(start,
            formatted("field {} has wire type {}, which is not used.", field.number, field.wire));
    return std::nullopt;
  }
  at_ = bytes_.size() - rest.size();
  return field;
}

}  // namespace weft::onnx
