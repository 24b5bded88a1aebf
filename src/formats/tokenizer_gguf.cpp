#include <array>

#include "formats/tokenizer.hpp"

// The vocabulary as GGUF values. Files spell each byte as one printable character: those that are
// printable in Latin-1 stand for themselves, the others for the characters from U+0100 on.

namespace weft {
namespace {

constexpr std::string_view model_key = "tokenizer.ggml.model";
constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view merges_key = "tokenizer.ggml.merges";

/// The character that stands for each byte.
constexpr std::array<std::uint16_t, 256> spellings() {
  std::array<std::uint16_t, 256> table{};
  std::uint16_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    table[byte] = printable ? byte : next++;
  }
  return table;
}

std::string spell(std::string_view bytes) {
  static constexpr auto table = spellings();
  std::string text;
  for (const char c : bytes) {
    const std::uint32_t point = table[static_cast<std::uint8_t>(c)];
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else {  // all of them are below U+0800
      text += static_cast<char>(0xc0U | point >> 6U);
      text += static_cast<char>(0x80U | (point & 0x3fU));
    }
  }
  return text;
}

template <class T>
const T* find_as(const gguf::Metadata& metadata, std::string_view key) {
  const gguf::Value* value = gguf::find(metadata, key);
  return value != nullptr ? std::get_if<T>(value) : nullptr;
}

const std::vector<std::string>* find_texts(const gguf::Metadata& metadata, std::string_view key) {
  const auto* array = find_as<gguf::Array>(metadata, key);
  return array != nullptr ? std::get_if<std::vector<std::string>>(array) : nullptr;
}

}  // namespace

void Tokenizer::add_to(gguf::Metadata& metadata) const {
  constexpr std::int32_t normal = 1;
  constexpr std::int32_t control = 3;
  std::vector<std::string> texts{std::string(end_of_text_mark)};
  for (std::uint32_t i = 1; i < size(); ++i) texts.push_back(spell(tokens_[i]));
  std::vector<std::int32_t> kinds(size(), normal);
  kinds[end_of_text] = control;
  std::vector<std::string> merges;
  merges.reserve(merges_.size());
  for (const Merge& merge : merges_) {
    merges.push_back(spell(tokens_[merge.left]) + " " + spell(tokens_[merge.right]));
  }
  const auto put = [&](std::string_view key, gguf::Value value) {
    metadata.emplace_back(key, std::move(value));
  };
  put(model_key, std::string("gpt2"));
  put("tokenizer.ggml.pre", std::string("gpt-2"));
  put(tokens_key, gguf::Array(std::move(texts)));
  put("tokenizer.ggml.token_type", gguf::Array(std::move(kinds)));
  put(merges_key, gguf::Array(std::move(merges)));
  put("tokenizer.ggml.bos_token_id", end_of_text);
  put("tokenizer.ggml.eos_token_id", end_of_text);
  put("tokenizer.ggml.add_bos_token", true);
}

Result<Tokenizer> Tokenizer::from_metadata(const gguf::Metadata& metadata) {
  const auto* texts = find_texts(metadata, tokens_key);
  const auto* merges = find_texts(metadata, merges_key);
  if (texts == nullptr || merges == nullptr) {
    return fail(ErrorCode::not_found, "The file has no {} or no {}.", tokens_key, merges_key);
  }
  Tokenizer tokenizer;
  std::unordered_map<std::string, std::uint32_t> spelled;
  const auto learn = [&] {
    for (auto i = static_cast<std::uint32_t>(spelled.size()) + 1; i < tokenizer.size(); ++i) {
      spelled.emplace(spell(tokenizer.tokens_[i]), i);
    }
  };
  learn();
  for (const std::string& merge : *merges) {
    const std::size_t gap = merge.find(' ');
    if (gap == std::string::npos) {
      return fail(ErrorCode::io, "The merge '{}' does not consist of two tokens.", merge);
    }
    const auto left = spelled.find(merge.substr(0, gap));
    const auto right = spelled.find(merge.substr(gap + 1));
    if (left == spelled.end() || right == spelled.end()) {
      return fail(ErrorCode::unsupported,
                  "The merge '{}' uses a token that no merge in front of it makes.", merge);
    }
    tokenizer.add_merge(left->second, right->second);
    learn();
  }
  bool same = texts->size() == tokenizer.size();
  for (std::uint32_t i = 1; same && i < tokenizer.size(); ++i) {
    same = (*texts)[i] == spell(tokenizer.tokens_[i]);
  }
  if (!same || (*texts)[end_of_text] != end_of_text_mark) {
    return fail(
        ErrorCode::unsupported,
        "The vocabulary of {} tokens is not laid out as Weft does: the end of text, the 256 "
        "bytes, then the results of {} merges in order.",
        texts->size(), merges->size());
  }
  return tokenizer;
}

}  // namespace weft
