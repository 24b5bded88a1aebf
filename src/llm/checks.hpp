#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "formats/gguf.hpp"

/// What llama.cpp and ggml end the process for, found out before they see it.
namespace weft::llm {

/// Types that keys and values can have.
Status check_cache_type(std::string_view type);

/// The number of layers that a file names under `key`; without one it names something else there.
Status check_layers(const std::string& key, std::optional<std::int64_t> layers);
/// The same of a file.
Status check_layers(const gguf::File& file);

/// Matrices of a file that have a type which nothing is multiplied by.
Status check_types(const gguf::File& file);

/// Whether somebody answers at "host:port".
Status check_server(const std::string& server);

}  // namespace weft::llm
