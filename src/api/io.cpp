#include "weft/io.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/format.hpp"
#include "formats/ggml_type.hpp"
#include "formats/gguf.hpp"
#include "formats/safetensors.hpp"
#include "graph/node.hpp"
#include "graph/recover.hpp"
#include "ops/view.hpp"

namespace weft {
namespace {

enum class Format : std::uint8_t { safetensors, gguf };

Format format_of(const std::filesystem::path& path) {
  if (path.extension() == ".safetensors") return Format::safetensors;
  if (path.extension() == ".gguf") return Format::gguf;
  throw Error(ErrorCode::invalid_argument,
              formatted("The name of {} must end with .safetensors or .gguf, so that the format "
                        "is known.",
                        path.string()));
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  std::vector<std::byte> bytes(ops::View::dense(tensor.dtype(), tensor.shape()).bytes().size());
  graph::read_elements(tensor, bytes);
  return bytes;
}

Tensor upload(const Device& device, DType dtype, const Shape& shape,
              std::span<const std::byte> bytes) {
  const auto& data = Access::data(device);
  Tensor tensor = graph::new_tensor(data, dtype, shape);
  const std::lock_guard lock(data->mutex);
  unwrap(data->device.write(gpu::whole(graph::storage_of(tensor).buffer), bytes));
  return tensor;
}

/// Booleans as bytes of 0 and 1. In files any byte but 0 is true.
std::vector<std::byte> truths(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(bytes.size());
  std::ranges::transform(bytes, out.begin(),
                         [](std::byte byte) { return std::byte{byte != std::byte{0}}; });
  return out;
}

/// Has a tensor come back from its file when the device is lost: `file` holds the mapping that
/// `bytes` lie in.
template <class File>
void keep_in_file(const Tensor& tensor, std::span<const std::byte> bytes,
                  const std::shared_ptr<const File>& file) {
  const bool are_truths = tensor.dtype() == DType::boolean;
  graph::keep_bytes(Access::value(tensor).node, [bytes, file, are_truths](const auto& put) {
    unwrap(file->check_unchanged());
    if (are_truths) {
      put(truths(bytes));
    } else {
      put(bytes);
    }
  });
}

template <class File>
Tensor from_file(const Device& device, DType dtype, const Shape& shape,
                 std::span<const std::byte> bytes, const std::shared_ptr<const File>& file) {
  Tensor tensor = dtype == DType::boolean ? upload(device, dtype, shape, truths(bytes))
                                          : upload(device, dtype, shape, bytes);
  keep_in_file(tensor, bytes, file);
  return tensor;
}

std::uint32_t gguf_type(const std::string& name, DType dtype) {
  const auto id = gguf::id_of(dtype);
  if (!id) {
    throw Error(ErrorCode::unsupported, formatted("GGUF files cannot hold the {} elements of '{}'.",
                                                  weft::name(dtype), name));
  }
  return *id;
}

void save_gguf(const std::filesystem::path& path, const NamedTensors& contents) {
  gguf::Metadata metadata;
  for (const auto& [key, text] : contents.texts) metadata.emplace_back(key, text);
  std::vector<std::vector<std::byte>> bytes;
  bytes.reserve(contents.tensors.size());
  std::vector<gguf::TensorView> views;
  for (const auto& [name, tensor] : contents.tensors) {
    const std::uint32_t type = gguf_type(name, tensor.dtype());
    bytes.push_back(bytes_of(tensor));
    views.push_back({name, tensor.shape(), type, bytes.back()});
  }
  unwrap(gguf::write(path, metadata, views));
}

void save_safetensors(const std::filesystem::path& path, const NamedTensors& contents) {
  std::vector<std::vector<std::byte>> bytes;
  bytes.reserve(contents.tensors.size());
  std::vector<safetensors::TensorView> views;
  for (const auto& [name, tensor] : contents.tensors) {
    if (is_quantized(tensor.dtype())) {
      throw Error(ErrorCode::unsupported,
                  formatted("safetensors files cannot hold the {} blocks of '{}'; GGUF files can.",
                            weft::name(tensor.dtype()), name));
    }
    bytes.push_back(bytes_of(tensor));
    views.push_back(
        {name, std::string(safetensors::type_name(tensor.dtype())), tensor.shape(), bytes.back()});
  }
  unwrap(safetensors::write(path, contents.texts, views));
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& name,
                         std::string_view type) {
  throw Error(ErrorCode::unsupported,
              formatted("'{}' of {} has elements of type {}, which tensors cannot hold.", name,
                        path.string(), type));
}

using Views = std::vector<const gguf::TensorView*>;

/// The matrices of a file that one product may take at once (see the pass `join`): of one quantized
/// type, with rows of one length, and with names that differ in their last two parts, as
/// "blk.3.attn_q.weight" and "blk.3.attn_k.weight" do.
std::map<std::tuple<std::string, DType, std::uint64_t>, Views> neighbours(const gguf::File& file) {
  std::map<std::tuple<std::string, DType, std::uint64_t>, Views> out;
  for (const gguf::TensorView& view : file.tensors()) {
    const auto dtype = dtype_from_name(gguf::find_type(view.type)->name);
    if (!dtype || !is_quantized(*dtype) || view.shape.size() != 2) continue;
    const std::string front = view.name.substr(0, view.name.rfind('.'));
    out[{front.substr(0, front.rfind('.')), *dtype, view.shape[1]}].push_back(&view);
  }
  return out;
}

/// Makes tensors of a file that lie in one buffer, as many as a binding holds.
void load_together(const Device& device, DType dtype, const Views& views,
                   const std::shared_ptr<const gguf::File>& file, NamedTensors& out) {
  const auto& data = Access::data(device);
  const std::uint64_t most = data->device.caps().max_binding / 2;
  for (std::size_t first = 0, next = 0; first < views.size(); first = next) {
    std::vector<Shape> shapes;
    std::uint64_t bytes = 0;
    for (; next < views.size() && (next == first || bytes + views[next]->bytes.size() <= most);
         ++next) {
      bytes += views[next]->bytes.size();
      shapes.push_back(views[next]->shape);
    }
    const std::vector<Tensor> tensors = graph::new_tensors(data, dtype, shapes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const gguf::TensorView& view = *views[first + i];
      const graph::Storage storage = graph::storage_of(tensors[i]);
      {
        const std::lock_guard lock(data->mutex);
        unwrap(data->device.write({storage.buffer, storage.view.offset, view.bytes.size()},
                                  view.bytes));
      }
      keep_in_file(tensors[i], view.bytes, file);
      out.tensors.emplace(view.name, tensors[i]);
    }
  }
}

NamedTensors load_gguf(const Device& device, const std::filesystem::path& path) {
  const auto file = std::make_shared<const gguf::File>(unwrap(gguf::File::open(path)));
  NamedTensors out;
  for (const auto& [key, value] : file->metadata()) {
    if (const auto* text = std::get_if<std::string>(&value)) out.texts.emplace(key, *text);
  }
  for (const auto& [key, views] : neighbours(*file)) {
    load_together(device, std::get<DType>(key), views, file, out);
  }
  for (const gguf::TensorView& view : file->tensors()) {
    if (out.tensors.contains(view.name)) continue;
    const std::string_view type = gguf::find_type(view.type)->name;
    const auto dtype = dtype_from_name(type);
    if (!dtype || view.shape.size() > ops::max_rank) {
      refuse(path, view.name, type);
    }
    out.tensors.emplace(view.name, from_file(device, *dtype, view.shape, view.bytes, file));
  }
  return out;
}

NamedTensors load_safetensors(const Device& device, const std::filesystem::path& path) {
  const auto file =
      std::make_shared<const safetensors::File>(unwrap(safetensors::File::open(path)));
  NamedTensors out;
  out.texts = file->metadata();
  for (const safetensors::TensorView& view : file->tensors()) {
    // Floats of 8 bits come as their bits, which from_f8() makes numbers of.
    const auto dtype = view.type.starts_with("F8_") ? DType::u8 : safetensors::dtype_of(view.type);
    if (!dtype) refuse(path, view.name, view.type);
    if (view.shape.size() > ops::max_rank) {
      throw Error(ErrorCode::unsupported,
                  formatted("'{}' of {} has {} dimensions; tensors have at most {}.", view.name,
                            path.string(), view.shape.size(), ops::max_rank));
    }
    out.tensors.emplace(view.name, from_file(device, *dtype, view.shape, view.bytes, file));
  }
  return out;
}

}  // namespace

void save(const std::filesystem::path& path, const NamedTensors& contents) {
  if (format_of(path) == Format::gguf) {
    save_gguf(path, contents);
  } else {
    save_safetensors(path, contents);
  }
}

NamedTensors load(const Device& device, const std::filesystem::path& path) {
  const Format format = format_of(path);
  return graph::insist(*Access::data(device), [&] {
    return format == Format::gguf ? load_gguf(device, path) : load_safetensors(device, path);
  });
}

}  // namespace weft
