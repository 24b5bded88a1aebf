#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Whole small files. By way of C: streams bring locales along, which would be a part of what a page
// has to load.

namespace weft {

/// The content of a regular file; none where it cannot be read, or has `most` bytes or more.
std::optional<std::string> read_text_file(const std::filesystem::path& file, std::size_t most);

/// Whether all of the text was written to the file, in the place of what it held.
bool write_text_file(const std::filesystem::path& file, std::string_view text);

}  // namespace weft
