#include "formats/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <unordered_set>

#include "base/math.hpp"
#include "formats/ggml_type.hpp"

namespace weft::gguf {

static_assert(std::endian::native == std::endian::little,
              "GGUF numbers are little-endian and are copied as they are");

Result<std::uint64_t> tensor_bytes(const TypeInfo& type, std::span<const std::uint64_t> shape) {
  const std::uint64_t inner = shape.empty() ? 1 : shape.back();
  if (inner % type.block != 0) {
    return fail(ErrorCode::invalid_argument,
                "Rows of {} elements are no whole number of {} blocks of {}.", inner, type.name,
                type.block);
  }
  std::uint64_t bytes = type.bytes;
  const auto multiply = [&](std::uint64_t factor) {
    const bool fits = factor == 0 || bytes <= std::numeric_limits<std::int64_t>::max() / factor;
    if (fits) bytes *= factor;
    return fits;
  };
  bool fits = multiply(inner / type.block);
  for (std::size_t i = 0; fits && i + 1 < shape.size(); ++i) fits = multiply(shape[i]);
  if (!fits) return fail(ErrorCode::invalid_argument, "The size passes 64 bits.");
  return bytes;
}

const Value* find(const Metadata& metadata, std::string_view key) {
  const auto found = std::ranges::find(metadata, key, &std::pair<std::string, Value>::first);
  return found != metadata.end() ? &found->second : nullptr;
}

/// Reads a file from front to back; every read checks what is left.
class Parser {
 public:
  explicit Parser(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<File> run() {
    File file;
    std::uint64_t tensor_count = 0;
    std::uint64_t value_count = 0;
    if (auto done = read_head(tensor_count, value_count); !done) return fail_at(done.error());
    if (auto done = read_metadata(file, value_count); !done) return fail_at(done.error());
    if (auto done = read_tensors(file, tensor_count); !done) return fail_at(done.error());
    return file;
  }

 private:
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - position_; }

  [[nodiscard]] std::unexpected<Failure> fail_at(const Failure& failure) const {
    return fail(failure.code, "This is no valid GGUF file (byte {} of {}): {}", position_,
                bytes_.size(), failure.message);
  }

  template <class T>
  Status read(T& value) {
    if (left() < sizeof(T)) return fail(ErrorCode::io, "The file ends inside a number.");
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return {};
  }
  Status read(bool& value) {
    std::uint8_t byte = 0;
    if (auto done = read(byte); !done) return done;
    if (byte > 1) return fail(ErrorCode::io, "A truth value is {}, not 0 or 1.", byte);
    value = byte != 0;
    return {};
  }
  Status read(std::string& text) {
    std::uint64_t size = 0;
    if (auto done = read(size); !done) return done;
    if (size > left()) {
      return fail(ErrorCode::io, "A text of {} bytes does not fit the {} that are left.", size,
                  left());
    }
    text.assign(reinterpret_cast<const char*>(bytes_.data()) + position_,
                static_cast<std::size_t>(size));
    position_ += size;
    return {};
  }
  Status read(Array& array) {
    std::uint32_t type = 0;
    std::uint64_t count = 0;
    if (auto done = read(type); !done) return done;
    if (auto done = read(count); !done) return done;
    if (type == Value(Array{}).index()) {
      return fail(ErrorCode::unsupported, "Arrays of arrays are not supported.");
    }
    return read_alternative(array, type, [&]<class T>(std::vector<T>& elements) -> Status {
      // Texts take at least the 8 bytes of their length.
      constexpr std::uint64_t least = std::is_same_v<T, std::string> ? 8 : sizeof(T);
      if (count > left() / least) {
        return fail(ErrorCode::io, "An array of {} elements does not fit the {} bytes left.", count,
                    left());
      }
      elements.reserve(static_cast<std::size_t>(count));
      for (std::uint64_t i = 0; i < count; ++i) {
        T element{};
        if (auto done = read(element); !done) return done;
        elements.push_back(std::move(element));
      }
      return {};
    });
  }
  Status read(Value& value) {
    std::uint32_t type = 0;
    if (auto done = read(type); !done) return done;
    return read_alternative(value, type, [&](auto& typed) { return read(typed); });
  }

  /// Makes the variant hold alternative `index` and reads that.
  template <std::size_t I = 0, class Variant, class Read>
  Status read_alternative(Variant& variant, std::uint32_t index, const Read& read_into) {
    if constexpr (I < std::variant_size_v<Variant>) {
      if (index != I) return read_alternative<I + 1>(variant, index, read_into);
      using T = std::variant_alternative_t<I, Variant>;
      if constexpr (std::is_same_v<T, std::monostate>) {
        return fail(ErrorCode::unsupported, "Arrays of arrays are not supported.");
      } else {
        return read_into(variant.template emplace<I>());
      }
    } else {
      return fail(ErrorCode::io, "There is no value type {}.", index);
    }
  }

