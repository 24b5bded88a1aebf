#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::test {

/// Names of types and members of ggml's interface with backends, with their sizes and offsets.
using Layout = std::vector<std::pair<std::string, std::size_t>>;

/// As the plug-in describes it.
Layout described_layout();
/// As the headers of the pinned release have it.
Layout pinned_layout();

}  // namespace weft::test
