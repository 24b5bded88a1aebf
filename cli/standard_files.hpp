#pragma once

#include <string_view>

namespace weft::cli {

/// Keeps the numbers of the input, the output and the error output taken where the program was
/// started without one of them: else the next file that is opened would get the number, and what is
/// printed would land in it.
void keep_standard_files();

/// Writes a piece of the output and hands it on at once. Throws CommandError where it cannot be
/// written.
void write_output(std::string_view text);

/// Hands on what was printed so far. Throws CommandError where a part of it could not be written: a
/// full disk, an output that was closed.
void finish_output();

}  // namespace weft::cli
