#pragma once

#include <CLI/CLI.hpp>

#include "llm/sampling.hpp"

namespace weft::cli {

/// Adds the options that say how tokens are chosen. Where llama.cpp has another name for one, both
/// are taken.
void add_sampling_options(CLI::App& command, llm::SamplingOptions& sampling);

}  // namespace weft::cli
