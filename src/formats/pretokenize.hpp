#pragma once

#include <string_view>
#include <vector>

namespace weft {

/// Cuts text into the pieces that tokens never reach across, as the pre-tokenizer "gpt-2" of GGUF
/// files does: English contractions ('s, 't, 're, …), runs of letters, of digits and of other
/// characters, each with a space in front, and runs of white space. The pieces one after the other
/// are the text; bytes that are not UTF-8 count as other characters.
std::vector<std::string_view> pretokenize(std::string_view text);

}  // namespace weft
