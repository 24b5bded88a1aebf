#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft::cli {

/// The most bytes of a text that a command takes from a file (a device such as /dev/zero has no
/// end).
constexpr std::size_t longest_text = std::size_t{1} << 28;

/// All of a file, which may be a pipe. Throws CommandError with the system's reason where it cannot
/// be read, or where it is longer than `longest_text`.
std::string read_whole(const std::filesystem::path& path);

/// Puts bytes in the place of a file, whole or not at all; what is no regular file, such as
/// /dev/null, is written to. Throws CommandError with the system's reason.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

/// A text with a question mark in place of bytes that a terminal would take for commands: names
/// come from files.
std::string shown(std::string_view text);

}  // namespace weft::cli
