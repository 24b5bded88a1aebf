#include "formats/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"
#include "describe/file_types.hpp"
#include "formats/file_writer.hpp"

namespace weft::safetensors {
namespace {

using TypeRow = described::SafetensorsType;
constexpr auto& type_rows = described::safetensors_types;

const TypeRow* find_row(std::string_view name) {
  const auto row = std::ranges::find(type_rows, name, &TypeRow::name);
  return row != type_rows.end() ? &*row : nullptr;
}

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::uint64_t largest_header = 100'000'000;

/// What the header says of a tensor; nothing where it does not say it, or not properly.
struct Entry {
  std::optional<std::string> type;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> range;
};

/// Takes a value: the numbers of an array of non-negative integers, or nothing.
std::optional<std::vector<std::uint64_t>> take_numbers(json::Reader& header) {
  std::vector<std::uint64_t> values;
  bool proper = header.next() == '[';
  if (!proper) {
    header.skip();
    return std::nullopt;
  }
  header.array([&] {
    const auto value = header.number();
    proper = proper && value;
    values.push_back(value.value_or(0));
    return value || header.skip();
  });
  return proper ? std::optional(std::move(values)) : std::nullopt;
}

Entry take_entry(json::Reader& header) {
  Entry entry;
  header.object([&](const std::string& name) {
    if (name == "dtype" && header.next() == '"') return (entry.type = header.text()).has_value();
    if (name == "shape") return entry.shape = take_numbers(header), true;
    if (name == "data_offsets") return entry.range = take_numbers(header), true;
    return header.skip();
  });
  return entry;
}

/// The whole text has to be one object, none of whose objects names a key twice.
Status check_header(std::string_view text) {
  json::Reader header(text);
  if (header.next() == '{' && header.skip() && header.next() == '\0') return {};
  if (!header.twice().empty()) {
    return fail(ErrorCode::io, "The header names '{}' twice.", header.twice());
  }
  return fail(ErrorCode::io, "The header is not a JSON object.");
}

/// Element count × element size, or nothing past 64 bits.
std::optional<std::uint64_t> byte_count(std::span<const std::uint64_t> shape, std::uint32_t bytes) {
  std::uint64_t total = bytes;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && total > std::numeric_limits<std::uint64_t>::max() / extent) {
      return std::nullopt;
    }
    total *= extent;
  }
  return total;
}

Result<TensorView> read_tensor(const std::string& name, const Entry& entry,
                               std::span<const std::byte> data) {
  const auto& [type, shape, range] = entry;
  if (!type || !shape || !range || range->size() != 2) {
    return fail(ErrorCode::io, "Tensor '{}' lacks a proper dtype, shape or data_offsets.", name);
  }
  const TypeRow* row = find_row(*type);
  if (row == nullptr) {
    return fail(ErrorCode::unsupported, "Tensor '{}' has the unknown type '{}'.", name, *type);
  }
  const std::uint64_t first = (*range)[0];
  const std::uint64_t last = (*range)[1];
  if (first > last || last > data.size()) {
    return fail(ErrorCode::io, "Tensor '{}' lies at bytes {} to {} of {}.", name, first, last,
                data.size());
  }
  const auto size = byte_count(*shape, row->bytes);
  if (!size || *size != last - first) {
    return fail(ErrorCode::io, "Tensor '{}' has {} bytes, which its shape and type do not give.",
                name, last - first);
  }
  return TensorView{
      .name = name,
      .type = *type,
      .shape = *shape,
      .bytes = data.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(*size))};
}

}  // namespace

std::optional<std::uint32_t> element_bytes(std::string_view type) {
  const TypeRow* row = find_row(type);
  return row != nullptr ? std::optional(row->bytes) : std::nullopt;
}

std::optional<DType> dtype_of(std::string_view type) {
  const TypeRow* row = find_row(type);
  return row != nullptr ? row->dtype : std::nullopt;
}

std::string_view type_name(DType dtype) {
  return std::ranges::find(type_rows, dtype, &TypeRow::dtype)->name;
}

