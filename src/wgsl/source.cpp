#include "wgsl/source.hpp"

#include <array>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "wgsl/limits.hpp"
#include "wgsl/names.hpp"

namespace weft::wgsl {
namespace {

constexpr std::array<std::pair<std::string_view, LineKind>, 9> directives{{
    {"include", LineKind::include},
    {"let", LineKind::let},
    {"if", LineKind::if_},
    {"elif", LineKind::elif},
    {"else", LineKind::else_},
    {"endif", LineKind::endif},
    {"for", LineKind::for_},
    {"endfor", LineKind::endfor},
    {"error", LineKind::error},
}};

std::string_view word_of(LineKind kind) {
  for (const auto& [word, value] : directives) {
    if (value == kind) return word;
  }
  return "text";
}

/// Position of the first character that is no space.
std::size_t skip_spaces(std::string_view text, std::size_t position) {
  const std::size_t found = text.find_first_not_of(" \t", position);
  return found == std::string_view::npos ? text.size() : found;
}

bool needs_nothing(LineKind kind) {
  return kind == LineKind::else_ || kind == LineKind::endif || kind == LineKind::endfor;
}

/// Matches blocks while the lines of one file pass by.
class Scanner {
 public:
  std::optional<Problem> add(std::string_view text, std::uint32_t number) {
    const std::size_t start = skip_spaces(text, 0);
    if (start == text.size() || text[start] != '#') {
      const std::size_t braces = text.find("{{");
      const bool has_values = braces != std::string_view::npos && braces < text.find("//");
      lines_.push_back({LineKind::text, has_values, number, 0, text});
      return std::nullopt;
    }
    const std::size_t begin = skip_spaces(text, start + 1);
    std::size_t end = begin;
    while (end < text.size() && text[end] >= 'a' && text[end] <= 'z') ++end;
    const std::string_view word = text.substr(begin, end - begin);
    for (const auto& [known, kind] : directives) {
      if (word != known) continue;
      lines_.push_back({kind, false, number, 0, text.substr(end)});
      return match(lines_.back());
    }
    return unknown(text.substr(begin), number);
  }

  /// Call after the last line.
  std::expected<std::vector<Line>, Problem> finish() {
    if (open_.empty()) return std::move(lines_);
    const Line& opener = lines_[open_.back().opener];
    return std::unexpected(
        Problem{opener.number, formatted("#{} is never closed by #{}", word_of(opener.kind),
                                         word_of(closer(opener.kind)))});
  }

 private:
  struct Block {
    std::uint32_t opener = 0;  ///< Index of the #if or #for.
    std::uint32_t branch = 0;  ///< Index of the latest branch of an #if.
  };

  static LineKind closer(LineKind opener) {
    return opener == LineKind::if_ ? LineKind::endif : LineKind::endfor;
  }

  static Problem unknown(std::string_view rest, std::uint32_t number) {
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    std::vector<std::string_view> known;
    for (const auto& [directive, kind] : directives) known.push_back(directive);
    return {number, formatted("unknown directive `#{}`; known: {}", word.substr(0, 40),
                              nearest(word, known))};
  }

  std::optional<Problem> match(const Line& line) {
    const auto index = static_cast<std::uint32_t>(lines_.size() - 1);
    if (needs_nothing(line.kind)) {
      const std::string_view rest = line.text.substr(skip_spaces(line.text, 0));
      if (!rest.empty() && !rest.starts_with("//")) {
        return Problem{line.number, formatted("unexpected text `{}` after #{}", rest.substr(0, 60),
                                              word_of(line.kind))};
      }
    }
    switch (line.kind) {
      case LineKind::if_:
      case LineKind::for_:
        open_.push_back({index, index});
        if (open_.size() > Limits::block_depth) {
          return Problem{line.number,
                         formatted("blocks are nested more than {} deep", Limits::block_depth)};
        }
        return std::nullopt;
      case LineKind::elif:
      case LineKind::else_:
      case LineKind::endif: return match_if(line, index);
      case LineKind::endfor: return match_for(line, index);
      default: return std::nullopt;
    }
  }

  std::optional<Problem> match_if(const Line& line, std::uint32_t index) {
    if (auto problem = check_opener(line, LineKind::if_)) return problem;
    Block& block = open_.back();
    Line& branch = lines_[block.branch];
    if (branch.kind == LineKind::else_ && line.kind != LineKind::endif) {
      return Problem{line.number, formatted("#{} comes after the #else of line {}",
                                            word_of(line.kind), branch.number)};
    }
    branch.next = index;
    block.branch = index;
    if (line.kind == LineKind::endif) open_.pop_back();
    return std::nullopt;
  }

  std::optional<Problem> match_for(const Line& line, std::uint32_t index) {
    if (auto problem = check_opener(line, LineKind::for_)) return problem;
    lines_[open_.back().opener].next = index;
    open_.pop_back();
    return std::nullopt;
  }

  std::optional<Problem> check_opener(const Line& line, LineKind wanted) const {
    if (open_.empty()) {
      return Problem{line.number,
                     formatted("#{} without #{}", word_of(line.kind), word_of(wanted))};
    }
    const Line& opener = lines_[open_.back().opener];
    if (opener.kind == wanted) return std::nullopt;
    return Problem{line.number, formatted("#{} inside the #{} of line {}, which needs #{} first",
                                          word_of(line.kind), word_of(opener.kind), opener.number,
                                          word_of(closer(opener.kind)))};
  }

  std::vector<Line> lines_;
  std::vector<Block> open_;
};

}  // namespace

std::expected<Source, Problem> scan(const File& file) {
  Scanner scanner;
  std::uint32_t number = 0;
  for (std::string_view rest = file.text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (auto problem = scanner.add(text, ++number)) return std::unexpected(std::move(*problem));
  }
  auto lines = scanner.finish();
  if (!lines) return std::unexpected(std::move(lines.error()));
  return Source{file.name, std::move(*lines)};
}

}  // namespace weft::wgsl
