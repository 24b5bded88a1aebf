#include "onnx/array_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <map>

namespace weft::onnx {
namespace {

/// Keeps a mapped file, and tells those who own one from those who own something else.
struct FileKeeper {
  std::shared_ptr<const MappedFile> file;
  void operator()(const void* /*file*/) const {}
};

constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

/// Elements of less than a byte in one byte each.
Array widened(const Array& packed, Type type, std::uint64_t count) {
  const unsigned bits = type == Type::u2 || type == Type::i2 ? 2 : 4;
  const unsigned each = 8 / bits;
  const bool with_sign = type == Type::i4 || type == Type::i2;
  const auto owner = std::make_shared<std::vector<std::byte>>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto value = (std::to_integer<unsigned>(packed.bytes[i / each]) >> (bits * (i % each))) &
                 ((1U << bits) - 1U);
    if (with_sign && (value >> (bits - 1)) != 0) value |= ~((1U << bits) - 1U);
    (*owner)[i] = static_cast<std::byte>(value & 0xffU);
  }
  return {.type = type, .shape = packed.shape, .bytes = *owner, .keep = owner, .strings = {}};
}

bool is_narrow(Type type) {
  return type == Type::u4 || type == Type::i4 || type == Type::f4e2m1 || type == Type::u2 ||
         type == Type::i2;
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::shared_ptr<const void> owner_of(std::shared_ptr<const MappedFile> file) {
  const void* const place = file.get();
  return {place, FileKeeper{std::move(file)}};
}

Status check_unchanged(const Array& array) {
  const auto* const keeper = std::get_deleter<FileKeeper>(array.keep);
  return keeper != nullptr ? keeper->file->check_unchanged() : Status{};
}

OpenExternal files_beside(const std::filesystem::path& folder) {
  const auto opened = std::make_shared<std::map<std::string, std::shared_ptr<MappedFile>>>();
  return [folder, opened](const std::string& location) -> Result<ExternalFile> {
    namespace fs = std::filesystem;
    const fs::path relative(location);
    if (location.empty() || location.contains('\0'))
      return fail(ErrorCode::invalid_argument,
                  "The place '{}' of external data is no name of a file.", location);
    std::error_code error;
    const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
    const fs::path path = fs::weakly_canonical(root / relative, error);
    const auto [at, end] = std::ranges::mismatch(root, path);
    if (error || relative.is_absolute() || at != root.end()) {
      return fail(ErrorCode::invalid_argument,
                  "The external data in '{}' lies outside of the model's folder {}.", location,
                  folder.string());
    }
    auto& file = (*opened)[path.string()];
    if (!file) {
      Result<MappedFile> mapped = MappedFile::open(path);
      if (!mapped) return wrap(mapped.error(), "opening external data");
      file = std::make_shared<MappedFile>(std::move(*mapped));
    }
    return ExternalFile{file->bytes(), owner_of(file)};
  };
}

Result<Array> array_from(const TensorProto& tensor, const std::shared_ptr<const void>& keep,
                         const OpenExternal& open) {
  const auto bad = [&](const std::string& what) {
    return fail(ErrorCode::invalid_argument, "Tensor '{}' at byte {}: {}", tensor.name, tensor.at,
                what);
  };
  Array out{.type = tensor.type, .shape = {}, .bytes = {}, .keep = keep, .strings = {}};
  std::uint64_t count = 1;
  bool is_empty = false;  // The other extents count all the same: results are made of them.
  for (const std::int64_t extent : tensor.dims) {
    if (extent < 0) return bad(formatted("an extent is {}.", extent));
    out.shape.push_back(static_cast<std::uint64_t>(extent));
    if (extent == 0) {
      is_empty = true;
    } else if (count > most_elements / static_cast<std::uint64_t>(extent)) {
      return bad(formatted("it has more than {} elements.", most_elements));
    } else {
      count *= static_cast<std::uint64_t>(extent);
    }
  }
  if (is_empty) count = 0;
  if (tensor.type == Type::string) {
    if (tensor.strings.size() != count)
      return bad(formatted("{} has {} elements; there are {} strings.", text_of(out.shape), count,
                           tensor.strings.size()));
    out.strings = tensor.strings;
    return out;
  }
  const auto number = static_cast<unsigned>(tensor.type);
  if (number == 0 || number > last_type)
    return bad(formatted("element type {} is not known.", number));
  const std::uint64_t each = size_of(tensor.type);
  std::uint64_t needed = count * each;
  if (is_narrow(tensor.type))
    needed = (count + (8 / (tensor.type == Type::u2 || tensor.type == Type::i2 ? 2 : 4)) - 1) /
             (8 / (tensor.type == Type::u2 || tensor.type == Type::i2 ? 2 : 4));
  if (tensor.is_external) {
    const auto place = tensor.external.find("location");
    if (place == tensor.external.end())
      return bad("its elements are external, but no location is named.");
    if (!open) return bad("its elements are external, and the model did not come from a file.");
    Result<ExternalFile> file = open(place->second);
    if (!file) return wrap(file.error(), formatted("reading tensor '{}'", tensor.name));
    std::uint64_t offset = 0;
    std::uint64_t length = needed;
    for (const auto& [key, into] : {std::pair{"offset", &offset}, std::pair{"length", &length}}) {
      const auto entry = tensor.external.find(key);
      if (entry == tensor.external.end()) continue;
      const auto value = number_of(entry->second);
      if (!value)
        return bad(formatted("the {} '{}' of its external data is no number.", key, entry->second));
      *into = *value;
    }
    if (length != needed)
      return bad(formatted("{} of {} needs {} bytes; its external data has {}.", text_of(out.shape),
                           name(tensor.type), needed, length));
    if (offset > file->bytes.size() || length > file->bytes.size() - offset) {
      return bad(formatted("bytes {} to {} of '{}' are past its end, {}.", offset, offset + length,
                           place->second, file->bytes.size()));
    }
    out.bytes = file->bytes.subspan(offset, length);
    out.keep = file->keep;
  } else if (tensor.has_raw && (tensor.packed.empty() || !tensor.raw.empty())) {
    if (tensor.raw.size() != needed)
      return bad(formatted("{} of {} needs {} bytes; there are {}.", text_of(out.shape),
                           name(tensor.type), needed, tensor.raw.size()));
    out.bytes = tensor.raw;
  } else {
    const std::uint32_t width = tensor.packed_width;
    const std::uint64_t there = width == 0 ? 0 : tensor.packed.size() / width;
    const std::uint64_t numbers = is_narrow(tensor.type) ? needed
                                  : tensor.type == Type::c64 || tensor.type == Type::c128
                                      ? 2 * count
                                      : count;
    if (there != numbers)
      return bad(formatted("{} of {} needs {} numbers; there are {}.", text_of(out.shape),
                           name(tensor.type), numbers, there));
    const std::uint64_t to = is_narrow(tensor.type)      ? 1
                             : tensor.type == Type::c64  ? 4
                             : tensor.type == Type::c128 ? 8
                                                         : each;
    if (numbers != 0 && to > width)
      return bad(
          formatted("its elements have {} bytes; {} needs {}.", width, name(tensor.type), to));
    const auto owner = std::make_shared<std::vector<std::byte>>(numbers * to);
    for (std::uint64_t i = 0; i < numbers; ++i)
      std::memcpy(owner->data() + i * to, tensor.packed.data() + i * width, to);
    out.bytes = *owner;
    out.keep = owner;
  }
  return is_narrow(tensor.type) ? widened(out, tensor.type, count) : out;
}

}  // namespace weft::onnx
