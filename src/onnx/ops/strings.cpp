#include <algorithm>
#include <set>

#include "onnx/host.hpp"
#include "onnx/ops/common.hpp"
#include "onnx/ops/families.hpp"
#include "onnx/pattern.hpp"

// Texts, which the host alone knows.

namespace weft::onnx {
namespace {

using I = std::int64_t;

Array texts_of(Shape shape, std::vector<std::string> texts) {
  return {.type = Type::string,
          .shape = std::move(shape),
          .bytes = {},
          .keep = {},
          .strings = std::move(texts)};
}

const Array& texts(const Call& c, std::size_t i) {
  const Array& x = c.host(i);
  if (x.type != Type::string) c.wrong(formatted("{} are no texts.", describe(c.in(i))));
  return x;
}

/// Texts put together, element by element.
Values string_concat(Call& c) {
  const Array& a = texts(c, 0);
  const Array& b = texts(c, 1);
  const Shape shape = broadcast_shapes({a.shape, b.shape});
  if (too_large(shape)) c.refuse(formatted("{} is too large for the host.", text_of(shape)));
  const auto left = broadcast_places(a.shape, shape);
  const auto right = broadcast_places(b.shape, shape);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < left.size(); ++i)
    out.push_back(a.strings[left[i]] + b.strings[right[i]]);
  return {texts_of(shape, std::move(out))};
}

constexpr std::string_view blanks = " \t\n\r\v\f";

/// The words of a text, at most `most` of them.
std::vector<std::string> words(std::string_view text, std::size_t most) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t start = text.find_first_not_of(blanks);
    if (start == std::string_view::npos) return out;
    text.remove_prefix(start);
    const std::size_t end = out.size() + 1 < most ? text.find_first_of(blanks) : text.size();
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end, text.size()));
  }
}

/// The parts of a text between delimiters, at most `most` of them; there may be nothing between
/// two.
std::vector<std::string> parts(std::string_view text, std::string_view delimiter,
                               std::size_t most) {
  std::vector<std::string> out;
  while (out.size() + 1 < most) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  out.emplace_back(text);
  return out;
}

/// The parts of each text along a new last dimension, empty texts behind those that have fewer; and
/// how many there are.
Values string_split(Call& c) {
  const Array& x = texts(c, 0);
  const std::string delimiter = c.s("delimiter", "");
  const Attribute* given = c.attribute("maxsplit");
  const std::size_t most =
      given == nullptr || given->i < 0 ? SIZE_MAX : static_cast<std::size_t>(given->i) + 1;
  std::vector<std::vector<std::string>> found;
  std::size_t width = 0;
  std::vector<I> counts;
  for (const std::string& text : x.strings) {
    found.push_back(delimiter.empty() ? words(text, most) : parts(text, delimiter, most));
    counts.push_back(static_cast<I>(found.back().size()));
    width = std::max(width, found.back().size());
  }
  Shape shape = x.shape;
  shape.push_back(width);
  if (too_large(shape)) c.refuse(formatted("{} is too large for the host.", text_of(shape)));
  std::vector<std::string> out;
  for (auto& row : found) {
    row.resize(width);
    std::ranges::move(row, std::back_inserter(out));
  }
  return {texts_of(shape, std::move(out)), array_of(Type::i64, x.shape, counts)};
}

std::string in_case(std::string text, bool upper) {
  for (char& letter : text) {
    if (upper && letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    if (!upper && letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char letter) { return (letter & 0x80) == 0; });
}

/// A row of texts without some of them, in capital or small letters.
Values string_normalizer(Call& c) {
  const Array& x = texts(c, 0);
  const bool row = x.shape.size() == 2 && x.shape[0] == 1;
  if (x.shape.size() != 1 && !row)
    c.wrong(formatted("{} is neither a row of texts nor one such row.", describe(c.in(0))));
  const std::string action = c.s("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    c.wrong(formatted("case_change_action is \"{}\".", action));
  const bool exact = c.i("is_case_sensitive", 0) != 0;
  const bool changes = action != "NONE";
  std::set<std::string> left_out;
  if (const Attribute* listed = c.attribute("stopwords")) {
    for (const std::string& word : listed->strings)
      left_out.insert(exact ? word : in_case(word, false));
  }
  std::vector<std::string> out;
  for (const std::string& text : x.strings) {
    if (!is_ascii(text) && (changes || (!exact && !left_out.empty())))
      c.refuse("Capital and small letters are known of ASCII only.");
    if (left_out.contains(exact ? text : in_case(text, false))) continue;
    out.push_back(changes ? in_case(text, action == "UPPER") : text);
  }
  if (out.empty()) out.emplace_back();
  Shape shape = {out.size()};
  if (row) shape.insert(shape.begin(), 1);
  return {texts_of(shape, std::move(out))};
}

/// Which texts a pattern describes as a whole.
Values regex_full_match(Call& c) {
  const Array& x = texts(c, 0);
  const Result<Pattern> pattern = Pattern::parse(c.s("pattern", ""));
  if (!pattern) c.wrong(pattern.error().message);
  std::vector<I> out;
  for (const std::string& text : x.strings) out.push_back(pattern->matches(text) ? 1 : 0);
  return {array_of(Type::boolean, x.shape, out)};
}

}  // namespace

void add_strings(Table& table) {
  table["RegexFullMatch"] = regex_full_match;
  table["StringConcat"] = string_concat;
  table["StringSplit"] = string_split;
  table["StringNormalizer"] = string_normalizer;
}

}  // namespace weft::onnx
