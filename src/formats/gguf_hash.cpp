#include <algorithm>
#include <string_view>

#include "base/hash.hpp"
#include "formats/gguf.hpp"

// Hashes inside of a file, for files whose damage would go unnoticed otherwise: a bit of a weight
// is a weight too.

namespace weft::gguf {
namespace {

constexpr std::string_view tensors_key = "weft.xxh3.tensors";
constexpr std::string_view head_key = "weft.xxh3.head";

/// Of everything but the tensors' bytes and itself. Made from what was read, not from the bytes
/// that were read.
std::uint64_t head_hash(const Metadata& metadata, std::span<const TensorView> tensors) {
  const std::string bytes = head_bytes(metadata, tensors, 1);
  return hash_bytes(std::as_bytes(std::span(bytes)));
}

}  // namespace

void add_hashes(Metadata& metadata, std::span<const TensorView> tensors) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(tensors.size());
  for (const TensorView& tensor : tensors) hashes.push_back(hash_bytes(tensor.bytes));
  metadata.emplace_back(tensors_key, Array(std::move(hashes)));
  metadata.emplace_back(head_key, head_hash(metadata, tensors));
}

Status check_hashes(const File& file) {
  const auto head = file.get<std::uint64_t>(head_key);
  if (!head)
    return fail(ErrorCode::io, "It has no hash of its head, so nothing shows that it is whole.");
  Metadata metadata = file.metadata();
  std::erase_if(metadata, [](const auto& entry) { return entry.first == head_key; });
  if (head_hash(metadata, file.tensors()) != *head) {
    return fail(ErrorCode::io,
                "It is damaged: the hash of its names and values is not the one that was saved.");
  }
  const auto hashes = file.get_array<std::uint64_t>(tensors_key);
  if (!hashes || hashes->size() != file.tensors().size()) {
    return fail(ErrorCode::io, "It has no hash for each of its {} tensors.", file.tensors().size());
  }
  for (std::size_t i = 0; i < hashes->size(); ++i) {
    const TensorView& tensor = file.tensors()[i];
    if (hash_bytes(tensor.bytes) != (*hashes)[i]) {
      return fail(ErrorCode::io,
                  "It is damaged: the hash of the {} bytes of '{}' is not the one that was saved.",
                  tensor.bytes.size(), tensor.name);
    }
  }
  return {};
}

}  // namespace weft::gguf
