#include "onnx/pattern.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace weft::onnx {
namespace {

constexpr std::size_t most_steps = 20'000;
constexpr std::uint32_t most_repeats = 1000;  // as in RE2
constexpr int deepest = 100;
constexpr char32_t largest = 0x10FFFF;
constexpr char32_t replacement = 0xFFFD;

/// The characters of a text in UTF-8; each byte that is none counts as one that no pattern asks for
/// by name.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t more = byte < 0x80   ? 0
                             : byte < 0xC2 ? 4
                             : byte < 0xE0 ? 1
                             : byte < 0xF0 ? 2
                             : byte < 0xF5 ? 3
                                           : 4;
    char32_t value = more == 0 ? byte : byte & (0x3FU >> more);
    bool valid = more < 4 && i + more < text.size();
    for (std::size_t k = 1; valid && k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xC0U) == 0x80U;
      value = value << 6U | (next & 0x3FU);
    }
    out.push_back(valid ? value : replacement);
    i += valid ? more + 1 : 1;
  }
  return out;
}

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

/// The classes that a letter behind a backslash stands for; capitals are their opposites.
std::optional<Ranges> class_of(char32_t letter) {
  switch (letter) {
    case 'd':
    case 'D': return Ranges{{'0', '9'}};
    case 'w':
    case 'W': return Ranges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's':
    case 'S': return Ranges{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    default: return std::nullopt;
  }
}

/// What ranges leave out.
Ranges opposite(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges out;
  char32_t next = 0;
  for (const auto& [low, high] : ranges) {
    if (low > next) out.emplace_back(next, low - 1);
    next = std::max<char32_t>(next, high + 1);
  }
  if (next <= largest) out.emplace_back(next, largest);
  return out;
}

bool is_word(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

std::optional<char32_t> digit(char32_t c, std::uint32_t base) {
  const char32_t value = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 99;
  return value < base ? std::optional(value) : std::nullopt;
}

}  // namespace

/// Reads a pattern as a tree, which repeats can copy, and lays it out in steps.
class PatternParser {
 public:
  explicit PatternParser(std::u32string text) : text_(std::move(text)) {}

  Result<Pattern> parse() {
    const auto whole = alternatives(0);
    if (error_.empty() && at_ < text_.size()) fail_at("the parenthesis closes nothing");
    if (error_.empty()) {
      const std::uint32_t accept = step({.code = Pattern::Code::accept});
      out_.first_ = lay_out(*whole, accept);
    }
    if (!error_.empty()) return fail(ErrorCode::invalid_argument, "{}", error_);
    return std::move(out_);
  }

 private:
  using Code = Pattern::Code;
  struct Part;
  using Parts = std::vector<std::unique_ptr<Part>>;
  /// A set or condition, parts behind each other, alternatives, or a part that is repeated.
  struct Part {
    enum class Kind : std::uint8_t { one, row, choice, repeat };
    Kind kind = Kind::row;
    Code code = Code::set;
    std::uint32_t set = 0;
    Parts parts;
    std::uint32_t least = 0;
    std::optional<std::uint32_t> most;
  };

  void fail_at(std::string_view why) {
    if (error_.empty()) error_ = formatted("A pattern is wrong at character {}: {}.", at_, why);
  }
  [[nodiscard]] bool more() const { return error_.empty() && at_ < text_.size(); }
  [[nodiscard]] bool next_is(char32_t c) const { return more() && text_[at_] == c; }
  bool take(char32_t c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  std::unique_ptr<Part> one(Code code) {
    auto part = std::make_unique<Part>();
    part->kind = Part::Kind::one;
    part->code = code;
    return part;
  }
  std::unique_ptr<Part> one_of(Ranges ranges, bool is_negated = false) {
    auto part = one(Code::set);
    part->set = static_cast<std::uint32_t>(out_.sets_.size());
    out_.sets_.push_back({.ranges = std::move(ranges), .is_negated = is_negated});
    return part;
  }

  std::unique_ptr<Part> alternatives(int depth) {
    auto choice = std::make_unique<Part>();
    choice->kind = Part::Kind::choice;
    if (depth > deepest) fail_at("groups lie too deep in each other");
    do {
      auto row = std::make_unique<Part>();
      while (more() && !next_is('|') && !next_is(')')) row->parts.push_back(repeated(depth));
      choice->parts.push_back(std::move(row));
    } while (take('|'));
    if (depth == 0 || !error_.empty()) return choice;
    if (!take(')')) fail_at("a group has no end");
    return choice;
  }

  std::unique_ptr<Part> repeated(int depth) {
    auto part = single(depth);
    std::uint32_t least = 0;
    std::optional<std::uint32_t> most;
    if (!repetition(least, most)) return part;
    take('?');  // whether few or many are tried first makes no difference for whole texts
    std::uint32_t again = 0;
    if (repetition(again, most)) fail_at("what is repeated cannot be repeated without a group");
    auto repeat = std::make_unique<Part>();
    repeat->kind = Part::Kind::repeat;
    repeat->least = least;
    repeat->most = most;
    repeat->parts.push_back(std::move(part));
    return repeat;
  }

  bool repetition(std::uint32_t& least, std::optional<std::uint32_t>& most) {
    if (take('*')) return true;
    if (take('+')) {
      least = 1;
      return true;
    }
    if (take('?')) {
      most = 1;
      return true;
    }
    return counted(least, most);
  }

  /// "{3}", "{3,}" or "{3,5}"; anything else behind a brace is the brace itself.
  bool counted(std::uint32_t& least, std::optional<std::uint32_t>& most) {
    if (!next_is('{')) return false;
    std::size_t at = at_ + 1;
    const auto number = [&]() -> std::optional<std::uint32_t> {
      std::optional<std::uint32_t> value;
      for (; at < text_.size() && digit(text_[at], 10); ++at)
        value = std::min(value.value_or(0) * 10 + *digit(text_[at], 10), most_repeats + 1);
      return value;
    };
    const auto first = number();
    if (!first) return false;
    std::optional<std::uint32_t> last = first;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      last = number();
    }
    if (at >= text_.size() || text_[at] != '}') return false;
    at_ = at + 1;
    if (*first > most_repeats || last.value_or(0) > most_repeats || (last && *last < *first))
      fail_at(formatted("it repeats something {} to {} times", *first, last.value_or(*first)));
    least = *first;
    most = last;
    return true;
  }

  std::unique_ptr<Part> single(int depth) {
    const char32_t c = text_[at_++];
    switch (c) {
      case '(':
        if (take('?') && !take(':')) {
          fail_at("only groups (…) and (?:…) are known");
          return one(Code::accept);
        }
        return alternatives(depth + 1);
      case '[': return set();
      case '.': return one_of({{'\n', '\n'}}, true);
      case '^': return one(Code::start);
      case '$': return one(Code::end);
      case '*':
      case '+':
      case '?': fail_at("there is nothing to repeat"); return one(Code::accept);
      case '\\': return escaped();
      default: return one_of({{c, c}});
    }
  }

  std::unique_ptr<Part> escaped() {
    if (more()) {
      const char32_t c = text_[at_];
      if (const auto ranges = class_of(c)) {
        ++at_;
        return one_of(*ranges, c < 'a');
      }
      const std::optional<Code> code = c == 'b'   ? std::optional(Code::boundary)
                                       : c == 'B' ? std::optional(Code::no_boundary)
                                       : c == 'A' ? std::optional(Code::start)
                                       : c == 'z' ? std::optional(Code::end)
                                                  : std::nullopt;
      if (code) {
        ++at_;
        return one(*code);
      }
    }
    const char32_t c = character();
    return one_of({{c, c}});
  }

  /// The character that a backslash and what is behind it stand for.
  char32_t character() {
    if (!more()) {
      fail_at("a backslash is the last character");
      return 0;
    }
    const char32_t c = text_[at_++];
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'a': return '\a';
      case 'x': return hexadecimal();
      default: break;
    }
    if (is_word(c) && c != '_') fail_at("there is no such letter behind a backslash");
    return c;
  }

  char32_t hexadecimal() {
    const bool braces = take('{');
    char32_t value = 0;
    std::size_t digits = 0;
    for (; more() && digits < (braces ? 8U : 2U); ++at_, ++digits) {
      const auto found = digit(text_[at_], 16);
      if (!found) break;
      value = value << 4U | *found;
    }
    if (digits == 0 || (!braces && digits != 2) || value > largest || (braces && !take('}')))
      fail_at("\\x needs the number of a character");
    return value;
  }

  /// "[a-z_]", "[^…]"; classes with a backslash may be among the members.
  std::unique_ptr<Part> set() {
    const bool is_negated = take('^');
    Ranges ranges;
    for (bool first = true; more() && (first || !next_is(']')); first = false) {
      char32_t low = text_[at_++];
      if (low == '[' && next_is(':')) {
        fail_at("classes by name are not known");
        break;
      }
      if (low == '\\') {
        if (more()) {
          if (auto found = class_of(text_[at_])) {
            if (text_[at_++] < 'a') found = opposite(*found);
            ranges.insert(ranges.end(), found->begin(), found->end());
            continue;
          }
        }
        low = character();
      }
      char32_t high = low;
      if (next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        high = text_[at_++];
        if (high == '\\') high = character();
        if (high < low) fail_at("a range goes backwards");
      }
      ranges.emplace_back(low, high);
    }
    if (!take(']')) fail_at("a class has no end");
    return one_of(std::move(ranges), is_negated);
  }

  std::uint32_t step(Pattern::Step made) {
    if (out_.steps_.size() >= most_steps) {
      if (error_.empty())
        error_ = formatted("A pattern is too large: it has more than {} places.", most_steps);
      return 0;
    }
    out_.steps_.push_back(made);
    return static_cast<std::uint32_t>(out_.steps_.size() - 1);
  }

  /// The steps of a part, with those of what is behind it made before: the first of them.
  std::uint32_t lay_out(const Part& part, std::uint32_t behind) {
    if (!error_.empty()) return behind;
    switch (part.kind) {
      case Part::Kind::one: return step({.code = part.code, .next = behind, .other = part.set});
      case Part::Kind::row:
        for (std::size_t i = part.parts.size(); i-- > 0;) behind = lay_out(*part.parts[i], behind);
        return behind;
      case Part::Kind::choice: {
        std::uint32_t first = lay_out(*part.parts.back(), behind);
        for (std::size_t i = part.parts.size() - 1; i-- > 0;)
          first =
              step({.code = Code::split, .next = lay_out(*part.parts[i], behind), .other = first});
        return first;
      }
      case Part::Kind::repeat: break;
    }
    const Part& inner = *part.parts.front();
    std::uint32_t first = behind;
    if (!part.most) {
      first = step({.code = Code::split, .next = behind, .other = behind});
      const std::uint32_t loop = lay_out(inner, first);
      out_.steps_[first].next = loop;
    } else {
      for (std::uint32_t i = part.least; i < *part.most && error_.empty(); ++i)
        first = step({.code = Code::split, .next = lay_out(inner, first), .other = behind});
    }
    for (std::uint32_t i = 0; i < part.least && error_.empty(); ++i) first = lay_out(inner, first);
    return first;
  }

  std::u32string text_;
  std::size_t at_ = 0;
  std::string error_;
  Pattern out_;
};

