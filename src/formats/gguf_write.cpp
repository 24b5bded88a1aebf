#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/math.hpp"
#include "formats/file_writer.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"

namespace weft::gguf {
namespace {

/// The part of a file in front of the tensor data.
class Head {
 public:
  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    char copy[sizeof(T)];
    std::memcpy(copy, &value, sizeof(T));
    bytes_.append(copy, sizeof(T));
  }
  void put(const std::string& text) {
    put(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void put(const Array& array) {
    put(static_cast<std::uint32_t>(array.index()));
    std::visit(
        [&]<class T>(const T& elements) {
          if constexpr (!std::is_same_v<T, std::monostate>) {
            put(std::uint64_t{elements.size()});
            for (const auto& element : elements) put(element);
          }
        },
        array);
  }
  void put(const Value& value) {
    put(static_cast<std::uint32_t>(value.index()));
    std::visit([&](const auto& typed) { put(typed); }, value);
  }
  void put(std::vector<bool>::const_reference bit) { put(static_cast<std::uint8_t>(bit ? 1 : 0)); }

 private:
  std::string bytes_;
};

constexpr std::uint64_t default_alignment = 32;

Result<std::uint64_t> alignment_of(const Metadata& metadata) {
  const Value* value = find(metadata, "general.alignment");
  if (value == nullptr) return default_alignment;
  const auto* given = std::get_if<std::uint32_t>(value);
  if (given == nullptr || !std::has_single_bit(*given)) {
    return fail(ErrorCode::invalid_argument, "general.alignment must be a u32 power of two.");
  }
  return *given;
}

Status check(const Metadata& metadata, std::span<const TensorView> tensors) {
  std::unordered_set<std::string_view> names;
  for (const auto& [key, value] : metadata) {
    if (!names.insert(key).second) {
      return fail(ErrorCode::invalid_argument, "The key '{}' is given twice.", key);
    }
    const auto* array = std::get_if<Array>(&value);
    if (array != nullptr && std::holds_alternative<std::monostate>(*array)) {
      return fail(ErrorCode::invalid_argument, "The array '{}' has no element type.", key);
    }
  }
  names.clear();
  for (const TensorView& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return fail(ErrorCode::invalid_argument, "Two tensors are named '{}'.", tensor.name);
    }
    const TypeInfo* type = find_type(tensor.type);
    if (type == nullptr || tensor.shape.size() > 8) {
      return fail(ErrorCode::invalid_argument, "Tensor '{}' has type {} and {} dimensions.",
                  tensor.name, tensor.type, tensor.shape.size());
    }
    const auto size = tensor_bytes(*type, tensor.shape);
    if (!size) return wrap(size.error(), "sizing tensor '" + tensor.name + "'");
    if (*size != tensor.bytes.size()) {
      return fail(ErrorCode::invalid_argument, "Tensor '{}' needs {} bytes; {} are given.",
                  tensor.name, *size, tensor.bytes.size());
    }
  }
  return {};
}

}  // namespace

std::string head_bytes(const Metadata& metadata, std::span<const TensorView> tensors,
                       std::uint64_t alignment) {
  Head head;
  head.put(std::uint64_t{tensors.size()});
  head.put(std::uint64_t{metadata.size()});
  for (const auto& [key, value] : metadata) {
    head.put(key);
    head.put(value);
  }
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    head.put(tensor.name);
    head.put(narrow(tensor.shape.size()));
    for (std::size_t i = tensor.shape.size(); i-- > 0;) head.put(tensor.shape[i]);
    head.put(tensor.type);
    head.put(offset);
    offset = round_up(offset + tensor.bytes.size(), alignment);
  }
  return std::move(head).bytes();
}

Status write(const std::filesystem::path& path, const Metadata& metadata,
             std::span<const TensorView> tensors) {
  const auto alignment = alignment_of(metadata);
  if (!alignment) return std::unexpected(alignment.error());
  if (auto fine = check(metadata, tensors); !fine) {
    return wrap(fine.error(), "writing " + path.string());
  }
  const std::string head = head_bytes(metadata, tensors, *alignment);
  FileWriter file(path);
  file.write("GGUF");
  constexpr std::uint32_t version = 3;
  file.write(std::as_bytes(std::span(&version, 1)));
  file.write(head);
  file.pad_to(*alignment);
  for (const TensorView& tensor : tensors) {
    file.write(tensor.bytes);
    file.pad_to(*alignment);
  }
  return file.commit();
}

}  // namespace weft::gguf
