#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "formats/gguf.hpp"

/// What llama.cpp and ggml end the process for, found out before they see it.
namespace weft::llm {

/// Types that keys and values can have.
Status check_cache_type(std::string_view type);

/// The number of layers that the file names.
Status check_layers(const gguf::File& file);

/// Whether somebody answers at "host:port".
Status check_server(const std::string& server);

}  // namespace weft::llm
