#include "media.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "commands.hpp"
#include "formats/mapped_file.hpp"
#include "python.hpp"

namespace weft::cli {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw CommandError(formatted("{}: {}", path.string(), why));
}

std::uint32_t little(Bytes bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

bool has_text(Bytes bytes, std::size_t at, std::string_view text) {
  if (at > bytes.size() || text.size() > bytes.size() - at) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<char>(bytes[at + i]) != text[i]) return false;
  }
  return true;
}

/// What the chunk "fmt " of a sound says.
struct SoundFormat {
  std::uint32_t kind = 0;  // 1: whole numbers, 3: floats
  std::uint32_t channels = 0;
  std::uint32_t bits = 0;
};

std::vector<double> read_sound(const std::filesystem::path& path, Bytes bytes) {
  if (!has_text(bytes, 0, "RIFF") || !has_text(bytes, 8, "WAVE"))
    refuse(path, "it is not a .wav file.");
  std::optional<SoundFormat> format;
  for (std::size_t at = 12; at <= bytes.size() && bytes.size() - at >= 8;) {
    const std::size_t size = little(bytes, at + 4, 4);
    const std::size_t start = at + 8;
    if (has_text(bytes, at, "fmt ") && size >= 16 && bytes.size() - start >= 16) {
      format = {.kind = little(bytes, start, 2),
                .channels = little(bytes, start + 2, 2),
                .bits = little(bytes, start + 14, 2)};
    } else if (has_text(bytes, at, "data")) {
      if (!format) refuse(path, "its samples come before their format.");
      const bool is_short = format->kind == 1 && format->bits == 16;
      const bool is_float = format->kind == 3 && format->bits == 32;
      if ((!is_short && !is_float) || format->channels == 0)
        refuse(path, formatted("samples of {} bits (kind {}, {} channels) are not read.",
                               format->bits, format->kind, format->channels));
      const Bytes data = bytes.subspan(start, std::min(size, bytes.size() - start));
      const std::size_t each = format->bits / 8;
      const std::size_t count = data.size() / (each * format->channels);
      std::vector<double> samples(count, 0);
      for (std::size_t i = 0; i < count * format->channels; ++i) {
        const std::uint32_t word = little(data, i * each, each);
        const double value =
            is_short ? std::bit_cast<std::int16_t>(static_cast<std::uint16_t>(word)) / 32768.0
                     : static_cast<double>(std::bit_cast<float>(word));
        samples[i / format->channels] += value / format->channels;
      }
      return samples;
    }
    const std::size_t next = size + size % 2;  // Chunks begin at even places.
    if (next > bytes.size() - start) break;
    at = start + next;
  }
  refuse(path, "there are no samples in it.");
}

struct Picture {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint64_t channels = 0;
  Bytes pixels;  // rows of pixels of channels
};

Picture read_picture(const std::filesystem::path& path, Bytes bytes) {
  Picture out;
  out.channels = has_text(bytes, 0, "P6") ? 3 : has_text(bytes, 0, "P5") ? 1 : 0;
  if (out.channels == 0) refuse(path, "it is not a .ppm or .pgm file of bytes (P6, P5).");
  std::size_t at = 2;
  const auto number = [&] {
    const auto letter = [&] { return at < bytes.size() ? static_cast<char>(bytes[at]) : '\0'; };
    while (std::isspace(static_cast<unsigned char>(letter())) != 0 || letter() == '#') {
      const bool comment = letter() == '#';
      ++at;
      while (comment && at < bytes.size() && letter() != '\n') ++at;
    }
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; letter() >= '0' && letter() <= '9' && digits < 7; ++at, ++digits)
      value = 10 * value + static_cast<std::uint64_t>(letter() - '0');
    if (digits == 0 || digits == 7)
      refuse(path, formatted("there is no number of up to 6 digits at byte {}.", at));
    return value;
  };
  out.width = number();
  out.height = number();
  if (const std::uint64_t most = number(); most != 255)
    refuse(path, formatted("its largest number is {}; only 255 is read.", most));
  ++at;  // one space
  const std::uint64_t size = out.width * out.height * out.channels;
  if (at > bytes.size() || bytes.size() - at < size)
    refuse(path, formatted("{} x {} pixels need {} bytes; it is too short.", out.width, out.height,
                           size));
  out.pixels = bytes.subspan(at, size);
  return out;
}

/// Pictures that Python's imaging library unpacks.
bool is_packed_picture(const std::filesystem::path& path) {
  return path.extension() == ".png" || path.extension() == ".jpg" || path.extension() == ".jpeg";
}

constexpr const char* unpack = R"(
import sys
from PIL import Image
picture = Image.open(sys.argv[1])
gray = picture.mode in ("1", "L", "I", "I;16", "F")
picture.convert("L" if gray else "RGB").save(sys.argv[2], format="PPM")
)";

}  // namespace

bool is_media(const std::filesystem::path& path) {
  return path.extension() == ".wav" || path.extension() == ".ppm" || path.extension() == ".pgm" ||
         is_packed_picture(path);
}

onnx::Array read_media(const std::filesystem::path& path, const onnx::Port& port) {
  if (is_packed_picture(path)) {
    const TemporaryFolder folder;
    const std::filesystem::path plain = folder.path() / "picture.ppm";
    run_python(folder, unpack, {path.string(), plain.string()},
               formatted("{}: python3-pil did not read the picture", path.string()));
    return read_media(plain, port);
  }
  const auto file = value_or_exit(MappedFile::open(path));
  const onnx::Type type = port.dtype ? onnx::type_of(*port.dtype) : onnx::Type::f32;
  const std::vector<onnx::Extent> extents = port.shape.value_or(std::vector<onnx::Extent>());
  const std::size_t rank = extents.size();
  if (path.extension() == ".wav") {
    if (!onnx::is_float(type))
      refuse(path, formatted("the input '{}' is {}, not floats.", port.name, port.type));
    const std::vector<double> samples = read_sound(path, file.bytes());
    Shape shape(std::max<std::size_t>(rank, 1), 1);
    shape.back() = samples.size();
    return onnx::array_of(type, shape, samples);
  }
  const Picture picture = read_picture(path, file.bytes());
  const bool last = rank >= 3 && extents.back().value == picture.channels;
  std::vector<double> values(picture.pixels.size());
  for (std::uint64_t pixel = 0; pixel < picture.width * picture.height; ++pixel) {
    for (std::uint64_t c = 0; c < picture.channels; ++c) {
      const std::size_t from = pixel * picture.channels + c;
      const std::size_t to = last ? from : c * picture.width * picture.height + pixel;
      values[to] =
          std::to_integer<int>(picture.pixels[from]) / (onnx::is_float(type) ? 255.0 : 1.0);
    }
  }
  Shape shape = last ? Shape{picture.height, picture.width, picture.channels}
                     : Shape{picture.channels, picture.height, picture.width};
  if (rank != 3) shape.insert(shape.begin(), 1);
  return onnx::array_of(type, shape, values);
}

}  // namespace weft::cli
