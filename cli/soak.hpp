#pragma once

#include <CLI/CLI.hpp>

namespace weft::cli {

/// `weft soak`: long runs, and whether anything grows while they last.
void add_soak(CLI::App& app);

}  // namespace weft::cli