Result<File> File::parse(std::span<const std::byte> bytes) {
  std::uint64_t header_size = 0;
  if (bytes.size() < sizeof(header_size)) {
    return fail(ErrorCode::io, "A safetensors file has at least 8 bytes; this has {}.",
                bytes.size());
  }
  std::memcpy(&header_size, bytes.data(), sizeof(header_size));
  bytes = bytes.subspan(sizeof(header_size));
  if (header_size > std::min<std::uint64_t>(bytes.size(), largest_header)) {
    return fail(ErrorCode::io,
                "The header should have {} bytes, but {} follow (and {} is the most).", header_size,
                bytes.size(), largest_header);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              static_cast<std::size_t>(header_size));
  const std::span<const std::byte> data = bytes.subspan(static_cast<std::size_t>(header_size));
  if (Status status = check_header(text); !status) return std::unexpected(status.error());

  File file;
  Status read;
  json::Reader header(text);
  header.object([&](const std::string& name) {
    if (header.next() != '{') {
      read = fail(ErrorCode::io, "'{}' is not an object.", name);
    } else if (name == metadata_key) {
      read = file.read_metadata(header);
    } else if (auto tensor = read_tensor(name, take_entry(header), data)) {
      file.tensors_.push_back(std::move(*tensor));
    } else {
      read = std::unexpected(tensor.error());
    }
    return read.has_value();
  });
  if (!read) return std::unexpected(read.error());
  std::ranges::sort(file.tensors_, {}, [](const TensorView& tensor) {
    return std::pair(tensor.bytes.data(), tensor.bytes.size());
  });
  const std::byte* expected = data.data();
  for (const TensorView& tensor : file.tensors_) {
    if (tensor.bytes.data() != expected) {
      return fail(ErrorCode::io, "There is a hole or an overlap in front of tensor '{}'.",
                  tensor.name);
    }
    expected += tensor.bytes.size();
  }
  if (expected != data.data() + data.size()) {
    return fail(ErrorCode::io, "Some of the {} data bytes belong to no tensor.", data.size());
  }
  for (std::size_t i = 0; i < file.tensors_.size(); ++i) file.index_[file.tensors_[i].name] = i;
  return file;
}

Status File::read_metadata(json::Reader& header) {
  Status read;
  header.object([&](const std::string& key) {
    if (header.next() != '"') {
      read = fail(ErrorCode::io, "Metadata '{}' is not a text.", key);
      return false;
    }
    metadata_[key] = *header.text();
    return true;
  });
  return read;
}

Result<File> File::open(const std::filesystem::path& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return std::unexpected(mapping.error());
  auto file = parse(mapping->bytes());
  if (!file) return wrap(file.error(), "reading " + path.string());
  file->mapping_ = std::move(*mapping);
  return file;
}

const TensorView* File::tensor(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found != index_.end() ? &tensors_[found->second] : nullptr;
}

Status write(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
             std::span<const TensorView> tensors) {
  std::string text = "{";
  std::unordered_set<std::string_view> names{metadata_key};
  const auto check = [](std::string_view name) -> Status {
    if (is_utf8(name)) return {};
    std::string shown(name);
    repair_utf8(shown);
    return fail(ErrorCode::invalid_argument, "The header cannot have '{}', which is not UTF-8.",
                shown);
  };
  if (!metadata.empty()) {
    text += formatted("\"{}\":{{", metadata_key);
    for (const auto& [key, value] : metadata) {
      if (Status status = check(key); !status) return status;
      if (Status status = check(value); !status) return status;
      text += json::quoted(key) + ":" + json::quoted(value) + ",";
    }
    text.back() = '}';
    text += ',';
  }
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const TypeRow* row = find_row(tensor.type);
    if (row == nullptr || byte_count(tensor.shape, row->bytes) != tensor.bytes.size()) {
      return fail(ErrorCode::invalid_argument,
                  "Tensor '{}' of type '{}' has {} bytes, which its shape and type do not give.",
                  tensor.name, tensor.type, tensor.bytes.size());
    }
    if (!names.insert(tensor.name).second) {
      return fail(ErrorCode::invalid_argument, "The name '{}' is taken.", tensor.name);
    }
    if (Status status = check(tensor.name); !status) return status;
    const std::uint64_t end = offset + tensor.bytes.size();
    text += formatted("{}:{{\"dtype\":{},\"shape\":[", json::quoted(tensor.name),
                      json::quoted(tensor.type));
    for (const std::uint64_t extent : tensor.shape) text += std::to_string(extent) + ",";
    if (!tensor.shape.empty()) text.pop_back();
    text += formatted("],\"data_offsets\":[{},{}]}},", offset, end);
    offset = end;
  }
  if (text.ends_with(',')) text.pop_back();
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start at a multiple of 8
  const std::uint64_t size = text.size();
  FileWriter file(path);
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(text);
  for (const TensorView& tensor : tensors) file.write(tensor.bytes);
  return file.commit();
}

}  // namespace weft::safetensors