  Status read_head(std::uint64_t& tensor_count, std::uint64_t& value_count) {
    if (left() < 4 || std::memcmp(bytes_.data(), "GGUF", 4) != 0) {
      return fail(ErrorCode::io, "It does not start with 'GGUF'.");
    }
    position_ = 4;
    std::uint32_t version = 0;
    if (auto done = read(version); !done) return done;
    if (version != 2 && version != 3) {
      return fail(ErrorCode::unsupported, "Its version is {}; 2 and 3 are supported{}.", version,
                  std::byteswap(version) <= 3 ? " (it seems to be big-endian)" : "");
    }
    if (auto done = read(tensor_count); !done) return done;
    return read(value_count);
  }

  Status read_metadata(File& file, std::uint64_t count) {
    if (count > left() / 13) {  // a key's length, a type and a value of one byte
      return fail(ErrorCode::io, "{} values do not fit {} bytes.", count, left());
    }
    std::unordered_set<std::string> keys;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::pair<std::string, Value> entry;
      if (auto done = read(entry.first); !done) return done;
      if (auto done = read(entry.second); !done) return wrap(done.error(), entry.first);
      if (!keys.insert(entry.first).second) {
        return fail(ErrorCode::io, "The key '{}' appears twice.", entry.first);
      }
      file.metadata_.push_back(std::move(entry));
    }
    return {};
  }

  Status read_tensor(TensorView& tensor, std::uint64_t& offset) {
    if (auto done = read(tensor.name); !done) return done;
    std::uint32_t rank = 0;
    if (auto done = read(rank); !done) return done;
    if (rank > 8) {
      return fail(ErrorCode::io, "Tensor '{}' has {} dimensions; 8 are the most.", tensor.name,
                  rank);
    }
    tensor.shape.resize(rank);
    for (std::uint64_t& extent : tensor.shape) {
      if (auto done = read(extent); !done) return done;
    }
    std::ranges::reverse(tensor.shape);
    if (auto done = read(tensor.type); !done) return done;
    return read(offset);
  }

  Status read_tensors(File& file, std::uint64_t count) {
    if (count > left() / 24) {  // a name's length, rank, type and offset
      return fail(ErrorCode::io, "{} tensors do not fit {} bytes.", count, left());
    }
    std::uint64_t alignment = 32;
    if (const Value* value = find(file.metadata_, "general.alignment")) {
      const auto* given = std::get_if<std::uint32_t>(value);
      if (given == nullptr || !std::has_single_bit(*given)) {
        return fail(ErrorCode::io, "general.alignment is no power of two.");
      }
      alignment = *given;
    }
    std::unordered_set<std::string> names;
    std::vector<std::uint64_t> offsets(static_cast<std::size_t>(count));
    for (std::uint64_t& offset : offsets) {
      TensorView& tensor = file.tensors_.emplace_back();
      if (auto done = read_tensor(tensor, offset); !done) return done;
      if (!names.insert(tensor.name).second) {
        return fail(ErrorCode::io, "Two tensors are named '{}'.", tensor.name);
      }
      if (offset % alignment != 0) {
        return fail(ErrorCode::io, "Tensor '{}' starts at {}, which is no multiple of {}.",
                    tensor.name, offset, alignment);
      }
    }
    if (count == 0) return {};
    position_ = std::min<std::uint64_t>(round_up(position_, alignment), bytes_.size());
    return place(file, offsets);
  }

  /// Gives every tensor its bytes; they must lie in the file and not on top of each other.
  Status place(File& file, std::span<const std::uint64_t> offsets) {
    const std::span<const std::byte> data = bytes_.subspan(static_cast<std::size_t>(position_));
    std::vector<std::size_t> order(offsets.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      TensorView& tensor = file.tensors_[i];
      const TypeInfo* type = find_type(tensor.type);
      if (type == nullptr) {
        return fail(ErrorCode::unsupported, "Tensor '{}' has the unknown type {}.", tensor.name,
                    tensor.type);
      }
      const auto size = tensor_bytes(*type, tensor.shape);
      if (!size) return wrap(size.error(), "sizing tensor '" + tensor.name + "'");
      if (offsets[i] > data.size() || *size > data.size() - offsets[i]) {
        return fail(ErrorCode::io,
                    "Tensor '{}' has {} bytes at {}, past the {} bytes of tensor data.",
                    tensor.name, *size, offsets[i], data.size());
      }
      tensor.bytes =
          data.subspan(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(*size));
    }
    std::ranges::sort(order, {}, [&](std::size_t i) {
      return std::pair(offsets[i], file.tensors_[i].bytes.size());
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const TensorView& before = file.tensors_[order[i - 1]];
      if (offsets[order[i - 1]] + before.bytes.size() > offsets[order[i]]) {
        return fail(ErrorCode::io, "Tensors '{}' and '{}' overlap.", before.name,
                    file.tensors_[order[i]].name);
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  std::uint64_t position_ = 0;
};

Result<File> File::parse(std::span<const std::byte> bytes) { return Parser(bytes).run(); }

Result<File> File::open(const std::filesystem::path& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return std::unexpected(mapping.error());
  auto file = parse(mapping->bytes());
  if (!file) return wrap(file.error(), "reading " + path.string());
  file->mapping_ = std::move(*mapping);
  return file;
}

const TensorView* File::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &TensorView::name);
  return found != tensors_.end() ? &*found : nullptr;
}

}  // namespace weft::gguf
