#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "onnx/proto.hpp"
#include "weft/tensor.hpp"

namespace weft::onnx {

/// Elements in the host's memory, of any type of ONNX: what is known before anything runs. Types of
/// less than a byte have a byte for each element here.
struct Array {
  Type type = Type::f32;
  Shape shape;
  std::span<const std::byte> bytes;  ///< Row-major; in `keep`, or in a mapped file.
  std::shared_ptr<const void> keep;  ///< What owns the bytes.
  std::vector<std::string> strings;  ///< The elements of Type::string.

  [[nodiscard]] std::uint64_t size() const;
  /// The elements as whole numbers; an error where they are none. Floats lose their fraction. u64
  /// past the range of i64 keep their bits.
  [[nodiscard]] std::vector<std::int64_t> ints() const;
  /// The elements as numbers; an error where they are none.
  [[nodiscard]] std::vector<double> doubles() const;
};

/// Bytes of an element, as an Array has them.
std::size_t size_of(Type type);
/// Whether elements are numbers: neither strings nor complex, and of a type that there is.
[[nodiscard]] bool has_numbers(Type type);
[[nodiscard]] bool is_float(Type type);
[[nodiscard]] bool is_integer(Type type);

/// Arrays of as many numbers as the shape has elements, rounded to the type; integers keep their
/// lowest bits.
Array array_of(Type type, Shape shape, std::span<const std::int64_t> values);
Array array_of(Type type, Shape shape, std::span<const double> values);
/// The same values as another type, as Cast does it. Not from or to strings.
Array converted(const Array& array, Type type, bool saturate = true);

/// The type of Weft's tensors that holds these elements, where there is one.
std::optional<DType> dtype_of(Type type);
Type type_of(DType dtype);

/// "[2,3]".
std::string text_of(const Shape& shape);

/// Gives the bytes of a file beside the model, and what keeps them.
struct ExternalFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};
using OpenExternal = std::function<Result<ExternalFile>(const std::string& location)>;

/// The elements of a tensor of a file. Sizes are held against the bytes that are there. `keep` owns
/// the file's bytes.
Result<Array> array_from(const TensorProto& tensor, const std::shared_ptr<const void>& keep,
                         const OpenExternal& open = {});

/// Opens files in the folder of a model; a path that leads out of it is an error.
OpenExternal files_beside(const std::filesystem::path& folder);

}  // namespace weft::onnx
