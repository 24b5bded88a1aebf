#pragma once

#include <memory>

#include "formats/mapped_file.hpp"
#include "onnx/array.hpp"

namespace weft::onnx {

/// What owns the bytes of arrays that lie in a mapped file.
std::shared_ptr<const void> owner_of(std::shared_ptr<const MappedFile> file);

/// An error where the elements lie in a file that was written to since
/// (MappedFile::check_unchanged).
Status check_unchanged(const Array& array);

}  // namespace weft::onnx
