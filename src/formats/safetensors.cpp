#include "formats/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/format.hpp"
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

/// Watches a JSON text for objects that name a key twice (parsers differ in which one they take).
class TwiceFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::string& found() const { return found_; }

  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) found_ = name;
    return found_.empty();
  }
  bool start_object(std::size_t /*size*/) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_array(std::size_t /*size*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

 private:
  std::vector<std::unordered_set<std::string>> keys_;
  std::string found_;
};

/// Parses JSON, but refuses objects that name a key twice. In two passes: the library's own way to
/// watch a parse goes through all elements of an object after each of them.
Result<nlohmann::json> parse_strictly(std::string_view text) {
  TwiceFinder twice;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &twice);
  if (!twice.found().empty()) {
    return fail(ErrorCode::io, "The header names '{}' twice.", twice.found());
  }
  auto json = whole ? nlohmann::json::parse(text.begin(), text.end(), nullptr, false)
                    : nlohmann::json(nlohmann::json::value_t::discarded);
  if (!json.is_object()) return fail(ErrorCode::io, "The header is not a JSON object.");
  return json;
}

/// The numbers of a JSON array of non-negative integers.
std::optional<std::vector<std::uint64_t>> numbers(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::uint64_t> values;
  for (const auto& element : *found) {
    if (!element.is_number_unsigned()) return std::nullopt;
    values.push_back(element.get<std::uint64_t>());
  }
  return values;
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

Result<TensorView> read_tensor(const std::string& name, const nlohmann::json& entry,
                               std::span<const std::byte> data) {
  const auto type = entry.find("dtype");
  const auto shape = numbers(entry, "shape");
  const auto range = numbers(entry, "data_offsets");
  if (type == entry.end() || !type->is_string() || !shape || !range || range->size() != 2) {
    return fail(ErrorCode::io, "Tensor '{}' lacks a proper dtype, shape or data_offsets.", name);
  }
  const auto& type_text = type->get_ref<const std::string&>();
  const TypeRow* row = find_row(type_text);
  if (row == nullptr) {
    return fail(ErrorCode::unsupported, "Tensor '{}' has the unknown type '{}'.", name, type_text);
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
      .type = type_text,
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

namespace {

/// Takes a document apart from within: its own destructor allocates memory for that, and what fails
/// there ends the program.
class Emptied {
 public:
  explicit Emptied(nlohmann::json& json) : json_(json) {}
  Emptied(const Emptied&) = delete;
  Emptied& operator=(const Emptied&) = delete;
  ~Emptied() { empty(json_, 16); }

 private:
  static void empty(nlohmann::json& json, int depth) {
    if (depth == 0) return;
    if (auto* const object = json.get_ptr<nlohmann::json::object_t*>(); object != nullptr) {
      for (auto& [name, value] : *object) empty(value, depth - 1);
      object->clear();
    } else if (auto* const array = json.get_ptr<nlohmann::json::array_t*>(); array != nullptr) {
      for (nlohmann::json& value : *array) empty(value, depth - 1);
      array->clear();
    }
  }
  nlohmann::json& json_;
};

}  // namespace

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
  auto json = parse_strictly(text);
  if (!json) return std::unexpected(json.error());
  const Emptied emptied(*json);

  File file;
  for (const auto& [name, entry] : json->items()) {
    if (!entry.is_object()) return fail(ErrorCode::io, "'{}' is not an object.", name);
    if (name == metadata_key) {
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return fail(ErrorCode::io, "Metadata '{}' is not a text.", key);
        file.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    auto tensor = read_tensor(name, entry, data);
    if (!tensor) return std::unexpected(tensor.error());
    file.tensors_.push_back(std::move(*tensor));
  }
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

namespace {

/// A text as JSON has it.
std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

}  // namespace

Status write(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata,
             std::span<const TensorView> tensors) {
  // Put together by hand: an ordered object of the library looks through all its keys for each new
  // one, and objects and lists need memory to go, without which the process ends.
  std::string text = "{";
  std::unordered_set<std::string_view> names{metadata_key};
  try {
    if (!metadata.empty()) {
      text += formatted("\"{}\":{{", metadata_key);
      for (const auto& [key, value] : metadata)
        text += json_text(key) + ":" + json_text(value) + ",";
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
      const std::uint64_t end = offset + tensor.bytes.size();
      text += formatted("{}:{{\"dtype\":{},\"shape\":[", json_text(tensor.name),
                        json_text(tensor.type));
      for (const std::uint64_t extent : tensor.shape) text += std::to_string(extent) + ",";
      if (!tensor.shape.empty()) text.pop_back();
      text += formatted("],\"data_offsets\":[{},{}]}},", offset, end);
      offset = end;
    }
  } catch (const nlohmann::json::exception& error) {  // texts that are not UTF-8
    return fail(ErrorCode::invalid_argument, "The header cannot be written: {}.", error.what());
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
