#include "npy.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "formats/file_writer.hpp"
#include "formats/mapped_file.hpp"

namespace weft::cli {
namespace {

using onnx::Array;
using onnx::Type;

constexpr std::array types{
    std::pair{"<f4", Type::f32}, std::pair{"<f2", Type::f16}, std::pair{"<f8", Type::f64},
    std::pair{"<i8", Type::i64}, std::pair{"<i4", Type::i32}, std::pair{"<i2", Type::i16},
    std::pair{"|i1", Type::i8},  std::pair{"|u1", Type::u8},  std::pair{"|b1", Type::boolean},
    std::pair{"<u4", Type::u32}, std::pair{"<u2", Type::u16}, std::pair{"<u8", Type::u64}};

/// The text behind a key of the header, up to the next comma outside of brackets.
std::string_view value_of(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) return {};
  rest = rest.substr(colon + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest.empty()) return {};
  const char close = rest.front() == '(' ? ')' : ',';
  const auto end = rest.find(close);
  return rest.substr(0, end == std::string_view::npos ? rest.size() : end + (close == ')' ? 1 : 0));
}

/// Elements that lie with the first dimension innermost (numpy writes transposed arrays like that),
/// in row-major order.
Array by_rows(const Array& columns) {
  const std::size_t size = onnx::size_of(columns.type);
  auto bytes = std::make_shared<std::vector<std::byte>>(columns.bytes.size());
  const std::size_t rank = columns.shape.size();
  std::vector<std::uint64_t> at(rank);
  for (std::uint64_t to = 0; to * size < bytes->size(); ++to) {
    std::uint64_t from = 0;
    for (std::size_t d = rank; d-- > 0;) from = from * columns.shape[d] + at[d];
    std::memcpy(bytes->data() + to * size, columns.bytes.data() + from * size, size);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < columns.shape[d]) break;
      at[d] = 0;
    }
  }
  Array out = columns;
  out.bytes = *bytes;
  out.keep = std::move(bytes);
  return out;
}

}  // namespace

Array read_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<MappedFile>(value_or_exit(MappedFile::open(path)));
  const std::span<const std::byte> bytes = file->bytes();
  const auto bad = [&](const std::string& what) {
    return CommandError(formatted("{}: {}", path.string(), what));
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());  // NOLINT: bytes as text
  if (text.size() < 10 || !text.starts_with("\x93NUMPY"))
    throw bad("this is not a file of numpy's format.");
  const bool old = bytes[6] == std::byte{1};
  const std::size_t start = old ? 10 : 12;
  if (text.size() < start) throw bad("the header ends too early.");
  std::size_t length = 0;
  for (std::size_t i = 0; i < start - 8; ++i)
    length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  if (length > text.size() - start)
    throw bad(formatted("the header has {} bytes; {} are left.", length, text.size() - start));
  const std::string_view header = text.substr(start, length);
  std::string_view descr = value_of(header, "'descr'");
  while (!descr.empty() && (descr.front() == '\'' || descr.front() == '"')) descr.remove_prefix(1);
  while (!descr.empty() && (descr.back() == '\'' || descr.back() == '"')) descr.remove_suffix(1);
  Array out{.type = Type::none, .shape = {}, .bytes = {}, .keep = file, .strings = {}};
  for (const auto& [name, type] : types) {
    if (descr == name) out.type = type;
  }
  if (out.type == Type::none) throw bad(formatted("elements of '{}' are not read.", descr));
  const std::string_view order = value_of(header, "'fortran_order'");
  std::string_view shape = value_of(header, "'shape'");
  const bool columns = order.starts_with("True");
  if ((!columns && !order.starts_with("False")) || !shape.starts_with('(') ||
      !shape.ends_with(')') || shape.find_first_not_of("(0123456789, )") != std::string_view::npos)
    throw bad("the header has no 'shape' or no 'fortran_order'.");
  std::uint64_t count = 1;
  while (!shape.empty()) {
    if (shape.front() < '0' || shape.front() > '9') {
      shape.remove_prefix(1);
      continue;
    }
    std::uint64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (error != std::errc() || extent > (std::uint64_t{1} << 48) ||
        (extent != 0 && count > (std::uint64_t{1} << 48) / extent))
      throw bad("the shape is too large.");
    count *= extent;
    out.shape.push_back(extent);
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
  }
  const std::uint64_t needed = count * onnx::size_of(out.type);
  if (bytes.size() - start - length != needed)
    throw bad(formatted("{} elements need {} bytes; there are {}.", count, needed,
                        bytes.size() - start - length));
  out.bytes = bytes.subspan(start + length);
  return columns ? by_rows(out) : out;
}

void write_npy(const std::filesystem::path& path, const Array& given) {
  const Array array = given.type == Type::bf16 ? onnx::converted(given, Type::f32) : given;
  std::string descr;
  for (const auto& [name, type] : types) {
    if (array.type == type) descr = name;
  }
  if (descr.empty())
    throw CommandError(formatted("numpy has no elements of {}.", onnx::name(array.type)));
  std::string shape;
  for (const std::uint64_t extent : array.shape) shape += std::to_string(extent) + ",";
  std::string header =
      formatted("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  FileWriter file(path);
  const auto size = static_cast<std::uint16_t>(header.size());
  const std::array<char, 4> version{1, 0, static_cast<char>(size & 0xff),
                                    static_cast<char>(size >> 8)};
  file.write("\x93NUMPY");
  file.write(std::string_view(version.data(), version.size()));
  file.write(header);
  file.write(array.bytes);
  value_or_exit(file.commit());
}

}  // namespace weft::cli