bool Pattern::Set::has(char32_t c) const {
  return std::ranges::any_of(
             ranges, [c](const auto& r) { return c >= r.first && c <= r.second; }) != is_negated;
}

Result<Pattern> Pattern::parse(std::string_view text) {
  return PatternParser(characters(text)).parse();
}

void Pattern::enter(std::uint32_t step, std::size_t at, const std::u32string& text,
                    std::vector<std::uint32_t>& places, std::vector<std::uint64_t>& seen) const {
  std::vector<std::uint32_t> open{step};
  while (!open.empty()) {
    const std::uint32_t place = open.back();
    open.pop_back();
    if (seen[place] == at + 1) continue;
    seen[place] = at + 1;
    const Step& here = steps_[place];
    const auto between = [&] {
      return (at > 0 && is_word(text[at - 1])) != (at < text.size() && is_word(text[at]));
    };
    switch (here.code) {
      case Code::accept:
      case Code::set: places.push_back(place); break;
      case Code::split:
        open.push_back(here.other);
        open.push_back(here.next);
        break;
      case Code::start:
        if (at == 0) open.push_back(here.next);
        break;
      case Code::end:
        if (at == text.size()) open.push_back(here.next);
        break;
      case Code::boundary:
        if (between()) open.push_back(here.next);
        break;
      case Code::no_boundary:
        if (!between()) open.push_back(here.next);
        break;
    }
  }
}

bool Pattern::matches(std::string_view text) const {
  const std::u32string given = characters(text);
  std::vector<std::uint64_t> seen(
      steps_.size());  // the place in the text, plus 1, of the last visit
  std::vector<std::uint32_t> places;
  enter(first_, 0, given, places, seen);
  for (std::size_t at = 0; at < given.size(); ++at) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t place : places) {
      const Step& here = steps_[place];
      if (here.code == Code::set && sets_[here.other].has(given[at]))
        enter(here.next, at + 1, given, next, seen);
    }
    places = std::move(next);
  }
  return std::ranges::any_of(places,
                             [&](std::uint32_t p) { return steps_[p].code == Code::accept; });
}

}  // namespace weft::onnx
